import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { explain } from "../../src/programs/explain.ts"
import { caller, echo, entries, kernel, object, tool } from "../layers/proxy/calls.ts"
import { knowledge } from "./items.ts"

const ask = (id: string, parameters?: Record<string, string>) => explain({ id }, parameters, "call", caller)

describe("explain", () => {
  it.effect("shows everything about a tool that can run, and what would", () =>
    Effect.gen(function*() {
      const found = yield* ask("echo", { text: "x" })
      assert.isTrue(found.ready)
      assert.isUndefined(found.blocked)
      assert.strictEqual(found.path, "project:tools/echo.yaml")
      assert.strictEqual(found.signer, "you (0000000000000000)")
      assert.deepStrictEqual(found.chain?.map((link) => [link.id, link.signer]), [
        ["echo", "you (0000000000000000)"],
        ["subprocess", "Kiwi (system item)"]
      ])
      assert.strictEqual(found.rule, "signed-by-you")
      assert.deepInclude(found.plan, { argv: ["argv", "--", "x"] })
      assert.isTrue(found.checks.every((check) => check.passed))
    }).pipe(Effect.provide(kernel({ project: { "tools/echo.yaml": echo } }))))

  it.effect("says that parameters are missing, and is ready all the same", () =>
    Effect.gen(function*() {
      const found = yield* ask("echo")
      assert.include(found, { ready: true, needs_parameters: true })
      assert.deepStrictEqual(yield* entries, [])
    }).pipe(Effect.provide(kernel({ project: { "tools/echo.yaml": echo } }))))

  const never: ReadonlyArray<readonly [what: string, file: string, check: string, told: RegExp]> = [
    [
      "a default that its own schema refuses",
      tool({ input_schema: object({ v: { type: "string", default: 0 } }), config: { command: "argv" } }),
      "validateParameters",
      /v/
    ],
    [
      "such a default beside a parameter that is required",
      tool({
        input_schema: object({ v: { type: "integer", default: "1" }, w: { type: "string" } }, "w"),
        config: { command: "argv" }
      }),
      "validateParameters",
      /v/
    ],
    [
      "a key that its primitive does not read",
      tool({ input_schema: object({ w: { type: "string" } }, "w"), config: { command: "argv", timout: 3 } }),
      "checkForSigning",
      /timeout/
    ],
    [
      "such a key, with a runtime of its own between",
      tool({ executor_id: "mine", input_schema: object({ w: { type: "string" } }, "w"), config: { timout: 3 } }),
      "validateConfig",
      /timout/
    ],
    [
      "a runtime of its own that names no program",
      tool({ executor_id: "empty", input_schema: object({ w: { type: "string" } }, "w") }),
      "validateConfig",
      /command/
    ],
    [
      "an endpoint in place of a url",
      tool({ tool_type: "api", executor_id: "http_client", config: { endpoint: "https://a.example" } }),
      "checkForSigning",
      /config\.url/
    ]
  ]
  for (const [what, file, check, told] of never) {
    it.effect(`does not say that a tool can run with ${what}`, () =>
      Effect.gen(function*() {
        const found = yield* ask("never")
        assert.deepInclude(found, { ready: false })
        assert.strictEqual(found.blocked?.check, check)
        assert.match(JSON.stringify(found.blocked?.error), told)
        assert.isUndefined(found.needs_parameters)
      }).pipe(Effect.provide(kernel({
        project: {
          "tools/never.yaml": file,
          "tools/mine.yaml": tool({ tool_type: "runtime", config: { command: "argv" } }),
          "tools/empty.yaml": tool({ tool_type: "runtime" })
        }
      }))))
  }

  it.effect("does not say so of a script that signing would refuse", () =>
    Effect.gen(function*() {
      const found = yield* ask("old")
      assert.strictEqual(found.blocked?.check, "checkForSigning")
      assert.match(found.blocked?.error.message ?? "", /:4:.*type=bool/)
    }).pipe(Effect.provide(kernel({
      project: {
        "tools/old.py":
          "__version__ = '1.0.0'\nimport argparse\np = argparse.ArgumentParser()\np.add_argument('--x', type=bool)\np.parse_args()\n"
      }
    }))))

  const secretive = tool({
    config: { command: "argv", args: ["${SERVICE_TOKEN}"] },
    requires: { environment: ["OTHER_KEY"] }
  })
  it.effect("names variables and where they come from, and never shows a value", () =>
    Effect.gen(function*() {
      const found = yield* ask("secretive")
      assert.deepInclude(found.environment ?? [], { name: "OTHER_KEY", origin: "project:.env" })
      assert.deepInclude(found.plan, { argv: ["argv", "‹SERVICE_TOKEN›"] })
      assert.notInclude(JSON.stringify(found), "hidden-value")
    }).pipe(Effect.provide(kernel({
      project: { "tools/secretive.yaml": secretive },
      host: { variables: { PATH: "/usr/bin", SERVICE_TOKEN: "hidden-value-one" } },
      controlFiles: { ".env": "OTHER_KEY=hidden-value-two\n" }
    }))))

  const blockers: ReadonlyArray<readonly [string, Parameters<typeof kernel>[0], string, string, RegExp]> = [
    [
      "a restricted project, and no signature",
      {
        project: { "tools/thing.yaml": echo },
        trusted: false,
        signatures: "checked"
      },
      "requireTrustedProject",
      "PROJECT_RESTRICTED",
      /^kiwi trust project$/
    ],
    [
      "no signature, and no command",
      {
        project: { "tools/thing.yaml": tool({ config: { command: "x" }, requires: { commands: ["jq"] } }) },
        signatures: "checked",
        host: { programs: [] }
      },
      "verifyLinks",
      "UNSIGNED",
      /^kiwi sign tool thing$/
    ],
    [
      "no command",
      {
        project: { "tools/thing.yaml": tool({ config: { command: "x" }, requires: { commands: ["jq"] } }) },
        host: { programs: [] }
      },
      "resolveEnvironment",
      "REQUIREMENTS_MISSING",
      /^install jq$/
    ],
    [
      "an executor that is not there",
      {
        project: { "tools/thing.yaml": tool({ executor_id: "bash_runtme" }) }
      },
      "resolveChain",
      "CHAIN_LINK_MISSING",
      /bash_runtime/
    ],
    [
      "a config that its primitive refuses",
      {
        project: { "tools/thing.yaml": tool({ config: { command: "x", timeout: "${UNSET:-soon}" } }) }
      },
      "dryRun",
      "CONFIG_INVALID",
      /Correct CONFIG in thing/
    ]
  ]
  for (const [what, options, check, code, remedy] of blockers) {
    it.effect(`stops at the first blocker and names what removes it: ${what}`, () =>
      Effect.gen(function*() {
        const found = yield* ask("thing")
        assert.isFalse(found.ready)
        assert.include(found.blocked, { check })
        assert.strictEqual(found.blocked?.error.code, code)
        assert.match(found.blocked?.error.remediation ?? "", remedy)
        assert.isAtMost(found.checks.filter((c) => !c.passed).length, 1)
        assert.isUndefined(found.plan)
      }).pipe(Effect.provide(kernel(options))))
  }

  it.effect("explains a knowledge entry by its signature and its text", () =>
    Effect.gen(function*() {
      assert.include(yield* ask("note"), { ready: true, type: "knowledge" })
      const broken = yield* ask("broken")
      assert.isFalse(broken.ready)
      assert.deepInclude(broken.checks, { check: "parse", passed: false })
    }).pipe(Effect.provide(kernel({
      project: {
        "knowledge/note.md": knowledge("A note", "x"),
        "knowledge/broken.md": "---\ntitle: [\n---\n"
      }
    }))))

  it.effect("knows what is not there", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(ask("nothing")))._tag, "ItemNotFound")
    }).pipe(Effect.provide(kernel({ project: { "tools/x.yaml": tool({ input_schema: object({}) }) } }))))
})
