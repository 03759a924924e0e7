// Remembered rules in `$KIWI_HOME/projects/<id>/remembered-rules.json`. As with every decision, the file counts only if
// this user wrote it and nobody else could. An invalid file settles nothing, so that everything is asked again, and is
// not overwritten.
import { Effect, Layer, Schema } from "effect"
import { join, relative } from "node:path"
import { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { RememberedRule, RememberedRules } from "../../services/permission/RememberedRules.ts"
import { decodeControl } from "../../services/workspace/controlFile.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Readings } from "../files/believe.ts"
import { isRunning } from "../process/isRunning.ts"
import { splitRemoved, withAdded } from "./rememberedList.ts"

const RulesFile = Schema.Struct({ version: Schema.Literal(1), rules: Schema.Array(RememberedRule) })

const maxBytes = 4_194_304

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const { state } = yield* Workspace
  const files = yield* SafeFiles
  const { withLock } = yield* ProcessLock
  const path = join(relative(home, state), "remembered-rules.json")
  const readings = new Readings<ReadonlyArray<RememberedRule>>()

  /** Fails with what is wrong with the file. */
  const load = Effect.gen(function*() {
    const bytes = yield* Effect.mapError(files.read(home, path, { maxBytes, own: true }), (error) => error.detail)
    if (bytes === undefined) return []
    const { rules } = yield* Effect.mapError(
      decodeControl(bytes, RulesFile, maxBytes),
      (error) => `it is not what Kiwi writes: ${error.message}`
    )
    return rules
  })

  const current = Effect.map(
    readings.getEffect(join(home, path), Effect.orElseSucceed(load, (): ReadonlyArray<RememberedRule> => [])),
    (rules) => rules ?? []
  )

  const refused = (detail: string, cause?: WriteRefused["cause"]) =>
    new WriteRefused({ path, issue: "io", detail, ...(cause === undefined ? {} : { cause }) })

  const change = <A>(
    next: (known: ReadonlyArray<RememberedRule>) => readonly [rules: ReadonlyArray<RememberedRule>, answer: A]
  ) =>
    withLock(state, "remembered-rules")(Effect.gen(function*() {
      const known = yield* Effect.mapError(load, (detail) => refused(`the existing file cannot be used: ${detail}`))
      const [rules, answer] = next(known)
      if (rules.length !== known.length || rules.some((rule, index) => rule !== known[index])) {
        yield* files.write(home, path, JSON.stringify({ version: 1, rules } satisfies typeof RulesFile.Encoded))
      }
      return answer
    })).pipe(
      Effect.catchTag(["LockTimeout", "LockUnavailable"], (error) => Effect.fail(refused(error.message, error)))
    )

  return RememberedRules.of({
    current,
    add: (added) => change((known) => [withAdded(known, added, isRunning), undefined]),
    remove: (ids) =>
      change((known) => {
        const { kept, removed } = splitRemoved(known, ids)
        return [kept, removed]
      })
  })
})

export const layer = Layer.effect(RememberedRules, make)
