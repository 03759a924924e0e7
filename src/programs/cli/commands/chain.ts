// chain: what a tool is built on.
import { Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { safeLine } from "../../../services/error/safeText.ts"
import type { DrawnChain, DrawnLink, DrawnValue } from "../../chain.ts"
import { chain } from "../../chain.ts"
import { renderError } from "../failure.ts"
import { withNext } from "../help.ts"
import { Output } from "../Output.ts"
import { inProject } from "../root.ts"
import type { Paint } from "../text.ts"
import { definitions } from "../text.ts"
import { tierFlag } from "./search.ts"

const linkText = (link: DrawnLink, at: number, paint: Paint): string => {
  const under = "   ".repeat(at)
  const asked = link.asked_as?.includes("@") === true ? `  ${paint.dim(`asked for as ${safeLine(link.asked_as)}`)}` : ""
  const standing = link.state === "ok" ? safeLine(link.signer ?? "") : paint.red(link.state)
  return [
    `${at === 0 ? "" : `${"   ".repeat(at - 1)}╰─ `}${paint.bold(safeLine(link.id))} ${safeLine(link.version)}${asked}`,
    `${under}${paint.dim(`${safeLine(link.path, 400)}  ${link.digest.slice(0, 12)}`)}  ${standing}`
  ].join("\n")
}

const shown = (set: { readonly value?: unknown }): string =>
  set.value === undefined
    ? "(not shown: its link is not signed by a trusted signer)"
    : safeLine(JSON.stringify(set.value), 200)

const valueText = ({ by, field, overrode = [], ...set }: DrawnValue): readonly [string, string] => [
  safeLine(field, 80),
  [
    `${shown(set)}  by ${safeLine(by)}`,
    ...overrode.map((other) => `over ${shown(other)} by ${safeLine(other.by)}`)
  ].join(", ")
]

/** The chain for people. Text of items is escaped, on one line each. */
export const chainText = (found: DrawnChain, paint: Paint, width: number): string => {
  const end = found.links.length
  return [
    ...found.links.map((link, at) => linkText(link, at, paint)),
    ...(found.whole ? [] : [`${"   ".repeat(end - 1)}╰─ ${paint.red("stops here")}`]),
    ...(found.config.length === 0 ? [] : ["", paint.bold("Config"), definitions(found.config.map(valueText), width)]),
    ...(found.hides.length === 0 ? [] : ["", `hides ${found.hides.map((place) => safeLine(place, 400)).join(", ")}`]),
    ...(found.stopped === undefined ? [] : ["", renderError(found.stopped, paint)])
  ].join("\n")
}

export const chainCommand = Command.make("chain", {
  tool: Argument.String("tool").pipe(Argument.withDescription("A tool's id: add, math/add")),
  tier: tierFlag
}, (input) =>
  Effect.gen(function*() {
    const output = yield* Output
    const found = yield* inProject(() => chain({ id: input.tool, tier: Option.getOrUndefined(input.tier) }))
    yield* output.answer(found, (paint) => chainText(found, paint, output.width))
  })).pipe(
    Command.withDescription(
      "Draws what a tool is built on, down to a primitive: each link with its version, the versions that were asked for, " +
        "its place, its signer and the first digits of its digest. Then each value of the merged config, the link that " +
        "set it, and the values that it overrode. A broken chain is drawn up to the break. Changes nothing."
    ),
    Command.withShortDescription("What a tool is built on, and where its config comes from"),
    Command.withExamples([{ command: "kiwi chain add" }, { command: "kiwi chain math/add --json" }]),
    withNext(["kiwi explain ID", "whether it can run, and if not, why"])
  )
