// EnvResolver over a memory host, for chains of tools in memory.
import { Effect, Layer, Redacted } from "effect"
import * as EnvResolverMemory from "../../../src/layers/env/EnvResolverMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { makeChain } from "../../../src/services/chain/Chain.ts"
import { EnvResolver, type ResolvedEnv } from "../../../src/services/env/EnvResolver.ts"
import { ProjectTrust, type TrustState } from "../../../src/services/trust/ProjectTrust.ts"
import { changedProgram } from "../../../src/services/trust/ShownProgram.ts"
import * as Items from "../chain/items.ts"

export const chainOf = (first: Items.ToolSpec, ...rest: ReadonlyArray<Items.ToolSpec>) => {
  const link = (spec: Items.ToolSpec) => ({ tool: Items.toolOf(spec), snapshot: Items.snapshotOf(spec) })
  return makeChain([link(first), ...rest.map(link)], (text) => text)
}

export const subprocess: Items.ToolSpec = { id: "subprocess", tier: "system", type: "primitive" }

/** A project's tool on a system runtime that has this ENV_CONFIG. */
export const withRuntime = (envConfig: Items.ToolSpec["envConfig"], leaf: Partial<Items.ToolSpec> = {}) =>
  chainOf(
    { id: "leaf", ...leaf },
    { id: "runtime", tier: "system", type: "runtime", ...(envConfig === undefined ? {} : { envConfig }) },
    subprocess
  )

export interface World extends EnvResolverMemory.MemoryHost {
  readonly trust?: TrustState["_tag"]
  /** Places of interpreters that a person was shown. Default: all. */
  readonly seen?: ReadonlyArray<string>
  /** Those of them that are not what the person was shown. */
  readonly replaced?: ReadonlyArray<string>
  /** Accepted control files. */
  readonly control?: Readonly<Record<string, string>>
  /** Control files that are there as nobody has accepted them. */
  readonly changed?: ReadonlyArray<string>
  /** `undefined`: none. Default: /srv/project. */
  readonly project?: string | undefined
  readonly overrides?: Readonly<Record<string, string>>
}

export const trustLayer = (
  world: Pick<World, "changed" | "trust" | "control" | "seen" | "replaced">,
  asked: Array<string> = []
) => {
  const tag = world.trust ?? "Trusted"
  return Layer.mock(ProjectTrust, {
    state: Effect.succeed(
      tag === "Restricted"
        ? { _tag: tag, reason: "not trusted", unsafe: false }
        : tag === "Trusted"
        ? { _tag: tag, ...(world.seen === undefined ? {} : { seen: world.seen }) }
        : { _tag: tag }
    ),
    interpreter: (place) =>
      Effect.succeed(
        world.replaced?.includes(place) === true
          ? { _tag: "Changed", issue: changedProgram }
          : { _tag: "Shown", program: { path: place, sha256: "a".repeat(64) } }
      ),
    controlFiles: Effect.succeed(
      (world.changed ?? []).map((path) => ({ path, digest: "", state: "changed" as const }))
    ),
    readControl: (path) =>
      Effect.sync(() => {
        asked.push(path)
        const text = world.control?.[path]
        return tag !== "Trusted" || text === undefined ? undefined : new TextEncoder().encode(text)
      })
  })
}

export const resolverLayer = (world: World, asked: Array<string> = []) =>
  EnvResolverMemory.layerWith(world).pipe(
    Layer.provide(WorkspaceMemory.layerWith("project" in world ? world.project : "/srv/project")),
    Layer.provide(KiwiHomeMemory.layerWith({ userHome: "/home/u", userSpace: "/home/u/.ai" })),
    Layer.provide(trustLayer(world, asked))
  )

export const resolve = (chain: ReturnType<typeof chainOf>, world: World = {}) =>
  EnvResolver.use((r) => r.resolve(chain, { overrides: new Map(Object.entries(world.overrides ?? {})) })).pipe(
    Effect.provide(resolverLayer(world))
  )

/** Names to values, secrets opened. */
export const valuesOf = (variables: ResolvedEnv["child"]) =>
  Object.fromEntries([...variables].map(([name, v]) => [name, Redacted.value(v.value)]))
export const originsOf = (variables: ResolvedEnv["child"]) =>
  Object.fromEntries([...variables].map(([name, v]) => [name, v.origin]))
