// The steps of a call and what they hand on. A step says by its type which facts it needs and which it adds; a list
// takes it only where those before it have added what it needs.
import type { Effect } from "effect"
import type { Schema } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ResolvedChain } from "../../services/chain/ChainResolver.ts"
import type { DependenciesMissing } from "../../services/dependency/DependencyErrors.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import type { InterpreterAnswer, ResolvedEnv } from "../../services/env/EnvResolver.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import type { LockMode } from "../../services/lockfile/LockMode.ts"
import type { Isolation, PrimitiveResult } from "../../services/primitive/Primitive.ts"
import type { CallWarning, ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import type { Secrets } from "./secrets.ts"

/** There from the beginning. */
export interface Begun {
  readonly call: ToolCall
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

/** Everything that the primitive is given. */
export interface Prepared extends Resolved {
  /** Validated, with the schema's defaults. */
  readonly parameters: Schema.JsonObject
  readonly interpreter: InterpreterAnswer
  /** The packages that the chain declares; undefined where it declares none. */
  readonly packages: InstalledSet | DependenciesMissing | undefined
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

interface NamedStep {
  readonly name: string
  readonly isTraced: boolean
  readonly run: Run<never, object | void>
}

type With<Known, Adds> = Adds extends object ? Omit<Known, keyof Adds> & Adds : Known

/** A list that is made step by step. `Known`: what a call knows after them; `Traced`: what `trace` does. */
export class Steps<Known, Traced> {
  static readonly from: Steps<Begun, Begun> = new Steps([])
  readonly list: ReadonlyArray<NamedStep>
  private constructor(list: ReadonlyArray<NamedStep>) {
    this.list = list
  }

  /** Part of `trace` too: needs no parameters, causes nothing, writes nothing. */
  traced<Adds extends object | void>(
    name: string,
    run: Run<Traced, Adds>
  ): Steps<With<Known, Adds>, With<Traced, Adds>> {
    return new Steps([...this.list, { name, isTraced: true, run }])
  }

  called<Adds extends object | void>(name: string, run: Run<Known, Adds>): Steps<With<Known, Adds>, Traced> {
    return new Steps([...this.list, { name, isTraced: false, run }])
  }
}
