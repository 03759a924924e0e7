// Where the path of a file tool leads, as an access; and back: what was allowed, as a place to open. A tool opens only
// what was allowed, through SafeFiles, which follows no link: a path that leads elsewhere by then is refused.
import { Effect, Option } from "effect"
import type { PathAccess, PathCapability } from "../../services/capability/Access.ts"
import type { Access } from "../../services/capability/Access.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import type { FileStat } from "../../services/files/SafeFiles.ts"
import { FileAbsent, PathProtected, PathUnusable } from "../../services/filesystem/fileErrors.ts"
import { protection } from "../../services/permission/protectedNames.ts"
import type { PrimitiveInput } from "../../services/primitive/Primitive.ts"
import { BuiltinFailed } from "../../services/primitive/PrimitiveErrors.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { isInside } from "../files/isInside.ts"

export type FileServices = SafeFiles | Workspace | KiwiHome

export interface Found {
  readonly access: PathAccess
  readonly stat: FileStat | undefined
}

const ofTheSystem = ["/proc", "/sys", "/dev"]

const refuse = (path: string, issue: string, hint: string) => new PathUnusable({ path, issue, hint })

/** The real path, as an access. Kiwi's own folder and the system's are refused. */
export const locate = Effect.fnUntraced(function*(
  path: string,
  capability: PathCapability,
  last: "followed" | "kept" = "followed"
) {
  const files = yield* SafeFiles
  const { cwd, project } = yield* Workspace
  const { home } = yield* KiwiHome
  if (Option.isNone(project) && !path.startsWith("/")) {
    return yield* refuse(path, "there is no project that it could be in", "Give an absolute path, or open a project")
  }
  const root = Option.match(project, { onNone: () => cwd, onSome: (one) => one.root })
  const found = yield* files.realPath(root, path, { last })
  const absolute = found.path.startsWith("/") ? found.path : `${root}/${found.path}`
  if (isInside(home, absolute)) {
    return yield* refuse(path, "Kiwi keeps its own data there", "No tool reads or changes it")
  }
  if (ofTheSystem.some((folder) => isInside(folder, absolute))) {
    return yield* refuse(path, "it belongs to the operating system", "Only files on a disk can be used")
  }
  return { access: { _tag: "Path", capability, path: found.path }, stat: found.stat } satisfies Found as Found
})

/** The accesses of a change at a place: an item's file needs `kiwi.write` too. Protected names are refused. */
export const change = (access: PathAccess): Effect.Effect<ReadonlyArray<Access>, PathProtected> => {
  const found = protection(access.path)
  if (found === undefined) return Effect.succeed([access])
  return found.by === "kiwi.write"
    ? Effect.succeed([access, { _tag: "Plain", capability: "kiwi.write" }])
    : Effect.fail(new PathProtected({ path: access.path, why: found.why, byGit: found.by === "git" }))
}

/** Something to open: a folder that SafeFiles starts from, and a path below it. */
export interface Place {
  readonly root: string
  readonly path: string
  /** As in the access, for answers and messages. */
  readonly shown: string
}

export const placeOf = ({ path }: Pick<PathAccess, "path">) =>
  Effect.map(Workspace, ({ cwd, project }): Place =>
    path.startsWith("/")
      ? { root: "/", path: path === "/" ? "." : path.slice(1), shown: path }
      : { root: Option.match(project, { onNone: () => cwd, onSome: ({ root }) => root }), path, shown: path })

export const notAFile = (path: string) => refuse(path, "it is a folder", "See what it has with filesystem.list")

/** What was allowed, in the order in which the tool asked for it. */
export const allowed = Effect.fnUntraced(function*(input: PrimitiveInput, capability: PathCapability) {
  const paths = (input.accesses ?? []).filter((access) => access._tag === "Path")
  const places = yield* Effect.forEach(paths.filter((access) => access.capability === capability), placeOf)
  const [first, ...rest] = places
  if (first !== undefined) return [first, ...rest] as const
  return yield* new BuiltinFailed({
    tool: input.tool,
    issue: "no path was allowed",
    hint: "A file tool runs only as a call of its tool"
  })
})

export const absent = ({ shown }: Place) => new FileAbsent({ path: shown })

/** Whether a file that was found on the way may be read too. */
export const mayRead = ({ mayAlso }: PrimitiveInput, path: string) =>
  mayAlso === undefined
    ? Effect.succeed(false)
    : Effect.map(mayAlso({ _tag: "Path", capability: "fs.read", path }), (standing) => standing === "allowed")

export const joined = (folder: string, name: string): string =>
  folder === "." ? name : folder === "/" ? `/${name}` : `${folder}/${name}`

const mostBelow = 1_000

/** Everything below a folder, each folder before what it has. Links are not followed. */
export const below = Effect.fnUntraced(function*(place: Place) {
  const files = yield* SafeFiles
  const all: Array<{ readonly path: string; readonly kind: FileStat["kind"] }> = []
  const waiting = [place.path]
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    for (const { kind, name } of (yield* files.list(place.root, folder, mostBelow + 1)) ?? []) {
      const path = joined(folder, name)
      all.push({ path: place.root === "/" ? `/${path}` : path, kind })
      if (all.length > mostBelow) {
        return yield* refuse(place.shown, `it has more than ${mostBelow} files`, "Take its folders one by one")
      }
      if (kind === "folder") waiting.push(path)
    }
  }
  return all
})
