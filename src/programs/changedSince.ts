// Control files and locks of a project that differ from those of a commit: a reviewer has to read these even if
// everything is signed. Bytes are compared as they are, without git's filters.
import { Effect } from "effect"
import { below, findControlFiles, readControlFile } from "../layers/trust/projectFolder.ts"
import type { FoundControl } from "../layers/trust/projectFolder.ts"
import { SafeFiles } from "../services/files/SafeFiles.ts"
import { GitTree } from "../services/git/GitTree.ts"
import { isControlPath } from "../services/trust/TrustDecision.ts"

export interface ChangedFile {
  readonly path: string
  readonly kind: "control" | "lockfile"
  readonly change: "added" | "changed" | "removed"
}

export interface ChangedSince {
  readonly ref: string
  readonly commit: string
  readonly changed: ReadonlyArray<ChangedFile>
}

const locks = ".ai/lockfiles"

const kindOf = (path: string): ChangedFile["kind"] | undefined =>
  isControlPath(path)
    ? "control"
    : path.startsWith(`${locks}/`) && path.endsWith(".lock.json")
    ? "lockfile"
    : undefined

const findLocks = Effect.fnUntraced(function*(root: string) {
  const files = yield* SafeFiles
  const names = yield* Effect.sync(() => below(root, locks, 0))
  const found = yield* Effect.forEach(names, (name) =>
    typeof name === "string" && kindOf(name) === "lockfile"
      ? readControlFile(files, root, name)
      : Effect.succeed(typeof name === "string" ? undefined : name))
  return found.filter((file) => file !== undefined)
})

const isSame = (now: FoundControl, then: Uint8Array | undefined): boolean =>
  now._tag === "Read" && then !== undefined && Buffer.compare(now.bytes, then) === 0

/** `root` is the project's real path. */
export const changedSince = Effect.fn("changedSince")(function*(root: string, ref: string) {
  const tree = yield* GitTree
  const { commit, files: before } = yield* tree.read(root, ref, (path) => kindOf(path) !== undefined)
  const found = [...yield* findControlFiles(yield* SafeFiles, root), ...yield* findLocks(root)]
  const now = new Map(found.map((file) => [file.path, file]))
  const changed = [...new Set([...now.keys(), ...before.keys()])].toSorted().flatMap(
    (path): ReadonlyArray<ChangedFile> => {
      const [is, was] = [now.get(path), before.get(path)]
      const kind = kindOf(path) ?? "control"
      if (is === undefined) return [{ path, kind, change: "removed" }]
      if (was === undefined) return [{ path, kind, change: "added" }]
      return isSame(is, was.bytes) ? [] : [{ path, kind, change: "changed" }]
    }
  )
  return { ref, commit, changed } satisfies ChangedSince as ChangedSince
})
