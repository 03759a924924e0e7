// What a person is shown of a call, as text of a fixed form. Foreign text is JSON on indented lines, so nothing in it
// looks like a line of Kiwi's.
import type { Schema } from "effect"
import { Redacted } from "effect"
import { unusualIn } from "../../services/approval/unusual.ts"
import { mark, redactParameters } from "../../services/audit/redaction.ts"
import { redactUrls } from "../../services/audit/urlSecrets.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { showAccess } from "../../services/capability/Access.ts"
import { safeLine } from "../../services/error/safeText.ts"
import type { Ask } from "../../services/permission/PermissionGate.ts"
import { isJsonArray, isJsonObject } from "../../services/schema/json.ts"
import type { Secrets } from "../call/secrets.ts"
import { sha256 } from "../identity/sha256.ts"

export interface RequestText {
  readonly details: string
  readonly unreadable: ReadonlyArray<string>
}

/** A value longer than this is not read by anybody: its ends, its size and its digest stand for it. In characters. */
const readable = 64 * 1_024
const endsShown = 1_000

/** The texts that were redacted by the name of their parameter: a plan has them without the name. */
const hiddenIn = (value: Schema.Json, shown: Schema.Json): Secrets => {
  if (typeof value === "string") return shown === mark ? [Redacted.make(value)] : []
  if (isJsonArray(value)) {
    return value.flatMap((one, at) => hiddenIn(one, isJsonArray(shown) ? shown[at] ?? null : null))
  }
  if (!isJsonObject(value)) return []
  // The names may be redacted too, but not their order.
  const others = isJsonObject(shown) ? Object.values(shown) : []
  return Object.values(value).flatMap((one, at) => hiddenIn(one, others[at] ?? null))
}

const line = (text: string): string => safeLine(text, 8_192)

const indented = (text: string): string => text.split("\n").map((one) => `  ${one}`).join("\n")

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : ["", `${title}:`, ...lines]

const showCaller = ({ client, label, session, surface }: Caller): string =>
  `${line(client)} by ${surface}${label === undefined ? "" : `, which calls itself ${JSON.stringify(line(label))}`}` +
  `, session ${line(session)}`

/** JSON, whole if somebody can read it. */
const show = (value: Schema.Json): { readonly text: string; readonly isWhole: boolean } => {
  const text = JSON.stringify(value, null, 2)
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

/**
 * `about`: lines that say what it is. `parameters` are redacted here. `plan`: what would run, with secrets named.
 */
export const requestText = (request: {
  readonly caller: Caller
  readonly about: ReadonlyArray<readonly [name: string, text: string]>
  readonly asks: ReadonlyArray<Ask>
  readonly parameters: Schema.Json
  readonly plan?: Schema.Json | undefined
  readonly secrets: Secrets
}): RequestText => {
  const given = redactParameters(request.parameters, request.secrets)
  const parameters = show(given)
  const secrets = [...request.secrets, ...hiddenIn(request.parameters, given)]
  const plan = request.plan === undefined ? undefined : show(redactParameters(request.plan, secrets))
  const details = [
    ...request.about.map(([name, text]) => `${name}: ${line(text)}`),
    `Caller: ${showCaller(request.caller)}`,
    ...section(
      "What it would touch",
      request.asks.map(({ access, reason, rule }) =>
        `- ${line(redactUrls(showAccess(access)))}: ${line(reason)} (rule: ${line(rule)})`
      )
    ),
    ...section("Look twice", unusualIn(given).map((note) => `! ${line(note)}`)),
    ...section("Parameters", [indented(parameters.text)]),
    ...section("Would run", plan === undefined ? [] : [indented(plan.text)])
  ].join("\n")
  return {
    details,
    unreadable: [...(parameters.isWhole ? [] : ["parameters"]), ...(plan?.isWhole === false ? ["plan"] : [])]
  }
}
