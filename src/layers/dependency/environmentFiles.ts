// One environment's folder: its manifest, and whether it is unchanged. A call checks a few stats; `sync` reads every
// file.
import { Effect, Result, Schema } from "effect"
import type { Hash } from "node:crypto"
import { createHash } from "node:crypto"
import { chmodSync, lstatSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Ecosystem, InstalledPackage } from "../../services/dependency/InstalledPackage.ts"
import { stampOf, statOf } from "../files/believe.ts"
import { listFolder, readFolder } from "../files/listFolder.ts"
import { fill, readRegular, withRegular } from "../files/readRegular.ts"

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
  /** Stats of the files that decide which code is found, by path in the environment. */
  stamps: Schema.Record(Schema.String, Schema.String),
  /** SHA-256 over every file, link and folder. */
  content: Schema.String
})
export type Manifest = typeof Manifest.Type

export const manifestName = "environment.json"
/** Its modification time is the environment's last use. */
export const usedName = "used"
/** Copies of tools that run beside their node_modules. */
export const copiesName = "copies"
const ours: ReadonlySet<string> = new Set([manifestName, usedName, copiesName])

export const maxManifest = 8 * 1024 * 1024

export const decodeManifest = Schema.decodeUnknownEffect(Schema.fromJsonString(Manifest))

/** Identifies an interpreter. Links are followed, since their target is what runs. */
export const stampOfProgram = (path: string): string | undefined => {
  const stat = Result.getOrUndefined(Result.try(() => statSync(path, { bigint: true, throwIfNoEntry: false })))
  return stat?.isFile() === true ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}` : undefined
}

const namesIn = (folder: string): ReadonlyArray<string> => listFolder(folder).map(({ name }) => name)

/** The folder with the environment's Python packages. */
export const sitePackagesOf = (folder: string, windows: boolean): string | undefined => {
  if (windows) return join(folder, "Lib", "site-packages")
  const python = namesIn(join(folder, "lib")).find((name) => /^(?:python|pypy)\d/.test(name))
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
      return stat === undefined ? [] : [[path, stampOf(stat)]]
    })
  )

/** Whether the files that every call checks are unchanged. */
export const isAsStamped = (folder: string, stamps: Readonly<Record<string, string>>): boolean => {
  for (const [path, stamp] of Object.entries(stamps)) {
    const stat = statOf(join(folder, path))
    if (stat === undefined || stampOf(stat) !== stamp) return false
  }
  return true
}

/** Whether it is a folder and not a link, which only this user can write. */
export const isOwnFolder = (folder: string): boolean => {
  const stat = statOf(folder)
  const parent = statOf(join(folder, ".."))
  return stat !== undefined && parent !== undefined && stat.isDirectory() && parent.isDirectory() &&
    stat.uid === parent.uid && (stat.mode & 0o022n) === 0n
}

const chunk = Buffer.alloc(256 * 1024)

const hashFile = (hash: Hash, path: string): void =>
  withRegular(path, { maxBytes: Infinity, follow: false }, ({ descriptor }) => {
    for (let part = fill(descriptor, chunk); part.length > 0; part = fill(descriptor, chunk)) hash.update(part)
  })

/** SHA-256 over everything in an environment except what Kiwi adds later. Throws the system's error. */
export const contentOf = (folder: string): string => {
  const hash = createHash("sha256")
  const walk = (path: string, relative: string): void => {
    const stat = lstatSync(path)
    const kind = stat.isDirectory() ? "d" : stat.isSymbolicLink() ? "l" : stat.isFile() ? "f" : "?"
    hash.update(`${kind}${stat.isFile() ? `${(stat.mode & 0o100) === 0 ? "-" : "x"}${stat.size}` : ""} ${relative}\0`)
    if (kind === "f") hashFile(hash, path)
    else if (kind === "l") hash.update(`${readlinkSync(path)}\0`)
    else if (kind === "d") {
      for (const name of readFolder(path, Infinity).map((entry) => entry.name).toSorted()) {
        if (relative !== "" || !ours.has(name)) walk(join(path, name), relative === "" ? name : `${relative}/${name}`)
      }
    }
  }
  walk(folder, "")
  return hash.digest("hex")
}

export const isWhole = (folder: string, content: string): Effect.Effect<boolean> =>
  Effect.sync(() => Result.getOrElse(Result.try(() => contentOf(folder) === content), () => false))

/** Scripts and pyvenv.cfg contain the folder's path, which changes when the folder is renamed. */
export const moveScripts = (folder: string, final: string, windows: boolean): void => {
  const bin = join(folder, windows ? "Scripts" : "bin")
  const files = [join(folder, "pyvenv.cfg"), ...namesIn(bin).map((name) => join(bin, name))]
  for (const file of files) {
    const stat = statOf(file)
    const text = Result.getOrUndefined(readRegular(file, { maxBytes: 256 * 1024, follow: false }))?.toString("latin1")
    if (stat === undefined || text === undefined) continue
    if (text.startsWith("MZ") || !text.includes(folder)) continue
    writeFileSync(file, Buffer.from(text.replaceAll(folder, final), "latin1"))
    chmodSync(file, Number(stat.mode) & 0o777)
  }
}

/** Removes a folder, a link or a file. Tool copies in it are read-only. */
export const discard = (path: string): void => {
  const open = (each: string): void => {
    chmodSync(each, 0o700)
    for (const entry of readFolder(each, Infinity)) {
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
