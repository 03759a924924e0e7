// Outputs as files with random names: below `<project>/.ai/outputs`, or below Kiwi's own state without a project. The
// folder is made by SafeFiles, so no component of it is a link; the file is created, never opened over another.
import { Clock, Duration, Effect, Layer, Option, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { maxOutputRange, outputId, OutputNotFound, Outputs, outputUri } from "../../services/primitive/Outputs.ts"
import { SafeFiles, WriteRefused } from "../../services/workspace/SafeFiles.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"

export interface OutputsOptions {
  /** How long an output is kept. */
  readonly keep: Duration.Input
}

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = Fs.constants

const refusal = (path: string) => (cause: unknown): WriteRefused => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return new WriteRefused({ path, issue: "no-space", detail: "the disk is full" })
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new WriteRefused({ path, issue: "read-only", detail: "the folder is not writable" })
    case "ELOOP":
      return new WriteRefused({ path, issue: "symlink", detail: "it is a link" })
    default:
      return new WriteRefused({ path, issue: "io", detail: code === "" ? "the file system refused" : code })
  }
}

export const make = Effect.fnUntraced(function*(options: OutputsOptions) {
  const files = yield* SafeFiles
  const workspace = yield* Workspace
  const { path, root } = Option.match(workspace.project, {
    onNone: () => ({ root: workspace.state, path: "outputs" }),
    onSome: (project) => ({ root: project.root, path: ".ai/outputs" })
  })
  const folder = Path.join(root, path)

  /** The folder, if nothing on the way to it is a link. */
  const realFolder = (): boolean => {
    try {
      return Fs.realpathSync(folder) === Path.join(Fs.realpathSync(root), path)
    } catch {
      return false
    }
  }

  const create = Effect.gen(function*() {
    yield* files.makeDirectory(root, path, { mode: 0o700 })
    const id = yield* Effect.sync(() => randomBytes(16).toString("hex"))
    const name = `${path}/${id}`
    const fd = yield* Effect.try({
      try: () => Fs.openSync(Path.join(folder, id), O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_NOFOLLOW, 0o600),
      catch: refusal(name)
    })
    let open = true
    const close = Effect.sync(() => {
      if (!open) return
      open = false
      Fs.closeSync(fd)
    })
    return {
      uri: outputUri(id),
      append: (bytes: Uint8Array) =>
        Effect.try({
          try: () => {
            for (let at = 0; at < bytes.length;) at += Fs.writeSync(fd, bytes, at)
          },
          catch: refusal(name)
        }),
      close,
      discard: Effect.andThen(close, Effect.ignore(files.remove(root, name)))
    }
  })

  const read = Effect.fnUntraced(
    function*(asked: string, range: { readonly offset: number; readonly length: number }) {
      const id = outputId(asked)
      const found = id === undefined ? undefined : yield* Effect.sync(() => {
        try {
          if (!realFolder()) return undefined
          const fd = Fs.openSync(Path.join(folder, id), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
          try {
            const stat = Fs.fstatSync(fd)
            if (!stat.isFile()) return undefined
            const offset = Math.min(Math.max(0, range.offset), stat.size)
            const bytes = new Uint8Array(Math.min(Math.max(0, range.length), maxOutputRange, stat.size - offset))
            const count = Fs.readSync(fd, bytes, 0, bytes.length, offset)
            return { bytes: bytes.subarray(0, count), total: stat.size }
          } finally {
            Fs.closeSync(fd)
          }
        } catch {
          return undefined
        }
      })
      return found ?? (yield* new OutputNotFound({ id: asked.slice(0, 64) }))
    }
  )

  /** Removes what is older than `keep`. What it cannot remove stays until the next time. */
  const sweep = Effect.gen(function*() {
    const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(Duration.fromInputUnsafe(options.keep))
    const names = yield* Effect.try(() => realFolder() ? Fs.readdirSync(folder) : [])
    for (const name of names) {
      if (outputId(name) === undefined) continue
      const file = Path.join(folder, name)
      yield* Effect.ignore(Effect.try(() => {
        const stat = Fs.lstatSync(file)
        if (stat.isFile() && stat.mtimeMs < before) Fs.unlinkSync(file)
      }))
    }
  }).pipe(Effect.ignore)
  yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("1 hour")))

  return Outputs.of({ create, read })
})

export const layer = (options: OutputsOptions) => Layer.effect(Outputs, make(options))
