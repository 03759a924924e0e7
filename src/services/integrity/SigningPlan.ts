// What a person reads before signing: what changed since the last time, and what the item may do. Pure text that leaves
// nothing out. The surface checks whether it can show all of it; if not, nobody can agree there.
import { Result, TextDiff } from "effect"
import { isKiwiVariable, kernelVariables } from "../env/variableNames.ts"
import { safeLine } from "../error/safeText.ts"
import { secretNameOf } from "../identity/SecretStore.ts"
import type { FolderFile, Item, ItemLocation, ItemSnapshot, Tool } from "../item/Item.ts"
import { showExecutor, showLocation } from "../item/Item.ts"
import { isJsonObject, own } from "../schema/json.ts"
import { compile } from "../template/Template.ts"
import { goesBackFrom } from "./ItemPast.ts"
import type { ItemPast } from "./ItemPast.ts"

const effort = 20_000_000

/** Takes about a second for two large texts with nothing in common. */
export const lineEdits = (before: string, after: string) =>
  TextDiff.lines(before, after, { maxEdits: Math.max(20, Math.floor(effort / (before.length + after.length + 1))) })

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** The diff of an item: every line added or removed, and the names of files without lines. */
export interface ItemDiff {
  readonly text: string
  readonly added: number
  readonly removed: number
  /** Files of a folder that are not text, so that a person cannot read them. */
  readonly unreadable: ReadonlyArray<string>
}

const noDiff: ItemDiff = { text: "", added: 0, removed: 0, unreadable: [] }

/** Undefined if the bytes are not text. */
const decode = (bytes: Uint8Array): string | undefined => {
  const text = Result.getOrUndefined(
    Result.try(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes))
  )
  return text?.includes("\0") === true ? undefined : text
}

type LineEnds = "LF" | "CRLF" | "mixed"

const lineEnds = (text: string): LineEnds =>
  !text.includes("\r\n") ? "LF" : /(?:^|[^\r])\n/.test(text) ? "mixed" : "CRLF"

/** If only some lines end in CRLF, each keeps it visibly: a here-document could end elsewhere than it seems to. */
const showEnds = (text: string, ends: LineEnds): string => ends === "CRLF" ? text.replaceAll("\r\n", "\n") : text

const describeEnds = (name: string, before: LineEnds, after: LineEnds): string => {
  if (after === "mixed") return `some lines of ${name} end in CRLF, shown as \r\n`
  if (before === after) return ""
  return `the lines of ${name} ${after === "CRLF" ? "end" : "no longer end"} in CRLF\n`
}

const diffText = (old: string, now: string, name: string): ItemDiff => {
  const [before, after] = [lineEnds(old), lineEnds(now)]
  const edits = lineEdits(showEnds(old, before), showEnds(now, after))
  const count = (tag: "Insert" | "Delete") =>
    edits.reduce((sum, edit) => edit._tag === tag ? sum + edit.items.length : sum, 0)
  return {
    text: describeEnds(name, before, now === "" ? before : after) + TextDiff.unified(edits, {
      fromFile: old === "" ? "/dev/null" : name,
      toFile: now === "" ? "/dev/null" : name
    }),
    added: count("Insert"),
    removed: count("Delete"),
    unreadable: []
  }
}

type Content = Pick<FolderFile, "bytes" | "digest">

const describeData = ({ bytes, digest }: Content): string =>
  `${plural(bytes.length, "byte")} that cannot be shown, sha256 ${digest}`

/** Changes that no diff line shows. */
const notesOn = (before: Content | undefined, after: Content | undefined, name: string): ReadonlyArray<string> => {
  const wasData = before !== undefined && decode(before.bytes) === undefined
  if (after !== undefined && decode(after.bytes) === undefined) {
    return [
      before === undefined
        ? `binary file ${name} was added, ${describeData(after)}`
        : `binary file ${name} has changed, from ${plural(before.bytes.length, "byte")} to ${describeData(after)}`
    ]
  }
  if (after === undefined) return wasData ? [`binary file ${name} was removed`] : [`${name} was removed`]
  return [
    ...(wasData ? [`${name} was a binary file of ${plural(before.bytes.length, "byte")}`] : []),
    ...(after.bytes.length === 0 ? [`${name} is empty`] : [])
  ]
}

const diffContent = (before: Content | undefined, after: Content | undefined, name: string): ItemDiff => {
  const old = before === undefined ? "" : decode(before.bytes)
  const now = after === undefined ? "" : decode(after.bytes)
  const lines = diffText(old ?? "", now ?? "", name)
  return {
    ...lines,
    text: notesOn(before, after, name).map((note) => `${note}\n`).join("") + lines.text,
    unreadable: now === undefined ? [name] : []
  }
}

const diffMode = (before: FolderFile | undefined, after: FolderFile | undefined, name: string): string => {
  if (after === undefined || (before?.executable ?? false) === after.executable) return ""
  return `${name} is ${after.executable ? "now" : "no longer"} executable\n`
}

/** The last bytes that were signed here, as far as they are kept. */
export type Before =
  | { readonly _tag: "None" }
  | { readonly _tag: "File"; readonly bytes: Uint8Array }
  | { readonly _tag: "Folder"; readonly files: ReadonlyArray<FolderFile> }

/** Compares an item with the last bytes signed here, as unified diffs; a folder file by file. Leaves nothing out. */
export const diffItem = (before: Before, { bytes, files, location }: ItemSnapshot): ItemDiff => {
  if (location.kind === "file") {
    const old = before._tag === "File" ? decode(before.bytes) : undefined
    return diffText(old ?? "", decode(bytes) ?? "", location.path)
  }
  const old = new Map(before._tag === "Folder" ? before.files.map((file) => [file.path, file]) : [])
  const now = new Map(files.map((file) => [file.path, file]))
  return [...new Set([...old.keys(), ...now.keys()])].toSorted().reduce((all, path) => {
    const [was, is, name] = [old.get(path), now.get(path), `${location.path}/${path}`]
    const one = was?.digest === is?.digest ? noDiff : diffContent(was, is, name)
    return {
      text: all.text + diffMode(was, is, name) + one.text,
      added: all.added + one.added,
      removed: all.removed + one.removed,
      unreadable: [...all.unreadable, ...one.unreadable]
    }
  }, noDiff)
}

/** Makes an item's text safe inside a sentence of Kiwi's: a line break in it would forge the next line. */
const word = (foreign: string): string => safeLine(foreign, 80)
const list = (words: ReadonlyArray<string>): string => words.map(word).join(", ")

/** Secrets that ENV_CONFIG itself refers to. Those of a `.env` file belong to variables that are listed. */
const secretsIn = ({ envConfig }: Tool): ReadonlyArray<string> => {
  const env = envConfig?.["env"]
  return isJsonObject(env)
    ? Object.values(env).flatMap((value) => typeof value === "string" ? secretNameOf(value) ?? [] : [])
    : []
}

/** Variables that become part of the config, without the process having them under their names. */
const configVariables = ({ config }: Tool): ReadonlyArray<string> =>
  [...compile(config, []).variables.keys()].filter((name) => !kernelVariables.has(name) && !isKiwiVariable(name))

const toolEffects = (tool: Tool): ReadonlyArray<string> => {
  const [inConfig, secrets] = [configVariables(tool), secretsIn(tool)]
  const { capabilities, commands, environment } = tool.requires
  return [
    tool.executorId === undefined
      ? "is a primitive: it says how something is run"
      : `runs by ${showExecutor(tool)} (${word(tool.toolType)})`,
    ...(tool.legacy
      ? [
        Object.keys(own(tool.parameters, "properties") ?? {}).length > 0
          ? "declares nothing about itself: it is run as a script, with the parameters that its argparse calls name"
          : "declares nothing about itself: it is run as a script without parameters"
      ]
      : []),
    ...(tool.unsure ?? []).map((text) => safeLine(text, 200)),
    ...(capabilities.length > 0 ? [`asks for ${list(capabilities)}`] : []),
    ...(commands.length > 0 ? [`needs the commands ${list(commands)}`] : []),
    ...(environment.length > 0 ? [`is given the environment variables ${list(environment)}`] : []),
    ...(inConfig.length > 0 ? [`has the variables ${list(inConfig)} in its settings`] : []),
    ...(secrets.length > 0 ? [`is given the secrets ${list(secrets)} that you have stored`] : []),
    ...(tool.dependencies.length > 0 ? [`needs the packages ${list(tool.dependencies)}`] : [])
  ]
}

const itemEffects = (item: Item): ReadonlyArray<string> => {
  switch (item._tag) {
    case "tool":
      return toolEffects(item)
    case "directive":
      return [
        `gives an agent ${plural(item.steps.length, "step")} to follow`,
        ...(item.permissions.length > 0 ? [`asks for ${list(item.permissions.map(({ tag }) => tag))}`] : [])
      ]
    case "knowledge":
      return ["is text that an agent takes as true"]
  }
}

/** What is known of an item besides its text. */
export interface About {
  readonly hides: ReadonlyArray<ItemLocation>
  /** The protected system item that is used instead of this one. */
  readonly overruledBy: ItemLocation | undefined
  readonly past: ItemPast
  /** The version it is compared with, if a person has not signed that here: "bob's version 1.0.0". */
  readonly changedFrom?: string | undefined
  /** Why the version to compare with is not available. */
  readonly forgotten: "signed" | "ran" | "untrusted" | undefined
  /** Names of files that cannot be shown. */
  readonly unreadable: ReadonlyArray<string>
}

/** What a person must not miss, worst first. Sentences without a subject. */
export const describeWarnings = (item: Item, about: About): ReadonlyArray<string> => {
  const { hides, overruledBy, past, unreadable } = about
  const from = goesBackFrom(past, item.version)
  return [
    ...(unreadable.length > 0
      ? [`holds ${plural(unreadable.length, "file")} that nobody can read here: ${list(unreadable)}`]
      : []),
    ...(from === undefined ? [] : [`goes back from ${from} to ${item.version}`]),
    ...hides.map((hidden) => `hides the ${hidden.tier}'s ${hidden.type} ${hidden.id} (${showLocation(hidden)})`),
    ...(overruledBy === undefined
      ? []
      : [`is not what "${item.location.id}" names: the system's ${showLocation(overruledBy)} is protected`]),
    ...(item._tag === "tool" && item.mutatesState ? ["changes things outside itself"] : [])
  ]
}

const forgotten = {
  signed: "was signed here before; that text is no longer kept, so all of it is shown as new",
  ran: "what has run is no longer kept, so all of it is shown as new",
  untrusted: "what ran before was signed by nobody who is trusted as you now, so all of it is shown as new"
}

/** What a person accepts by signing this item, warnings first. */
export const describeEffects = (item: Item, about: About): ReadonlyArray<string> => [
  ...describeWarnings(item, about),
  ...(about.changedFrom === undefined ? [] : [`changed from ${word(about.changedFrom)}`]),
  ...itemEffects(item),
  ...(about.forgotten === undefined ? [] : [forgotten[about.forgotten]])
]

/** Characters on three lines of a narrow terminal; a client may show no more of a message. */
const verdictWidth = 76

const sentence = (text: string): string => text === "" ? "" : `${text[0]!.toUpperCase()}${text.slice(1)}`

/** As many parts as fit on one line, and how many more there are. */
const fitting = (parts: ReadonlyArray<string>): string => {
  const more = (count: number) => count === 0 ? "" : `; ${count} more below`
  let line = ""
  for (const [index, part] of parts.entries()) {
    const longer = index === 0 ? part : `${line}; ${part}`
    const rest = more(parts.length - index - 1)
    if (longer.length + rest.length > verdictWidth) {
      return index === 0 ? safeLine(part, verdictWidth - rest.length) + rest : line + more(parts.length - index)
    }
    line = longer
  }
  return line
}

/** The parts of a planned item that its verdict depends on. */
export interface Judged {
  readonly id: string
  readonly digest: string
  readonly change: "new" | "changed" | "same" | "older" | "unmarked"
  readonly warnings: ReadonlyArray<string>
  readonly effects: ReadonlyArray<string>
  readonly added: number
  readonly removed: number
}

const countChanges = (items: ReadonlyArray<Judged>): string => {
  const of = (change: Judged["change"]) => items.filter((item) => item.change === change).length
  const words = {
    new: "new",
    changed: "changed",
    same: "as you signed it",
    older: "signed before",
    unmarked: "the same as signed before"
  } as const
  if (items.length === 1) return words[items[0]!.change]
  return (["new", "changed", "same", "older", "unmarked"] as const).flatMap((change) =>
    of(change) === 0 ? [] : [`${of(change)} ${words[change]}`]
  )
    .join(", ")
}

/** The second and third line of the question: what the items may do, and what changed, with a digest of all of it. */
export const verdictOf = (items: ReadonlyArray<Judged>, digest: string): readonly [string, string] => {
  const naming = (item: Judged) => (text: string) => items.length === 1 ? text : `${word(item.id)} ${text}`
  const risks = [
    ...items.flatMap((item) => item.warnings.map(naming(item))),
    ...items.flatMap((item) => item.effects.filter((effect) => !item.warnings.includes(effect)).map(naming(item)))
  ]
  const sum = (key: "added" | "removed") => items.reduce((total, item) => total + item[key], 0)
  const lines = [
    ...(sum("added") > 0 ? [`${plural(sum("added"), "line")} added`] : []),
    ...(sum("removed") > 0 ? [`${plural(sum("removed"), "line")} removed`] : [])
  ]
  const [what, rest] = [sentence(countChanges(items)), lines.length === 0 ? "" : `: ${lines.join(", ")}`]
  const shownDigest = items.length === 1 ? items[0]!.digest : digest
  return [sentence(fitting(risks)), `${what}${rest}; sha256 ${shownDigest.slice(0, 16)}`]
}
