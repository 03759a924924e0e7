// The steps of a call, and the facts that they pass on. The type of a step says which facts it needs and which it
// adds. A step can only be put into a list after steps that add what it needs.
import { Effect, Exit } from "effect"
import type { Schema } from "effect"
import type { Approved } from "../../services/approval/ApprovalStore.ts"
import { CallWarnings } from "../../services/call/CallWarning.ts"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import type { Access } from "../../services/capability/Access.ts"
import type { Claims } from "../../services/capability/CapabilityTokens.ts"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ResolvedChain } from "../../services/chain/ChainResolver.ts"
import type { DependenciesMissing } from "../../services/dependency/DependencyErrors.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import type { InterpreterAnswer, ResolvedEnv } from "../../services/env/EnvResolver.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import type { FoundItem } from "../../services/item/ItemStore.ts"
import type { ComparedCall, LoopHistory } from "../../services/limit/loops.ts"
import type { LockMode } from "../../services/lockfile/LockMode.ts"
import type { Ask, SettledAsk } from "../../services/permission/PermissionGate.ts"
import type { PrimitiveResult } from "../../services/primitive/Primitive.ts"
import type { ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import type { Isolation } from "../../services/sandbox/Isolation.ts"
import type { SettingsValues } from "../../services/settings/Settings.ts"
import type { Secrets } from "./secrets.ts"

/**
 * Something that a step wants done when the call has ended, however it ended. `now`: milliseconds. A warning that it
 * returns reaches the caller, with the result or beside the error.
 */
export type CallEnding = (
  exit: Exit.Exit<ToolResult, ToolCallError>,
  known: SoFar,
  now: number
) => CallWarning | undefined

export type CallBack = (call: ToolCall) => Effect.Effect<ToolResult, ToolCallError>

/** Known from the start of a call. */
export interface Begun {
  readonly call: ToolCall
  /** The tool, if the caller has already found it. */
  readonly found: FoundItem | undefined
  /** Runs another call in the same way: one that the tool makes. */
  readonly callBack: CallBack
  readonly warnings: ReadonlyArray<CallWarning>
  /** Steps add to it. */
  readonly endings: Array<CallEnding>
  /** Values that Kiwi put into the call, and that its results and errors must not show. */
  readonly secrets: Secrets
}

/** The tool and its chain, verified, and the rule by which this caller may run it. */
export interface Resolved extends Begun {
  /** The latest calls of the caller's session. */
  readonly history: LoopHistory
  /** As they were when the call began. */
  readonly settings: SettingsValues
  /** What happens if the chain has no lock, or differs from it. */
  readonly lockMode: LockMode
  readonly chain: Chain
  readonly resolved: ResolvedChain
  /** One for each link of the chain. */
  readonly verified: ReadonlyArray<Verified>
  readonly rule: string
  /** What a person has to agree to before the call goes on. */
  readonly asks: ReadonlyArray<Ask>
  /** What it agreed to before, by an answer that is remembered. */
  readonly settled?: ReadonlyArray<SettledAsk>
}

export type Packages =
  | { readonly _tag: "Installed"; readonly set: InstalledSet }
  | { readonly _tag: "Missing"; readonly reason: DependenciesMissing }

/** Everything that is passed to the primitive. */
export interface Prepared extends Resolved {
  /** Validated, with the defaults of the schema. */
  readonly parameters: Schema.JsonObject
  /** What the call would touch, beginning with the tool itself. */
  readonly accesses: ReadonlyArray<Access>
  /** Of the capability token that the call was made with; undefined if it was made without one. */
  readonly claims: Claims | undefined
  /** What the tool's own calls are made with. Undefined if it makes none. */
  readonly callGrant: Required<Pick<ToolCall, "thread" | "token">> | undefined
  readonly interpreter: InterpreterAnswer
  /** The packages that the chain declares; undefined if it declares none. */
  readonly packages: Packages | undefined
  readonly env: ResolvedEnv
  readonly dependencies: InstalledSet | undefined
  readonly isolation: Isolation
  /** The call as the loop guard compares it. */
  readonly compared: ComparedCall
  /** The answer that allowed it. Undefined if nobody was asked. */
  readonly approval: Omit<Approved, "rule"> | undefined
  readonly toolFile: string | undefined
  readonly config: Schema.JsonObject
  /** The config that a dry run may show: without secrets. */
  readonly shownConfig: Schema.JsonObject | undefined
  /** Names of the parameters that the config refers to. */
  readonly placed: ReadonlySet<string>
}

export interface Done extends Prepared {
  readonly primitive: PrimitiveResult
  readonly result: ToolResult
}

/** Some facts of a call, by name. */
export type Facts<Names extends keyof Done> = Pick<Done, Names>

export type Run<in Needs, out Adds> = (facts: Needs) => Effect.Effect<Adds, ToolCallError>

export interface Step {
  readonly name: string
  /** Whether `trace` runs it too: it needs no parameters, and changes nothing. */
  readonly isTraced: boolean
  /** What is true once it has succeeded, as shown to a person. */
  readonly says?: string
  readonly run: Run<never, object | void>
}

/** What a step always adds: none, if it may return nothing and only change facts that are there. */
type Added<Adds> = undefined extends Adds ? never : void extends Adds ? never : keyof Adds & keyof Done

type Beginning = keyof Begun

/**
 * Makes a step. It gets its services once, not at every call. A step that only looks at its facts in most calls is made
 * with `Effect.fnUntracedEager`: without anything to wait for, it has ended when it returns.
 */
export type MakeStep<Needs, Adds, R> = Effect.Effect<Run<Needs, Adds>, never, R>

interface Planned<R> extends Omit<Step, "run"> {
  readonly make: MakeStep<never, object | void, R>
}

/**
 * A list of steps. `Known`: the facts that are known after all of them; `Traced`: after those that `trace` runs; `Start`:
 * those that it begins with.
 */
export class Steps<
  Known extends keyof Done,
  Traced extends keyof Done,
  R = never,
  Start extends keyof Done = Beginning
> {
  static readonly from: Steps<Beginning, Beginning> = new Steps([])
  /** For the end of a list. */
  static after<Start extends keyof Done>(): Steps<Start, never, never, Start> {
    return new Steps<Start, never, never, Start>([])
  }
  /** Never set: see `followedBy`. */
  declare readonly starts?: (fact: Start) => void
  readonly #planned: ReadonlyArray<Planned<R>>
  private constructor(planned: ReadonlyArray<Planned<R>>) {
    this.#planned = planned
  }

  /** Adds a step of calls and of `trace`. `says`: what is true once it has succeeded, if it checks something. */
  traced<Adds extends Partial<Done> | void, R2>(
    name: string,
    make: MakeStep<Facts<Traced>, Adds, R2>,
    says?: string
  ): Steps<Known | Added<Adds>, Traced | Added<Adds>, R | R2, Start> {
    return new Steps<Known | Added<Adds>, Traced | Added<Adds>, R | R2, Start>([
      ...this.#planned,
      { name, isTraced: true, make, ...(says === undefined ? {} : { says }) }
    ])
  }

  /** Adds a step of calls only. */
  called<Adds extends Partial<Done> | void, R2>(
    name: string,
    make: MakeStep<Facts<Known>, Adds, R2>
  ): Steps<Known | Added<Adds>, Traced, R | R2, Start> {
    return new Steps<Known | Added<Adds>, Traced, R | R2, Start>([...this.#planned, { name, isTraced: false, make }])
  }

  /** Adds a list that begins with facts that are known by now. */
  followedBy<Adds extends keyof Done, R2, Needs extends Known>(
    last: Steps<Adds, never, R2, Needs>
  ): Steps<Known | Adds, Traced, R | R2, Start> {
    return new Steps<Known | Adds, Traced, R | R2, Start>([...this.#planned, ...last.#planned])
  }

  /** Gives every step its services. */
  get make(): Effect.Effect<MadeSteps<Known>, never, R> {
    return Effect.map(
      Effect.forEach(this.#planned, ({ make, ...step }) => Effect.map(make, (run): Step => ({ ...step, run }))),
      (list) => ({ list })
    )
  }
}

export interface MadeSteps<in Known extends keyof Done> {
  readonly list: ReadonlyArray<Step>
  /** Never set. Its type lets a caller require facts that are known after all steps. */
  readonly knows?: (fact: Known) => void
}

/** What is known of a call that is running, or that failed. */
export type SoFar = Begun & Partial<Omit<Done, keyof Begun>>

/**
 * The names that steps add. They are set from the start, since V8 turns an object that gets a dozen names later into a
 * slow one.
 */
const unknown: Readonly<Record<Exclude<keyof Done, Beginning>, undefined>> = {
  accesses: undefined,
  approval: undefined,
  asks: undefined,
  callGrant: undefined,
  chain: undefined,
  claims: undefined,
  compared: undefined,
  config: undefined,
  dependencies: undefined,
  env: undefined,
  history: undefined,
  interpreter: undefined,
  isolation: undefined,
  lockMode: undefined,
  packages: undefined,
  parameters: undefined,
  placed: undefined,
  primitive: undefined,
  resolved: undefined,
  result: undefined,
  rule: undefined,
  settings: undefined,
  settled: undefined,
  shownConfig: undefined,
  toolFile: undefined,
  verified: undefined
}

export const begin = (call: ToolCall, callBack: CallBack, found?: FoundItem): SoFar =>
  // To a reader, a name that is undefined is one that is missing.
  ({ ...unknown, call, found, callBack, warnings: [], endings: [], secrets: [] }) as Begun as SoFar

/** The types of `Steps` ensure that the facts that a step needs are known. */
const runStep = ({ run }: Step, known: SoFar) => run(known as never)

const add = (known: SoFar, added: object | void): void => {
  if (added !== undefined) Object.assign(known, added)
}

/** Runs one step, and adds its facts to `known`. */
export const take = (step: Step, known: SoFar): Effect.Effect<void, ToolCallError> =>
  Effect.map(runStep(step, known), (added) => add(known, added))

/** Runs all steps of a list after which every fact is known. */
export const takeAll = Effect.fnUntraced(function*(
  steps: MadeSteps<keyof Done>,
  known: SoFar
) {
  for (const step of steps.list) add(known, yield* runStep(step, known))
  return known as Done
})

/** Does what the steps want done at the end, and adds their warnings. */
export const end = (
  known: SoFar,
  exit: Exit.Exit<ToolResult, ToolCallError>,
  now: number
): Effect.Effect<ToolResult, ToolCallError> => {
  const warnings = known.endings.flatMap((ending) => ending(exit, known, now) ?? [])
  if (warnings.length === 0) return exit
  if (Exit.isSuccess(exit)) {
    return Effect.succeed({ ...exit.value, warnings: [...exit.value.warnings, ...warnings] })
  }
  return Effect.andThen(
    CallWarnings.use(({ warn }) => Effect.forEach(warnings, warn, { discard: true })),
    exit
  )
}
