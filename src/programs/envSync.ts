// Installs packages, for one tool or for all that declare some; nothing else in Kiwi does. Before anything is fetched,
// a tool passes the same checks as for a call. A refused tool installs nothing.
import { Clock, Duration, Effect, Result } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import type { Chain } from "../services/chain/Chain.ts"
import type { Declared } from "../services/dependency/declaredDependencies.ts"
import { Dependencies } from "../services/dependency/Dependencies.ts"
import type { SyncOutcome } from "../services/dependency/Dependencies.ts"
import type { InstalledPackage, InstalledSet } from "../services/dependency/InstalledPackage.ts"
import { EnvResolver, type InterpreterAnswer, RequirementsMissing } from "../services/env/EnvResolver.ts"
import { stateOf, toErrorObject } from "../services/error/KiwiError.ts"
import type { ErrorObject, KiwiError } from "../services/error/KiwiError.ts"
import type { Verified } from "../services/integrity/Verifier.ts"
import { showLocation } from "../services/item/Item.ts"
import type { ItemLocation } from "../services/item/Item.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { Lockfiles } from "../services/lockfile/Lockfiles.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { govern } from "./govern.ts"
import { asHuman } from "./humanAct.ts"

export interface EnvSyncInput {
  /** Default: every tool of the project and of your user space. */
  readonly tool?: string | undefined
  readonly upgrade: boolean
  readonly allowBuild: boolean
  /** Called before the first installation. */
  readonly plan: (planned: ReadonlyArray<Planned>) => Effect.Effect<void>
  readonly progress: (what: string) => Effect.Effect<void>
}

export interface Planned {
  readonly tool: string
  readonly path: string
  readonly declared: Declared
}

export interface Synced {
  readonly tool: string
  /** `tier:folder/path`. */
  readonly path: string
  /** `refused`: it may not run here, so nothing was fetched. `nothing`: it declares none. */
  readonly state: "installed" | "up-to-date" | "refused" | "failed" | "nothing"
  readonly ecosystem?: string
  readonly requirements?: ReadonlyArray<string>
  readonly packages?: ReadonlyArray<InstalledPackage>
  readonly installer?: string
  readonly environment?: string
  /** The lockfile into which versions and hashes were written; absent if it had them already. */
  readonly lockfile?: string
  /** Why it was refused or failed. For installed packages: why the lock does not list them. */
  readonly error?: ErrorObject
}

interface Ready extends Planned {
  readonly chain: Chain
  readonly verified: ReadonlyArray<Verified>
}

type Candidate =
  | { readonly _tag: "Ready"; readonly ready: Ready }
  | { readonly _tag: "Nothing" }
  /** `declares`: it declares packages, or its declaration cannot be read. */
  | { readonly _tag: "Refused"; readonly error: KiwiError; readonly declares: boolean }

/** Runs a call's own steps up to the one that asks for packages. */
const candidateOf = Effect.fnUntraced(function*(location: ItemLocation, caller: Caller) {
  const proxy = yield* ToolProxy
  const dependencies = yield* Dependencies
  const tool = qualifiedId(location)
  const { blocked, resolved, verified } = yield* proxy.trace(caller, { item: tool, tier: location.tier })
  if (resolved === undefined) {
    return (blocked === undefined
      ? { _tag: "Nothing" }
      : { _tag: "Refused", error: blocked.error, declares: false }) satisfies Candidate
  }
  const { chain } = resolved
  const declared = yield* Effect.result(dependencies.declared(chain))
  if (Result.isSuccess(declared) && declared.success === undefined) return { _tag: "Nothing" } satisfies Candidate
  // The tool may lack packages, and also commands or variables.
  if (blocked !== undefined && stateOf(blocked.error) !== "missing_command") {
    return { _tag: "Refused", error: blocked.error, declares: true } satisfies Candidate
  }
  if (Result.isFailure(declared)) {
    return { _tag: "Refused", error: declared.failure, declares: true } satisfies Candidate
  }
  if (declared.success === undefined) return { _tag: "Nothing" } satisfies Candidate
  return {
    _tag: "Ready",
    ready: { tool, path: showLocation(location), declared: declared.success, chain, verified }
  } satisfies Candidate
})

/** The path of the interpreter that packages are installed for; undefined if the chain's runtime asks for none. */
const interpreterOf = (
  chain: Chain,
  answer: InterpreterAnswer
): Effect.Effect<string | undefined, RequirementsMissing> =>
  answer._tag !== "Missing"
    ? Effect.succeed(answer._tag === "Found" ? answer.interpreter.path : undefined)
    : Effect.fail(
      new RequirementsMissing({
        tool: chain.leaf.tool.location.id,
        commands: [],
        variables: [],
        interpreter: answer.why,
        ...(answer.remedy === undefined ? {} : { interpreterRemedy: answer.remedy })
      })
    )

/** Fetching is an action: it is recorded and the gate is asked, as for every other. */
const install = (location: ItemLocation, ready: Ready, input: EnvSyncInput, caller: Caller) => {
  const { chain, declared, tool, verified } = ready
  const { digest, version } = chain.leaf.tool
  return govern(
    {
      caller,
      operation: "env sync",
      subject: { type: "tool", item: tool, tier: location.tier, version, digest, chain_digest: chain.digest },
      parameters: {
        requirements: declared.requirements,
        upgrade: input.upgrade || undefined,
        allow_build: input.allowBuild || undefined
      },
      lost: "warn"
    },
    () => Effect.succeed({ action: { _tag: "SyncPackages", chain, verified } as const }),
    Effect.fnUntraced(function*() {
      const dependencies = yield* Dependencies
      const lockfiles = yield* Lockfiles
      const environments = yield* EnvResolver
      const interpreter = yield* interpreterOf(chain, yield* environments.interpreter(chain))
      return yield* dependencies.sync({
        chain,
        interpreter,
        pins: yield* lockfiles.packagesOf(chain),
        upgrade: input.upgrade,
        allowBuild: input.allowBuild,
        progress: (what) => input.progress(`${tool}: ${what}`)
      })
    })
  )
}

/**
 * Writes the installed versions into the tool's lock. A lock with other versions is not changed: only a person replaces
 * it. The person is asked if packages were resolved anew.
 */
const record = Effect.fnUntraced(
  function*(location: ItemLocation, { chain, tool }: Ready, set: InstalledSet, caller: Caller) {
    const lockfiles = yield* Lockfiles
    const plan = yield* lockfiles.planFreeze({ id: tool, tier: location.tier, installed: set })
    const before = yield* lockfiles.packagesOf(chain)
    if (plan.request === undefined && before !== undefined) return undefined
    const saved = plan.request === undefined
      ? yield* lockfiles.freeze(plan, undefined)
      : yield* asHuman(plan.request, caller, (act) => lockfiles.freeze(plan, act))
    return `${saved.scope}:lockfiles/${saved.path}`
  }
)

const synced = Effect.fnUntraced(
  function*(location: ItemLocation, candidate: Candidate, input: EnvSyncInput, caller: Caller) {
    const head = { tool: qualifiedId(location), path: showLocation(location) }
    if (candidate._tag === "Nothing") return { ...head, state: "nothing" } satisfies Synced as Synced
    if (candidate._tag === "Refused") {
      return { ...head, state: "refused", error: toErrorObject(candidate.error) } satisfies Synced as Synced
    }
    const { declared } = candidate.ready
    const about = { ...head, ecosystem: declared.ecosystem, requirements: declared.requirements }
    const done = Effect.fnUntraced(function*(outcome: SyncOutcome) {
      const recorded = yield* Effect.result(record(location, candidate.ready, outcome.set, caller))
      return {
        ...about,
        state: outcome.state,
        installer: outcome.installer,
        packages: outcome.set.packages,
        environment: outcome.set.digest,
        ...(Result.isSuccess(recorded)
          ? recorded.success === undefined ? {} : { lockfile: recorded.success }
          : { error: toErrorObject(recorded.failure) })
      } satisfies Synced as Synced
    })
    return yield* install(location, candidate.ready, input, caller).pipe(
      Effect.flatMap((outcome) =>
        outcome === undefined ? Effect.succeed<Synced>({ ...head, state: "nothing" }) : done(outcome)
      ),
      Effect.catch((error) => Effect.succeed<Synced>({ ...about, state: "failed", error: toErrorObject(error) }))
    )
  }
)

const locationsOf = Effect.fnUntraced(function*(tool: string | undefined) {
  const store = yield* ItemStore
  if (tool !== undefined) return [(yield* store.find({ id: tool, type: "tool" })).location]
  return (yield* store.list({ type: "tool" })).filter(({ tier }) => tier !== "system")
})

/**
 * Without an id the answer has only the tools that declare packages, refused ones too, so that after a sync of a fresh
 * clone the person sees what was not installed. A tool that is asked for by id is always in the answer.
 */
export const envSync = Effect.fn("envSync")(function*(input: EnvSyncInput, caller: Caller) {
  const locations = yield* locationsOf(input.tool)
  const candidates: Array<readonly [ItemLocation, Candidate]> = []
  for (const location of locations) candidates.push([location, yield* candidateOf(location, caller)])
  const wanted = candidates.flatMap(([, candidate]) => candidate._tag === "Ready" ? [candidate.ready] : [])
  yield* input.plan(wanted)
  const all: Array<Synced> = []
  for (const [location, candidate] of candidates) {
    const isSilent = candidate._tag === "Nothing" || candidate._tag === "Refused" && !candidate.declares
    if (input.tool !== undefined || !isSilent) all.push(yield* synced(location, candidate, input, caller))
  }
  return all
})

/** Digests of the environments that tools of the project and of your user space use. */
const wantedDigests = Effect.fnUntraced(function*(caller: Caller) {
  const lockfiles = yield* Lockfiles
  const dependencies = yield* Dependencies
  const environments = yield* EnvResolver
  const found = new Set<string>()
  for (const location of yield* locationsOf(undefined)) {
    const candidate = yield* candidateOf(location, caller)
    if (candidate._tag !== "Ready") continue
    const { chain } = candidate.ready
    const path = yield* Effect.option(
      Effect.flatMap(environments.interpreter(chain), (answer) => interpreterOf(chain, answer))
    )
    if (path._tag === "None") continue
    const interpreter = path.value
    for (const pins of [undefined, yield* lockfiles.packagesOf(chain)]) {
      const digest = yield* Effect.option(dependencies.digest({ chain, interpreter, pins }))
      if (digest._tag === "Some" && digest.value !== undefined) found.add(digest.value)
    }
  }
  return found
})

/** Removes environments that have not been used for `unused` and that no tool here declares. */
export const envPrune = Effect.fn("envPrune")(function*(
  unused: Duration.Duration,
  caller: Caller
) {
  const dependencies = yield* Dependencies
  const keep = yield* wantedDigests(caller)
  const now = yield* Clock.currentTimeMillis
  return yield* dependencies.prune({ before: now - Duration.toMillis(unused), keep })
})
