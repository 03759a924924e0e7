// Outputs as files with random names: below `<project>/.ai/outputs` or, without a project, below Kiwi's own state.
// SafeFiles creates the folder, so no component of its path is a link. A file is always created and never opened over
// another.
import { Clock, Duration, Effect, Layer, Option, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { maxOutputRange, outputId, OutputNotFound, Outputs, outputUri } from "../../services/primitive/Outputs.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { statOf } from "../files/believe.ts"
import { listFolder } from "../files/listFolder.ts"
import { fill, openRegular, withRegular } from "../files/readRegular.ts"
import { asWrite } from "../files/refused.ts"

export interface OutputsOptions {
  /** How long an output is kept. */
  readonly keep: Duration.Input
}

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = Fs.constants
const bounds = { maxBytes: Infinity, follow: false }

export const make = Effect.fnUntraced(function*(options: OutputsOptions) {
  const files = yield* SafeFiles
  const workspace = yield* Workspace
  const { path, root } = Option.match(workspace.project, {
    onNone: () => ({ root: workspace.state, path: "outputs" }),
    onSome: (project) => ({ root: project.root, path: ".ai/outputs" })
  })
  const folder = Path.join(root, path)

  const create = Effect.gen(function*() {
    yield* files.makeDirectory(root, path, { mode: 0o700 })
    const id = yield* Effect.sync(() => randomBytes(16).toString("hex"))
    const name = `${path}/${id}`
    const { descriptor } = yield* Effect.try({
      try: () => openRegular(Path.join(folder, id), bounds, O_CREAT | O_EXCL | O_WRONLY | O_APPEND),
      catch: asWrite(name)
    })
    let open = true
    const close = Effect.sync(() => {
      if (!open) return
      open = false
      Fs.closeSync(descriptor)
    })
    return {
      uri: outputUri(id),
      append: (bytes: Uint8Array) =>
        Effect.try({
          try: () => {
            for (let at = 0; at < bytes.length;) at += Fs.writeSync(descriptor, bytes, at)
          },
          catch: asWrite(name)
        }),
      close,
      discard: Effect.andThen(close, Effect.ignore(files.remove(root, name)))
    }
  })

  const read = Effect.fnUntraced(
    function*(asked: string, range: { readonly offset: number; readonly length: number }) {
      const missing = () => new OutputNotFound({ id: asked.slice(0, 64) })
      const id = outputId(asked)
      if (id === undefined) return yield* missing()
      return yield* Effect.try({
        try: () =>
          withRegular(Path.join(folder, id), bounds, ({ descriptor, stat }) => {
            const total = Number(stat.size)
            const offset = Math.min(Math.max(0, range.offset), total)
            const length = Math.min(Math.max(0, range.length), maxOutputRange, total - offset)
            return { bytes: fill(descriptor, Buffer.allocUnsafeSlow(length), offset), total }
          }),
        catch: missing
      })
    }
  )

  /** Removes outputs older than `keep`. What cannot be removed is left for the next time. */
  const sweep = Effect.gen(function*() {
    const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(Duration.fromInputUnsafe(options.keep))
    for (const { name } of listFolder(folder)) {
      const stat = outputId(name) === undefined ? undefined : statOf(Path.join(folder, name))
      if (stat?.isFile() !== true || Number(stat.mtimeMs) >= before) continue
      yield* Effect.ignore(files.remove(root, `${path}/${name}`))
    }
  })
  yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("1 hour")))

  return Outputs.of({ create, read })
})

export const layer = (options: OutputsOptions) => Layer.effect(Outputs, make(options))
