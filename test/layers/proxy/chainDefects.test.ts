// Defects of the program that this one follows, each by what it did. None of them may come back.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { agree } from "../../support/trustWorld.ts"
import { call, kernel, object, reasonOf, tool } from "./calls.ts"

const text = object({ text: { type: "string" } }, "text")
const host = { variables: { PATH: "/usr/bin", SECRET: "s3cret-value", PORT: "9000", EMPTY: "" } }

it.effect("passing \"${SECRET}\" as a parameter read the secret", () =>
  Effect.gen(function*() {
    for (const given of ["${SECRET}", "${SECRET:-x}", "$${SECRET}", "{text}", "{{text}}", "${${SECRET}}"]) {
      assert.deepStrictEqual((yield* call("leaf", { text: given })).data, ["--", given, "at 9000"])
    }
  }).pipe(Effect.provide(kernel({
    host,
    project: {
      "tools/leaf.yaml": tool({
        input_schema: text,
        requires: { environment: ["SECRET", "PORT"] },
        config: { command: "argv", args: ["--", "{text}", "at ${PORT}"], output: "json" }
      })
    }
  }))))

it.effect("${VAR:-default} was the default, whatever the environment said", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual((yield* call("leaf")).data, ["9000", "none", "none"])
  }).pipe(Effect.provide(kernel({
    host,
    project: {
      "tools/leaf.yaml": tool({
        requires: { environment: ["PORT"] },
        config: { command: "argv", args: ["${PORT:-8080}", "${UNSET:-none}", "${EMPTY:-none}"], output: "json" }
      })
    }
  }))))

it.effect("parameters were checked against no schema: of a wrong type, unknown, or missing they ran", () =>
  Effect.gen(function*() {
    for (const given of [{ text: 1 }, { text: "a", more: 1 }, {}]) {
      assert.strictEqual(reasonOf(yield* Effect.flip(call("leaf", given)))._tag, "ParametersInvalid")
    }
  }).pipe(Effect.provide(kernel({
    project: { "tools/leaf.yaml": tool({ input_schema: text, config: { command: "argv", args: ["--", "{text}"] } }) }
  }))))

it.effect("a cycle was reported as \"not found\", and a chain had no bound", () =>
  Effect.gen(function*() {
    assert.strictEqual(toErrorObject(yield* Effect.flip(call("a"))).code, "CHAIN_CYCLE")
    assert.strictEqual(toErrorObject(yield* Effect.flip(call("t0"))).code, "CHAIN_TOO_DEEP")
  }).pipe(Effect.provide(kernel({
    project: {
      "tools/a.yaml": tool({ executor_id: "b" }),
      "tools/b.yaml": tool({ executor_id: "a" }),
      ...Object.fromEntries(
        Array.from(
          { length: 10 },
          (_, i) => [`tools/t${i}.yaml`, tool({ executor_id: i === 9 ? "subprocess" : `t${i + 1}` })]
        )
      )
    }
  }))))

it.effect("config schemas of every link but the primitive were ignored", () =>
  Effect.gen(function*() {
    const error = reasonOf(yield* Effect.flip(call("leaf")))
    assert.deepInclude(error, { _tag: "ConfigInvalid", link: "leaf", refusedBy: "runtime" })
  }).pipe(Effect.provide(kernel({
    project: {
      "tools/leaf.yaml": tool({ executor_id: "runtime", config: { args: ["x"] } }),
      "tools/runtime.yaml": tool({
        tool_type: "runtime",
        config: { command: "argv" },
        config_schema: { properties: { args: { maxItems: 0 } } }
      })
    }
  }))))

it.effect("by its own rules every script chain failed, since no runtime said what it runs", () =>
  Effect.gen(function*() {
    const result = yield* call("leaf")
    assert.deepStrictEqual(result.warnings, [])
    const strict = yield* Effect.flip(call("own", {}, { lockfileMode: "strict" }))
    assert.strictEqual(toErrorObject(strict).code, "CHILD_SCHEMAS_MISSING")
    assert.strictEqual(toErrorObject(strict).failed_at?.tool_id, "silent")
  }).pipe(Effect.provide(kernel({
    project: {
      "tools/leaf.py": `__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime@^2.0"\n`,
      "tools/own.yaml": tool({ executor_id: "silent" }),
      "tools/silent.yaml": tool({ tool_type: "runtime", config: { command: "argv" } })
    }
  }))))

it.effect("the verification cache was keyed by the digest that a file claims: once good, altered bytes passed, and mended ones failed", () => {
  const files = new Map<string, string | Uint8Array>([[
    "tools/leaf.yaml",
    tool({ config: { command: "argv", args: ["--", "good"] } })
  ]])
  return Effect.gen(function*() {
    const signatures = yield* Signatures
    const plan = yield* signatures.plan({ id: "leaf" })
    yield* signatures.sign(plan, agree(plan.request))
    const signed = Buffer.from(files.get("tools/leaf.yaml")!).toString("utf8")
    yield* call("leaf")
    files.set("tools/leaf.yaml", signed.replace("good", "evil"))
    assert.strictEqual(toErrorObject(yield* Effect.flip(call("leaf"))).code, "TAMPERED")
    files.set("tools/leaf.yaml", signed)
    assert.strictEqual((yield* call("leaf")).status, "success")
  }).pipe(Effect.provide(kernel({ project: files, signatures: "checked" })))
})
