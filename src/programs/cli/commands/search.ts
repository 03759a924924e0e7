// search and load: find items, and show one whole.
import { Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { ItemType, Tier } from "../../../services/item/ItemId.ts"
import { withApproval } from "../../approvals.ts"
import type { ItemState } from "../../itemState.ts"
import { load, loadInto } from "../../load.ts"
import type { Loaded, LoadedContent } from "../../load.ts"
import { search } from "../../search.ts"
import type { SearchHit } from "../../search.ts"
import { unansweredSources } from "../../unansweredSources.ts"
import { withNext } from "../help.ts"
import { withGate } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { definitions, indented, plural, wrap } from "../text.ts"
import type { Paint } from "../text.ts"

/** Formats `20261121T210900Z` for people. */
const readableTime = (time: string): string =>
  time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3 $4:$5:$6 UTC")

export const tierFlag = Flag.Literals("tier", Tier.literals).pipe(
  Flag.withMetavar("TIER"),
  Flag.withDescription("Only the project's items, the user's or those that come with Kiwi"),
  Flag.optional
)

export const typeArgument = Argument.Literals("type", ItemType.literals).pipe(
  Argument.withDescription("What kind of item: directive, tool or knowledge")
)

const paintState = (state: ItemState, paint: Paint): string =>
  state === "ok" ? paint.green(state) : state === "tampered" ? paint.red(state) : paint.yellow(state)

const hitLines = (hit: SearchHit, paint: Paint, width: number): string => {
  const name = hit.call === undefined ? hit.id : hit.call
  return [
    `${paint.bold(safeLine(name, 400))}  ${hit.type === "tool" ? "" : `${paint.dim(hit.type)}  `}${
      paintState(hit.state, paint)
    }  ${paint.dim(safeLine(hit.path, 400))}`,
    ...(hit.description === undefined ? [] : [indented(wrap(safeLine(hit.description), width - 2))]),
    ...(hit.hides === undefined ? [] : [indented([`hides ${hit.hides.map((place) => safeLine(place)).join(", ")}`])])
  ].join("\n")
}

export const searchCommand = Command.make("search", {
  query: Argument.String("query").pipe(
    Argument.withDescription("Words that the item's name, description, tags or text have"),
    Argument.variadic({ min: 1 })
  ),
  type: Flag.Literals("type", ItemType.literals).pipe(
    Flag.withMetavar("TYPE"),
    Flag.withDescription("Only directives, tools or knowledge"),
    Flag.optional
  ),
  tier: tierFlag,
  category: Flag.String("category").pipe(
    Flag.withMetavar("PATH"),
    Flag.withDescription("Only this category and those below it"),
    Flag.optional
  ),
  tag: Flag.String("tag").pipe(
    Flag.withMetavar("TAG"),
    Flag.withDescription("Only items with this tag; may be given more than once"),
    Flag.atLeast(0)
  ),
  limit: Flag.Int("limit").pipe(
    Flag.withMetavar("N"),
    Flag.filter((n) => n >= 1 && n <= 100, () => "a number from 1 to 100"),
    Flag.withDescription("At most this many hits, from 1 to 100"),
    Flag.withDefault(10)
  )
}, (input) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const [results, { notes = [] }] = yield* output.busy("Searching the items", () =>
      inProject(() =>
        Effect.zip(
          search({
            query: input.query.join(" "),
            type: Option.getOrUndefined(input.type),
            tier: Option.getOrUndefined(input.tier),
            category: Option.getOrUndefined(input.category),
            tags: input.tag,
            limit: input.limit
          }, by),
          unansweredSources
        )
      ))
    yield* output.answer({ results, ...(notes.length === 0 ? {} : { notes }) }, (paint) =>
      results.map((hit) => hitLines(hit, paint, output.width)).join("\n"))
    if (output.json) {
      return
    }
    for (const note of notes) {
      yield* output.say(note)
    }
    const first = results.find(({ state }) =>
      state !== "ok"
    )
    if (results.length === 0) yield* output.say("Nothing matches. Try fewer or other words.")
    else if (first !== undefined) {
      const waiting = results.filter(({ state }) => state !== "ok").length
      yield* output.say(
        `\n${plural(waiting, "item")} cannot be used yet: ${output.talkPaint.cyan(`kiwi explain ${first.id}`)}`
      )
    }
  })).pipe(
    Command.withDescription(
      "Find tools, directives and knowledge by words. Exact names come first. Each hit says whether it can be used " +
        "now: ok; unsigned or tampered (no trusted signer has signed these bytes); untrusted (signed by somebody " +
        "else); restricted (you have not trusted the project); denied, missing_command, invalid."
    ),
    Command.withShortDescription("Find tools, directives and knowledge by words"),
    Command.withExamples([
      { command: "kiwi search add numbers" },
      { command: "kiwi search deploy --type directive --tier project", description: "Only the project's directives" },
      { command: "kiwi search report --tag weekly --json", description: "For a program" }
    ]),
    withNext(["kiwi load TYPE ID", "everything about one of them"], ["kiwi explain ID", "why it cannot be used"])
  )

const contentRows = (content: LoadedContent): ReadonlyArray<readonly [string, string]> => [
  ["version", content.version],
  ...(content.title === undefined ? [] : [["title", safeLine(content.title)] as const]),
  ...(content.description === undefined ? [] : [["about", safeText(content.description)] as const]),
  ...(content.call === undefined ? [] : [["call", safeLine(content.call, 400)] as const]),
  ...(content.executor === undefined ? [] : [["runs by", safeLine(content.executor)] as const]),
  ...(content.tags === undefined ? [] : [["tags", content.tags.map((tag) => safeLine(tag)).join(", ")] as const]),
  ...(content.links === undefined || content.links.length === 0
    ? []
    : [["links", content.links.map((link) => safeLine(link)).join(", ")] as const]),
  ...(content.files ?? []).map(({ path }) => ["file", safeLine(path)] as const)
]

const loadedText = (loaded: Loaded, paint: Paint, width: number): string => {
  const content = loaded.item ?? loaded.untrusted?.item
  const invalid = loaded.invalid ?? loaded.untrusted?.invalid
  const by = loaded.signed_by
  const head = definitions([
    ["place", safeLine(loaded.path, 400)],
    [
      "state",
      `${paintState(loaded.state, paint)}${invalid === undefined ? "" : `: ${safeText(invalid)}`}`
    ],
    ...(by === undefined
      ? []
      : [["signed by", `${safeLine(by.name)} (${by.key_id}, ${by.kind}), ${readableTime(by.time)}`] as const]),
    ["sha256", loaded.digest],
    ...(loaded.hides === undefined
      ? []
      : [["hides", loaded.hides.map((place) => safeLine(place)).join(", ")] as const]),
    ...(content === undefined ? [] : contentRows(content))
  ], width)
  return [
    paint.bold(`${loaded.type} ${safeLine(loaded.id)}`),
    head,
    ...(loaded.untrusted === undefined ? [] : ["", paint.yellow(wrap(loaded.untrusted.notice, width).join("\n"))]),
    ...(content === undefined ? [] : ["", safeText(content.content).trimEnd()])
  ].join("\n")
}

export const loadCommand = Command.make("load", {
  type: typeArgument,
  id: Argument.String("id").pipe(Argument.withDescription("Its id, or category/id: add, math/add")),
  tier: tierFlag,
  destination: Flag.Literals("destination", ["project", "user"]).pipe(
    Flag.withMetavar("TIER"),
    Flag.withDescription("Copy it to this tier too, with its category and signature: project or user"),
    Flag.optional
  ),
  version: Flag.String("item-version").pipe(
    Flag.withMetavar("VERSION"),
    Flag.withDescription("With --destination: copy only this version"),
    Flag.optional
  )
}, ({ destination, id, tier, type, version }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const query = { id, type, tier: Option.getOrUndefined(tier) }
    if (Option.isNone(destination)) {
      const loaded = yield* inProject(() => load(query, by))
      return yield* output.answer(loaded, (paint) => loadedText(loaded, paint, output.width))
    }
    const loaded = yield* inProject(() =>
      withApproval(
        loadInto({ ...query, destination: destination.value, version: Option.getOrUndefined(version) }, by),
        by,
        0
      ).pipe(withGate(false))
    )
    const { replaced, to, written } = loaded.copied
    yield* output.answer(loaded, (paint) =>
      written
        ? `${paint.green("copied")} to ${safeLine(to)}${replaced === undefined ? "" : `, in place of ${replaced}`}`
        : `${safeLine(to)} is the same already`)
  })).pipe(
    Command.withDescription(
      "Show one item whole: where it lies, who signed it, its parameters and its text. An item without a trusted " +
        "signature is shown as data to look at, not to follow."
    ),
    Command.withShortDescription("Show one item whole"),
    Command.withExamples([
      { command: "kiwi load tool add" },
      { command: "kiwi load directive authoring/write_tool", description: "By its category" },
      { command: "kiwi load tool add --destination user", description: "Have it in every project" },
      { command: "kiwi load tool add --json", description: "With the parameters as JSON Schema" }
    ]),
    withNext(["kiwi run TYPE ID", "use it"], ["kiwi sign TYPE ID", "sign it, once you have read it"])
  )
