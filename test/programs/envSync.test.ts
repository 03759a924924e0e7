import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as KernelMemory from "../../src/layers/KernelMemory.ts"
import { envSync } from "../../src/programs/envSync.ts"
import { sign } from "../../src/programs/sign.ts"
import { codeOf, innermost } from "../../src/services/error/KiwiError.ts"
import { parseJson } from "../../src/services/format/Metadata.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { argvProgram, call, caller } from "../layers/proxy/calls.ts"
import { person } from "./items.ts"

const hello = `"""Says hello."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
DEPENDENCIES = ["greet>=1"]
CONFIG = {"output": "json"}
`

const world = (answer: "yes" | "no" = "yes") => {
  const packages = new Map([["greet", "1.0.0"]])
  const lockfiles = { project: new Map<string, string>(), user: new Map<string, string>() }
  const layer = Layer.merge(
    KernelMemory.layer({
      project: new Map([["tools/hello.py", hello]]),
      signatures: "checked",
      packages,
      lockfiles,
      programs: new Map([["/usr/bin/python3", argvProgram]])
    }),
    Layer.succeed(HumanGate, person(answer))
  )
  const locked = () => {
    const parsed = parseJson(lockfiles.project.get("tools/hello@1.0.0.lock.json") ?? "null")
    const value = Result.isSuccess(parsed) ? parsed.success : null
    return value !== null && typeof value === "object" && "dependencies" in value ? value["dependencies"] : undefined
  }
  const sync = (upgrade = false) =>
    envSync({
      tool: "hello",
      upgrade,
      allowBuild: false,
      plan: () => Effect.void,
      progress: () => Effect.void
    }, caller)
  return { packages, lockfiles, locked, sync, layer }
}

const greet = (version: string) => ({ ecosystem: "python", packages: [{ name: "greet", version, hash: null }] })
const strict = Effect.map(
  Effect.result(call("hello", {}, { lockfileMode: "strict" })),
  (result) => Result.isSuccess(result) ? "ran" : codeOf(innermost(result.failure))
)

describe("what is installed is locked", () => {
  it.effect("versions go into the lock, and no call installs anything", () => {
    const { layer, locked, sync } = world()
    return Effect.gen(function*() {
      yield* sign({ id: "hello" }, caller)
      assert.isNull(locked())
      assert.strictEqual(yield* strict, "DEPENDENCIES_MISSING")
      const [done] = yield* sync()
      assert.strictEqual(done?.state, "installed")
      assert.strictEqual(done?.lockfile, "project:lockfiles/tools/hello@1.0.0.lock.json")
      assert.deepStrictEqual(locked(), greet("1.0.0"))
      const [again] = yield* sync()
      assert.deepStrictEqual([again?.state, again?.lockfile], ["up-to-date", undefined])
    }).pipe(Effect.provide(layer))
  })

  it.effect("what the lock pins is what is installed, until a person has it resolved anew", () => {
    const { layer, locked, packages, sync } = world()
    return Effect.gen(function*() {
      yield* sign({ id: "hello" }, caller)
      yield* sync()
      packages.set("greet", "2.0.0")
      const [same] = yield* sync()
      assert.strictEqual(same?.state, "up-to-date")
      const [newer] = yield* sync(true)
      assert.strictEqual(newer?.state, "installed")
      assert.deepStrictEqual(locked(), greet("2.0.0"))
    }).pipe(Effect.provide(layer))
  })

  it.effect("a person who says no keeps the lock, and strict refuses what is there now", () => {
    const { layer, locked, packages, sync } = world()
    const { layer: refusing } = world("no")
    return Effect.gen(function*() {
      yield* sign({ id: "hello" }, caller)
      yield* sync()
      packages.set("greet", "2.0.0")
      const [newer] = yield* Effect.provideServiceEffect(
        sync(true),
        HumanGate,
        Effect.provide(HumanGate, refusing)
      )
      assert.strictEqual(newer?.error?.code, "HUMAN_DECLINED")
      assert.deepStrictEqual(locked(), greet("1.0.0"))
      assert.strictEqual(yield* strict, "LOCK_MISMATCH")
    }).pipe(Effect.provide(layer))
  })
})
