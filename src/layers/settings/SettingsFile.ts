// Settings from `config/kiwi.yaml` of user and project. The user's file may be a link, as dotfiles often are. The
// project's is read only through ProjectTrust, which says what of it may loosen and what can only tighten.
import { Effect, Layer, Result } from "effect"
import { defaults } from "../../services/settings/definitions.ts"
import { interpret, type Interpreted } from "../../services/settings/interpretSettings.ts"
import { Settings, type SettingsProblem, type SettingsValues } from "../../services/settings/Settings.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import {
  type ControlInvalid,
  maxControlBytes,
  parseControlYaml,
  type YamlNode
} from "../../services/workspace/controlYaml.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { readRegular, type Unread } from "../files/readRegular.ts"
import { readUserControl } from "../workspace/userControl.ts"

const projectPath = ".ai/config/kiwi.yaml"
const userPath = "config/kiwi.yaml"
const userFile = `user:${userPath}`
const projectFile = "project:config/kiwi.yaml"

interface Parsed {
  readonly bytes: Uint8Array
  readonly result: Result.Result<YamlNode, ControlInvalid>
}

const wrong: Record<Exclude<Unread, "absent">, string> = {
  "not-a-file": "it is not a regular file",
  "too-large": "it is too large",
  unreadable: "it cannot be read"
}

/** Reads a regular file of limited size, following links. Fails with the reason. */
export const readOwn = (path: string): Result.Result<Uint8Array | undefined, string> => {
  const read = readRegular(path, { maxBytes: maxControlBytes, follow: true })
  if (Result.isSuccess(read)) return Result.succeed(read.success)
  return read.failure === "absent" ? Result.succeed(undefined) : Result.fail(wrong[read.failure])
}

interface Read extends Interpreted {
  /** Why nothing of the file applies. */
  readonly unusable?: SettingsProblem
}

const unreadable = (
  base: SettingsValues,
  file: string,
  line: number,
  issue: string,
  hint = "None of it applies until it is fixed"
): Read => {
  const unusable = { file, line, issue, hint }
  return { values: base, problems: [unusable], loosens: [], unusable }
}

export const make = Effect.gen(function*() {
  const home = yield* KiwiHome
  const trust = yield* ProjectTrust
  const last = new Map<string, Parsed>()

  /** Caches the parsed text: a stranger's file can be slow to parse, and is checked every second. */
  const parse = Effect.fnUntraced(function*(slot: string, bytes: Uint8Array) {
    const known = last.get(slot)
    if (known !== undefined && Buffer.compare(known.bytes, bytes) === 0) return known.result
    const result = yield* Effect.result(parseControlYaml(bytes))
    last.set(slot, { bytes, result })
    return result
  })

  const over = Effect.fnUntraced(function*(
    slot: string,
    bytes: Uint8Array,
    base: SettingsValues,
    file: string,
    narrow: boolean
  ): Effect.fn.Return<Read> {
    const parsed = yield* parse(slot, bytes)
    if (Result.isSuccess(parsed)) return interpret(parsed.success, base, file, narrow, file === userFile)
    const [{ issue, line }] = parsed.failure.issues
    return unreadable(base, file, line, issue)
  })

  const readUser = Effect.gen(function*() {
    const read = yield* Effect.sync(() => readUserControl(home, userPath))
    if (Result.isFailure(read)) return unreadable(defaults, userFile, 1, read.failure.issue, read.failure.hint)
    return read.success === undefined
      ? { values: defaults, problems: [], loosens: [] } satisfies Read as Read
      : yield* over("user", read.success, defaults, userFile, false)
  })

  let warned: string | undefined

  /** A file that does not apply at all is also said where nobody asks: it may be what keeps a tool from running. */
  const ofUser = Effect.tap(readUser, ({ unusable }) => {
    const before = warned
    warned = unusable === undefined ? undefined : `${unusable.file}, line ${unusable.line}: ${unusable.issue}`
    return warned === undefined || warned === before
      ? Effect.void
      : Effect.logWarning(`None of your settings apply: ${warned}. ${unusable?.hint ?? ""}`)
  })

  const load = Effect.gen(function*() {
    const user = yield* ofUser
    const problems = [...user.problems]
    let values = user.values
    const accepted = yield* trust.readControl(projectPath)
    if (accepted !== undefined) {
      const all = yield* over("project", accepted, values, projectFile, false)
      return { values: all.values, problems: [...problems, ...all.problems] }
    }
    const narrowing = yield* Effect.result(trust.readNarrowing(projectPath))
    if (Result.isFailure(narrowing)) {
      const issue = narrowing.failure.reason
      problems.push({ file: projectFile, line: 1, issue, hint: narrowing.failure.remediation })
      return { values, problems }
    }
    for (const [index, text] of narrowing.success.entries()) {
      const some = yield* over(`narrowing ${index}`, text, values, projectFile, true)
      values = some.values
      // Nobody has accepted this text, so messages give its line numbers and never quote it.
      const hint = "kiwi trust project"
      const unclear = some.problems.map(({ line }) => ({
        file: projectFile,
        line,
        issue: "this line sets nothing, and nobody has accepted this file as it is",
        hint
      }))
      const held = some.loosens.map(({ key, line }) => ({
        file: projectFile,
        line,
        issue: `${key} does not apply: it is not stricter, and nobody has accepted this file as it is`,
        hint
      }))
      problems.push(...unclear, ...held)
    }
    return { values, problems }
  })

  const cached = yield* Effect.cachedWithTTL(load, "1 second")
  return Settings.of({
    current: Effect.map(cached, ({ values }) => values),
    problems: Effect.map(cached, ({ problems }) => problems)
  })
})

export const layer = Layer.effect(Settings, make)
