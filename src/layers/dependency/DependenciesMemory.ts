// Dependencies over a registry in memory, a map from names to versions. Keeps in memory what `sync` installed.
import { Effect, Layer } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import { type Declared, declaredBy } from "../../services/dependency/declaredDependencies.ts"
import { Dependencies, type EnvironmentQuery } from "../../services/dependency/Dependencies.ts"
import { DependenciesMissing, InstallFailed, PinsDiffer } from "../../services/dependency/DependencyErrors.ts"
import { differencesFrom, sortPackages } from "../../services/dependency/InstalledPackage.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import { normalPythonName, splitNodeRequirement } from "../../services/dependency/requirements.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { sha256 } from "../identity/sha256.ts"

const nameOf = ({ ecosystem }: Declared, requirement: string): string =>
  ecosystem === "node"
    ? splitNodeRequirement(requirement).name
    : normalPythonName(/^[A-Za-z0-9._-]+/.exec(requirement)?.[0] ?? "")

export const make = Effect.fnUntraced(function*(registry: ReadonlyMap<string, string>) {
  const { home } = yield* KiwiHome
  const environments = new Map<string, InstalledSet>()
  const declared = (chain: Chain) => Effect.fromResult(declaredBy(chain))
  const digestOf = (plan: Declared, { interpreter }: EnvironmentQuery) =>
    sha256(JSON.stringify([plan.ecosystem, plan.requirements.toSorted(), interpreter ?? ""]))
  const idOf = (chain: Chain) => chain.leaf.tool.location.id

  return Dependencies.of({
    declared,
    digest: (query) =>
      Effect.map(declared(query.chain), (plan) => plan === undefined ? undefined : digestOf(plan, query)),
    installed: Effect.fnUntraced(function*(query) {
      const plan = yield* declared(query.chain)
      if (plan === undefined) return undefined
      const found = environments.get(digestOf(plan, query))
      if (found !== undefined) return found
      return yield* new DependenciesMissing({
        tool: idOf(query.chain),
        link: plan.links[0]!,
        requirements: [...plan.requirements],
        why: "not-installed"
      })
    }),
    used: () => Effect.void,
    sync: Effect.fnUntraced(function*(request) {
      const plan = yield* declared(request.chain)
      if (plan === undefined) return undefined
      const tool = idOf(request.chain)
      const digest = digestOf(plan, request)
      const before = environments.get(digest)
      const pins = request.upgrade === true ? undefined : request.pins
      const isAsPinned = pins === undefined || differencesFrom(pins, before?.packages ?? []).length === 0
      if (before !== undefined && request.upgrade !== true && isAsPinned) {
        return { set: before, state: "up-to-date" as const, installer: "memory" }
      }
      const names = plan.requirements.map((requirement) => nameOf(plan, requirement))
      const absent = names.find((name) => !registry.has(name))
      if (absent !== undefined) {
        return yield* new InstallFailed({ tool, installer: "memory", detail: `there is no package ${absent}` })
      }
      const packages = sortPackages(names.map((name) => ({ name, version: registry.get(name) ?? "", hash: null })))
      const differences = pins === undefined ? [] : differencesFrom(pins, packages)
      if (differences.length > 0) return yield* new PinsDiffer({ tool, differences: [...differences] })
      const folder = `${home}/envs/${digest}`
      const set: InstalledSet = {
        digest,
        ecosystem: plan.ecosystem,
        folder,
        ...(plan.ecosystem === "python" ? { interpreter: `${folder}/bin/python` } : {}),
        packages
      }
      environments.set(digest, set)
      return { set, state: "installed" as const, installer: "memory" }
    }),
    prune: ({ keep }) =>
      Effect.sync(() => {
        const removed = [...environments.keys()].filter((digest) => !keep.has(digest))
        for (const digest of removed) environments.delete(digest)
        return removed
      })
  })
})

export const layerWith = (registry: ReadonlyMap<string, string>) => Layer.effect(Dependencies, make(registry))

export const layer = layerWith(new Map())
