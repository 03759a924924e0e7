// A trusted project with signed tools under the real kernel, and registries of its own for what they declare.
import { ConfigProvider, Effect, Layer, type Schema } from "effect"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import * as HumanGateNone from "../../../src/layers/trust/humanGate/HumanGateNone.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { Dependencies } from "../../../src/services/dependency/Dependencies.ts"
import { EnvResolver } from "../../../src/services/env/EnvResolver.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { accept, kernelOf, type RealProject, realProject } from "../../support/realProject.ts"

/** A Python tool that prints what `body` answers. */
export const pythonTool = (dependencies: ReadonlyArray<string>, body: string, more = "") =>
  `"""A tool of the tests."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
DEPENDENCIES = ${JSON.stringify(dependencies)}
INPUT_SCHEMA = {"type": "object", "properties": {}}
CONFIG = {"output": "json"}
${more}
if __name__ == "__main__":
    import json, os, sys
${body.split("\n").map((line) => `    ${line}`).join("\n")}
`

export const nodeTool = (dependencies: ReadonlyArray<string>, body: string) =>
  `/** A tool of the tests. */
export const __version__ = "1.0.0"
export const __tool_type__ = "node"
export const __executor_id__ = "node_runtime"
export const DEPENDENCIES = ${JSON.stringify(dependencies)}
export const INPUT_SCHEMA = { type: "object", properties: {} }
export const CONFIG = { output: "json" }

${body}
`

/** What installers are told besides PATH: registries on loopback, caches and settings of nobody. */
export const environmentOf = (world: RealProject, more: Readonly<Record<string, string>>) => {
  const person = join(world.home, "..", "person")
  mkdirSync(person, { recursive: true })
  return {
    // Children find the Node that the tests run on, and the machine's own python and npm.
    PATH: [dirname(process.execPath), ...(process.env["PATH"] ?? "").split(":")].join(":"),
    HOME: person,
    TMPDIR: process.env["TMPDIR"] ?? "/tmp",
    KIWI_KEYCHAIN: "off",
    PIP_CONFIG_FILE: "/dev/null",
    PIP_CACHE_DIR: join(person, "pip"),
    npm_config_cache: join(person, "npm"),
    npm_config_userconfig: join(person, "npmrc"),
    ...more
  }
}

const provided = <A, E, R>(world: RealProject, env: Readonly<Record<string, string>>, effect: Effect.Effect<A, E, R>) =>
  Effect.provide(
    effect,
    Layer.mergeAll(HumanGateNone.layer, kernelOf(world)).pipe(
      Layer.provide(
        Layer.succeed(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(environmentOf(world, env)))
      )
    )
  )

/** A project with these tools, trusted and signed; `run` does something under its kernel, anew each time. */
export const syncWorld = Effect.fnUntraced(
  function*(tools: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
    const world = yield* realProject(
      Object.fromEntries(Object.entries(tools).map(([path, text]) => [`.ai/tools/${path}`, text]))
    )
    const inKernel = <A, E, R>(effect: Effect.Effect<A, E, R>, more: Readonly<Record<string, string>> = {}) =>
      provided(world, { ...env, ...more }, effect)
    yield* inKernel(accept)
    return { ...world, inKernel, envs: join(world.home, "envs"), env: environmentOf(world, env) }
  }
)

export const queryOf = Effect.fnUntraced(function*(item: string) {
  const chains = yield* ChainResolver
  const environments = yield* EnvResolver
  const { chain } = yield* chains.resolve({ id: item })
  const answer = yield* environments.interpreter(chain)
  const interpreter = answer._tag === "Found" ? answer.interpreter : undefined
  return { chain, interpreter: interpreter?.path }
})

export const syncTool = Effect.fnUntraced(
  function*(item: string, options: Partial<Parameters<Dependencies["Service"]["sync"]>[0]> = {}) {
    const dependencies = yield* Dependencies
    return yield* dependencies.sync({ ...(yield* queryOf(item)), ...options })
  }
)

export const installedOf = Effect.fnUntraced(function*(item: string) {
  const dependencies = yield* Dependencies
  return yield* dependencies.installed(yield* queryOf(item))
})

const caller = { surface: "cli", client: "tester", session: "s" } as const

export const call = Effect.fnUntraced(function*(item: string, parameters: Schema.JsonObject = {}) {
  const proxy = yield* ToolProxy
  return (yield* proxy.call({ callId: "c", caller, item, parameters, dryRun: false })).data
})

export const trace = Effect.fnUntraced(function*(item: string) {
  const proxy = yield* ToolProxy
  return yield* proxy.trace(caller, { item })
})

export { caller }
