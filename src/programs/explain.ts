// Explain: why an item does not run. Runs the proxy's own steps and stops at the first that refuses.
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import type { CallWarning } from "../services/call/CallWarning.ts"
import type { Chain, ChainLink } from "../services/chain/Chain.ts"
import type { ResolvedInterpreter } from "../services/env/ResolvedInterpreter.ts"
import type { ErrorObject, KiwiError } from "../services/error/KiwiError.ts"
import { innermost, toErrorObject } from "../services/error/KiwiError.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { isSignable, showLocation } from "../services/item/Item.ts"
import type { Tier } from "../services/item/ItemId.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import type { Trace } from "../services/proxy/ToolProxy.ts"
import { ConfigInvalid, ParametersInvalid, ToolProxy } from "../services/proxy/ToolProxy.ts"
import { defined } from "../services/schema/defined.ts"
import { isJsonObject, own } from "../services/schema/json.ts"
import { SchemaValidator } from "../services/schema/SchemaValidator.ts"
import { TemplateUnresolved } from "../services/template/Template.ts"
import { signerName } from "./chain.ts"
import { checkSignature } from "./itemState.ts"

export interface Explanation {
  readonly id: string
  readonly type: string
  /** `tier:folder/path`. */
  readonly path: string
  readonly ready: boolean
  readonly hides: ReadonlyArray<string>
  /** What was checked, in order, up to the first refusal. */
  readonly checks: ReadonlyArray<{ readonly check: string; readonly passed: boolean }>
  readonly signer?: string
  readonly chain?: ReadonlyArray<{
    readonly id: string
    readonly version: string
    readonly path: string
    readonly digest: string
    readonly signer?: string
  }>
  readonly rule?: string
  readonly isolation?: string
  readonly interpreter?: {
    readonly variable: string
    readonly path: string
    readonly kind: string
    readonly version?: string
  }
  /** Packages that it runs with, if it declares any: `name version`. */
  readonly packages?: ReadonlyArray<string>
  /** Names of the child's variables and where each value came from; never the values. */
  readonly environment?: ReadonlyArray<{ readonly name: string; readonly origin: string }>
  /** What would run with the given parameters. */
  readonly plan?: Schema.Json
  /** The tool needs parameters and none were given, so there is no plan. */
  readonly needs_parameters?: true
  /** Warnings that a run would get besides its result: a lockfile that differs, a malformed line of a `.env` file. */
  readonly warnings?: ReadonlyArray<CallWarning>
  readonly blocked?: { readonly check: string; readonly error: ErrorObject }
}

/** Each check of an explanation, in words. */
export const checkWords = Effect.map(ToolProxy, ({ checks }): ReadonlyMap<string, string> =>
  new Map([
    ...checks,
    ["verify", "a trusted signer signed exactly these bytes"],
    ["parse", "its text is well formed"],
    ["dryRun", "its parameters and settings are valid"]
  ]))

const shownInterpreter = ({ kind, path, variable, version }: ResolvedInterpreter) =>
  defined({ variable, path, kind, version })

const fromTrace = ({ blocked, dependencies, env, isolation, passed, resolved, rule, verified, warnings }: Trace) => {
  const signers = verified.map(({ by }) => signerName(by))
  return defined({
    checks: [
      ...passed.map((check) => ({ check, passed: true })),
      ...(blocked === undefined ? [] : [{ check: blocked.step, passed: false }])
    ],
    signer: signers[0],
    chain: resolved?.chain.links.map(({ tool }, index) =>
      defined({
        id: tool.location.id,
        version: tool.version,
        path: showLocation(tool.location),
        digest: tool.digest,
        signer: signers[index]
      })
    ),
    rule,
    isolation,
    interpreter: env?.interpreter && shownInterpreter(env.interpreter),
    packages: dependencies?.packages.map(({ name, version }) => `${name} ${version}`),
    environment: env && [...env.child.values()].map(({ name, origin }) => ({ name, origin })),
    warnings: warnings.length === 0 ? undefined : warnings,
    blocked: blocked && { check: blocked.step, error: toErrorObject(blocked.error) }
  })
}

/** Finds a default that the schema itself refuses: no call could leave that parameter out. */
const refusedDefault = Effect.fnUntraced(function*({ tool }: ChainLink) {
  const properties = own(tool.parameters, "properties")
  if (!isJsonObject(properties)) return undefined
  const { issues } = yield* (yield* SchemaValidator).validate({
    schema: tool.parameters,
    what: `parameters of ${tool.location.id}`,
    value: {},
    closed: true,
    origin: { _tag: "verified", digest: tool.digest }
  })
  const wrong = issues.filter(({ field }) => {
    const property = own(properties, field.split(/[/.[]/).find((part) => part !== "") ?? "")
    return isJsonObject(property) && Object.hasOwn(property, "default")
  })
  return wrong.length === 0 ? undefined : new ParametersInvalid({ tool: tool.location.id, issues: wrong })
}, Effect.catch((unusable) => Effect.succeed(unusable)))

/**
 * Keys of a chain's config that its primitive refuses, and required keys that are missing, whatever the parameters are.
 */
const neverAccepted = ({ config, primitive: { tool } }: Chain): ConfigInvalid | undefined => {
  const { additionalProperties, properties, required } = tool.configSchema ?? {}
  const unknown = additionalProperties === false && isJsonObject(properties)
    ? Object.keys(config).filter((key) => !Object.hasOwn(properties, key))
    : []
  const missing = Array.isArray(required)
    ? required.filter((key): key is string => typeof key === "string" && !Object.hasOwn(config, key))
    : []
  const issues = [
    ...unknown.map((field) => ({ field, error: `${tool.location.id} has no such key` })),
    ...missing.map((field) => ({ field, error: `${tool.location.id} needs it` }))
  ]
  return issues.length === 0 ? undefined : new ConfigInvalid({ link: tool.location.id, issues })
}

/** Whether a call without parameters fails only because they are missing. */
const isForWantOfParameters = (error: KiwiError, chain: Chain | undefined): boolean => {
  const declared = own(chain?.leaf.tool.parameters ?? {}, "properties")
  return error instanceof ParametersInvalid ||
    (error instanceof TemplateUnresolved && isJsonObject(declared) &&
      Object.hasOwn(declared, error.placeholder.replace(/^\{|\}$/g, "")))
}

/** Explains a tool by the steps that would run it; a directive or a knowledge entry by its signature. */
export const explain = Effect.fn("explain")(function*(
  query: {
    readonly id: string
    readonly type?: "directive" | "tool" | "knowledge" | undefined
    readonly tier?: Tier | undefined
  },
  parameters: Schema.JsonObject | undefined,
  callId: string,
  caller: Caller
) {
  const store = yield* ItemStore
  const { hides, location } = yield* store.find(query)
  const head = {
    id: location.id,
    type: location.type,
    path: showLocation(location),
    hides: hides.map(showLocation)
  }
  if (location.type !== "tool") {
    const parser = yield* ItemParser
    const snapshot = yield* store.read(location)
    const { error, verified } = yield* checkSignature(snapshot)
    // A parse error may quote the file, so a restricted project's file is not parsed. Elsewhere a parse error comes
    // first: what cannot be parsed cannot be signed either.
    const parsed = error?._tag === "ProjectRestricted" ? undefined : yield* Effect.result(parser.parse(snapshot))
    const signatureCheck = { check: "verify", passed: error === undefined }
    const blocked = parsed !== undefined && Result.isFailure(parsed)
      ? { check: "parse", error: toErrorObject(parsed.failure) }
      : error === undefined
      ? undefined
      : { check: "verify", error: toErrorObject(error) }
    const ofFile: Explanation = defined({
      ...head,
      ready: blocked === undefined,
      checks: parsed === undefined
        ? [signatureCheck]
        : Result.isFailure(parsed)
        ? [{ check: "parse", passed: false }]
        : [{ check: "parse", passed: true }, signatureCheck],
      signer: verified && signerName(verified.by),
      blocked
    })
    return ofFile
  }
  const proxy = yield* ToolProxy
  const item = qualifiedId(location)
  const trace = yield* proxy.trace(caller, { item, tier: location.tier })
  let explained: Explanation = { ...head, ...fromTrace(trace), ready: trace.blocked === undefined }
  if (trace.blocked !== undefined) return explained
  const refusedBy = (check: string, error: KiwiError): Explanation => ({
    ...explained,
    ready: false,
    checks: [...explained.checks, { check, passed: false }],
    blocked: { check, error: toErrorObject(error) }
  })
  // The item may have been signed by an older Kiwi or by other means: what signing would refuse now cannot run.
  if (isSignable(location)) {
    const parser = yield* ItemParser
    const signable = yield* Effect.result(Effect.flatMap(store.read(location), parser.check))
    if (Result.isFailure(signable)) return refusedBy("checkForSigning", signable.failure)
    const checked = signable.success
    const unsure = checked._tag === "tool" ? checked.unsure ?? [] : []
    if (unsure.length > 0) {
      const said = unsure.map((text) => ({ code: "ARGUMENTS_UNSURE", message: `${location.id} ${text}` }))
      explained = { ...explained, warnings: [...explained.warnings ?? [], ...said] }
    }
  }
  const chain = trace.resolved?.chain
  if (parameters === undefined && chain !== undefined) {
    const never = neverAccepted(chain) ?? (yield* refusedDefault(chain.leaf))
    if (never !== undefined) {
      return refusedBy(never._tag === "ConfigInvalid" ? "validateConfig" : "validateParameters", never)
    }
    const { required } = chain.leaf.tool.parameters
    if (Array.isArray(required) && required.length > 0) {
      return { ...explained, needs_parameters: true } satisfies Explanation as Explanation
    }
  }
  const dryRun = yield* Effect.result(
    proxy.call({ callId, caller, item, tier: location.tier, parameters: parameters ?? {}, dryRun: true })
  )
  return {
    ...explained,
    ...(Result.isSuccess(dryRun)
      ? { plan: dryRun.success.data }
      : parameters === undefined && isForWantOfParameters(innermost(dryRun.failure), chain)
      ? { needs_parameters: true as const }
      : { ready: false, blocked: { check: "dryRun", error: toErrorObject(dryRun.failure) } })
  } satisfies Explanation as Explanation
})
