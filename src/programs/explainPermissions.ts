// Which rule decides about a call, and what would happen. The steps of a call find out what it touches, and the gate that
// decides about calls decides about this one, so that the explanation cannot differ from a call. Nothing runs.
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import { nameOf } from "../layers/permission/PermissionGateRules.ts"
import { findAccesses } from "../layers/permission/permissionSteps.ts"
import { toolAccess } from "../layers/permission/ruleQuery.ts"
import { validateParameters } from "../layers/primitive/steps/parameterSteps.ts"
import type { Caller } from "../services/call/Caller.ts"
import type { Access } from "../services/capability/Access.ts"
import { showAccess } from "../services/capability/Access.ts"
import { innermost } from "../services/error/KiwiError.ts"
import { safeLine } from "../services/error/safeText.ts"
import type { Action } from "../services/permission/Action.ts"
import { RuleRefused } from "../services/permission/PermissionErrors.ts"
import type { JudgedAccess, SettledAsk } from "../services/permission/PermissionGate.ts"
import { PermissionDenied, PermissionGate } from "../services/permission/PermissionGate.ts"
import type { Outcome } from "../services/permission/rule/Rule.ts"
import { showRule } from "../services/permission/rule/Rule.ts"
import { ParametersInvalid, ToolProxy } from "../services/proxy/ToolProxy.ts"

export interface ExplainedAccess {
  readonly access: string
  readonly outcome: Outcome
  /** The rule that decides. */
  readonly rule: string
  readonly reason?: string
  readonly hint?: string
  /** The rule that the answers `session` and `always` would make: "allow: fs.write(**)". */
  readonly offer?: string
  /** The remembered answer that settles the question, so that it is not put: "remembered k7f3m2qa9x". */
  readonly settled?: string
  /** The rules that speak about it. */
  readonly speaks: ReadonlyArray<{ readonly id: string; readonly rule: string; readonly decides: boolean }>
}

export interface ExplainedCall {
  /** What the gate decides about the whole call. */
  readonly outcome: Outcome
  /** The rules that decide, with those of remembered answers. */
  readonly rule: string
  /** Why it is denied. */
  readonly reason?: string
  readonly hint?: string
  readonly accesses: ReadonlyArray<ExplainedAccess>
  /** Without parameters, where the tool needs some: then only the tool itself is decided on. */
  readonly toolOnly: boolean
  /** What would still refuse a call that the rules let through. */
  readonly blocked?: { readonly step: string; readonly message: string }
}

const given = <K extends string>(key: K, value: string | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { readonly [_ in K]?: string }

const shown = (
  { access, hint, offer, outcome, reason, rule, speaks }: JudgedAccess,
  settled: ReadonlyArray<SettledAsk>
): ExplainedAccess => {
  const answer = settled.find((one) => one.access === access)?.answer
  return {
    access: showAccess(access),
    outcome: answer === undefined ? outcome : "allow",
    rule,
    ...given("reason", reason),
    ...given("hint", hint),
    ...given("offer", answer === undefined ? offer : undefined),
    ...given("settled", answer),
    speaks: speaks.map((found) => {
      const id = nameOf(found)
      return { id, rule: showRule(found.rule), decides: id === rule }
    })
  }
}

/** What the gate says about one action. */
const decideOn = Effect.fnUntraced(function*(caller: Caller, action: Action) {
  const gate = yield* PermissionGate
  const judged: Array<JudgedAccess> = []
  const decided = yield* Effect.result(gate.decide(caller, action, (one) => judged.push(one)))
  if (Result.isFailure(decided)) {
    const { hint, reason, rule } = decided.failure
    return { outcome: "deny" as const, rule, reason, hint, accesses: judged.map((one) => shown(one, [])) }
  }
  const { asks, rule, settled = [] } = decided.success
  return {
    outcome: asks.length > 0 ? "ask" as const : "allow" as const,
    rule,
    accesses: judged.map((one) => shown(one, settled))
  }
})

const strictness = { allow: 0, ask: 1, deny: 2 } as const

/** Fails as the call would, if it is refused before any rule is looked at. `parameters` undefined: none are known. */
export const explainPermissions = Effect.fn("explainPermissions")(
  function*(item: string, parameters: Schema.JsonObject | undefined, caller: Caller) {
    const proxy = yield* ToolProxy
    const validate = yield* validateParameters
    const find = yield* findAccesses
    const { blocked, env, resolved, rule, verified } = yield* proxy.trace(caller, { item })
    const isByRule = blocked !== undefined && innermost(blocked.error) instanceof PermissionDenied
    if (resolved === undefined || (rule === undefined && !isByRule)) {
      return yield* blocked?.error ?? new RuleRefused({ rule: safeLine(item), issue: "is no tool" })
    }
    const { chain } = resolved
    const call = { callId: "", caller, item, parameters: parameters ?? {}, dryRun: true }
    const touched = Effect.gen(function*() {
      const { parameters: valid } = yield* validate({ call, chain })
      return (yield* find({ call, chain, parameters: valid })).accesses
    })
    const own = toolAccess(chain, undefined)
    const accesses: ReadonlyArray<Access> = yield* Effect.catchIf(
      touched,
      (error) => parameters === undefined && innermost(error) instanceof ParametersInvalid,
      () => Effect.succeed([own])
    )
    const run = yield* decideOn(caller, { _tag: "Run", chain, verified, accesses })
    const secrets = yield* Effect.forEach(
      run.outcome === "deny" ? [] : env?.references ?? [],
      (name) => decideOn(caller, { _tag: "UseSecret", chain, verified, name })
    )
    const all = [run, ...secrets]
    const worst = all.toSorted((a, b) => strictness[b.outcome] - strictness[a.outcome])[0] ?? run
    const isLater = blocked !== undefined && !isByRule && worst.outcome !== "deny"
    return {
      ...worst,
      rule: worst.outcome === "deny" ? worst.rule : [...new Set(all.map((one) => one.rule))].join(", "),
      accesses: all.flatMap((one) => one.accesses),
      toolOnly: accesses.length === 1 && accesses[0] === own,
      ...(isLater ? { blocked: { step: blocked.step, message: blocked.error.message } } : {})
    } satisfies ExplainedCall as ExplainedCall
  }
)
