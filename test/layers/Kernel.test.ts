import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Schedule } from "effect"
import type { Schema } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { AuditLog } from "../../src/services/audit/AuditLog.ts"
import { CallEvents } from "../../src/services/call/CallEvents.ts"
import type { CallEvent } from "../../src/services/call/CallEvents.ts"
import { toErrorObject } from "../../src/services/error/KiwiError.ts"
import { Identity } from "../../src/services/identity/Identity.ts"
import { Outputs } from "../../src/services/primitive/Outputs.ts"
import type { ToolResult } from "../../src/services/proxy/ToolCall.ts"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"
import { ItemIndex } from "../../src/services/search/ItemIndex.ts"
import { accept, kernelOf, realProject } from "../support/realProject.ts"
import { call, entries, reasonOf } from "./proxy/calls.ts"

class First extends Context.Service<First, ToolResult>()("test/First") {}
class Second extends Context.Service<Second, ToolResult>()("test/Second") {}

const python = (body: string, extra = "") =>
  `"""A tool."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "times": {"type": "integer", "default": 2}}}
${extra}
if __name__ == "__main__":
    import json, os, sys
${body.split("\n").map((line) => `    ${line}`).join("\n")}
`

const bash = (body: string, meta: ReadonlyArray<string> = []) =>
  [
    "#!/usr/bin/env bash",
    "# kiwi:",
    "#   version: \"1.0.0\"",
    "#   tool_type: bash",
    "#   executor_id: bash_runtime",
    ...meta.map((line) => `#   ${line}`),
    body,
    ""
  ].join("\n")

/** Runs a test over a trusted and signed project of these files. */
const over = (
  files: Readonly<Record<string, string>>,
  test: (project: string) => Effect.Effect<void, unknown, ToolProxy | AuditLog | Outputs>
) =>
  Effect.gen(function*() {
    const world = yield* realProject(files)
    yield* Effect.provide(Effect.andThen(accept, test(world.project)), kernelOf(world))
  })

describe("a real kernel", () => {
  it.live("runs what was signed, with defaults, and keeps a whole audit", () =>
    over({
      ".ai/tools/args.py": python("print(json.dumps(sys.argv[1:]))", "CONFIG = {\"output\": \"json\"}")
    }, () =>
      Effect.gen(function*() {
        const { data, metadata } = yield* call("args", { text: "${HOME} {times} $(id)" })
        assert.deepStrictEqual(data, ["--text=${HOME} {times} $(id)", "--times=2"])
        assert.deepStrictEqual(metadata.chain, ["args", "python_runtime", "subprocess"])
        assert.strictEqual(metadata.isolation, "standard")
        assert.deepStrictEqual(
          (yield* entries).slice(-2).map((e) => e.kind === "result" ? e.outcome : e.kind),
          ["request", "success"]
        )
        const audit = yield* AuditLog
        assert.deepStrictEqual((yield* audit.verify).problems, [])
      })))

  it.live("runs nothing of a project that nobody trusts, and nothing that nobody signed", () =>
    Effect.gen(function*() {
      const world = yield* realProject({ ".ai/tools/touch.sh": bash("touch \"$KIWI_PROJECT/ran\"") })
      const restricted = yield* Effect.flip(call("touch")).pipe(Effect.provide(kernelOf(world)))
      assert.strictEqual(restricted._tag, "ProjectRestricted")
      yield* Effect.gen(function*() {
        yield* accept
        yield* call("touch")
        fs.rmSync(join(world.project, "ran"))
        world.write(".ai/tools/touch.sh", bash("touch \"$KIWI_PROJECT/ran\" # changed"))
        assert.strictEqual(reasonOf(yield* Effect.flip(call("touch")))._tag, "Unsigned")
      }).pipe(Effect.provide(kernelOf(world)))
      assert.isFalse(fs.existsSync(join(world.project, "ran")))
    }))

  it.live("runs nothing that it cannot record", () =>
    over({ ".ai/tools/touch.sh": bash("touch \"$KIWI_PROJECT/ran\"") }, (project) =>
      Effect.gen(function*() {
        fs.rmSync(join(project, ".ai/logs"), { recursive: true, force: true })
        fs.symlinkSync("/tmp", join(project, ".ai/logs"))
        const error = yield* Effect.flip(call("touch"))
        assert.strictEqual(toErrorObject(error).code, "AUDIT_UNAVAILABLE")
        assert.isFalse(fs.existsSync(join(project, "ran")))
      })))

  it.live("ends the whole tree of a call that is interrupted, and records that", () =>
    over({
      ".ai/tools/hang.sh": bash(
        "(sleep 300 & echo $! > \"$KIWI_PROJECT/grandchild\"; wait) &\necho $! > \"$KIWI_PROJECT/child\"\nwait"
      )
    }, (project) =>
      Effect.gen(function*() {
        const pidOf = (name: string) =>
          Effect.try({
            try: () => {
              const pid = Number(fs.readFileSync(join(project, name), "utf8"))
              if (!(pid > 0)) throw new Error("not written yet")
              return pid
            },
            catch: () => "not yet"
          }).pipe(Effect.retry(Schedule.spaced("10 millis")))
        const lives = (pid: number) => {
          try {
            return !fs.readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ")
          } catch {
            return false
          }
        }
        const fiber = yield* Effect.forkChild(call("hang"))
        const pids = [yield* pidOf("child"), yield* pidOf("grandchild")]
        assert.deepStrictEqual(pids.map(lives), [true, true])
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(pids.map(lives), [false, false])
        const last = (yield* entries).at(-1)
        assert.include(last, { kind: "result", outcome: "interrupted" })
      })))

  it.live("shows no secret: in the answer, in what is told meanwhile, in an error, in the audit on disk", () =>
    over({
      ".env": "SERVICE_LINE=a-long-secret-value\n",
      ".ai/tools/tell.sh": bash(
        "echo \"$SERVICE_LINE\"; echo \"$SERVICE_LINE\" >&2; sleep 0.4; [ \"$KIWI_PARAM_FAIL\" = no ]",
        ["requires: {environment: [SERVICE_LINE]}", "input_schema: {type: object, properties: {fail: {type: string}}}"]
      )
    }, (project) =>
      Effect.gen(function*() {
        const seen: Array<CallEvent> = []
        const tell = (parameters: Schema.JsonObject) =>
          Effect.provideService(call("tell", parameters), CallEvents, {
            emit: (event) => Effect.sync(() => seen.push(event))
          })
        const result = yield* tell({ fail: "no" })
        const error = yield* Effect.flip(tell({ fail: "yes" }))
        assert.strictEqual(result.data, "‹redacted›\n")
        assert.isNotEmpty(seen)
        assert.include(error.message, "‹redacted›")
        assert.notInclude(JSON.stringify([result, seen, error, toErrorObject(error)]), "a-long-secret-value")
        const logs = join(project, ".ai/logs")
        for (const name of fs.readdirSync(logs, { recursive: true, encoding: "utf8" })) {
          const file = join(logs, name)
          if (fs.statSync(file).isFile()) assert.notInclude(fs.readFileSync(file, "utf8"), "a-long-secret-value")
        }
      })))

  it.live("two of them live in one process and know nothing of each other", () =>
    Effect.gen(function*() {
      const one = yield* realProject({ ".ai/tools/which.sh": bash("echo one") })
      const two = yield* realProject({ ".ai/tools/which.sh": bash("echo two") })
      const say = Effect.gen(function*() {
        yield* accept
        const identity = yield* Identity
        const index = yield* ItemIndex
        yield* index.refresh()
        return [(yield* call("which")).data, (yield* identity.current)?.keyId, (yield* entries).length]
      })
      const [first, second] = yield* Effect.all(
        [Effect.provide(say, kernelOf(one)), Effect.provide(say, kernelOf(two))],
        { concurrency: 2 }
      )
      assert.deepStrictEqual([first[0], second[0]], ["one\n", "two\n"])
      assert.notStrictEqual(first[1], second[1])
      assert.deepStrictEqual([first[2], second[2]], [2, 2])
    }))

  it.live("one of them inside another is a kernel of its own", () =>
    Effect.gen(function*() {
      const one = yield* realProject({ ".ai/tools/which.sh": bash("echo one") })
      const two = yield* realProject({ ".ai/tools/which.sh": bash("echo two") })
      const say = Effect.andThen(accept, call("which"))
      const nested = Effect.gen(function*() {
        const outer = yield* say
        const inner = yield* Effect.provide(say, kernelOf(two))
        return [outer.data, inner.data]
      })
      assert.deepStrictEqual(yield* Effect.provide(nested, kernelOf(one)), ["one\n", "two\n"])
      const both = Layer.merge(
        Layer.effect(First, call("which")).pipe(Layer.provide(kernelOf(one))),
        Layer.effect(Second, call("which")).pipe(Layer.provide(kernelOf(two)))
      )
      const merged = Effect.all([First, Second]).pipe(Effect.map((results) => results.map(({ data }) => data)))
      assert.deepStrictEqual(yield* Effect.provide(merged, both), ["one\n", "two\n"])
    }))

  it.live("keeps long output whole, without the secrets in it", () =>
    over({
      ".env": "SERVICE_LINE=a-long-secret-value\n",
      ".ai/tools/long.py": python(
        "sys.argv[1:]\nsys.stdout.write((\"x\" * 997 + os.environ[\"SERVICE_LINE\"]) * 2000)",
        "requires = {\"environment\": [\"SERVICE_LINE\"]}"
      )
    }, () =>
      Effect.gen(function*() {
        const { metadata } = yield* call("long")
        const outputs = yield* Outputs
        assert.isDefined(metadata.output)
        if (metadata.output === undefined) return
        assert.strictEqual(metadata.output.bytes, 2000 * (997 + Buffer.byteLength("‹redacted›")))
        let text = ""
        while (text.length < metadata.output.bytes) {
          const range = { offset: text.length, length: 1_048_576 }
          text += Buffer.from((yield* outputs.read(metadata.output.uri, range)).bytes).toString("latin1")
        }
        assert.strictEqual(text.split(Buffer.from("‹redacted›").toString("latin1")).length, 2001)
        assert.notInclude(text, "a-long-secret")
      })))
})
