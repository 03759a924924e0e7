// The mark that an acceptance leaves in a project: a secret in `.ai/cache/trust`, of which the decision keeps the digest.
// It goes where the folder goes, and a clone does not have it.
import { Clock, Effect, Result } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import type { SafeFiles } from "../../services/workspace/SafeFiles.ts"
import type { Project } from "../../services/workspace/Workspace.ts"
import { isSameState, isSettled, type Remembered, statOf } from "../files/believe.ts"
import { sha256 } from "../identity/sha256.ts"

const marks = ".ai/cache/trust"

export const makeFolderMark = (files: SafeFiles["Service"], project: Project) => {
  /** One for each home, so that none takes another's away. */
  const path = `${marks}/${sha256(project.id).slice(0, 16)}`
  let remembered: Remembered<string | undefined> | undefined

  /** The digest of the mark that is there. */
  const current = Effect.fnUntraced(function*() {
    const stat = statOf(join(project.root, path))
    if (stat === undefined) return undefined
    if (remembered !== undefined && isSameState(remembered.stat, stat)) return remembered.value
    const read = yield* Effect.result(files.read(project.root, path, { maxBytes: 1024 }))
    const value = Result.isSuccess(read) && read.success !== undefined ? sha256(read.success) : undefined
    const now = yield* Clock.currentTimeMillis
    if (isSettled(stat, now)) remembered = { stat, value }
    return value
  })

  /**
   * The digest of a new mark; `undefined` where none can be written. A new secret each time: an old one may have been
   * read, and one that lies there may have come with a repository.
   */
  const leave = Effect.fnUntraced(function*() {
    if (statOf(project.ai) === undefined) return undefined
    const secret = randomBytes(32).toString("hex")
    yield* files.write(project.root, `${marks}/.gitignore`, "*\n")
    yield* files.write(project.root, path, secret, { mode: 0o600 })
    return sha256(secret)
  }, Effect.orElseSucceed(() => undefined))

  return { current, leave, remove: Effect.ignore(files.remove(project.root, path)) }
}
