// Checks the arguments of a Kiwi's methods at run time, before anything is done: a caller in plain JavaScript has no
// types.
import { Effect, Predicate, Result, Schema, SchemaIssue } from "effect"
import { ItemType, Tier } from "../services/item/ItemId.ts"
import { LockScope } from "../services/lockfile/LockfileStore.ts"
import { LockMode } from "../services/lockfile/LockMode.ts"

/** A method of a Kiwi was called with an invalid argument. Nothing was done. */
export class KiwiArgumentInvalid extends Schema.TaggedError<KiwiArgumentInvalid>()("KiwiArgumentInvalid", {
  /** "lockfile.freeze" */
  method: Schema.String,
  /** The path of the invalid part: "input.id". */
  argument: Schema.String,
  /** An example of a correct call. */
  call: Schema.String
}) {
  override get message() {
    return `kiwi.${this.method} was called with an invalid argument ${this.argument}: it is missing, unknown or of the wrong type`
  }
  get remediation() {
    return `Call it like kiwi.${this.call}`
  }
}

const flag = Schema.optional(Schema.Boolean)
const text = Schema.optional(Schema.String)
const tier = Schema.optional(Tier)
const scope = Schema.optional(LockScope)
const type = Schema.optional(ItemType)

/** Accepts signals of another realm too. */
const Signal = Schema.declare((u): u is AbortSignal =>
  Predicate.hasProperty(u, "aborted") && Predicate.hasProperty(u, "addEventListener")
)
const call = { signal: Schema.optional(Signal) }
const options = Schema.UndefinedOr(Schema.Struct(call))
/** The tool's own schema checks the values. */
const parameters = Schema.UndefinedOr(Schema.Record(Schema.String, Schema.Unknown))
const tool = Schema.Struct({ id: Schema.String, tier })
const item = Schema.Struct({ id: Schema.String, type, tier })
const filter = Schema.UndefinedOr(Schema.Struct({ scope, category: text, toolId: text, version: text }))

type Arguments = Readonly<Record<string, Schema.ConstraintDecoder<unknown>>>

/** For each method: an example of a correct call, and its arguments in order. */
const methods = {
  run: ["run(\"add\", { a: 1 })", {
    tool: Schema.String,
    parameters,
    options: Schema.UndefinedOr(Schema.Struct({
      ...call,
      tier,
      dryRun: flag,
      lockfileMode: Schema.optional(LockMode),
      onEvent: Schema.optional(Schema.declare(Predicate.isFunction))
    }))
  }],
  search: ["search({ query: \"add\" })", {
    query: Schema.Struct({
      query: Schema.String,
      type,
      tier,
      category: text,
      tags: Schema.optional(Schema.Array(Schema.String)),
      limit: Schema.optional(Schema.Finite)
    }),
    options
  }],
  load: ["load({ id: \"add\" })", { query: item, options }],
  follow: ["follow(\"release\", { version: \"1.0.0\" })", { directive: Schema.String, inputs: parameters, options }],
  explain: ["explain({ id: \"add\" }, { a: 1 })", { query: item, parameters, options }],
  chain: ["chain({ id: \"add\" })", { query: tool, options }],
  explainEnv: ["explainEnv({ id: \"add\" })", { tool: item, options }],
  sign: ["sign({ id: \"add\" })", {
    input: Schema.Struct({
      id: Schema.String,
      type,
      tier: Schema.optional(Schema.Literals(["project", "user"])),
      category: text,
      changedOnly: flag,
      freeze: flag
    }),
    options
  }],
  trustProject: ["trustProject()", { options }],
  runPromise: ["runPromise(effect)", { effect: Schema.declare(Effect.isEffect), options }],
  "lockfile.freeze": ["lockfile.freeze({ id: \"add\" })", {
    input: Schema.Struct({
      id: text,
      dependentsOf: text,
      category: text,
      tier,
      scope,
      variant: flag,
      dryRun: flag
    }).check(Schema.makeFilter((input) => input.id !== undefined || input.dependentsOf !== undefined)),
    options
  }],
  "lockfile.update": ["lockfile.update({ id: \"add\" })", {
    input: Schema.UndefinedOr(
      Schema.Struct({ id: text, dependentsOf: text, category: text, scope, dryRun: flag })
    ),
    options
  }],
  "lockfile.validate": ["lockfile.validate({ id: \"add\" })", {
    input: Schema.Struct({ id: Schema.String, category: text, tier }),
    options
  }],
  "lockfile.list": ["lockfile.list({ toolId: \"add\" })", { filter, options }],
  "lockfile.prune": ["lockfile.prune({ scope: \"project\" })", {
    input: Schema.UndefinedOr(
      Schema.Struct({ olderThan: Schema.optional(Schema.Finite), scope, category: text, dryRun: flag })
    ),
    options
  }],
  "lockfile.diff": ["lockfile.diff({ id: \"add\" })", {
    input: Schema.Struct({ id: Schema.String, category: text, tier, against: text, file: text }),
    options
  }],
  "lockfile.verify": ["lockfile.verify({ scope: \"project\" })", { filter, options }],
  "lockfile.outdated": ["lockfile.outdated({ scope: \"project\" })", {
    input: Schema.UndefinedOr(Schema.Struct({ scope, category: text })),
    options
  }]
} satisfies Readonly<Record<string, readonly [call: string, takes: Arguments]>>

export type KiwiMethod = keyof typeof methods

/** Instances of classes are refused as options: an AbortSignal in place of `{ signal }` would be ignored silently. */
const isPlain = (value: unknown): boolean =>
  !Predicate.isObject(value) || Effect.isEffect(value) ||
  [Object.prototype, null].includes(Object.getPrototypeOf(value))

const standard = SchemaIssue.makeFormatterStandardSchemaV1()

/** Names the invalid part without quoting the argument. */
const partOf = ({ issue }: Schema.SchemaError): string =>
  (standard(issue).issues[0]?.path ?? []).map((part) => `.${String(typeof part === "object" ? part.key : part)}`).join(
    ""
  )

const decoders = new Map(
  Object.entries(methods).map(([method, [, takes]]) => [
    method,
    Object.entries(takes as Arguments).map(([name, schema]) =>
      [name, Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })] as const
    )
  ])
)

/** `undefined` if the arguments are valid. */
export const argumentIssue = (method: KiwiMethod, given: ReadonlyArray<unknown>): KiwiArgumentInvalid | undefined => {
  for (const [at, [name, decode]] of decoders.get(method)!.entries()) {
    const decoded = decode(given[at])
    const part = Result.isFailure(decoded) ? partOf(decoded.failure) : isPlain(given[at]) ? undefined : ""
    if (part !== undefined) {
      return new KiwiArgumentInvalid({ method, argument: `${name}${part}`, call: methods[method][0] })
    }
  }
  return undefined
}
