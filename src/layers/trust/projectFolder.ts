// What trust is based on, as found on disk: the folders (owned by this user, not writable by everyone, not a link,
// still the folder that was accepted) and the control files in them. Checking the folders costs a few stats, since it
// happens on every call. File names come from listings, which a change may overtake; bytes are read without following
// links.
import { Effect, Order, Result } from "effect"
import type { BigIntStats, Stats } from "node:fs"
import { lstatSync } from "node:fs"
import { platform } from "node:os"
import { dirname, join, relative, resolve, sep } from "node:path"
import { getuid } from "node:process"
import type { SafeFiles } from "../../services/files/SafeFiles.ts"
import { mergeConflict } from "../../services/text/mergeConflict.ts"
import { isEnvironmentFile } from "../../services/trust/TrustDecision.ts"
import { maxControlBytes } from "../../services/workspace/controlYaml.ts"
import * as HostFiles from "../env/HostFiles.ts"
import type { ProjectPlace } from "../env/programs/interpreterFiles.ts"
import { neededIn, nodeIn, platformOf, pythonIn, venvNames } from "../env/virtualEnvironments.ts"
import { isInside } from "../files/isInside.ts"
import { listFolder } from "../files/listFolder.ts"
import { processPath } from "../files/processPath.ts"
import { sha256 } from "../identity/sha256.ts"

export interface FolderConcern {
  /** Stable, and specific enough that accepting one concern does not accept another: "project:owner:1000". */
  readonly code: string
  readonly sentence: string
}

export type FolderReport =
  | {
    readonly _tag: "Usable"
    /** The folder's identity: the same until the folder is replaced. */
    readonly folder: string
    /** A person may accept these. */
    readonly concerns: ReadonlyArray<FolderConcern>
  }
  /** Nobody can accept this. */
  | { readonly _tag: "Unusable"; readonly reason: string; readonly remedy: string }

interface CheckedFolder {
  readonly name: "project" | "ai" | "home"
  readonly label: string
}

const project: CheckedFolder = { name: "project", label: "the project's folder" }
const ai: CheckedFolder = { name: "ai", label: "its .ai" }
const home: CheckedFolder = { name: "home", label: "$KIWI_HOME" }

const uid = getuid?.()

const here = platformOf(platform())

const concerns = (stat: Stats | BigIntStats, { label, name }: CheckedFolder): ReadonlyArray<FolderConcern> => {
  if (uid === undefined) return []
  const mode = Number(stat.mode)
  const found: Array<FolderConcern> = []
  if (Number(stat.uid) !== uid) {
    found.push({ code: `${name}:owner:${stat.uid}`, sentence: `${label} belongs to another user (uid ${stat.uid})` })
  }
  // With the sticky bit everyone may add files, but nobody can replace others' files.
  if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) {
    found.push({ code: `${name}:writable`, sentence: `${label} can be written by everyone` })
  }
  return found
}

/**
 * Inode and time of birth. The device replaces the time of birth if the file system does not have it. Otherwise it is
 * not included, since many devices get another number at the next start.
 */
const identity = (stat: BigIntStats): string =>
  stat.birthtimeNs > 0n ? `${stat.ino}:${stat.birthtimeNs}` : `${stat.ino}@${stat.dev}`

/**
 * Whether an identity is unique: an inode is reused at once, and only the time of birth distinguishes the two folders.
 */
export const isUnique = (folder: string): boolean => folder.includes(":")

const tryStat = <A>(stat: () => A | undefined): A | "absent" | "unreadable" => {
  try {
    return stat() ?? "absent"
  } catch {
    return "unreadable"
  }
}

const statPath = (path: string) => tryStat(() => lstatSync(path, { throwIfNoEntry: false }))

const unusable = (reason: string, remedy: string): FolderReport => ({ _tag: "Unusable", reason, remedy })

export const inspectFolders = (paths: { readonly root: string; readonly ai: string; readonly home: string }) => {
  const rootStat = tryStat(() => lstatSync(paths.root, { bigint: true, throwIfNoEntry: false }))
  const [aiStat, homeStat] = [statPath(paths.ai), statPath(paths.home)]
  if (typeof rootStat === "string" || !rootStat.isDirectory()) {
    return unusable("its folder is gone or cannot be read", "Start Kiwi again in the folder that you mean")
  }
  if (aiStat === "unreadable" || (aiStat !== "absent" && !(typeof aiStat !== "string" && aiStat.isDirectory()))) {
    return unusable("its .ai is a link or not a folder", "Replace .ai with the folder itself")
  }
  if (
    homeStat === "unreadable" || (homeStat !== "absent" && !(typeof homeStat !== "string" && homeStat.isDirectory()))
  ) {
    return unusable(
      "$KIWI_HOME is a broken link or not a folder",
      "Point KIWI_HOME to a folder of your own, or unset it"
    )
  }
  return {
    _tag: "Usable",
    folder: identity(rootStat),
    concerns: [
      ...concerns(rootStat, project),
      ...(typeof aiStat === "string" ? [] : concerns(aiStat, ai)),
      ...(typeof homeStat === "string" ? [] : concerns(homeStat, home))
    ]
  } satisfies FolderReport
}

const maxFiles = 1_000
const maxDepth = 16

/** A control file as it is now. */
export type FoundControl =
  | { readonly _tag: "Read"; readonly path: string; readonly digest: string; readonly bytes: Uint8Array }
  | { readonly _tag: "Refused"; readonly path: string; readonly issue: string }

const kind = (path: string): "folder" | "other" | "absent" => {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? "absent" : stat.isDirectory() ? "folder" : "other"
  } catch {
    return "other"
  }
}

export interface InterpreterPlace {
  readonly kind: "Python" | "Node" | "version"
  /** Relative to the project, forward slashes. `..` leads to the folders above it in its checkout. */
  readonly path: string
  /** Files of the project that must exist, or the place is not an interpreter. */
  readonly needed?: ReadonlyArray<string>
}

const programsIn = (language: "Python" | "Node", folder: string): ReadonlyArray<InterpreterPlace> =>
  (language === "Python" ? [pythonIn(here)] : nodeIn(here))
    .map((inside) => ({ kind: language, path: [folder, ...inside].join("/") }))

const venvsIn = (folder: string): ReadonlyArray<InterpreterPlace> =>
  venvNames.map((name) => ({
    kind: "Python",
    path: [`${folder}${name}`, ...pythonIn(here)].join("/"),
    needed: neededIn(name).map((file) => `${folder}${name}/${file}`)
  }))

/** Every place in which EnvResolver looks for an interpreter of the project. */
const programs: ReadonlyArray<InterpreterPlace> = [
  ...["", ".ai/scripts/"].flatMap(venvsIn),
  ...["node_modules", ".ai/scripts/node_modules"].flatMap((folder) => programsIn("Node", folder))
]

const versionFiles = [".nvmrc", ".node-version", ".python-version", ".ruby-version", ".tool-versions"]

/** Files that choose a version, in the project and in every folder above it in its checkout. */
const versionsFrom = ({ checkout, root }: ProjectPlace): ReadonlyArray<InterpreterPlace> => {
  const found: Array<InterpreterPlace> = []
  for (let up = "", folder = root; isInside(checkout, folder); up += "../", folder = dirname(folder)) {
    found.push(...versionFiles.map((name) => ({ kind: "version", path: up + name } as const)))
    if (dirname(folder) === folder) break
  }
  return found
}

/** Where uv keeps the project's environment, if that is elsewhere in the checkout. */
const uvPlace = ({ checkout, root }: ProjectPlace, named: string | undefined): ReadonlyArray<InterpreterPlace> => {
  if (named === undefined || named === "") return []
  const folder = resolve(root, named)
  const isOurs = folder !== root && isInside(checkout, folder)
  return isOurs ? programsIn("Python", relative(root, folder).split(sep).join("/")) : []
}

/** Every place, whether it exists or not. `named`: the value of UV_PROJECT_ENVIRONMENT. */
export const interpreterPlaces = (at: ProjectPlace, named: string | undefined): ReadonlyArray<InterpreterPlace> => {
  const ofUv = uvPlace(at, named)
  return [...programs.filter(({ path }) => ofUv.every((one) => one.path !== path)), ...versionsFrom(at), ...ofUv]
}

/** True also for a link that leads nowhere in this process. */
export const isThere = (root: string, { needed = [], path }: Omit<InterpreterPlace, "kind">): boolean => {
  const file = join(root, path)
  return needed.every((one) => kind(join(root, one)) !== "absent") &&
    (kind(file) !== "absent" || processPath(file, HostFiles.node.readLink) !== undefined)
}

const refused = (path: string, issue: string): FoundControl => ({ _tag: "Refused", path, issue })

/** Paths below a control folder. Links and devices are included, so that they can be reported. */
export const below = (root: string, folder: string, depth: number): ReadonlyArray<string | FoundControl> =>
  depth > maxDepth ? [refused(folder, "it is nested too deeply")] : listFolder(join(root, folder)).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? below(root, path, depth + 1) : [path]
  })

const environmentFiles = (root: string, folder: string): ReadonlyArray<string> =>
  listFolder(join(root, folder)).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`
    return isEnvironmentFile(path) && !entry.isDirectory() ? [path] : []
  })

const candidates = (root: string): ReadonlyArray<string | FoundControl> => {
  const inControlFolder = (folder: string): ReadonlyArray<string | FoundControl> => {
    const is = kind(join(root, folder))
    if (is === "folder") return below(root, folder, 0)
    return is === "other" ? [refused(folder, "it is a link or not a folder")] : []
  }
  const found = [
    ...environmentFiles(root, ""),
    ...(kind(join(root, ".ai")) === "folder"
      ? [...environmentFiles(root, ".ai"), ...[".ai/config", ".ai/extractors"].flatMap(inControlFolder)]
      : [])
  ]
  return found.length <= maxFiles ? found : [
    ...found.slice(0, maxFiles),
    refused(".ai/config", `there are more than ${maxFiles} control files; the others are not used`)
  ]
}

/** Sorted by path. */
export const findControlFiles = Effect.fnUntraced(function*(files: SafeFiles["Service"], root: string) {
  const names = yield* Effect.sync(() => candidates(root))
  const found = yield* Effect.forEach(
    names,
    (name) => typeof name === "string" ? readControlFile(files, root, name) : Effect.succeed(name)
  )
  return found.filter((file) => file !== undefined).toSorted(Order.mapInput(Order.String, (file) => file.path))
})

export const readControlFile = Effect.fnUntraced(function*(files: SafeFiles["Service"], root: string, path: string) {
  const read = yield* Effect.result(files.read(root, path, { maxBytes: maxControlBytes }))
  if (Result.isFailure(read)) return refused(path, read.failure.detail)
  if (read.success === undefined) return undefined
  const conflict = mergeConflict(new TextDecoder().decode(read.success))
  if (conflict !== undefined) return refused(path, `it has a merge conflict in line ${conflict}`)
  return { _tag: "Read", path, digest: sha256(read.success), bytes: read.success } satisfies FoundControl
})

/** The names that a `.env` file sets, in order, without values. */
export const environmentNames = (bytes: Uint8Array): ReadonlyArray<string> => {
  const names = new Set<string>()
  for (const line of new TextDecoder().decode(bytes).split(/\r\n|\r|\n/)) {
    const match = /^\s{0,64}(?:export\s{1,64})?([A-Za-z_][A-Za-z0-9_.-]{0,127})\s{0,64}=/.exec(line)
    if (match !== null) names.add(match[1]!)
  }
  return [...names]
}
