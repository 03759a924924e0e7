// Reads a file with a declarative extractor: only built-in parsers, and patterns on a linear-time engine.
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import type { ExtractorRule, LoadedExtractor } from "../../services/format/Extractors.ts"
import type { FrontMatter } from "../../services/format/KnowledgeMetadata.ts"
import type { Field, Metadata, Problem } from "../../services/format/Metadata.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import { readFrontMatter, readYaml } from "./readYaml.ts"

type Engine = typeof import("re2js").RE2JS

const engine = Effect.promise(() => import("re2js")).pipe(Effect.map((m): Engine => m.RE2JS))

/** The limit of matches for a rule with `all`. */
const maxMatches = 1000

const source = Effect.fnUntraced(function*({ parser }: LoadedExtractor, text: string) {
  const empty: Metadata = new Map()
  switch (parser) {
    case "text":
      return Result.succeed<FrontMatter>({ metadata: empty, body: text })
    case "yaml":
      return Result.map(yield* readYaml(text), (metadata): FrontMatter => ({ metadata, body: text }))
    case "front_matter":
      return yield* readFrontMatter(text)
  }
})

const matches = (re2: Engine, rule: Extract<ExtractorRule, { readonly pattern: string }>, text: string) => {
  const matcher = re2.compile(rule.pattern, re2.MULTILINE).matcher(text)
  const found: Array<string> = []
  while (found.length < (rule.all === true ? maxMatches : 1) && matcher.find()) {
    const value = matcher.group(Math.min(rule.group ?? 1, matcher.groupCount()))
    if (value !== null) found.push(value)
  }
  return rule.all === true ? found : found[0]
}

const dig = (metadata: Metadata, path: string): Field | undefined => {
  const [head, ...rest] = path.split(".")
  const field = metadata.get(head!)
  let value: Schema.Json | undefined = field?.value
  for (const key of rest) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return field === undefined || value === undefined ? undefined : { ...field, value }
}

/** Whether the engine accepts a pattern. */
export const isPattern = (pattern: string): Effect.Effect<boolean> =>
  Effect.map(engine, (re2) => {
    try {
      re2.compile(pattern, re2.MULTILINE)
      return true
    } catch {
      return false
    }
  })

export const extract = Effect.fnUntraced(function*(
  extractor: LoadedExtractor,
  text: string
): Effect.fn.Return<Result.Result<FrontMatter, Problem>> {
  const parsed = yield* source(extractor, text)
  if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
  const re2 = yield* engine
  const metadata = new Map<string, Field>()
  for (const [name, rule] of Object.entries(extractor.fields)) {
    if ("path" in rule) {
      const field = dig(parsed.success.metadata, rule.path)
      if (field !== undefined) metadata.set(name, { ...field, spelling: name })
      continue
    }
    const value = "value" in rule ? rule.value : matches(re2, rule, text)
    if (value !== undefined) metadata.set(name, { value, spelling: name, line: 0, column: 0 })
  }
  return Result.succeed({ metadata, body: parsed.success.body })
})
