// One project by its real path, and the random id under which $KIWI_HOME stores decisions about it. A home that cannot
// be written or trusted is not an error: the id then lasts as long as the process, and nothing is stored under it.
import { Effect, Layer, Option, Result, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { lstatSync, realpathSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProjectNotFound, Workspace } from "../../services/workspace/Workspace.ts"
import { sha256 } from "../identity/sha256.ts"
import { errorCode } from "../process/errorCode.ts"

const IndexEntry = Schema.fromJsonString(Schema.Struct({
  version: Schema.Literal(1),
  id: Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/)),
  root: Schema.String
}))
const decodeEntry = Schema.decodeUnknownResult(IndexEntry)

const realFolder = (dir: string): Result.Result<string, ProjectNotFound> => {
  try {
    const real = realpathSync.native(dir)
    if (statSync(real).isDirectory()) return Result.succeed(real)
    return Result.fail(new ProjectNotFound({ dir, detail: "it is not a folder" }))
  } catch (error) {
    const code = errorCode(error)
    const detail = code === "ENOENT"
      ? "there is no such folder"
      : code === "ELOOP"
      ? "it is a broken link"
      : code === "EACCES"
      ? "you have no permission to read it"
      : "it cannot be read"
    return Result.fail(new ProjectNotFound({ dir, detail }))
  }
}

const real = (path: string): string => Result.getOrElse(realFolder(path), () => path)

/**
 * The nearest folder from `start` upwards that has an `.ai`. The search ends at the home folder, which is never a
 * project since `~/.ai` is the user tier. Folders that contain the user space, and the root of the disk, are not
 * projects either.
 */
export const findProject = (start: string, home: Pick<KiwiHome["Service"], "userHome" | "userSpace">) =>
  Effect.sync(() => {
    for (let folder = real(start); folder !== home.userHome && dirname(folder) !== folder; folder = dirname(folder)) {
      const ai = join(folder, ".ai")
      if (lstatSync(ai, { throwIfNoEntry: false }) !== undefined && real(ai) !== home.userSpace) return folder
    }
    return undefined
  })

const entryOf = (root: string): string => `projects/index/${sha256(root)}.json`

/** Whether $KIWI_HOME has an entry for a project at this real path. Opens and writes nothing. */
export const isKnown = (root: string, { home }: Pick<KiwiHome["Service"], "home">) =>
  Effect.sync(() => lstatSync(join(home, entryOf(root)), { throwIfNoEntry: false }) !== undefined)

/** More projects than a person has. */
const mostProjects = 10_000

/** Every project that $KIWI_HOME has an entry for, by its real path; it may be gone. `state`: relative to $KIWI_HOME. */
export const listKnown = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  const entries = yield* Effect.orElseSucceed(files.list(home, "projects/index", mostProjects), () => [])
  const found = yield* Effect.forEach(
    entries ?? [],
    ({ name }) =>
      files.read(home, `projects/index/${name}`, { maxBytes: 65_536 }).pipe(
        Effect.map((bytes) => decodeEntry(new TextDecoder().decode(bytes))),
        Effect.orElseSucceed(() => undefined)
      )
  )
  return found.flatMap((entry) =>
    entry !== undefined && Result.isSuccess(entry)
      ? [{ root: entry.success.root, state: `projects/${entry.success.id}` }]
      : []
  )
})

export const make = Effect.fnUntraced(function*(dir: string | undefined) {
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  if (dir === undefined) {
    yield* Effect.ignore(files.makeDirectory(home, "user/cwd"))
    const state = join(home, "user")
    return Workspace.of({ project: Option.none(), state, cwd: join(state, "cwd") })
  }
  const root = yield* Effect.fromResult(realFolder(dir))

  const entry = entryOf(root)

  // An entry is only a pointer: a decision stored under an id names its project itself, so a forged entry grants
  // nothing.
  const recorded = Effect.gen(function*() {
    const bytes = yield* files.read(home, entry, { maxBytes: 65_536 })
    if (bytes === undefined) return undefined
    const decoded = decodeEntry(new TextDecoder().decode(bytes))
    return Result.isSuccess(decoded) && decoded.success.root === root ? decoded.success.id : undefined
  })

  const fresh = randomBytes(16).toString("hex")
  const content = JSON.stringify({ version: 1, id: fresh, root })

  const id = yield* Effect.gen(function*() {
    const found = yield* recorded
    if (found !== undefined) return found
    const first = yield* Effect.result(files.write(home, entry, content, { exclusive: true }))
    if (Result.isSuccess(first)) return fresh
    if (first.failure.issue !== "exists") return yield* first.failure
    const other = yield* recorded
    if (other !== undefined) return other
    yield* files.write(home, entry, content)
    return fresh
  }).pipe(Effect.orElseSucceed(() => fresh))
  yield* Effect.ignore(files.makeDirectory(home, `projects/${id}`))

  const state = join(home, "projects", id)
  return Workspace.of({ project: Option.some({ id, root, ai: join(root, ".ai"), state }), state, cwd: root })
})

/** `dir` as the person or the client wrote it. Undefined for a kernel without a project. */
export const layer = (dir: string | undefined) => Layer.effect(Workspace, make(dir))
