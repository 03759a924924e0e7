// The one way to run a tool. Each step is a named function over one call's state; the list at the end is the order,
// and nothing runs that is not in it. Only `ToolProxy.call` is a span: steps are on the hot path.
import { Cause, Clock, Effect, Exit, Layer, Option, Redacted, Result } from "effect"
import type { Schema } from "effect"
import { AuditLog } from "../../services/audit/AuditLog.ts"
import { redactText, redactValue } from "../../services/audit/redaction.ts"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import type { ResolvedChain } from "../../services/chain/ChainResolver.ts"
import { ChainResolver } from "../../services/chain/ChainResolver.ts"
import type { EnvVariable, ResolvedEnv } from "../../services/env/EnvResolver.ts"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import type { KiwiError, ValidationIssue } from "../../services/error/KiwiError.ts"
import { codeOf, innermost } from "../../services/error/KiwiError.ts"
import { ItemHistory } from "../../services/integrity/ItemHistory.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import { Verifier } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { places } from "../../services/primitive/places.ts"
import type { Isolation, PrimitiveInput, PrimitiveResult } from "../../services/primitive/Primitive.ts"
import { Primitives } from "../../services/primitive/Primitive.ts"
import type { CallMetadata, CallWarning, ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import { CallEvents } from "../../services/proxy/ToolCall.ts"
import type { ChainReason, ToolCallError, Trace } from "../../services/proxy/ToolProxy.ts"
import {
  ConfigInvalid,
  HidesItem,
  ParametersInvalid,
  ToolChainError,
  ToolProxy
} from "../../services/proxy/ToolProxy.ts"
import { SchemaValidator } from "../../services/schema/SchemaValidator.ts"
import * as Template from "../../services/template/Template.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { isSecretName, secretsOf } from "./redaction.ts"

/** What the steps have found out about one call so far. */
interface Run {
  readonly call: ToolCall
  readonly startedAt: number
  resolved: ResolvedChain | undefined
  verified: ReadonlyArray<Verified>
  rule: string | undefined
  isolation: Isolation | undefined
  toolFile: string | undefined
  env: ResolvedEnv | undefined
  parameters: Schema.JsonObject
  config: Schema.JsonObject
  /** Names of the parameters that the config placed itself. */
  placed: ReadonlySet<string>
  /** Values that Kiwi put into the call and that must not come back out. */
  secrets: ReadonlyArray<Redacted.Redacted<string>>
  primitive: PrimitiveResult | undefined
  result: ToolResult | undefined
  warnings: ReadonlyArray<CallWarning>
}

interface Step {
  readonly name: string
  /** Part of `trace`: needs no parameters, causes nothing, writes nothing. */
  readonly traced: boolean
  readonly run: (run: Run) => Effect.Effect<void, ToolCallError>
}

const begin = (call: ToolCall, startedAt: number): Run => ({
  call,
  startedAt,
  resolved: undefined,
  verified: [],
  rule: undefined,
  isolation: undefined,
  toolFile: undefined,
  env: undefined,
  parameters: call.parameters,
  config: {},
  placed: new Set(),
  secrets: [],
  primitive: undefined,
  result: undefined,
  warnings: []
})

/** Steps run in order, so what an earlier one sets is there for a later one. */
const chainOf = (run: Run) => {
  if (run.resolved === undefined) throw new Error("the chain is resolved before it is used")
  return run.resolved.chain
}

const failedIn = (run: Run, link: ChainLink, reason: ChainReason): ToolChainError => {
  const inner: KiwiError & { readonly validationIssues?: ReadonlyArray<ValidationIssue> } = reason
  return new ToolChainError({
    chain: [...(inner.chain ?? chainIds(chainOf(run).links))],
    failedAt: inner.failedAt ?? {
      toolId: link.tool.location.id,
      configPath: showLocation(link.tool.location),
      validationErrors: inner.validationIssues ?? []
    },
    reason
  })
}

const usesProject = (run: Run) => chainOf(run).links.some((link) => link.tool.location.tier === "project")

const isRecord = (value: Schema.Json): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The link whose own config set the first wrong key: the leaf-most one that has it. */
const culprit = (run: Run, issues: ReadonlyArray<ValidationIssue>): ChainLink => {
  const chain = chainOf(run)
  const key = issues[0]?.field.split(/[.[]/, 1)[0] ?? ""
  return chain.links.find((link) => Object.hasOwn(link.tool.config, key)) ?? chain.leaf
}

export const make = Effect.gen(function*() {
  const audit = yield* AuditLog
  const chains = yield* ChainResolver
  const copies = yield* VerifiedCopies
  const environments = yield* EnvResolver
  const gate = yield* PermissionGate
  const history = yield* ItemHistory
  const primitives = yield* Primitives
  const schemas = yield* SchemaValidator
  const trust = yield* ProjectTrust
  const verifier = yield* Verifier
  const workspace = yield* Workspace

  const auditRequest = Effect.fnUntraced(function*(run: Run) {
    const { call } = run
    yield* audit.append({
      kind: "request",
      call: call.callId,
      caller: call.caller,
      operation: "run",
      subject: { type: "tool", item: call.item, ...(call.tier === undefined ? {} : { tier: call.tier }) },
      parameters: call.parameters,
      ...(call.dryRun ? { dry_run: true } : {})
    })
  })

  /** What is wrong with a file quotes it, and nobody listens to a restricted project. */
  const requireHearing = (place: string) => place.startsWith("project:") ? trust.require : Effect.void

  const resolveChain = Effect.fnUntraced(function*(run: Run) {
    run.resolved = yield* chains.resolve({ id: run.call.item, tier: run.call.tier }).pipe(
      Effect.catchTag(
        ["ChainCycle", "ChainTooDeep", "ChainLinkMissing", "ChainMalformed", "ChainLinkBroken"],
        (reason) =>
          Effect.andThen(
            requireHearing(reason.failedAt.configPath),
            Effect.fail(new ToolChainError({ chain: reason.chain, failedAt: reason.failedAt, reason }))
          )
      ),
      Effect.catchTag("ItemInvalid", (error) => Effect.andThen(requireHearing(error.item), Effect.fail(error)))
    )
  })

  const requireTrustedProject = (run: Run) => usesProject(run) ? trust.require : Effect.void

  const verifyLinks = Effect.fnUntraced(function*(run: Run) {
    const verified: Array<Verified> = []
    for (const link of chainOf(run).links) {
      verified.push(
        yield* Effect.mapError(verifier.verify(link.snapshot), (reason) => failedIn(run, link, reason))
      )
    }
    run.verified = verified
  })

  const refuseGoingBack = Effect.fnUntraced(function*(run: Run) {
    for (const link of chainOf(run).links) {
      if (link.tool.location.tier === "system") continue
      yield* Effect.mapError(
        history.checkForward(link.tool.location, link.tool.version, link.tool.digest),
        (reason) => failedIn(run, link, reason)
      )
    }
  })

  const refuseHiding = Effect.fnUntraced(function*(run: Run) {
    const { chain, hides } = run.resolved!
    const hidden = hides.filter((location) => location.tier === "user")
    if (hidden.length === 0) return
    const { digest, location } = chain.leaf.tool
    if (yield* history.acceptedHiding(location, digest)) return
    return yield* failedIn(
      run,
      chain.leaf,
      new HidesItem({
        item: showLocation(location),
        hidden: hidden.map(showLocation),
        command: `kiwi sign tool ${location.id}`
      })
    )
  })

  const permit = Effect.fnUntraced(function*(run: Run) {
    run.rule = (yield* gate.run(run.call.caller, chainOf(run), run.verified)).rule
  })

  const isolate = (run: Run) =>
    Effect.sync(() => {
      run.isolation = run.verified.every((v) => v.by._tag === "System") ? "trusted" : "standard"
    })

  const validateParameters = Effect.fnUntraced(function*(run: Run) {
    const { leaf } = chainOf(run)
    const { id } = leaf.tool.location
    const { issues, value } = yield* schemas.validate({
      schema: leaf.tool.parameters,
      what: `parameters of ${id}`,
      value: run.call.parameters,
      closed: true,
      origin: { _tag: "verified", digest: leaf.tool.digest }
    }).pipe(Effect.mapError((reason) => failedIn(run, leaf, reason)))
    if (issues.length > 0 || !isRecord(value)) {
      return yield* failedIn(run, leaf, new ParametersInvalid({ tool: id, issues: [...issues] }))
    }
    run.parameters = value
  })

  const resolveEnvironment = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    const declaring = chain.links.find((link) => link.tool.envConfig !== undefined) ?? chain.leaf
    const env = yield* Effect.mapError(
      environments.resolve(chain),
      (reason) => failedIn(run, reason._tag === "EnvConfigInvalid" ? declaring : chain.leaf, reason)
    )
    run.env = env
    run.secrets = secretsOf(env)
    run.warnings = [
      ...run.warnings,
      ...env.warnings.map((w) => ({ code: "DOTENV_LINE", message: `${w.file}:${w.line}: ${w.issue}` }))
    ]
  })

  /** The verified bytes that will run are put where nothing else can write, before any config names them. */
  const pinCopies = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    for (const [index, link] of chain.links.entries()) {
      if (link.tool.entrypoint === undefined) continue
      const copy = yield* Effect.mapError(
        copies.materialize(run.verified[index]!, link.tool.entrypoint),
        (reason) => failedIn(run, link, reason)
      )
      run.toolFile = copy.file
      return
    }
  })

  const templates = new WeakMap<Chain, Template.CompiledTemplate>()
  const templateOf = (chain: Chain): Template.CompiledTemplate => {
    const known = templates.get(chain)
    if (known !== undefined) return known
    const compiled = Template.compile(chain.config, places.get(chain.primitive.tool.location.id) ?? [])
    templates.set(chain, compiled)
    return compiled
  }

  const renderConfig = (run: Run): Effect.Effect<void, ToolCallError> => {
    const chain = chainOf(run)
    const template = templateOf(chain)
    const rendered = Template.render(template, {
      parameters: run.parameters,
      declared: new Set(Object.keys(propertiesOf(chain.leaf.tool.parameters))),
      variables: variablesOf(run)
    })
    if (Result.isFailure(rendered)) return Effect.fail(failedIn(run, chain.leaf, rendered.failure))
    run.config = rendered.success.config
    run.placed = template.parameters
    run.secrets = [
      ...run.secrets,
      ...rendered.success.substituted.filter(({ name }) => isSecretName(run.env, name)).map(({ text }) => text)
    ]
    return Effect.void
  }

  const validateConfig = Effect.fnUntraced(function*(run: Run) {
    const { primitive } = chainOf(run)
    if (primitive.tool.configSchema === undefined) return
    const { issues, value } = yield* schemas.validate({
      schema: primitive.tool.configSchema,
      what: `config of ${primitive.tool.location.id}`,
      value: run.config,
      closed: false,
      origin: { _tag: "verified", digest: primitive.tool.digest }
    }).pipe(Effect.mapError((reason) => failedIn(run, primitive, reason)))
    if (issues.length > 0 || !isRecord(value)) {
      const link = culprit(run, issues)
      return yield* failedIn(run, link, new ConfigInvalid({ link: link.tool.location.id, issues: [...issues] }))
    }
    run.config = value
  })

  const inputOf = (run: Run, emit: PrimitiveInput["emit"]): PrimitiveInput => ({
    tool: chainOf(run).leaf.tool.location.id,
    config: run.config,
    signed: chainOf(run).config,
    parameters: run.parameters,
    placed: run.placed,
    env: run.env?.child ?? new Map<string, EnvVariable>(),
    toolFile: run.toolFile,
    cwd: workspace.cwd,
    isolation: run.isolation ?? "standard",
    emit
  })

  const runPrimitive = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    const events = yield* CallEvents
    const input = inputOf(run, events.emit)
    const id = chain.primitive.tool.location.id
    const failed = (reason: ChainReason) => failedIn(run, chain.leaf, reason)
    if (run.call.dryRun) {
      const plan = yield* Effect.mapError(primitives.plan(id, input), failed)
      run.primitive = { data: plan, metadata: {} }
      return
    }
    for (const link of chain.links) {
      if (link.tool.location.tier === "system") continue
      yield* Effect.mapError(
        history.ran(link.tool.location, link.tool.version, link.tool.digest),
        (reason) => failedIn(run, link, reason)
      )
    }
    run.primitive = yield* Effect.mapError(primitives.run(id, input), failed)
  })

  const shapeResult = (run: Run) =>
    Effect.sync(() => {
      const chain = chainOf(run)
      const { tool } = chain.leaf
      const { data, metadata } = run.primitive!
      const { secrets } = run
      const spilled = metadata.body ?? metadata.stdout
      const shaped: CallMetadata = {
        call_id: run.call.callId,
        duration_ms: metadata.duration_ms ?? 0,
        tool: { id: tool.location.id, version: tool.version, tier: tool.location.tier, digest: tool.digest },
        chain: chainIds(chain.links),
        chain_digest: chain.digest,
        isolation: run.isolation ?? "standard",
        ...(metadata.exit_code === undefined ? {} : { exit_code: metadata.exit_code }),
        ...(metadata.status_code === undefined ? {} : { status_code: metadata.status_code }),
        ...(metadata.attempts === undefined ? {} : { attempts: metadata.attempts }),
        ...(metadata.stderr === undefined || metadata.stderr.text === ""
          ? {}
          : { stderr: redactText(metadata.stderr.text.slice(-4096), secrets) }),
        ...(spilled?.spilled === undefined ? {} : { output: { uri: spilled.spilled, bytes: spilled.bytes } })
      }
      run.result = {
        status: run.call.dryRun ? "validation_passed" : "success",
        data: redactValue(data, secrets),
        metadata: shaped,
        warnings: [...run.warnings]
      }
    })

  const steps: ReadonlyArray<Step> = [
    { name: "auditRequest", traced: false, run: auditRequest },
    { name: "resolveChain", traced: true, run: resolveChain },
    { name: "requireTrustedProject", traced: true, run: requireTrustedProject },
    { name: "verifyLinks", traced: true, run: verifyLinks },
    { name: "refuseGoingBack", traced: true, run: refuseGoingBack },
    { name: "refuseHiding", traced: true, run: refuseHiding },
    { name: "permit", traced: true, run: permit },
    { name: "isolate", traced: true, run: isolate },
    { name: "validateParameters", traced: false, run: validateParameters },
    { name: "resolveEnvironment", traced: true, run: resolveEnvironment },
    { name: "pinCopies", traced: false, run: pinCopies },
    { name: "renderConfig", traced: false, run: renderConfig },
    { name: "validateConfig", traced: false, run: validateConfig },
    { name: "runPrimitive", traced: false, run: runPrimitive },
    { name: "shapeResult", traced: false, run: shapeResult }
  ]

  /** Written whatever became of the call; the request stands already, so a lost result is itself visible. */
  const auditResult = Effect.fnUntraced(function*(run: Run, exit: Exit.Exit<void, ToolCallError>) {
    const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    if (failure?._tag === "AuditUnavailable") return
    const code = failure === undefined ? undefined : codeOf(innermost(failure))
    const chain = run.resolved?.chain
    const tool = chain?.leaf.tool
    yield* Effect.ignore(audit.append({
      kind: "result",
      call: run.call.callId,
      subject: {
        type: "tool",
        item: run.call.item,
        ...(tool === undefined ? {} : { version: tool.version, tier: tool.location.tier, digest: tool.digest }),
        ...(chain === undefined ? {} : { chain: chainIds(chain.links), chain_digest: chain.digest })
      },
      outcome: outcomeOf(exit, code),
      ...(run.rule === undefined ? {} : { rule: run.rule }),
      ...(run.isolation === undefined ? {} : { isolation: run.isolation }),
      ...(failure === undefined || code === undefined ? {} : { error: { code, message: failure.message } }),
      duration_ms: (yield* Clock.currentTimeMillis) - run.startedAt
    }, run.secrets))
  })

  const call = Effect.fn("ToolProxy.call")(function*(request: ToolCall) {
    const run = begin(request, yield* Clock.currentTimeMillis)
    yield* Effect.onExit(runSteps(steps, run), (exit) => auditResult(run, exit))
    return run.result!
  })

  const traced = steps.filter((step) => step.traced)

  const trace = Effect.fnUntraced(function*(
    caller: ToolCall["caller"],
    query: { readonly item: string; readonly tier?: ToolCall["tier"] | undefined }
  ) {
    const run = begin({
      callId: "",
      caller,
      item: query.item,
      ...(query.tier === undefined ? {} : { tier: query.tier }),
      parameters: {},
      dryRun: true
    }, 0)
    const passed: Array<string> = []
    let blocked: Trace["blocked"]
    for (const step of traced) {
      const outcome = yield* Effect.result(step.run(run))
      if (Result.isFailure(outcome)) {
        blocked = { step: step.name, error: outcome.failure }
        break
      }
      passed.push(step.name)
    }
    return {
      passed,
      blocked,
      resolved: run.resolved,
      verified: run.verified,
      rule: run.rule,
      env: run.env,
      isolation: run.isolation
    } satisfies Trace as Trace
  })

  return ToolProxy.of({ call, trace, steps: steps.map((step) => step.name) })
})

/** Refusals of a rule or of trust; any other failure is one of the tool, its item or the machine. */
const denials: ReadonlySet<string> = new Set([
  "PROJECT_RESTRICTED",
  "PERMISSION_DENIED",
  "UNSIGNED",
  "TAMPERED",
  "SIGNATURE_MALFORMED",
  "SIGNER_UNTRUSTED",
  "SYSTEM_ITEM_ALTERED",
  "GOES_BACK",
  "HIDES_ITEM"
])

const outcomeOf = (exit: Exit.Exit<unknown, unknown>, code: string | undefined) => {
  if (Exit.isSuccess(exit)) return "success"
  if (code !== undefined) return denials.has(code) ? "denied" : "failure"
  return Cause.hasInterrupts(exit.cause) ? "interrupted" : "failure"
}

const runSteps = Effect.fnUntraced(function*(steps: ReadonlyArray<Step>, run: Run) {
  for (const step of steps) yield* step.run(run)
})

const propertiesOf = (schema: Schema.JsonObject): Schema.JsonObject => {
  const properties = schema["properties"]
  return properties !== undefined && isRecord(properties) ? properties : {}
}

/** What `${VAR}` in config may name: what the chain declares, and the verified file. */
const variablesOf = (run: Run): ReadonlyMap<string, { readonly value: Redacted.Redacted<string> }> => {
  const declared = run.env?.declared ?? new Map<string, EnvVariable>()
  return run.toolFile === undefined
    ? declared
    : new Map<string, { readonly value: Redacted.Redacted<string> }>(declared)
      .set("TOOL_FILE", { value: Redacted.make(run.toolFile) })
}

export const layer = Layer.effect(ToolProxy, make)
