// What a person reads before they sign: what changed since they last did, and what the item may do. Pure text work;
// nothing is left out without saying how much.
import { Result, TextDiff } from "effect"
import { isKiwiVariable, kernelVariables } from "../env/variableNames.ts"
import { safeLine } from "../error/safeText.ts"
import { secretNameOf } from "../identity/SecretStore.ts"
import type { FolderFile, Item, ItemLocation, ItemSnapshot, Tool } from "../item/Item.ts"
import { showExecutor, showLocation } from "../item/Item.ts"
import { isJsonObject } from "../schema/json.ts"
import { compile } from "../template/Template.ts"
import { isBelow } from "./ItemPast.ts"
import type { ItemPast } from "./ItemPast.ts"

const longestLine = 1000

/** Keeps a diff of two large texts that have nothing in common within about a second. */
const effort = 20_000_000

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

const cutLine = (line: string): string =>
  line.length <= longestLine
    ? line
    : `${line.slice(0, longestLine)} … ${plural(line.length - longestLine, "more character")} in this line not shown`

/** At most `limit` lines; says how many it left out. */
export const cutText = (text: string, limit: number): string => {
  const lines = text.split("\n")
  const shown = lines.length <= limit + 1 ? lines : [
    ...lines.slice(0, limit),
    `… ${plural(lines.length - limit, "more line")} not shown: read the file before you sign it`
  ]
  return shown.map(cutLine).join("\n")
}

const decode = (bytes: Uint8Array): string | undefined =>
  Result.getOrUndefined(Result.try(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)))

const unified = (before: string, after: string, name: string): string => {
  const size = before.length + after.length
  const maxEdits = Math.max(20, Math.floor(effort / (size + 1)))
  return TextDiff.unified(TextDiff.lines(before, after, { maxEdits }), {
    fromFile: before === "" ? "/dev/null" : name,
    toFile: after === "" ? "/dev/null" : name
  })
}

const diffFile = (before: Uint8Array | undefined, after: Uint8Array | undefined, name: string): string => {
  const [old, now] = [decode(before ?? new Uint8Array()), decode(after ?? new Uint8Array())]
  if (old !== undefined && now !== undefined && !old.includes("\0") && !now.includes("\0")) {
    return unified(old, now, name)
  }
  if (before === undefined) return `binary file ${name} was added, ${plural(after?.length ?? 0, "byte")}\n`
  if (after === undefined) return `binary file ${name} was removed\n`
  return `binary file ${name} has changed, from ${plural(before.length, "byte")} to ${after.length}\n`
}

const diffMode = (before: FolderFile | undefined, after: FolderFile | undefined): string => {
  if (after === undefined || (before?.executable ?? false) === after.executable) return ""
  return `${after.path} is ${after.executable ? "now" : "no longer"} executable\n`
}

/** The last bytes that were signed here, as far as they are kept. */
export type Before =
  | { readonly _tag: "None" }
  | { readonly _tag: "File"; readonly bytes: Uint8Array }
  | { readonly _tag: "Folder"; readonly files: ReadonlyArray<FolderFile> }

/** Unified diff of an item against the last bytes signed here; of a folder, file by file. */
export const diffItem = (before: Before, { bytes, files, location }: ItemSnapshot): string => {
  if (location.kind === "file") {
    return diffFile(before._tag === "File" ? before.bytes : undefined, bytes, location.path)
  }
  const old = new Map(before._tag === "Folder" ? before.files.map((file) => [file.path, file]) : [])
  const now = new Map(files.map((file) => [file.path, file]))
  return [...new Set([...old.keys(), ...now.keys()])].toSorted((a, b) => a < b ? -1 : 1).map((path) => {
    const [was, is] = [old.get(path), now.get(path)]
    if (was?.digest === is?.digest) return diffMode(was, is)
    return diffMode(was, is) + diffFile(was?.bytes, is?.bytes, `${location.path}/${path}`)
  }).join("")
}

/** Words of the item inside a sentence of Kiwi's: a line break in one would forge the next line. */
const word = (foreign: string): string => safeLine(foreign, 80)
const list = (words: ReadonlyArray<string>): string => words.map(word).join(", ")

/** Secrets that ENV_CONFIG itself refers to; those of a `.env` file belong to variables that are listed. */
const secretsIn = ({ envConfig }: Tool): ReadonlyArray<string> => {
  const env = envConfig?.["env"]
  return isJsonObject(env)
    ? Object.values(env).flatMap((value) => typeof value === "string" ? secretNameOf(value) ?? [] : [])
    : []
}

/** Variables that become part of what runs, without the process having them under their names. */
const configVariables = ({ config }: Tool): ReadonlyArray<string> =>
  [...compile(config, []).variables.keys()].filter((name) => !kernelVariables.has(name) && !isKiwiVariable(name))

const toolEffects = (tool: Tool): ReadonlyArray<string> => {
  const [inConfig, secrets] = [configVariables(tool), secretsIn(tool)]
  const { capabilities, commands, environment } = tool.requires
  return [
    tool.executorId === undefined
      ? "is a primitive: it says how something is run"
      : `runs by ${showExecutor(tool)}, as a tool of type ${word(tool.toolType)}`,
    ...(tool.legacy
      ? [
        tool.parameters["additionalProperties"] === undefined
          ? "says nothing about itself: it is taken for a script, with the parameters that its argparse calls name"
          : "says nothing about itself: it is taken for a script, and given any parameter as --name=value"
      ]
      : []),
    ...(tool.mutatesState ? ["changes things outside itself"] : []),
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
      return ["is text that an agent takes for true"]
  }
}

/** Plain sentences without a subject: what signing this item accepts. */
export const describeEffects = (item: Item, about: {
  readonly hides: ReadonlyArray<ItemLocation>
  /** A protected system item that is used in its place all the same. */
  readonly overruledBy: ItemLocation | undefined
  readonly past: ItemPast
  /** Whether the text that was signed before is not kept any more. */
  readonly forgotten: boolean
}): ReadonlyArray<string> => {
  const { forgotten, hides, overruledBy, past } = about
  return [
    ...itemEffects(item),
    ...hides.map((hidden) => `hides the ${hidden.tier}'s ${hidden.type} ${hidden.id} (${showLocation(hidden)})`),
    ...(overruledBy === undefined
      ? []
      : [`is not what "${item.location.id}" names: the system's ${showLocation(overruledBy)} is protected`]),
    ...(past.newest !== undefined && isBelow(item.version, past.newest.version)
      ? [`goes back from ${past.newest.version} to ${item.version}`]
      : []),
    ...(forgotten ? ["was signed here before; that text is no longer kept, so all of it is shown as new"] : [])
  ]
}
