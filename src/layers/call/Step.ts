// The steps of a call and what they hand on. A step says by its type which facts it needs and which it adds; a list
// takes it only where those before it have added what it needs.
import { Effect } from "effect"
import type { Schema } from "effect"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ResolvedChain } from "../../services/chain/ChainResolver.ts"
import type { DependenciesMissing } from "../../services/dependency/DependencyErrors.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import type { InterpreterAnswer, ResolvedEnv } from "../../services/env/EnvResolver.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import type { FoundItem } from "../../services/item/ItemStore.ts"
import type { LockMode } from "../../services/lockfile/LockMode.ts"
import type { PrimitiveResult } from "../../services/primitive/Primitive.ts"
import type { ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import type { Isolation } from "../../services/sandbox/Isolation.ts"
import type { Secrets } from "./secrets.ts"

/** There from the beginning. */
export interface Begun {
  readonly call: ToolCall
  /** The tool, where the caller has found it already. */
  readonly found: FoundItem | undefined
  readonly warnings: ReadonlyArray<CallWarning>
  /** Values that Kiwi put into the call and that must not come back out. */
  readonly secrets: Secrets
}

/** Which tool it is, proved, and by which rule this caller may run it. */
export interface Resolved extends Begun {
  /** What a lock means for this call. */
  readonly lockMode: LockMode
  readonly chain: Chain
  readonly resolved: ResolvedChain
  /** One for each link. */
  readonly verified: ReadonlyArray<Verified>
  readonly rule: string
}

export type Packages =
  | { readonly _tag: "Installed"; readonly set: InstalledSet }
  | { readonly _tag: "Missing"; readonly reason: DependenciesMissing }

/** Everything that the primitive is given. */
export interface Prepared extends Resolved {
  /** Validated, with the schema's defaults. */
  readonly parameters: Schema.JsonObject
  readonly interpreter: InterpreterAnswer
  /** The packages that the chain declares; undefined where it declares none. */
  readonly packages: Packages | undefined
  readonly env: ResolvedEnv
  readonly dependencies: InstalledSet | undefined
  readonly isolation: Isolation
  readonly toolFile: string | undefined
  readonly config: Schema.JsonObject
  /** A dry run's config as it may be shown. */
  readonly shownConfig: Schema.JsonObject | undefined
  /** Names of the parameters that the config placed itself. */
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
  /** Whether `trace` takes it too: it needs no parameters, causes nothing and writes nothing. */
  readonly isTraced: boolean
  /** What is so once it has passed. */
  readonly says?: string
  readonly run: Run<never, object | void>
}

/** What a step is sure to add: one that may add nothing only changes what is there. */
type Added<Adds> = undefined extends Adds ? never : void extends Adds ? never : keyof Adds & keyof Done

type Beginning = keyof Begun

/** How a step is made: it asks for its services once, and not at every call. */
export type MakeStep<Needs, Adds, R> = Effect.Effect<Run<Needs, Adds>, never, R>

interface Planned<R> extends Omit<Step, "run"> {
  readonly make: MakeStep<never, object | void, R>
}

/** A list that is made step by step. `Known`: what is known after all of them; `Traced`: after those of `trace`. */
export class Steps<Known extends keyof Done, Traced extends keyof Done, R = never> {
  static readonly from: Steps<Beginning, Beginning> = new Steps([])
  readonly #planned: ReadonlyArray<Planned<R>>
  private constructor(planned: ReadonlyArray<Planned<R>>) {
    this.#planned = planned
  }

  /** Part of `trace` and of a call. `says`: what is so once it has passed, where it checks something. */
  traced<Adds extends Partial<Done> | void, R2>(
    name: string,
    make: MakeStep<Facts<Traced>, Adds, R2>,
    says?: string
  ): Steps<Known | Added<Adds>, Traced | Added<Adds>, R | R2> {
    return new Steps<Known | Added<Adds>, Traced | Added<Adds>, R | R2>([
      ...this.#planned,
      { name, isTraced: true, make, ...(says === undefined ? {} : { says }) }
    ])
  }

  /** Part of a call alone. */
  called<Adds extends Partial<Done> | void, R2>(
    name: string,
    make: MakeStep<Facts<Known>, Adds, R2>
  ): Steps<Known | Added<Adds>, Traced, R | R2> {
    return new Steps<Known | Added<Adds>, Traced, R | R2>([...this.#planned, { name, isTraced: false, make }])
  }

  /** Every step with its services. */
  get make(): Effect.Effect<MadeSteps<Known>, never, R> {
    return Effect.map(
      Effect.forEach(this.#planned, ({ make, ...step }) => Effect.map(make, (run): Step => ({ ...step, run }))),
      (list) => ({ list })
    )
  }
}

export interface MadeSteps<in Known extends keyof Done> {
  readonly list: ReadonlyArray<Step>
  /** Never there: who needs a fact after all steps asks by its type. */
  readonly knows?: (fact: Known) => void
}

/** What is known of a call that is under way, or that stopped. */
export type SoFar = Begun & Partial<Omit<Done, keyof Begun>>

export const begin = (call: ToolCall, found?: FoundItem): SoFar => ({ call, found, warnings: [], secrets: [] })

/** Takes one step: what it adds is known from then on. */
export const take = ({ run }: Step, known: SoFar): Effect.Effect<void, ToolCallError> =>
  // What it needs is there: the list was made so.
  Effect.map(run(known as never), (added) => {
    if (added !== undefined) Object.assign(known, added)
  })

/** Takes all of a list that ends with everything known. */
export const takeAll = Effect.fnUntraced(function*(
  steps: MadeSteps<keyof Done>,
  known: SoFar
) {
  for (const step of steps.list) yield* take(step, known)
  return known as Done
})
