// The packages that a chain declares: there, or named together with everything else that is missing. They are never
// installed by a call. Where they are there, they are what the tool runs with.
import { Effect, Redacted } from "effect"
import { Dependencies } from "../../services/dependency/Dependencies.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import { interpreterOnly } from "../../services/dependency/interpreterOnly.ts"
import type { EnvVariable, ResolvedEnv } from "../../services/env/EnvResolver.ts"
import { EnvResolver, RequirementsMissing } from "../../services/env/EnvResolver.ts"
import { Lockfiles } from "../../services/lockfile/Lockfiles.ts"
import { blame } from "./blame.ts"
import { chainOf } from "./Run.ts"
import type { Run } from "./Run.ts"

/** The same environment with another interpreter in every variable that named the one that was found. */
export const withInterpreter = (env: ResolvedEnv, path: string): ResolvedEnv => {
  const { interpreter } = env
  if (interpreter === undefined || interpreter.path === path) return env
  const change = (variables: ReadonlyMap<string, EnvVariable>): ReadonlyMap<string, EnvVariable> =>
    new Map(
      [...variables].map(([name, variable]) => {
        const names = (variable.origin === "interpreter" || variable.origin === "declared") &&
          Redacted.value(variable.value) === interpreter.path
        return [name, names ? { ...variable, value: Redacted.make(path) } : variable]
      })
    )
  return {
    ...env,
    child: change(env.child),
    declared: change(env.declared),
    interpreter: { ...interpreter, path }
  }
}

/** Where the copy of a tool has to lie so that Node finds the environment's packages from it. */
export const copiesBelow = (set: InstalledSet | undefined): string | undefined =>
  set?.ecosystem === "node" ? `envs/${set.digest}/copies` : undefined

export const make = Effect.gen(function*() {
  const dependencies = yield* Dependencies
  const environments = yield* EnvResolver
  const lockfiles = yield* Lockfiles

  const declared = (run: Run) =>
    Effect.mapError(dependencies.declared(chainOf(run)), (reason) => blame(chainOf(run), reason))

  const pinsOf = (run: Run) => run.lockMode === "off" ? Effect.undefined : lockfiles.packagesOf(chainOf(run))

  /** For a chain that declares nothing: one look into a map. */
  const requireDependencies = Effect.fnUntraced(function*(run: Run) {
    const plan = yield* declared(run)
    if (plan === undefined) return
    const chain = chainOf(run)
    const pins = yield* pinsOf(run)
    const set = yield* dependencies.installed({ chain, interpreter: run.env?.interpreter?.path, pins }).pipe(
      Effect.mapError((reason) => blame(chain, reason))
    )
    if (set === undefined) return
    run.dependencies = set
    if (set.interpreter !== undefined && run.env !== undefined) run.env = withInterpreter(run.env, set.interpreter)
    if (!run.call.dryRun) yield* dependencies.used(set)
  })

  /** Adds the packages that are not there to what else is missing. */
  const withDependencies = Effect.fnUntraced(function*(run: Run, reason: RequirementsMissing) {
    const plan = yield* declared(run)
    if (plan === undefined) return reason
    const chain = chainOf(run)
    const env = yield* Effect.option(environments.resolve(interpreterOnly(chain)))
    const found = env._tag === "None"
      ? env
      : yield* Effect.option(
        dependencies.installed({ chain, interpreter: env.value.interpreter?.path, pins: yield* pinsOf(run) })
      )
    if (found._tag === "Some") return reason
    const { commands, interpreter, interpreterRemedy, tool, unseenFiles, variables } = reason
    return new RequirementsMissing({
      tool,
      commands,
      variables,
      interpreter,
      ...(interpreterRemedy === undefined ? {} : { interpreterRemedy }),
      ...(unseenFiles === undefined ? {} : { unseenFiles }),
      dependencies: [...plan.requirements]
    })
  })

  return { requireDependencies, withDependencies }
})
