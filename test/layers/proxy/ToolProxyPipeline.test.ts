import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as ToolProxyPipeline from "../../../src/layers/proxy/ToolProxyPipeline.ts"
import { AuditLog, AuditUnavailable } from "../../../src/services/audit/AuditLog.ts"
import { loadCall } from "../../../src/services/error/calls.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { ItemHistory } from "../../../src/services/integrity/ItemHistory.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { call, caller, echo, entries, kernel, object, reasonOf, tool } from "./calls.ts"

it.effect("the steps have one order, between the two entries of the audit", () =>
  Effect.gen(function*() {
    const { steps } = yield* ToolProxy
    assert.deepStrictEqual(steps, [
      "auditRequest",
      "watchOutcome",
      "authenticateToken",
      "chooseLockMode",
      "resolveChain",
      "requireTrustedProject",
      "verifyLinks",
      "refuseGoingBack",
      "refuseHiding",
      "acceptChildren",
      "validateParameters",
      "findAccesses",
      "permit",
      "grantCalls",
      "findInterpreter",
      "findPackages",
      "resolveEnvironment",
      "checkLock",
      "isolate",
      "permitSecrets",
      "limitRate",
      "guardLoop",
      "requireApproval",
      "resolveSecrets",
      "pinCopies",
      "renderConfig",
      "validateConfig",
      "runPrimitive",
      "shapeResult",
      "auditResult"
    ])
  }).pipe(Effect.provide(kernel())))

it.effect("a call answers with the data, and with what ran", () =>
  Effect.gen(function*() {
    const result = yield* call("echo", { text: "hello" })
    assert.strictEqual(result.status, "success")
    assert.deepStrictEqual(result.data, ["--", "hello"])
    assert.deepStrictEqual(result.warnings, [])
    const { chain, chain_digest, duration_ms, exit_code, isolation, tool: ran } = result.metadata
    assert.deepStrictEqual(chain, ["echo", "subprocess"])
    assert.match(chain_digest, /^[0-9a-f]{64}$/)
    assert.match(ran.digest, /^[0-9a-f]{64}$/)
    assert.deepStrictEqual([duration_ms, exit_code, isolation], [0, 0, "standard"])
    assert.deepStrictEqual([ran.id, ran.version, ran.tier], ["echo", "1.0.0", "project"])
  }).pipe(Effect.provide(kernel({ project: { "tools/echo.yaml": echo } }))))

it.effect("a runtime that does not say what it runs is a warning, and no more than that", () =>
  Effect.gen(function*() {
    const result = yield* call("leaf", { text: "hello" })
    assert.deepStrictEqual(result.data, ["--", "hello"])
    assert.deepStrictEqual(result.warnings, [{
      code: "CHILD_SCHEMAS_MISSING",
      message: "one (project:tools/one.yaml) does not say which tools it runs"
    }])
  }).pipe(Effect.provide(kernel({
    project: {
      "tools/leaf.yaml": tool({ executor_id: "one", input_schema: object({ text: { type: "string" } }, "text") }),
      "tools/one.yaml": tool({
        tool_type: "runtime",
        config: { command: "argv", args: ["--", "{text}"], output: "json" }
      })
    }
  }))))

describe("the config schema of a link before the primitive", () => {
  const one = (schema: Schema.JsonObject, config: Schema.JsonObject = {}) =>
    tool({ tool_type: "runtime", config: { command: "argv", output: "json", ...config }, config_schema: schema })
  const leaf = (fields: Schema.JsonObject = {}) =>
    tool({
      executor_id: "one",
      input_schema: object({ n: { type: "integer" } }, "n"),
      config: { args: ["--", "{n}"] },
      ...fields
    })
  const refused = (options: Parameters<typeof kernel>[0]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(call("leaf", { n: 3 }))
      const { failed_at, message } = toErrorObject(error)
      return { tag: reasonOf(error)._tag, at: failed_at?.tool_id, message }
    }).pipe(Effect.provide(kernel(options)))

  it.effect("sees its own config and what is below it, filled in, and nothing of the links above it", () =>
    call("leaf", { n: 3 }).pipe(
      Effect.map(({ data }) => assert.deepStrictEqual(data, ["--", "3"])),
      Effect.provide(kernel({
        project: {
          "tools/leaf.yaml": leaf(),
          "tools/one.yaml": tool({
            tool_type: "runtime",
            executor_id: "two",
            config: { output: "json" },
            config_schema: {
              type: "object",
              additionalProperties: false,
              required: ["args"],
              properties: { output: {}, args: { prefixItems: [{ const: "--" }, { const: "3" }] } }
            }
          }),
          "tools/two.yaml": tool({ tool_type: "runtime", config: { command: "argv", timeout: 9 } })
        }
      }))
    ))

  it.effect("names the link that set the value, and the one that refuses it", () =>
    Effect.gen(function*() {
      const schema = { properties: { args: { maxItems: 1 }, output: { const: "json" } } }
      assert.deepStrictEqual(
        yield* refused({ project: { "tools/leaf.yaml": leaf(), "tools/one.yaml": one(schema) } }),
        {
          tag: "ConfigInvalid",
          at: "leaf",
          message: "The config of leaf is not valid for one: args: expected at most 1 items, got 2"
        }
      )
      const own = yield* refused({
        project: {
          "tools/leaf.yaml": leaf(),
          "tools/one.yaml": one({ properties: { timeout: { maximum: 5 } } }, { timeout: 9 })
        }
      })
      assert.strictEqual(own.at, "one")
      const last = yield* refused({
        project: { "tools/leaf.yaml": leaf({ config: { timeout: "soon" } }), "tools/one.yaml": one({}) }
      })
      assert.deepStrictEqual([last.at, last.message.includes("for subprocess")], ["leaf", true])
    }))

  it.effect("is for the config of a tool that has an input_schema too, and else for its parameters", () =>
    Effect.gen(function*() {
      const config_schema = { properties: { args: { maxItems: 1 } } }
      const both = yield* refused({
        project: { "tools/leaf.yaml": leaf({ config_schema }), "tools/one.yaml": one({}) }
      })
      assert.deepStrictEqual([both.tag, both.at, both.message.includes("for leaf")], ["ConfigInvalid", "leaf", true])
      const parameters = { properties: { n: { type: "integer" } }, required: ["n"] }
      const result = yield* call("leaf", { n: 3 }).pipe(Effect.provide(kernel({
        project: {
          "tools/leaf.yaml": JSON.stringify({
            ...JSON.parse(leaf({ config_schema: parameters })),
            input_schema: null
          }),
          "tools/one.yaml": one({})
        }
      })))
      assert.deepStrictEqual(result.data, ["--", "3"])
    }))
})

it.effect("a system tool runs without isolation, as the rule for system tools lets it", () =>
  Effect.gen(function*() {
    assert.strictEqual((yield* call("ping")).metadata.isolation, "trusted")
    const [, result] = yield* entries
    assert.include(result, { kind: "result", rule: "system-tools", isolation: "trusted", outcome: "success" })
  }).pipe(Effect.provide(kernel())))

describe("the audit", () => {
  it.effect("has a request first and a result last, of the same call", () =>
    Effect.gen(function*() {
      yield* call("echo", { text: "hello" }, { callId: "abc" })
      const [request, result, ...more] = yield* entries
      assert.deepInclude(request, {
        kind: "request",
        call: "abc",
        caller,
        operation: "run",
        subject: { type: "tool", item: "echo" },
        parameters: { text: "hello" }
      })
      assert.include(result, { kind: "result", call: "abc", outcome: "success", rule: "signed-by-you" })
      assert.deepStrictEqual(more, [])
    }).pipe(Effect.provide(kernel({ project: { "tools/echo.yaml": echo } }))))

  it.effect("has a request and an outcome also for what is unknown, denied, wrong or fails", () =>
    Effect.gen(function*() {
      for (
        const [item, parameters] of [["nothing", {}], ["python_runtime", {}], ["echo", {}], ["fails", {}]] as const
      ) {
        yield* Effect.flip(call(item, parameters))
      }
      const found = yield* entries
      assert.deepStrictEqual(
        found.map((e) => e.kind === "result" ? [e.subject.item, e.outcome, e.error?.code] : e.kind),
        [
          "request",
          ["nothing", "failure", "ITEM_NOT_FOUND"],
          "request",
          ["python_runtime", "denied", "PERMISSION_DENIED"],
          "request",
          ["echo", "failure", "PARAMETERS_INVALID"],
          "request",
          ["fails", "failure", "TOOL_FAILED"]
        ]
      )
    }).pipe(Effect.provide(kernel({
      project: { "tools/echo.yaml": echo, "tools/fails.yaml": tool({ config: { command: "false" } }) },
      programs: { false: () => Effect.succeed({ code: 1 }) }
    }))))

  const failing = (kinds: ReadonlySet<string>) =>
    Layer.effect(
      AuditLog,
      Effect.succeed(AuditLog.of({
        append: (record) =>
          kinds.has(record.kind) ? Effect.fail(new AuditUnavailable({ detail: "the disk is full" })) : Effect.void,
        read: () => Effect.succeed([]),
        stream: () => Stream.empty,
        follow: () => Stream.empty,
        verify: Effect.die("unused"),
        verifyAgainst: () => Effect.die("unused"),
        anchor: Effect.die("unused"),
        prune: Effect.die("unused")
      }))
    )

  const started: Array<string> = []
  /** The proxy of a kernel whose audit fails for some entries. */
  const proxyOver = (kinds: ReadonlyArray<string>) =>
    ToolProxyPipeline.layer.pipe(
      Layer.provideMerge(failing(new Set(kinds))),
      Layer.provideMerge(kernel({
        project: { "tools/touch.yaml": tool({ config: { command: "touch" } }) },
        programs: {
          touch: () =>
            Effect.sync(() => {
              started.push("touch")
              return {}
            })
        }
      }))
    )

  it.effect("stops a call that it cannot record, before anything happens", () =>
    Effect.gen(function*() {
      const history = yield* ItemHistory
      const store = yield* ItemStore
      started.length = 0
      assert.strictEqual((yield* Effect.flip(call("touch")))._tag, "AuditUnavailable")
      assert.deepStrictEqual(started, [])
      const { location } = yield* store.find({ id: "touch" })
      assert.isUndefined((yield* history.past(location)).newest)
    }).pipe(Effect.provide(proxyOver(["request", "result"]))))

  it.effect("does not undo what ran when the result cannot be recorded: it says so", () =>
    Effect.gen(function*() {
      started.length = 0
      const { status, warnings } = yield* call("touch")
      assert.strictEqual(status, "success")
      assert.deepStrictEqual(started, ["touch"])
      assert.deepStrictEqual(warnings.map(({ code }) => code), ["AUDIT_RESULT_LOST"])
    }).pipe(Effect.provide(proxyOver(["result"]))))

  it.effect("keeps the tool's own failure when the result cannot be recorded", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(call("nothing")))._tag, "ItemNotFound")
    }).pipe(Effect.provide(proxyOver(["result"]))))

  it.effect("says of a defect that it was one, without its text", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(call("explodes"))
      assert.isTrue(Exit.hasDies(exit))
      const [, result] = yield* entries
      assert.deepInclude(result, {
        outcome: "failure",
        error: { code: "INTERNAL_ERROR", message: "an unexpected failure inside Kiwi" }
      })
    }).pipe(Effect.provide(kernel({
      project: { "tools/explodes.yaml": tool({ config: { command: "explodes" } }) },
      programs: { explodes: () => Effect.die(new Error("secret detail")) }
    }))))
})

describe("interruption", () => {
  it.effect("stops the program, and is recorded", () =>
    Effect.gen(function*() {
      const running = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const hang = tool({ config: { command: "hang" } })
      const layer = kernel({
        project: { "tools/hang.yaml": hang },
        programs: {
          hang: () =>
            Deferred.succeed(running, undefined).pipe(
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
            )
        }
      })
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(call("hang"))
        yield* Deferred.await(running)
        yield* Fiber.interrupt(fiber)
        yield* Deferred.await(stopped)
        const [request, result] = yield* entries
        assert.strictEqual(request?.kind, "request")
        assert.deepInclude(result, { kind: "result", outcome: "interrupted", isolation: "standard" })
      }).pipe(Effect.provide(layer))
    }))

  it.effect("a timeout is driven by the clock, and ends the program", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.flip(call("hang")))
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      const error = reasonOf(yield* Fiber.join(fiber))
      assert.include(error, { _tag: "ToolTimeout", after: 5000 })
    }).pipe(Effect.provide(kernel({
      project: { "tools/hang.yaml": tool({ config: { command: "hang", timeout: 5 } }) },
      programs: { hang: () => Effect.never }
    }))))
})

describe("parameters", () => {
  const layer = kernel({
    project: {
      "tools/greet.yaml": tool({
        input_schema: object({ name: { type: "string" }, times: { type: "integer", default: 2 } }, "name"),
        config: { command: "argv", output: "json" }
      }),
      "tools/bare.yaml": tool({ config: { command: "argv", output: "json" } })
    }
  })

  it.effect("get their defaults", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* call("greet", { name: "Ada" })).data, ["--name=Ada", "--times=2"])
    }).pipe(Effect.provide(layer)))

  const wrong: ReadonlyArray<readonly [string, string, Schema.JsonObject, ReadonlyArray<string>]> = [
    ["are not coerced", "greet", { name: "Ada", times: "2" }, ["times"]],
    ["a number is no text", "greet", { name: 1 }, ["name"]],
    ["that are missing are named", "greet", {}, ["name"]],
    ["that the schema does not name are refused", "greet", { name: "Ada", shell: true }, ["shell"]],
    ["all at once", "greet", { times: 1.5, other: 1 }, ["name", "other", "times"]],
    ["a tool without a schema takes none", "bare", { any: 1 }, ["any"]]
  ]
  for (const [what, id, parameters, fields] of wrong) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(call(id, parameters))
        assert.strictEqual(reasonOf(error)._tag, "ParametersInvalid")
        if (error._tag !== "ToolChainError") return
        assert.deepStrictEqual(error.chain, [id, "subprocess"])
        assert.strictEqual(error.failedAt.toolId, id)
        assert.strictEqual(error.failedAt.configPath, `project:tools/${id}.yaml`)
        assert.deepStrictEqual(
          [...new Set(error.failedAt.validationErrors.map((issue) => issue.field))].toSorted(),
          fields
        )
        assert.strictEqual(error.remediation, loadCall("tool", id))
      }).pipe(Effect.provide(layer)))
  }

  // Every text that means something to a template, a shell, a URL or a JSON reader, in front of and behind any other.
  const loaded = Schema.Tuple([
    Schema.String,
    Schema.Literals(["${SECRET_TOKEN}", "${SECRET_TOKEN:-x}", "{text}", "{{text}}", "$${HOME}", "$(id)", "`id`", "-"]),
    Schema.String
  ])
  const python = `"""Answers with its arguments."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
CONFIG = {"output": "json"}
`
  const once = kernel({
    project: { "tools/echo.yaml": echo, "tools/python.py": python },
    host: { variables: { PATH: "/usr/bin", SECRET_TOKEN: "the-secret-value" } }
  })
  it.layer(once)((shared) => {
    shared.effect.prop("a value is never expanded, whatever it is", [loaded], ([parts]) =>
      Effect.gen(function*() {
        const text = parts.join("").replaceAll("\0", "").toWellFormed()
        assert.deepStrictEqual((yield* call("echo", { text })).data, ["--", text])
        const { data } = yield* call("python", { text })
        assert.strictEqual(Array.isArray(data) ? data[1] : undefined, `--text=${text}`)
      }))
  })
})

describe("a dry run", () => {
  const layer = kernel({
    project: {
      "tools/send.yaml": tool({
        input_schema: object({ to: { type: "string" } }, "to"),
        config: { command: "argv", args: ["--key=${API_KEY}", "--pin=${PIN_CODE}", "{to}"], env: { LEVEL: "3" } }
      })
    },
    host: {
      variables: { PATH: "/usr/bin", API_KEY: "sk-0123456789" }
    },
    controlFiles: { ".env": "PIN_CODE=42\n" }
  })

  it.effect("shows what would run, with secrets only named", () =>
    Effect.gen(function*() {
      const { data, status } = yield* call("send", { to: "Ada" }, { dryRun: true })
      assert.strictEqual(status, "validation_passed")
      assert.deepInclude(data, {
        primitive: "subprocess",
        argv: ["argv", "--key=‹API_KEY›", "--pin=‹PIN_CODE›", "Ada"]
      })
    }).pipe(Effect.provide(layer)))

  it.effect("runs nothing and remembers nothing", () =>
    Effect.gen(function*() {
      const store = yield* ItemStore
      const history = yield* ItemHistory
      yield* call("send", { to: "Ada" }, { dryRun: true })
      const { location } = yield* store.find({ id: "send" })
      assert.isUndefined((yield* history.past(location)).newest)
      const [request] = yield* entries
      assert.include(request, { kind: "request", dry_run: true })
      yield* call("send", { to: "Ada" })
      assert.strictEqual((yield* history.past(location)).newest?.version, "1.0.0")
    }).pipe(Effect.provide(layer)))

  it.effect("fails as the run would", () =>
    Effect.gen(function*() {
      const dry = yield* Effect.flip(call("send", {}, { dryRun: true }))
      const real = yield* Effect.flip(call("send", {}))
      assert.strictEqual(dry.message, real.message)
    }).pipe(Effect.provide(layer)))
})
