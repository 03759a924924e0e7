import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as childProcess from "node:child_process"
import * as dgram from "node:dgram"
import * as fs from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import { syncBuiltinESMExports } from "node:module"
import * as net from "node:net"
import { runTool } from "../../src/programs/runTool.ts"
import { search } from "../../src/programs/search.ts"
import { sign } from "../../src/programs/sign.ts"
import { KernelMemory, makeTestKiwi } from "../../src/programs/testing.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { argvProgram, caller, echo, tool } from "../layers/proxy/calls.ts"
import { person } from "./items.ts"

/** Takes the disk, processes and the network away while `run` runs; returns what was reached for. */
const withoutMachine = async (run: () => Promise<void>): Promise<ReadonlyArray<string>> => {
  const reached: Array<string> = []
  const undo: Array<() => void> = []
  const modules: ReadonlyArray<readonly [string, object]> = [
    ["fs", fs],
    ["fs.promises", fs.promises],
    ["child_process", childProcess],
    ["net", net],
    ["dgram", dgram],
    ["http", http],
    ["https", https]
  ]
  for (const [name, namespace] of modules) {
    const module: Record<string, unknown> = (namespace as { default?: Record<string, unknown> }).default ??
      namespace as Record<string, unknown>
    for (const [key, value] of Object.entries(module)) {
      if (typeof value !== "function" || /^[A-Z_]/.test(key)) continue
      module[key] = (...args: ReadonlyArray<unknown>) => {
        reached.push(`${name}.${key}(${String(args[0])})`)
        throw new Error(`${name}.${key} was reached for`)
      }
      undo.push(() => {
        module[key] = value
      })
    }
  }
  syncBuiltinESMExports()
  try {
    await run()
  } finally {
    for (const restore of undo) restore()
    syncBuiltinESMExports()
  }
  return reached
}

const python = `"""Answers with its arguments."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^[a-z]+$"}}}
import sys
print(sys.argv[1:])
`

/** Everything that a kernel does. */
const everything = async () => {
  await using kiwi = makeTestKiwi({
    project: new Map([["tools/echo.yaml", echo], ["tools/say.py", python], ["knowledge/note.md", "# A note\n"]]),
    signatures: "checked",
    controlFiles: { ".env": "SOME=thing\n" },
    programs: new Map([["argv", argvProgram], ["/usr/bin/python3", argvProgram]]),
    askPerson: () => true
  })
  await kiwi.sign({ id: "echo" })
  await kiwi.sign({ id: "say" })
  await kiwi.run("echo", { text: "x" })
  await kiwi.run("say", { text: "abc" })
  await kiwi.run("ping")
  await kiwi.search({ query: "note" })
  await kiwi.load({ id: "note" })
  await kiwi.explain({ id: "say" }, { text: "abc" })
  await kiwi.trustProject()
}

describe("a kernel in memory", () => {
  it("the guard finds a file that is read", async () => {
    const reached = await withoutMachine(async () => {
      try {
        fs.readFileSync("/etc/hostname")
      } catch {
        return
      }
    })
    assert.deepStrictEqual(reached, ["fs.readFileSync(/etc/hostname)"])
  })

  it("needs no disk, no process and no network, whatever is done with it", async () => {
    // Once before, so that packages that load on first use are there.
    await everything()
    assert.deepStrictEqual(await withoutMachine(everything), [])
  })

  it.effect("lets the test's clock drive a tool's timeout", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.flip(runTool("slow")))
      yield* TestClock.adjust("5 minutes")
      const error = yield* Fiber.join(fiber)
      assert.match(error.message, /^slow was stopped after 300 s/)
    }).pipe(Effect.provide(KernelMemory.layer({
      project: { "tools/slow.yaml": tool({ config: { command: "slow" } }) },
      programs: new Map([["slow", () => Effect.never]])
    }))))

  it.effect("has signatures that are made and checked, when asked for", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(runTool("echo", { text: "x" })))._tag, "ToolChainError")
      yield* sign({ id: "echo" }, caller)
      assert.strictEqual((yield* runTool("echo", { text: "x" })).status, "success")
    }).pipe(
      Effect.provide(Layer.merge(
        KernelMemory.layer({
          project: new Map([["tools/echo.yaml", echo]]),
          signatures: "checked",
          programs: new Map([["argv", argvProgram]])
        }),
        Layer.succeed(HumanGate, person("yes"))
      ))
    ))

  it.effect("of one test is not that of another", () => {
    const layer = KernelMemory.layer({ project: new Map([["tools/echo.yaml", echo]]) })
    const count = Effect.gen(function*() {
      const store = yield* ItemStore
      return [(yield* store.list({ tier: "project" })).length, (yield* search({ query: "echo" }, caller)).length]
    })
    return Effect.gen(function*() {
      assert.deepStrictEqual(yield* Effect.provide(count, layer), [1, 1])
      assert.deepStrictEqual(yield* Effect.provide(count, KernelMemory.layer()), [0, 0])
      const inside = Effect.provide(count, KernelMemory.layer())
      assert.deepStrictEqual(yield* Effect.provide(Effect.all([count, inside]), layer), [[1, 1], [0, 0]])
    })
  })
})
