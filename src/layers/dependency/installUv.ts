// Installs Python packages with uv. uv resolves into a pylock.toml (PEP 751) with the hashes of every suitable wheel.
// The tags in the installed package say which wheel was installed.
import { Effect, Result } from "effect"
import * as Toml from "effect/encoding/Toml"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { InstallFailed, PinsDiffer } from "../../services/dependency/DependencyErrors.ts"
import { differencesFrom, sortPackages } from "../../services/dependency/InstalledPackage.ts"
import type { InstalledPackage } from "../../services/dependency/InstalledPackage.ts"
import { normalPythonName } from "../../services/dependency/requirements.ts"
import { listFolder } from "../files/listFolder.ts"
import { readText } from "../files/readRegular.ts"
import { sitePackagesOf } from "./environmentFiles.ts"
import { type Built, failedBy, type Workbench } from "./installers.ts"
import { hasHashes, orPinsDiffer, pythonIn, type PythonPlan, requireDeclared } from "./installPip.ts"

interface Wheel {
  readonly file: string
  readonly sha256: string
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const own = (value: unknown, key: string): unknown =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined

const entriesOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

const fileOf = (wheel: unknown): string => {
  const named = own(wheel, "name") ?? own(wheel, "url") ?? own(wheel, "path")
  const path = typeof named === "string" ? named.split(/[?#]/, 1)[0]! : ""
  return path.slice(path.lastIndexOf("/") + 1)
}

/** The wheels of every package in a pylock.toml, by `name version`. */
export const wheelsIn = (pylock: string): ReadonlyMap<string, ReadonlyArray<Wheel>> => {
  const parsed = Toml.parse(pylock)
  const found = new Map<string, ReadonlyArray<Wheel>>()
  for (const entry of entriesOf(own(Result.getOrUndefined(parsed), "packages"))) {
    const [name, version] = [own(entry, "name"), own(entry, "version")]
    if (typeof name !== "string" || typeof version !== "string") continue
    const wheels = entriesOf(own(entry, "wheels")).flatMap((wheel) => {
      const sha256 = own(own(wheel, "hashes"), "sha256")
      return typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256) ? [{ file: fileOf(wheel), sha256 }] : []
    })
    found.set(`${normalPythonName(name)} ${version}`, wheels)
  }
  return found
}

/** `py3-none-any` for each combination of the compressed tags in a wheel's name. */
const tagsOf = (file: string): ReadonlySet<string> => {
  const parts = file.slice(0, -".whl".length).split("-")
  const [pythons = "", abis = "", platforms = ""] = parts.slice(-3)
  return new Set(
    pythons.split(".").flatMap((python) =>
      abis.split(".").flatMap((abi) => platforms.split(".").map((platform) => `${python}-${abi}-${platform}`))
    )
  )
}

/** The hash of the only wheel with the installed package's tags. Null if there is not exactly one. */
export const hashOf = (wheels: ReadonlyArray<Wheel>, wheelText: string): string | null => {
  const installed = new Set(
    wheelText.split("\n").filter((line) => line.startsWith("Tag:")).map((line) => line.slice("Tag:".length).trim())
  )
  const fitting = wheels.filter(({ file }) => {
    const tags = tagsOf(file)
    return file.endsWith(".whl") && tags.size === installed.size && [...tags].every((tag) => installed.has(tag))
  })
  return fitting.length === 1 ? `sha256:${fitting[0]!.sha256}` : null
}

const fieldOf = (metadata: string, name: string): string | undefined => {
  for (const line of metadata.split("\n")) {
    if (line.trim() === "") return undefined
    if (line.startsWith(`${name}:`)) return line.slice(name.length + 1).trim()
  }
  return undefined
}

const textOf = (file: string): string => readText(file, { maxBytes: 16 * 1_048_576, follow: false }) ?? ""

const installedIn = (
  sitePackages: string,
  wheels: ReadonlyMap<string, ReadonlyArray<Wheel>>
): ReadonlyArray<InstalledPackage> =>
  listFolder(sitePackages).filter(({ name }) => name.endsWith(".dist-info")).flatMap(({ name: folder }) => {
    const metadata = textOf(join(sitePackages, folder, "METADATA"))
    const [name, version] = [fieldOf(metadata, "Name"), fieldOf(metadata, "Version")]
    if (name === undefined || version === undefined) return []
    const normal = normalPythonName(name)
    const known = wheels.get(`${normal} ${version}`) ?? []
    return [{ name: normal, version, hash: hashOf(known, textOf(join(sitePackages, folder, "WHEEL"))) }]
  })

export const installUv = Effect.fnUntraced(function*(bench: Workbench, uv: string, plan: PythonPlan) {
  const told = yield* bench.run([uv, "--version"])
  const version = /^uv (\S{1,40})/.exec(told.stdout.trim())?.[1]
  if (told.code !== 0 || version === undefined) return yield* failedBy(bench, "uv", told)
  const installer = `uv ${version}`
  const python = pythonIn(bench.folder, bench.windows)
  const [wanted, lock] = [join(bench.folder, "requirements.txt"), join(bench.folder, "pylock.toml")]
  // With hard links, a change in uv's cache would change the environment.
  const env = { UV_PYTHON_DOWNLOADS: "never", UV_LINK_MODE: "copy", UV_NO_PROGRESS: "1" }
  const run = (...argv: ReadonlyArray<string>) => bench.run([uv, ...argv], { env })
  const builds = plan.allowBuild ? [] : ["--only-binary", ":all:"]

  // Settings in this folder, so that uv does not search the folders above it.
  yield* Effect.sync(() => writeFileSync(join(bench.folder, "uv.toml"), "", { mode: 0o600 }))
  const venv = yield* run("venv", "--no-project", "--allow-existing", "--python", plan.base, bench.folder)
  if (venv.code !== 0) return yield* failedBy(bench, installer, venv)
  const versions = plan.pins?.map(({ name, version: pinned }) => `${name}==${pinned}`) ?? plan.requirements
  yield* Effect.sync(() => writeFileSync(wanted, `${versions.join("\n")}\n`, { mode: 0o600 }))
  yield* bench.progress(`${installer} looks up versions`)
  const compiled = yield* run(
    "pip",
    "compile",
    "--quiet",
    "--format",
    "pylock.toml",
    "--output-file",
    lock,
    "--python",
    python,
    ...builds,
    ...(plan.pins === undefined ? [] : ["--no-deps"]),
    wanted
  )
  if (compiled.code !== 0) return yield* orPinsDiffer(bench, installer, plan)(compiled)
  const wheels = wheelsIn(textOf(lock))
  const exact = [...wheels].map(([key, all]) => {
    const [name = "", found = ""] = key.split(" ")
    const hashes = plan.pins?.find((pin) => pin.name === name)?.hash
    const allowed = typeof hashes === "string" ? [hashes] : all.map(({ sha256 }) => `sha256:${sha256}`)
    return { hashed: allowed.length > 0, line: [`${name}==${found}`, ...allowed.map((h) => `--hash=${h}`)].join(" ") }
  })
  const requireHashes = plan.pins === undefined ? exact.every(({ hashed }) => hashed) : hasHashes(plan.pins)
  const lines = requireHashes ? exact.map(({ line }) => line) : exact.map(({ line }) => line.split(" ", 1)[0]!)
  yield* Effect.sync(() => writeFileSync(wanted, `${lines.join("\n")}\n`, { mode: 0o600 }))
  yield* bench.progress(`${installer} installs ${exact.length}`)
  const install = ["pip", "install", "--quiet", "--python", python]
  const said = yield* run(
    ...install,
    "--compile-bytecode",
    "--no-deps",
    ...builds,
    ...(requireHashes ? ["--require-hashes"] : []),
    "--requirement",
    wanted
  )
  if (said.code !== 0) return yield* orPinsDiffer(bench, installer, plan)(said)
  const sitePackages = sitePackagesOf(bench.folder, bench.windows)
  if (sitePackages === undefined) {
    return yield* new InstallFailed({ tool: bench.tool, installer, detail: "it made no site-packages" })
  }
  const packages = sortPackages(installedIn(sitePackages, wheels))
  const differences = differencesFrom(plan.pins ?? packages, packages)
  if (differences.length > 0) return yield* new PinsDiffer({ tool: bench.tool, differences: [...differences] })
  if (plan.pins !== undefined) {
    yield* requireDeclared(bench, plan, [uv, ...install, "--dry-run", "--no-index"])
  }
  yield* Effect.sync(() => rmSync(lock, { force: true }))
  return { installer, packages } satisfies Built as Built
})
