// Declarative extractors: how files of further kinds become tools or knowledge. Pure data from `.ai/extractors/`;
// nothing of it is ever evaluated, and its patterns run on a linear-time engine.
import { Context, type Effect, Schema } from "effect"
import type { ItemInvalid } from "../item/ItemErrors.ts"
import type { Tier } from "../item/ItemId.ts"

/** Where one field's value comes from. */
export const ExtractorRule = Schema.Union([
  /** Always this. */
  Schema.Struct({ value: Schema.Json }),
  /** A group of the first match, as text; `all` collects every match into a list. */
  Schema.Struct({
    pattern: Schema.String.pipe(Schema.check(Schema.isMaxLength(512))),
    group: Schema.optionalKey(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 20 })))),
    all: Schema.optionalKey(Schema.Boolean)
  }),
  /** A dotted path into what the parser found. */
  Schema.Struct({ path: Schema.String.pipe(Schema.check(Schema.isMaxLength(256))) })
])
export type ExtractorRule = typeof ExtractorRule.Type

export const Extractor = Schema.Struct({
  /** `.rb`; none that Kiwi reads itself. */
  extensions: Schema.NonEmptyArray(
    Schema.String.pipe(Schema.check(Schema.isPattern(/^\.[a-z0-9]{1,16}$/)))
  ),
  /** `text`: only patterns; `yaml`: the whole file; `front_matter`: YAML between `---` lines, then text. */
  parser: Schema.Literals(["text", "yaml", "front_matter"]),
  /** By the field's name as YAML tools and front matter spell it: version, executor_id, description, input_schema… */
  fields: Schema.Record(Schema.String, ExtractorRule)
})
export type Extractor = typeof Extractor.Type

export interface LoadedExtractor extends Extractor {
  /** `project:extractors/tool/ruby.yaml`. */
  readonly source: string
  /** sha256 hex of its file: what was parsed with it is parsed again when it changes. */
  readonly digest: string
}

export type ExtractedType = "tool" | "knowledge"

export class Extractors extends Context.Service<Extractors, {
  /**
   * By extension, for items of a tier. The project's (where a person accepted exactly those bytes) before the user's;
   * but what your own items mean is not for a project to say, so those of the user tier know only the user's.
   */
  readonly of: (
    type: ExtractedType,
    tier: Exclude<Tier, "system">
  ) => Effect.Effect<ReadonlyMap<string, LoadedExtractor>>
  /** Extractor files that cannot be used, with the reason. */
  readonly problems: Effect.Effect<ReadonlyArray<ItemInvalid>>
}>()("kiwi/services/format/Extractors") {}
