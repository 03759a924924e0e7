// Declarative extractors: how files with further extensions become tools or knowledge. They are pure data from
// `.ai/extractors/`. Nothing in them is evaluated, and their patterns run on a linear-time engine.
import { Context, type Effect, Schema } from "effect"
import type { ItemInvalid } from "../item/ItemErrors.ts"
import type { Tier } from "../item/ItemId.ts"

/** Where one field's value comes from. */
export const ExtractorRule = Schema.Union([
  /** A constant. */
  Schema.Struct({ value: Schema.Json }),
  /** A group of the first match, as text. `all` collects every match into a list. */
  Schema.Struct({
    pattern: Schema.String.pipe(Schema.check(Schema.isMaxLength(512))),
    group: Schema.optionalKey(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 20 })))),
    all: Schema.optionalKey(Schema.Boolean)
  }),
  /** A dotted path into the parser's result. */
  Schema.Struct({ path: Schema.String.pipe(Schema.check(Schema.isMaxLength(256))) })
])
export type ExtractorRule = typeof ExtractorRule.Type

export const Extractor = Schema.Struct({
  /** `.rb`; not an extension that Kiwi reads itself. */
  extensions: Schema.NonEmptyArray(
    Schema.String.pipe(Schema.check(Schema.isPattern(/^\.[a-z0-9]{1,16}$/)))
  ),
  /** `text`: only patterns; `yaml`: the whole file; `front_matter`: YAML between `---` lines, then text. */
  parser: Schema.Literals(["text", "yaml", "front_matter"]),
  /** By the field's name in YAML tools and front matter: version, executor_id, description, input_schema… */
  fields: Schema.Record(Schema.String, ExtractorRule)
})
export type Extractor = typeof Extractor.Type

export interface LoadedExtractor extends Extractor {
  /** `project:extractors/tool/ruby.yaml`. */
  readonly source: string
  /** SHA-256, in hex, of its file: when it changes, what was parsed with it is parsed again. */
  readonly digest: string
}

export type ExtractedType = "tool" | "knowledge"

export class Extractors extends Context.Service<Extractors, {
  /**
   * By extension, for items of a tier. The project's extractors (at bytes that a person accepted) come before the
   * user's. But a project must not decide what your own items mean, so items of the user tier use only the user's
   * extractors.
   */
  readonly of: (
    type: ExtractedType,
    tier: Exclude<Tier, "system">
  ) => Effect.Effect<ReadonlyMap<string, LoadedExtractor>>
  /** Extractor files that cannot be used, with the reason. */
  readonly problems: Effect.Effect<ReadonlyArray<ItemInvalid>>
}>()("kiwi/services/format/Extractors") {}
