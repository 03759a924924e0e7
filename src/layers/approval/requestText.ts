// What a person is shown of a call, as text of a fixed form. Foreign text is JSON on indented lines, so nothing in it
// looks like a line of Kiwi's.
import type { Schema } from "effect"
import { Redacted } from "effect"
import { guardedIn, unusualIn } from "../../services/approval/unusual.ts"
import { mark, redactShown, redactText } from "../../services/audit/redaction.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { showAccess } from "../../services/capability/Access.ts"
import { exactText } from "../../services/error/exactText.ts"
import { safeLine } from "../../services/error/safeText.ts"
import type { Ask } from "../../services/permission/PermissionGate.ts"
import type { Preview } from "../../services/primitive/Primitive.ts"
import { isJsonArray, isJsonObject } from "../../services/schema/json.ts"
import type { Secrets } from "../call/secrets.ts"
import { sha256 } from "../identity/sha256.ts"

export interface RequestText {
  readonly details: string
  /** The same with long contents by their ends. Undefined if there are none, or something else than access decides. */
  readonly brief: string | undefined
  readonly unreadable: ReadonlyArray<string>
}

/** A value longer than this is not read by anybody: its ends, its size and its digest stand for it. In characters. */
const readable = 64 * 1_024
const endsShown = 1_000

interface Hidden {
  /** "body/token" */
  readonly path: string
  readonly value: Schema.Json
}

/** What was redacted by the name of its parameter. */
const hiddenIn = (value: Schema.Json, shown: Schema.Json, path = ""): ReadonlyArray<Hidden> => {
  if (shown === mark) return value === mark ? [] : [{ path, value }]
  const below = (name: string | number) => path === "" ? String(name) : `${path}/${name}`
  if (isJsonArray(value)) {
    return value.flatMap((one, at) => hiddenIn(one, isJsonArray(shown) ? shown[at] ?? null : null, below(at)))
  }
  if (!isJsonObject(value)) return []
  // The names may be redacted too, but not their order.
  const others = isJsonObject(shown) ? Object.entries(shown) : []
  return Object.values(value).flatMap((one, at) => hiddenIn(one, others[at]?.[1] ?? null, below(others[at]?.[0] ?? at)))
}

const mostHidden = 20

/** A shorter secret could be guessed from its digest. In characters. */
const guessable = 64

const hiddenNote = ({ path, value }: Hidden): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  const digest = text.length < guessable ? "" : ` with the SHA-256 ${sha256(text)}`
  return `${exactText(path === "" ? "the whole" : path)}: a secret, ${text.length} characters${digest}`
}

const line = (text: string): string => safeLine(text, 8_192)

const indented = (text: string): string => text.split("\n").map((one) => `  ${one}`).join("\n")

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [`${title}:`, ...lines]

/** A short value takes one line, since some dialogs show few. In characters. */
const oneLine = 150

/** Within JSON texts a line end is escaped, so every one that is found here stands between values. */
const parametersSection = (text: string): ReadonlyArray<string> => {
  const short = text.length > oneLine ? "" : text.replaceAll(/\n */g, " ")
  return short === "" ? section("Parameters", [indented(text)]) : [`Parameters: ${short}`]
}

const showCaller = ({ client, label, profile, session, surface }: Caller): string =>
  `${line(client)} by ${surface}${label === undefined ? "" : `, which calls itself ${JSON.stringify(line(label))}`}` +
  `${profile === undefined ? "" : `, with the profile ${line(profile)}`}, session ${line(session)}`

/** Whole if somebody can read it. */
const showText = (text: string): { readonly text: string; readonly isWhole: boolean } => {
  if (text.length <= readable) return { text, isWhole: true }
  return {
    isWhole: false,
    text: [
      text.slice(0, endsShown).toWellFormed(),
      `… ${text.length} characters in all, with the SHA-256 ${sha256(text)}. It ends with:`,
      text.slice(-endsShown).toWellFormed()
    ].join("\n")
  }
}

const show = (value: Schema.Json) => showText(JSON.stringify(value, null, 2))

/** A content up to this length is shown whole, in characters. */
const shortContent = 300

const longContents = (given: Schema.Json, names: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> =>
  names.flatMap((name) => {
    const text = isJsonObject(given) && Object.hasOwn(given, name) ? given[name] : undefined
    return typeof text === "string" && text.length > shortContent ? [[name, text]] : []
  })

const omit = (given: Schema.Json, names: ReadonlySet<string>): Schema.Json =>
  isJsonObject(given) ? Object.fromEntries(Object.entries(given).filter(([name]) => !names.has(name))) : given

const countLines = (text: string): string => {
  const count = text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
  return count === 1 ? "1 line" : `${count} lines`
}

const contentEnds = (name: string, text: string): ReadonlyArray<string> => [
  `${name}: ${text.length} characters in ${countLines(text)}, SHA-256 ${sha256(text)}`,
  `  begins: ${JSON.stringify(text.slice(0, 50).toWellFormed())}`,
  `  ends: ${JSON.stringify(text.slice(-30).toWellFormed())}`
]

/** A preview in a line: how much a diff adds and removes. */
const summary = (preview: string): string => {
  const lines = preview.split("\n")
  if (lines.length === 1) return line(preview)
  const of = (sign: string) => lines.slice(2).filter((one) => one.startsWith(sign)).length
  return `adds ${of("+")} lines and removes ${of("-")}`
}

/** Foreign lines, each with a mark before it. */
const marked = (text: string): string => text.split("\n").map((one) => `  | ${exactText(one)}`).join("\n")

/**
 * `about`: lines that say what it is. `parameters` are redacted here. `plan`: what would run, with secrets named. `preview`: the same in the
 * tool's own words, if it has some.
 */
export const requestText = (request: {
  readonly caller: Caller
  readonly about: ReadonlyArray<readonly [name: string, text: string]>
  readonly asks: ReadonlyArray<Ask>
  readonly parameters: Schema.Json
  readonly plan?: Schema.Json | undefined
  readonly preview?: Preview | undefined
  readonly secrets: Secrets
}): RequestText => {
  const given = redactShown(request.parameters, request.secrets)
  const parameters = show(given)
  const hidden = hiddenIn(request.parameters, given)
  // A plan has them without the name.
  const named = hidden.flatMap(({ value }) => typeof value === "string" ? [Redacted.make(value)] : [])
  const secrets = [...request.secrets, ...named]
  const preview = request.preview === undefined ? undefined : showText(redactText(request.preview.text, secrets))
  const plan = request.plan === undefined || preview !== undefined
    ? undefined
    : show(redactShown(request.plan, secrets))
  const head = [
    ...request.about.map(([name, text]) => `${name}: ${line(text)}`),
    `Caller: ${showCaller(request.caller)}`,
    ...section(
      "What it would touch",
      request.asks.map(({ access, reason, rule }) =>
        `- ${line(redactText(showAccess(access), request.secrets))}: ${line(reason)} (rule: ${line(rule)})`
      )
    ),
    ...section(
      "Look twice",
      [
        ...guardedIn(request.asks.map(({ access }) => access)),
        ...hidden.slice(0, mostHidden).map(hiddenNote),
        ...(hidden.length > mostHidden ? [`and ${hidden.length - mostHidden} more secrets`] : []),
        ...unusualIn(given)
      ].map((note) => `! ${line(note)}`)
    )
  ]
  const details = [
    ...head,
    ...parametersSection(parameters.text),
    ...section("Would run", plan === undefined ? [] : [indented(plan.text)]),
    ...section("Would do", preview === undefined ? [] : [marked(preview.text)])
  ].join("\n")
  // An answer that makes a rule would allow any content there, so a person need not read all of this one.
  const contents = request.asks.every(({ offer }) => offer !== undefined)
    ? longContents(given, request.preview?.contents ?? [])
    : []
  const names = new Set(contents.map(([name]) => name))
  const brief = contents.length === 0 ? undefined : [
    ...head.filter((one) => one !== ""),
    `Parameters: ${JSON.stringify(omit(given, names))}`,
    ...contents.flatMap(([name, text]) => contentEnds(name, text)),
    ...(preview === undefined ? [] : [`Would do: ${summary(preview.text)}`])
  ].join("\n")
  return {
    details,
    brief,
    unreadable: [
      ...(parameters.isWhole ? [] : ["parameters"]),
      ...((preview ?? plan)?.isWhole === false ? ["plan"] : [])
    ]
  }
}
