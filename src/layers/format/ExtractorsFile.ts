// Extractors from `.ai/extractors/` of the project, at bytes that a person accepted, and of the user space. Checked on
// every call, since trust can be revoked at any time. Without such a folder that is one stat.
import { Effect, Layer, Option, Result, Schema } from "effect"
import * as Fs from "node:fs"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { Extractor, Extractors } from "../../services/format/Extractors.ts"
import type { ExtractedType, LoadedExtractor } from "../../services/format/Extractors.ts"
import { cut } from "../../services/format/Metadata.ts"
import { ItemInvalid } from "../../services/item/ItemErrors.ts"
import { isReadByKiwi } from "../../services/item/ItemPath.ts"
import { normalize } from "../../services/item/SignatureLine.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { readRegular } from "../files/readRegular.ts"
import { sha256 } from "../identity/sha256.ts"
import { openUserControl } from "../workspace/userControl.ts"
import { isPattern } from "./extract.ts"
import { readYaml } from "./readYaml.ts"

const maxFile = 64 * 1024
const maxFiles = 100

const decode = Schema.decodeUnknownEffect(Extractor, { onExcessProperty: "error" })

type Loaded = Result.Result<LoadedExtractor, ItemInvalid>

const namesIn = (folder: string): ReadonlyArray<string> => {
  try {
    if (Fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return []
    return Fs.readdirSync(folder).filter((name) => /^[A-Za-z0-9_-]+\.ya?ml$/.test(name)).toSorted().slice(0, maxFiles)
  } catch {
    return []
  }
}

const load = Effect.fnUntraced(function*(source: string, digest: string, bytes: Uint8Array) {
  const refuse = (issue: string, hint: string): Loaded =>
    Result.fail(new ItemInvalid({ item: source, line: 0, column: 0, issue, found: "", hint }))
  if (bytes.length > maxFile) return refuse(`the file has more than ${maxFile} bytes`, "Keep an extractor small")
  const text = normalize(bytes)
  if (Result.isFailure(text)) return Result.fail(new ItemInvalid({ item: source, found: "", ...text.failure }))
  const fields = yield* readYaml(text.success)
  if (Result.isFailure(fields)) return Result.fail(new ItemInvalid({ item: source, ...fields.failure }))
  const data = Object.fromEntries(Array.from(fields.success, ([name, field]) => [name, field.value]))
  const decoded = yield* Effect.result(decode(data))
  if (Result.isFailure(decoded)) {
    return refuse(
      cut(decoded.failure.message, 400),
      "An extractor has extensions, parser and fields; see docs/items.md"
    )
  }
  const taken = decoded.success.extensions.find(isReadByKiwi)
  if (taken !== undefined) return refuse(`${taken} files are read by Kiwi itself`, "Name another extension")
  for (const [name, rule] of Object.entries(decoded.success.fields)) {
    if ("pattern" in rule && !(yield* isPattern(rule.pattern))) {
      return refuse(
        `the pattern of "${cut(name, 40)}" cannot be used`,
        "Write RE2 syntax: no look-around, no back references"
      )
    }
  }
  return Result.succeed({ ...decoded.success, source, digest })
})

export const make = Effect.gen(function*() {
  const home = yield* KiwiHome
  const workspace = yield* Workspace
  const trust = yield* ProjectTrust
  const cache = new BoundedMap<string, Loaded>(maxFiles * 4)

  const loadCached = Effect.fnUntraced(function*(source: string, bytes: Uint8Array) {
    const digest = sha256(bytes)
    const key = `${source}:${digest}`
    const known = cache.get(key)
    if (known !== undefined) return known
    const loaded = yield* load(source, digest, bytes)
    cache.set(key, loaded)
    return loaded
  })

  /** The project's first. */
  const all = Effect.fnUntraced(function*(type: ExtractedType, tier: "project" | "user") {
    const found: Array<Loaded> = []
    const project = tier === "project" ? Option.getOrUndefined(workspace.project) : undefined
    if (project !== undefined) {
      for (const name of namesIn(`${project.ai}/extractors/${type}`)) {
        const bytes = yield* trust.readControl(`.ai/extractors/${type}/${name}`)
        if (bytes !== undefined) found.push(yield* loadCached(`project:extractors/${type}/${name}`, bytes))
      }
    }
    const folder = `${home.userSpace}/extractors/${type}`
    for (const name of namesIn(folder)) {
      const path = `extractors/${type}/${name}`
      const open = openUserControl(home, path)
      if (open !== undefined) {
        found.push(Result.fail(new ItemInvalid({ item: `user:${path}`, line: 0, column: 0, found: "", ...open })))
        continue
      }
      const bytes = readRegular(`${folder}/${name}`, { maxBytes: maxFile, follow: false })
      if (Result.isSuccess(bytes)) found.push(yield* loadCached(`user:${path}`, bytes.success))
    }
    return found
  })

  const of: Extractors["Service"]["of"] = Effect.fnUntraced(function*(type, tier) {
    const byExtension = new Map<string, LoadedExtractor>()
    for (const loaded of yield* all(type, tier)) {
      if (Result.isFailure(loaded)) continue
      for (const extension of loaded.success.extensions) {
        if (!byExtension.has(extension)) byExtension.set(extension, loaded.success)
      }
    }
    return byExtension
  })

  const problems = Effect.gen(function*() {
    const found = [...yield* all("tool", "project"), ...yield* all("knowledge", "project")]
    return found.flatMap((loaded) => Result.isFailure(loaded) ? [loaded.failure] : [])
  })

  return Extractors.of({ of, problems })
})

export const layer = Layer.effect(Extractors, make)
