// Commits in memory, by the name in the query: a branch, a tag, an object name.
import { Effect, Layer } from "effect"
import type { CommitFiles } from "../../services/git/GitTree.ts"
import { GitRefUnreadable, GitTree } from "../../services/git/GitTree.ts"

/** Files of commits by path from the repository's root; one record for each name. */
export type MemoryCommits = Readonly<Record<string, Readonly<Record<string, string | Uint8Array>>>>

export const make = (commits: MemoryCommits) =>
  GitTree.of({
    read: Effect.fnUntraced(function*(_, ref, wanted): Effect.fn.Return<CommitFiles, GitRefUnreadable> {
      const files = Object.hasOwn(commits, ref) ? commits[ref] : undefined
      if (files === undefined) return yield* new GitRefUnreadable({ ref, issue: "missing", detail: "" })
      const entries = Object.entries(files).filter(([path]) => wanted(path)).map(([path, content]) =>
        [path, { bytes: typeof content === "string" ? new TextEncoder().encode(content) : content }] as const
      )
      return { commit: ref, files: new Map(entries) }
    })
  })

export const layerWith = (commits: MemoryCommits) => Layer.succeed(GitTree, make(commits))

/** No commits. */
export const layer = layerWith({})
