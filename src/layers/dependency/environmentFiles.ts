// One environment's folder: its manifest, and how it is told whether it is still as it was made. A call looks at a few
// stats; `sync` reads every file.
import { Effect, Result, Schema } from "effect"
import type { Hash } from "node:crypto"
import { createHash } from "node:crypto"
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import type { BigIntStats } from "node:fs"
import { join } from "node:path"
import { Ecosystem, InstalledPackage } from "../../services/dependency/InstalledPackage.ts"

/** The runtime's interpreter, as it was when the environment was made. */
export const Base = Schema.Struct({ path: Schema.String, stamp: Schema.String, version: Schema.String })
export type Base = typeof Base.Type

export const Manifest = Schema.Struct({
  kind: Schema.Literal("kiwi-environment-1"),
  digest: Schema.String,
  ecosystem: Ecosystem,
  requirements: Schema.Array(Schema.String),
  installer: Schema.String,
  base: Schema.optionalKey(Base),
  packages: Schema.Array(InstalledPackage),
  /** Stats of what decides which code is found, by path in the environment. */
  stamps: Schema.Record(Schema.String, Schema.String),
  /** sha256 over every file, link and folder. */
  content: Schema.String
})
export type Manifest = typeof Manifest.Type

export const manifestName = "environment.json"
/** Its time is that of the last use. */
export const usedName = "used"
/** Copies of tools that run beside their node_modules. */
export const copiesName = "copies"
const ours: ReadonlySet<string> = new Set([manifestName, usedName, copiesName])

export const maxManifest = 8 * 1024 * 1024

export const decodeManifest = Schema.decodeUnknownEffect(Schema.fromJsonString(Manifest))

const statOf = (path: string): BigIntStats | undefined =>
  Result.getOrUndefined(Result.try(() => lstatSync(path, { bigint: true, throwIfNoEntry: false })))

const stampOfStat = (stat: BigIntStats): string =>
  `${stat.dev}:${stat.ino}:${stat.mode}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`

/** What an interpreter is told by: a link is followed, since what it leads to is what runs. */
export const stampOfProgram = (path: string): string | undefined => {
  const stat = Result.getOrUndefined(Result.try(() => statSync(path, { bigint: true, throwIfNoEntry: false })))
  return stat?.isFile() === true ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}` : undefined
}

const foldersIn = (folder: string): ReadonlyArray<string> =>
  Result.getOrElse(Result.try(() => readdirSync(folder)), () => [])

/** Where Python finds the packages of the environment. */
export const sitePackagesOf = (folder: string, windows: boolean): string | undefined => {
  if (windows) return join(folder, "Lib", "site-packages")
  const python = foldersIn(join(folder, "lib")).find((name) => /^(?:python|pypy)\d/.test(name))
  return python === undefined ? undefined : join(folder, "lib", python, "site-packages")
}

const watched = (folder: string, ecosystem: Ecosystem, windows: boolean): ReadonlyArray<string> => {
  if (ecosystem === "node") return ["package.json", "package-lock.json", "node_modules"]
  const site = sitePackagesOf(folder, windows)
  const bin = windows ? "Scripts" : "bin"
  return [
    "pyvenv.cfg",
    bin,
    windows ? "Scripts/python.exe" : "bin/python",
    ...(site === undefined ? [] : [site.slice(folder.length + 1)])
  ]
}

export const stampsOf = (
  folder: string,
  ecosystem: Ecosystem,
  windows: boolean
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    watched(folder, ecosystem, windows).flatMap((path) => {
      const stat = statOf(join(folder, path))
      return stat === undefined ? [] : [[path, stampOfStat(stat)]]
    })
  )

/** Whether the few things that are looked at on every call are as they were. */
export const isAsStamped = (folder: string, stamps: Readonly<Record<string, string>>): boolean => {
  for (const [path, stamp] of Object.entries(stamps)) {
    const stat = statOf(join(folder, path))
    if (stat === undefined || stampOfStat(stat) !== stamp) return false
  }
  return true
}

/** The environment's own folder: a folder, no link, and nobody else's to write. */
export const isOwnFolder = (folder: string): boolean => {
  const stat = statOf(folder)
  const parent = statOf(join(folder, ".."))
  return stat !== undefined && parent !== undefined && stat.isDirectory() && parent.isDirectory() &&
    stat.uid === parent.uid && (stat.mode & 0o022n) === 0n
}

/** What tells one manifest from the next without reading it. */
export const manifestStamp = (folder: string): string | undefined => {
  const stat = statOf(join(folder, manifestName))
  return stat?.isFile() === true ? stampOfStat(stat) : undefined
}

const chunk = Buffer.alloc(256 * 1024)

const hashFile = (hash: Hash, path: string): void => {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    for (let read = readSync(descriptor, chunk); read > 0; read = readSync(descriptor, chunk)) {
      hash.update(chunk.subarray(0, read))
    }
  } finally {
    closeSync(descriptor)
  }
}

/** sha256 over everything in an environment but what Kiwi adds to it later. Throws what the disk says. */
export const contentOf = (folder: string): string => {
  const hash = createHash("sha256")
  const walk = (path: string, relative: string): void => {
    const stat = lstatSync(path)
    const kind = stat.isDirectory() ? "d" : stat.isSymbolicLink() ? "l" : stat.isFile() ? "f" : "?"
    hash.update(`${kind}${stat.isFile() ? `${(stat.mode & 0o100) === 0 ? "-" : "x"}${stat.size}` : ""} ${relative}\0`)
    if (kind === "f") hashFile(hash, path)
    else if (kind === "l") hash.update(`${readlinkSync(path)}\0`)
    else if (kind === "d") {
      for (const name of readdirSync(path).toSorted()) {
        if (relative !== "" || !ours.has(name)) walk(join(path, name), relative === "" ? name : `${relative}/${name}`)
      }
    }
  }
  walk(folder, "")
  return hash.digest("hex")
}

export const isWhole = (folder: string, content: string): Effect.Effect<boolean> =>
  Effect.sync(() => Result.getOrElse(Result.try(() => contentOf(folder) === content), () => false))

/** Scripts and pyvenv.cfg name the folder that they were made in; it is another one once it is renamed. */
export const moveScripts = (folder: string, final: string, windows: boolean): void => {
  const bin = join(folder, windows ? "Scripts" : "bin")
  const files = [join(folder, "pyvenv.cfg"), ...foldersIn(bin).map((name) => join(bin, name))]
  for (const file of files) {
    const stat = lstatSync(file, { throwIfNoEntry: false })
    if (stat?.isFile() !== true || stat.size > 256 * 1024) continue
    const bytes = readFileSync(file)
    const text = bytes.toString("latin1")
    if (text.startsWith("MZ") || !text.includes(folder)) continue
    writeFileSync(file, Buffer.from(text.replaceAll(folder, final), "latin1"))
    chmodSync(file, stat.mode & 0o777)
  }
}

/** Removes a folder, a link or a file; copies of tools in it are read-only. */
export const discard = (path: string): void => {
  const open = (each: string): void => {
    chmodSync(each, 0o700)
    for (const entry of readdirSync(each, { withFileTypes: true })) {
      if (entry.isDirectory()) open(join(each, entry.name))
    }
  }
  const remove = (): void => rmSync(path, { recursive: true, force: true })
  try {
    remove()
  } catch {
    if (lstatSync(path).isDirectory()) open(path)
    remove()
  }
}
