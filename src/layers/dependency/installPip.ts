// Installs Python packages with pip, into a virtual environment without a pip of its own: the interpreter's pip, or
// that of a temporary environment, works on it from outside. pip's own report has the hash of every artifact.
import { Effect, Schema } from "effect"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { InstallFailed, PinsDiffer } from "../../services/dependency/DependencyErrors.ts"
import { sortPackages } from "../../services/dependency/InstalledPackage.ts"
import type { InstalledPackage } from "../../services/dependency/InstalledPackage.ts"
import { normalPythonName } from "../../services/dependency/requirements.ts"
import { readText } from "../files/readRegular.ts"
import { type Built, failedBy, lastWords, missing, type Workbench } from "./installers.ts"

export interface PythonPlan {
  readonly requirements: ReadonlyArray<string>
  /** The interpreter that the environment is for, as a real path. */
  readonly base: string
  readonly pins: ReadonlyArray<InstalledPackage> | undefined
  readonly allowBuild: boolean
}

/** The environment's own interpreter. */
export const pythonIn = (folder: string, windows: boolean): string =>
  windows ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python")

const Report = Schema.Struct({
  install: Schema.Array(Schema.Struct({
    download_info: Schema.Struct({
      archive_info: Schema.optionalKey(Schema.Struct({
        hash: Schema.optionalKey(Schema.String),
        hashes: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
      }))
    }),
    metadata: Schema.Struct({ name: Schema.String, version: Schema.String })
  }))
})
const decodeReport = Schema.decodeUnknownEffect(Schema.fromJsonString(Report))

/** Exact versions, with their hashes if all are known: an installer checks hashes for all packages or none. */
const requirementLines = ({ pins, requirements }: PythonPlan): ReadonlyArray<string> =>
  pins === undefined
    ? requirements
    : pins.map(({ hash, name, version }) =>
      `${name}==${version}${hasHashes(pins) && hash !== null ? ` --hash=${hash}` : ""}`
    )

export const hasHashes = (pins: ReadonlyArray<InstalledPackage>): boolean =>
  pins.length > 0 && pins.every(({ hash }) => hash?.startsWith("sha256:") === true)

/** Checks pins, since each becomes a line that an installer parses. */
export const pinProblem = (pins: ReadonlyArray<InstalledPackage>): string | undefined => {
  const wrong = pins.find(({ hash, name, version }) =>
    !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || !/^[A-Za-z0-9][A-Za-z0-9.!+_-]*$/.test(version) ||
    (hash !== null && !/^sha256:[0-9a-f]{64}$/.test(hash))
  )
  return wrong === undefined
    ? undefined
    : `${wrong.name} ${wrong.version} is locked in a form that Python does not accept`
}

/** An installer's messages for a hash that does not match. */
const hashMismatch = /do not match the hashes|hash mismatch|hashes? (?:is|are) required|expected sha256/i

export const orPinsDiffer =
  (bench: Workbench, installer: string, plan: PythonPlan) =>
  (said: { readonly code: number; readonly stdout: string; readonly stderr: string }): InstallFailed | PinsDiffer =>
    plan.pins !== undefined && hashMismatch.test(said.stderr)
      ? new PinsDiffer({ tool: bench.tool, differences: [lastWords(said, bench.folder)] })
      : failedBy(bench, installer, said)

/** `pip 23.2.1 from …`. Older versions can neither report nor work on another environment. */
const pipIn = (text: string): { readonly version: string; readonly folder: string } | undefined => {
  const match = /^pip (\d{1,4})\.(\d{1,4})(\S{0,40}) from (.+) \(python [^()]*\)$/.exec(text.trim())
  if (match === null) return undefined
  const [major, minor] = [Number(match[1]), Number(match[2])]
  return major > 22 || major === 22 && minor >= 3
    ? { version: `${major}.${minor}${match[3]}`, folder: match[4] ?? "" }
    : undefined
}

/**
 * pip applies `--only-binary` to names only, and still builds what a package requires by URL. So pip runs as `--python`
 * runs it, in the environment's own interpreter, but cannot start Python or a version control program.
 */
const unbuilding = `import os, runpy, sys
def guard(event, args):
    if event != "subprocess.Popen": return
    argv = args[1]
    name = os.path.basename(str(argv if isinstance(argv, (str, bytes)) else [*argv, ""][0])).lower()
    if name.startswith(("python", "pypy", "git", "hg", "svn", "bzr")) or name == os.path.basename(sys.executable).lower():
        raise SystemExit("a package would have to be built: it has no wheel, or is asked for by an address")
sys.addaudithook(guard)
sys.argv[0] = os.path.join(sys.argv.pop(1), "__pip-runner__.py")
runpy.run_path(sys.argv[0], run_name="__main__")`

/**
 * Checks that the pins include everything declared and all transitive requirements. The installer does not use the
 * network for this.
 */
export const requireDeclared = Effect.fnUntraced(
  function*(bench: Workbench, { requirements }: PythonPlan, install: ReadonlyArray<string>) {
    const declared = join(bench.folder, "requirements.txt")
    yield* Effect.sync(() => writeFileSync(declared, `${requirements.join("\n")}\n`, { mode: 0o600 }))
    const said = yield* bench.run([...install, "--requirement", declared])
    if (said.code === 0) return
    return yield* new PinsDiffer({
      tool: bench.tool,
      differences: [`they do not satisfy the tool's declaration: ${lastWords(said, bench.folder)}`]
    })
  }
)

const isolated = ["-I", "-X", "utf8"]

export const installPip = Effect.fnUntraced(function*(bench: Workbench, plan: PythonPlan) {
  const { base } = plan
  const helper = `${bench.folder}.pip`
  const runner = Effect.fnUntraced(function*() {
    const own = yield* bench.run([base, ...isolated, "-m", "pip", "--version"])
    const bases = own.code === 0 ? pipIn(own.stdout) : undefined
    if (bases !== undefined) return { python: base, ...bases }
    yield* bench.progress("Preparing pip")
    const made = yield* bench.run([base, ...isolated, "-m", "venv", helper])
    if (made.code !== 0) {
      return yield* missing(bench, "python", `${lastWords(made, bench.folder)}, and uv is not on PATH`)
    }
    const python = pythonIn(helper, bench.windows)
    const bundled = yield* bench.run([python, ...isolated, "-m", "pip", "--version"])
    const found = bundled.code === 0 ? pipIn(bundled.stdout) : undefined
    if (found === undefined) return yield* missing(bench, "python", "its pip is older than 22.3, and uv is not on PATH")
    return { python, ...found }
  })

  return yield* Effect.ensuring(
    Effect.gen(function*() {
      const pip = yield* runner()
      const installer = `pip ${pip.version}`
      const venv = yield* bench.run([base, ...isolated, "-m", "venv", "--without-pip", bench.folder])
      if (venv.code !== 0) return yield* failedBy(bench, "python -m venv", venv)
      const [wanted, report] = [join(bench.folder, "requirements.txt"), join(bench.folder, "report.json")]
      yield* Effect.sync(() => writeFileSync(wanted, `${requirementLines(plan).join("\n")}\n`, { mode: 0o600 }))
      yield* bench.progress(`${installer} installs`)
      const target = pythonIn(bench.folder, bench.windows)
      const install = [
        ...(plan.allowBuild
          ? [pip.python, ...isolated, "-m", "pip", "--python", target]
          : [target, ...isolated, "-c", unbuilding, pip.folder]),
        "install",
        "--no-input",
        "--disable-pip-version-check",
        "--no-warn-script-location",
        "--quiet"
      ]
      const said = yield* bench.run([
        ...install,
        "--report",
        report,
        ...(plan.allowBuild ? [] : ["--only-binary", ":all:"]),
        ...(plan.pins === undefined ? [] : ["--no-deps"]),
        ...(plan.pins !== undefined && hasHashes(plan.pins) ? ["--require-hashes"] : []),
        "--requirement",
        wanted
      ])
      if (said.code !== 0) return yield* orPinsDiffer(bench, installer, plan)(said)
      const unreadable = new InstallFailed({ tool: bench.tool, installer, detail: "its report cannot be read" })
      const text = yield* Effect.sync(() => readText(report, { maxBytes: 64 * 1_048_576, follow: false }))
      const reported = yield* Effect.mapError(decodeReport(text), () => unreadable)
      yield* Effect.sync(() => rmSync(report, { force: true }))
      if (plan.pins !== undefined) yield* requireDeclared(bench, plan, [...install, "--dry-run", "--no-index"])
      const packages = reported.install.map(({ download_info, metadata }): InstalledPackage => {
        const hash = download_info.archive_info?.hashes?.["sha256"]
        return {
          name: normalPythonName(metadata.name),
          version: metadata.version,
          hash: hash === undefined ? null : `sha256:${hash}`
        }
      })
      return { installer, packages: sortPackages(packages) } satisfies Built as Built
    }),
    Effect.sync(() => rmSync(helper, { recursive: true, force: true }))
  )
})
