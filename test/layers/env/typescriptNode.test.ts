import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type * as Items from "../chain/items.ts"
import { chainOf, resolve, subprocess, type World } from "./environments.ts"

const header = (version: string) => {
  const [major, minor, patch] = version.split(".")
  return `#define NODE_MAJOR_VERSION ${major}\n#define NODE_MINOR_VERSION ${minor}\n#define NODE_PATCH_VERSION ${patch}\n`
}

const onPath = (version: string): World => ({
  programs: ["/usr/bin/node"],
  files: { "/usr/include/node/node_version.h": header(version) }
})

interface Case {
  readonly entrypoint?: string
  readonly interpreter?: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly arguments?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

const chain = (one: Case) => {
  const runtime: Items.ToolSpec = {
    id: "runtime",
    tier: "system",
    type: "runtime",
    config: { command: "${KIWI_NODE}", runtime_args: one.arguments ?? ["${TOOL_FILE}"] },
    envConfig: {
      interpreter: { type: "node_modules", var: "KIWI_NODE", ...one.interpreter },
      ...(one.env === undefined ? {} : { env: one.env })
    }
  }
  return chainOf({ id: "words", entrypoint: one.entrypoint ?? "words.ts" }, runtime, subprocess)
}

const outcome = (world: World, one: Case = {}) =>
  resolve(chain(one), world).pipe(
    Effect.map((env) => `${env.interpreter?.path} ${env.interpreter?.version}`),
    Effect.catchTag("RequirementsMissing", (error) => Effect.succeed(`${error.interpreter} | ${error.remediation}`))
  )

const own = (version: string, path = "/opt/kiwi/node") => ({ ownNode: { path, version } })
const withOwn = (world: World, version = "24.11.0", path = "/opt/kiwi/node"): World => ({
  ...world,
  ...own(version, path),
  programs: [...(world.programs ?? []), path]
})

const refused = (version: string, needed = "22.18") =>
  `words.ts needs Node ${needed} or newer, /usr/bin/node is ${version} | install Node ${needed} or newer, first on PATH`

describe("the Node of a tool in TypeScript", () => {
  it.effect("one that is too old is refused before it runs", () =>
    Effect.gen(function*() {
      for (const version of ["20.20.2", "18.0.0", "22.17.1", "21.7.3", "8.17.0"]) {
        assert.strictEqual(yield* outcome(onPath(version)), refused(version))
      }
      for (const version of ["23.0.0", "23.5.0"]) {
        assert.strictEqual(yield* outcome(onPath(version)), refused(version, "23.6"))
      }
      for (const version of ["22.18.0", "22.20.0", "23.6.0", "24.0.0", "30.1.2"]) {
        assert.strictEqual(yield* outcome(onPath(version)), `/usr/bin/node ${version}`)
      }
    }))

  it.effect("every spelling of TypeScript, and nothing else", () =>
    Effect.gen(function*() {
      for (const entrypoint of ["a.ts", "b.mts", "src/c.cts"]) {
        assert.include(yield* outcome(onPath("20.20.2"), { entrypoint }), `${entrypoint} needs Node 22.18 or newer`)
      }
      for (const entrypoint of ["a.js", "b.mjs", "c.cjs", "ts", "a.ts.js", "a.tsv"]) {
        assert.strictEqual(yield* outcome(onPath("20.20.2"), { entrypoint }), "/usr/bin/node 20.20.2")
      }
    }))

  it.effect("whatever declared the Node", () =>
    Effect.gen(function*() {
      for (
        const interpreter of [
          { type: "system_binary", binary: "node" },
          { type: "system_binary", binary: "deno", fallback: "node" },
          { type: "node_modules", search: ["project"], fallback: "node" }
        ]
      ) {
        assert.include(yield* outcome(onPath("20.20.2"), { interpreter }), "/usr/bin/node is 20.20.2")
      }
      const folder = "/home/u/.nvm/versions/node/v20.11.0"
      const managed = { programs: [`${folder}/bin/node`], variables: { PATH: "/usr/bin", NVM_DIR: "/home/u/.nvm" } }
      assert.include(
        yield* outcome(withOwn(managed), {
          interpreter: { type: "version_manager", manager: "nvm", version: "20.11.0" }
        }),
        `${folder}/bin/node is 20.11.0`
      )
    }))

  it.effect("one that is not told to be too old is used", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcome({ programs: ["/usr/bin/node"] }), "/usr/bin/node undefined")
      for (const version of ["22", "23", "24", "system", "lts"]) {
        const folder = `/opt/asdf/installs/nodejs/${version}`
        assert.notInclude(
          yield* outcome({
            programs: [`${folder}/bin/node`],
            variables: { PATH: "/usr/bin", ASDF_DATA_DIR: "/opt/asdf" }
          }, {
            interpreter: { type: "version_manager", manager: "asdf", plugin: "nodejs", version }
          }),
          "needs Node"
        )
      }
      const deno = { type: "system_binary", binary: "deno" }
      assert.strictEqual(
        yield* outcome({ programs: ["/usr/bin/deno"] }, { interpreter: deno }),
        "/usr/bin/deno undefined"
      )
    }))

  it.effect("a translator in the arguments or in NODE_OPTIONS is the runtime's business", () =>
    Effect.gen(function*() {
      for (
        const before of [
          ["--import", "tsx"],
          ["--import=tsx"],
          ["-r", "ts-node/register"],
          ["--require=esbuild-register"],
          ["--loader=ts-node/esm"],
          ["--experimental-loader", "x"],
          ["--experimental-strip-types"],
          ["--experimental-transform-types", "--no-warnings"],
          ["/opt/tsx/cli.mjs"]
        ]
      ) {
        assert.strictEqual(
          yield* outcome(onPath("20.20.2"), { arguments: [...before, "${TOOL_FILE}"] }),
          "/usr/bin/node 20.20.2"
        )
      }
      assert.strictEqual(
        yield* outcome(onPath("20.20.2"), { env: { NODE_OPTIONS: "--import=tsx" } }),
        "/usr/bin/node 20.20.2"
      )
      for (const before of [["--no-warnings"], ["--enable-source-maps", "--no-deprecation"]]) {
        assert.strictEqual(
          yield* outcome(onPath("20.20.2"), { arguments: [...before, "${TOOL_FILE}"] }),
          refused("20.20.2")
        )
      }
    }))

  it.effect("Kiwi's own Node stands in for one on PATH", () =>
    Effect.gen(function*() {
      const old = onPath("20.20.2")
      assert.strictEqual(yield* outcome(withOwn(old)), "/opt/kiwi/node 24.11.0")
      assert.strictEqual(yield* outcome(withOwn(old), { entrypoint: "a.js" }), "/usr/bin/node 20.20.2")
      assert.strictEqual(yield* outcome(withOwn(onPath("22.18.0"))), "/usr/bin/node 22.18.0")
      // Not one that is too old itself, is something else, is gone, or that the project brought.
      assert.strictEqual(yield* outcome(withOwn(old, "22.12.0")), refused("20.20.2"))
      assert.strictEqual(yield* outcome(withOwn(old, "24.11.0", "/opt/electron")), refused("20.20.2"))
      assert.strictEqual(yield* outcome({ ...old, ...own("24.11.0") }), refused("20.20.2"))
      assert.strictEqual(
        yield* outcome(withOwn(old, "24.11.0", "/srv/project/node_modules/node/bin/node")),
        refused("20.20.2")
      )
    }))
})
