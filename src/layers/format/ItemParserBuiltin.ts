// Chooses the reader for an item, caches its result, and adds the checks for signing. Readers load their libraries on
// first use.
import { Effect, FileSystem, Layer, Result } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { readScriptBlock } from "../../services/dependency/scriptBlock.ts"
import { Extractors } from "../../services/format/Extractors.ts"
import type { LoadedExtractor } from "../../services/format/Extractors.ts"
import { ItemParser } from "../../services/format/ItemParser.ts"
import { toKnowledge } from "../../services/format/KnowledgeMetadata.ts"
import { problem } from "../../services/format/Metadata.ts"
import type { Problem } from "../../services/format/Metadata.ts"
import { toTool } from "../../services/format/ToolMetadata.ts"
import type { Item, ItemSnapshot, Tool } from "../../services/item/Item.ts"
import { showLocation } from "../../services/item/Item.ts"
import { ItemInvalid, withoutWordsOf } from "../../services/item/ItemErrors.ts"
import { folderManifest, isReadByKiwi } from "../../services/item/ItemPath.ts"
import { makeRunOwnChild } from "../process/ownChild.ts"
import { checkForSigning, makeAskReader } from "./checkForSigning.ts"
import type { AskReader, Exists } from "./checkForSigning.ts"
import { extract } from "./extract.ts"
import { readDirective } from "./readDirective.ts"
import { readJavascript } from "./readJavascript.ts"
import { parsePython, readPython } from "./readPython.ts"
import { readBash, readFrontMatter, readYaml } from "./readYaml.ts"
import { toLegacyTool, withArgparse } from "./scripts/argparse/legacyTool.ts"
import { readArgparse } from "./scripts/argparse/readArgparse.ts"
import { declares } from "./scripts/imports/moduleKind.ts"
import { reachedFrom } from "./scripts/imports/reached.ts"

/** The limit of cached items. */
const maxCached = 5000

type Read = Effect.Effect<Result.Result<Item, Problem>>

const extensionOf = ({ location }: ItemSnapshot): string =>
  location.kind === "folder" ? ".yaml" : location.path.slice(location.path.lastIndexOf("."))

/** Adds the packages of a tool's inline script metadata (PEP 723), if nothing else declares packages. */
const withScriptBlock = (tool: Tool, code: string): Tool => {
  if (tool.dependencies.length > 0) return tool
  const block = Result.getOrUndefined(readScriptBlock(code))
  return block === undefined ? tool : { ...tool, dependencies: block.dependencies }
}

const readPythonTool = Effect.fnUntraced(function*(snapshot: ItemSnapshot, text: string) {
  const tool = Result.flatMap(yield* readPython(text), (module) =>
    module.legacy
      ? toLegacyTool(snapshot, text, module)
      : Result.map(
        toTool({
          snapshot,
          metadata: module.metadata,
          description: module.description,
          toolType: "python",
          runs: true
        }),
        (declared) => {
          const argparse = readArgparse(module.tree, text)
          return argparse === undefined ? declared : withArgparse(declared, argparse)
        }
      ))
  return Result.map(tool, (one) => withScriptBlock(one, text))
})

const readJavascriptTool = Effect.fnUntraced(function*(snapshot: ItemSnapshot, text: string, typed: boolean) {
  const declared = declares(extensionOf(snapshot), text)
  return Result.flatMap(yield* readJavascript(text, typed), ({ description, metadata }) =>
    metadata.size === 0
      ? Result.fail(
        problem(
          "the file has no metadata",
          `Write at the left margin ${declared} __version__ = "1.0.0" and ${declared} __executor_id__ = "node_runtime"`
        )
      )
      : toTool({ snapshot, metadata, description, toolType: "node", runs: true }))
})

/**
 * The Python file of a folder whose argparse reads the arguments: the entrypoint, or the first file that it imports.
 */
const readParser = Effect.fnUntraced(function*(entrypoint: string, files: ItemSnapshot["files"]) {
  const entry = files.find(({ path }) => path === entrypoint)
  if (entry === undefined || !entrypoint.endsWith(".py")) return undefined
  for (const file of [entry, ...(yield* reachedFrom(entrypoint, files))]) {
    const text = new TextDecoder().decode(file.bytes)
    const parsed = yield* parsePython(text)
    if (Result.isFailure(parsed)) continue
    const found = readArgparse(parsed.success.tree, text, file === entry)
    if (found !== undefined) return found
  }
  return undefined
})

/** A tool in YAML. The parameters of a folder's Python entrypoint are read as for a single file. */
const readYamlTool = Effect.fnUntraced(function*(snapshot: ItemSnapshot, text: string) {
  const tool = Result.flatMap(
    yield* readYaml(text),
    (metadata) => toTool({ snapshot, metadata, description: "", toolType: undefined, runs: false })
  )
  if (Result.isFailure(tool) || tool.success.entrypoint === undefined) return tool
  const argparse = yield* readParser(tool.success.entrypoint, snapshot.files)
  return argparse === undefined ? tool : Result.succeed(withArgparse(tool.success, argparse))
})

const readTool = Effect.fnUntraced(function*(snapshot: ItemSnapshot, text: string) {
  const extension = extensionOf(snapshot)
  switch (extension) {
    case ".py":
      return yield* readPythonTool(snapshot, text)
    case ".js":
    case ".mjs":
    case ".cjs":
    case ".ts":
      return yield* readJavascriptTool(snapshot, text, extension === ".ts")
    case ".sh":
      return Result.flatMap(
        yield* readBash(text),
        (script) => toTool({ snapshot, ...script, toolType: "bash", runs: true })
      )
    default:
      return yield* readYamlTool(snapshot, text)
  }
})

const readKnowledge = Effect.fnUntraced(function*(snapshot: ItemSnapshot, text: string) {
  return Result.flatMap(yield* readFrontMatter(text), (front) => toKnowledge(snapshot, front))
})

const readExtracted = Effect.fnUntraced(function*(snapshot: ItemSnapshot, text: string, extractor: LoadedExtractor) {
  return Result.flatMap(
    yield* extract(extractor, text),
    (found): Result.Result<Item, Problem> =>
      snapshot.location.type === "knowledge"
        ? toKnowledge(snapshot, found)
        : toTool({
          snapshot,
          metadata: found.metadata,
          description: "",
          toolType: undefined,
          runs: extractor.parser !== "yaml"
        })
  )
})

const readItem = (snapshot: ItemSnapshot, text: string, extractor: LoadedExtractor | undefined): Read => {
  if (extractor !== undefined) return readExtracted(snapshot, text, extractor)
  switch (snapshot.location.type) {
    case "directive":
      return readDirective(snapshot, text)
    case "tool":
      return readTool(snapshot, text)
    case "knowledge":
      return readKnowledge(snapshot, text)
  }
}

const show = ({ location }: ItemSnapshot, file: string = folderManifest): string =>
  location.kind === "folder" ? `${showLocation(location)}/${file}` : showLocation(location)

/** `ask`: also has a language's own program read the code, in a process. */
const makeWith = Effect.fnUntraced(function*(ask: AskReader | undefined, exists: Exists) {
  const extractors = yield* Extractors
  const cache = new BoundedMap<string, Result.Result<Item, ItemInvalid>>(maxCached)
  /** The result without an extractor depends only on the snapshot, which never changes. */
  const ofSnapshot = new WeakMap<ItemSnapshot, Result.Result<Item, ItemInvalid>>()

  const extractorFor = Effect.fnUntraced(function*(snapshot: ItemSnapshot) {
    const { tier, type } = snapshot.location
    const extension = extensionOf(snapshot)
    if (isReadByKiwi(extension) || type === "directive" || tier === "system") return undefined
    const found = (yield* extractors.of(type, tier)).get(extension)
    return found ?? (yield* new ItemInvalid({
      item: show(snapshot),
      ...problem(
        `no accepted extractor reads ${extension} files`,
        `Write one to .ai/extractors/${type}/ and accept it with: kiwi trust project`
      )
    }))
  })

  const invalid = (snapshot: ItemSnapshot) => ({ file, ...found }: Problem): ItemInvalid => {
    const error = new ItemInvalid({ item: show(snapshot, file), ...found })
    const { source } = snapshot.location
    return source === undefined || snapshot.location.tier === "system" ? error : withoutWordsOf(error, source.name)
  }

  const parseAnew = Effect.fnUntraced(function*(snapshot: ItemSnapshot) {
    const extractor = yield* extractorFor(snapshot)
    const { location } = snapshot
    const key = `${location.type}:${location.file}:${location.path}:${snapshot.digest}:${extractor?.digest ?? ""}`
    const known = cache.get(key)
    if (known !== undefined) {
      if (extractor === undefined) ofSnapshot.set(snapshot, known)
      return yield* Effect.fromResult(known)
    }
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(snapshot.bytes)
    const item = Result.mapError(yield* readItem(snapshot, text, extractor), invalid(snapshot))
    cache.set(key, item)
    if (extractor === undefined) ofSnapshot.set(snapshot, item)
    return yield* Effect.fromResult(item)
  })

  const parse: ItemParser["Service"]["parse"] = (snapshot) => {
    const known = ofSnapshot.get(snapshot)
    return known === undefined ? parseAnew(snapshot) : Effect.fromResult(known)
  }

  const check: ItemParser["Service"]["check"] = Effect.fn("ItemParser.check")(function*(snapshot) {
    const item = yield* parse(snapshot)
    const { problem: wrong, unsure } = yield* checkForSigning(item, snapshot, ask, exists)
    if (wrong !== undefined) return yield* invalid(snapshot)(wrong)
    return item._tag === "tool" && unsure.length > 0 ? { ...item, unsure } : item
  })

  return ItemParser.of({ parse, check })
})

export const make = Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const ask = makeAskReader(yield* makeRunOwnChild)
  return yield* makeWith(ask, (file) => Effect.orElseSucceed(files.exists(file), () => false))
})

export const layer = Layer.effect(ItemParser, make)

/**
 * For programs that must not start a process: `check` does everything but `bash -n`, and cannot see files beside an
 * item.
 */
export const layerNoProcess = Layer.effect(ItemParser, makeWith(undefined, () => Effect.succeed(false)))
