// Installs Node packages with npm: resolves them into a package-lock.json, compares it with the lock, and only then
// fetches, each package by its hash in that file. Packages' scripts do not run.
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import * as SemVer from "effect/SemVer"
import * as SemVerRange from "effect/SemVerRange"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Declared } from "../../services/dependency/declaredDependencies.ts"
import { DependenciesInvalid, InstallFailed, PinsDiffer } from "../../services/dependency/DependencyErrors.ts"
import { differencesFrom } from "../../services/dependency/InstalledPackage.ts"
import type { InstalledPackage } from "../../services/dependency/InstalledPackage.ts"
import { nodeNameProblem, splitNodeRequirement } from "../../services/dependency/requirements.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import { readText } from "../files/readRegular.ts"
import { type Built, failedBy, missing, type Workbench } from "./installers.ts"

export interface NpmPlan {
  readonly declared: Declared
  /** The runtime's own Node, as a real path. */
  readonly interpreter: string | undefined
  readonly pins: ReadonlyArray<InstalledPackage> | undefined
  readonly allowBuild: boolean
  /** Whether the tool's own package-lock.json is followed. */
  readonly followLock: boolean
}

const quiet = [
  "--allow-git=none",
  "--no-audit",
  "--no-fund",
  "--no-progress",
  "--no-update-notifier",
  "--loglevel=error"
]

/** The release line of a version: two pins of one package can both be enforced if their lines differ. */
const lineOf = (version: string): string => {
  const [major = "0", minor = "0"] = version.split(".")
  return major === "0" ? `0.${minor}` : major
}

/**
 * npm overrides that lead its resolution to the pinned versions. Where overrides cannot express that, the later
 * comparison finds the difference.
 */
const steer = (pins: ReadonlyArray<InstalledPackage>): ReadonlyMap<string, string> => {
  const versions = new Map<string, Array<string>>()
  for (const { name, version } of pins) versions.set(name, [...(versions.get(name) ?? []), version])
  return new Map(
    [...versions].flatMap(([name, all]) =>
      all.length === 1
        ? [[name, all[0]!] as const]
        : all.map((version) => [`${name}@${lineOf(version)}`, version] as const)
    )
  )
}

const isIn = (version: string, range: string): boolean => {
  const [parsed, wanted] = [SemVer.parse(version), SemVerRange.parse(range)]
  return Result.isSuccess(parsed) && Result.isSuccess(wanted) && SemVerRange.matches(wanted.success, parsed.success)
}

/** A record without inherited names. */
const record = (entries: Iterable<readonly [string, Schema.Json]>): Schema.JsonObject =>
  Object.assign(Object.create(null), Object.fromEntries(entries))

const packageJsonOf = (
  { optional, overrides, requirements }: Declared,
  pins: ReadonlyArray<InstalledPackage> | undefined
): string => {
  const steered = steer(pins ?? [])
  const wanted = requirements.map((written) => {
    const { name, range } = splitNodeRequirement(written)
    // npm refuses an override of a direct dependency unless it has the same text.
    const pinned = (pins ?? []).filter((pin) => pin.name === name).map((pin) => pin.version)
    const version = pinned.length < 2 ? pinned[0] : pinned.find((one) => isIn(one, range)) ?? pinned[0]
    return [name, version ?? range, optional.includes(written)] as const
  })
  const own: Schema.Json = overrides === undefined ? {} : JSON.parse(overrides)
  const all = pins === undefined ? own : record(steered)
  return JSON.stringify({
    name: "kiwi-environment",
    version: "0.0.0",
    private: true,
    dependencies: record(wanted.filter(([, , isOptional]) => !isOptional).map(([name, range]) => [name, range])),
    optionalDependencies: record(wanted.filter(([, , isOptional]) => isOptional).map(([name, range]) => [name, range])),
    overrides: all
  })
}

interface LockEntry {
  readonly path: string
  readonly name: string
  readonly version: string
  readonly integrity: string | null
}

const marker = "node_modules/"

/** The packages of a lockfile, or why Kiwi cannot install from it. */
const entriesOf = (text: string): Result.Result<ReadonlyArray<LockEntry>, string> =>
  Result.gen(function*() {
    const json = yield* Result.try({ try: (): Schema.Json => JSON.parse(text), catch: () => "it is not JSON" })
    const packages = isJsonObject(json) ? json["packages"] : undefined
    if (!isJsonObject(packages)) return yield* Result.fail("it has no packages; write it with npm 7 or newer")
    const entries: Array<LockEntry> = []
    for (const [path, entry] of Object.entries(packages)) {
      if (path === "") continue
      const at = path.lastIndexOf(marker)
      if (!path.startsWith(marker) || !isJsonObject(entry) || entry["link"] === true) {
        return yield* Result.fail(`${path} is a link or outside node_modules`)
      }
      const { integrity, name, version } = entry
      if (typeof version !== "string") return yield* Result.fail(`${path} has no version`)
      entries.push({
        path,
        name: typeof name === "string" ? name : path.slice(at + marker.length),
        version,
        integrity: typeof integrity === "string" ? integrity : null
      })
    }
    return entries
  })

/** Larger than the lock of any project, in bytes. */
const largestLock = 64 * 1_048_576

/**
 * The first package that npm would not fetch by http, but from a repository or file. npm before 11.10 does not refuse
 * these.
 */
export const fetchedOtherwise = (text: string): string | undefined => {
  const json: Schema.Json = JSON.parse(text)
  const packages = isJsonObject(json) ? json["packages"] : undefined
  const found = Object.entries(isJsonObject(packages) ? packages : {}).find(([, entry]) =>
    isJsonObject(entry) && typeof entry["resolved"] === "string" && !/^https?:/i.test(entry["resolved"])
  )
  return found?.[0]
}

/** The tool's lockfile without URLs: every tarball comes from the registry that the person has configured. */
const withoutAddresses = (text: string): Result.Result<string, string> =>
  Result.gen(function*() {
    const entries = yield* entriesOf(text)
    const bare = entries.find((entry) => entry.integrity === null)
    if (bare !== undefined) return yield* Result.fail(`${bare.path} has no integrity`)
    const json: Schema.Json = JSON.parse(text)
    if (!isJsonObject(json) || !isJsonObject(json["packages"])) return yield* Result.fail("it has no packages")
    const packages = Object.entries(json["packages"]).map(([path, entry]) => {
      if (!isJsonObject(entry)) return [path, entry] as const
      const { resolved: _resolved, ...rest } = entry
      return [path, rest] as const
    })
    return JSON.stringify({
      lockfileVersion: 3,
      requires: true,
      packages: Object.fromEntries(packages)
    })
  })

const packagesOf = (entries: ReadonlyArray<LockEntry>): ReadonlyArray<InstalledPackage> =>
  entries.map(({ integrity, name, version }) => ({ name, version, hash: integrity }))

/** Pins come from a project's file: each must be a plain name and version, without any other syntax of npm. */
const pinProblem = (pins: ReadonlyArray<InstalledPackage>): string | undefined => {
  const wrong = pins.find(({ name, version }) =>
    nodeNameProblem(name) !== undefined || Result.isFailure(SemVer.parse(version))
  )
  return wrong === undefined ? undefined : `${wrong.name} ${wrong.version} is locked in a form that npm does not accept`
}

export const installNpm = Effect.fnUntraced(function*(bench: Workbench, plan: NpmPlan) {
  const { declared, pins } = plan
  const problem = pins === undefined ? undefined : pinProblem(pins)
  if (problem !== undefined) return yield* new PinsDiffer({ tool: bench.tool, differences: [problem] })
  const npm = bench.find("npm", plan.interpreter)
  if (npm === undefined) return yield* missing(bench, "node", "npm is not on PATH")
  // npm is a Node script. It runs on the tool's Node, so that native builds match.
  const options = plan.interpreter === undefined ? {} : { first: dirname(plan.interpreter) }
  const { code, stdout } = yield* bench.run([npm, "--version"], options)
  if (code !== 0) return yield* missing(bench, "node", "npm does not start")
  const installer = `npm ${stdout.trim().slice(0, 40)}`
  const lockFile = join(bench.folder, "package-lock.json")
  const scripts = plan.allowBuild ? [] : ["--ignore-scripts"]
  const run = (what: ReadonlyArray<string>) => bench.run([npm, ...what, ...quiet], options)

  const own = plan.followLock ? declared.packageLock : undefined
  const followed = own === undefined ? undefined : yield* Effect.fromResult(withoutAddresses(own)).pipe(
    Effect.mapError((error) =>
      new DependenciesInvalid({
        link: declared.links[0] ?? bench.tool,
        issues: [{ field: "package-lock.json", error }]
      })
    )
  )
  yield* Effect.sync(() => {
    mkdirSync(bench.folder, { recursive: true, mode: 0o700 })
    writeFileSync(
      join(bench.folder, "package.json"),
      packageJsonOf(declared, followed === undefined ? pins : undefined),
      { mode: 0o600 }
    )
    if (followed !== undefined) writeFileSync(lockFile, followed, { mode: 0o600 })
  })
  if (followed === undefined) {
    yield* bench.progress(`${installer} looks up versions`)
    const resolved = yield* run(["install", "--package-lock-only", "--ignore-scripts"])
    if (resolved.code !== 0) return yield* failedBy(bench, installer, resolved)
  }
  const locked = yield* Effect.sync(() => readText(lockFile, { maxBytes: largestLock, follow: false }))
  const entries = yield* Effect.fromResult(
    locked === undefined ? Result.fail("it is missing, or not a file that npm writes") : entriesOf(locked)
  ).pipe(
    Effect.mapError((error) =>
      new InstallFailed({ tool: bench.tool, installer, detail: `the package-lock.json that it wrote: ${error}` })
    )
  )
  const elsewhere = fetchedOtherwise(locked ?? "")
  if (elsewhere !== undefined) {
    return yield* new InstallFailed({
      tool: bench.tool,
      installer,
      detail: `${elsewhere} would come from a repository or a file, and Kiwi installs only from registries`
    })
  }
  const packages = packagesOf(entries)
  const differences = pins === undefined ? [] : differencesFrom(pins, packages)
  if (differences.length > 0) return yield* new PinsDiffer({ tool: bench.tool, differences: [...differences] })
  yield* bench.progress(`${installer} installs ${packages.length}`)
  const installed = yield* run(["ci", ...scripts])
  if (installed.code !== 0) {
    if (/EINTEGRITY/.test(installed.stderr) && (pins !== undefined || followed !== undefined)) {
      return yield* new PinsDiffer({
        tool: bench.tool,
        differences: ["the registry sent bytes that do not match the locked hash"]
      })
    }
    return yield* failedBy(bench, installer, installed)
  }
  return { installer, packages } satisfies Built as Built
})
