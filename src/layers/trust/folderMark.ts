// The mark that an acceptance leaves in a project: a secret in `.ai/cache/trust`, whose digest is in the decision. It
// moves with the folder, and a clone does not have it.
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import type { SafeFiles } from "../../services/files/SafeFiles.ts"
import type { Project } from "../../services/workspace/Workspace.ts"
import { Readings, statOf } from "../files/believe.ts"
import { sha256 } from "../identity/sha256.ts"

const marks = ".ai/cache/trust"

export const makeFolderMark = (files: SafeFiles["Service"], project: Project) => {
  /** One for each home, so that no home removes another's. */
  const path = `${marks}/${sha256(project.id).slice(0, 16)}`
  const readings = new Readings<string | undefined>()

  /** The digest of the current mark. */
  const current = readings.getEffect(
    join(project.root, path),
    files.read(project.root, path, { maxBytes: 1024 }).pipe(
      Effect.map((bytes) => bytes === undefined ? undefined : sha256(bytes)),
      Effect.orElseSucceed(() => undefined)
    )
  )

  /**
   * Writes a new mark and returns its digest. Undefined if it cannot be written. The secret is new each time: the old
   * one may have been read, and an existing file may have come with a repository.
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
