import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { findCapability, readModules, refusalOf } from "../../../src/services/capability/CapabilityModule.ts"
import { kindOf } from "../../../src/services/capability/scopes/Scope.ts"
import { ItemParser } from "../../../src/services/format/ItemParser.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { call, kernel } from "../proxy/calls.ts"

const shipped = Effect.gen(function*() {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const all = yield* store.list({ type: "tool", tier: "system" })
  const modules = yield* Effect.forEach(
    all.filter(({ category }) => category === "capabilities"),
    (location) => Effect.flatMap(store.read(location), parser.parse)
  )
  return Result.getOrThrow(readModules(modules.flatMap((item) => item._tag === "tool" ? [item.extra] : [])))
}).pipe(Effect.provide(kernel()))

describe("the capabilities that ship", () => {
  it.effect("are those of the design, with the scopes that grants have", () =>
    Effect.gen(function*() {
      const all = yield* shipped
      for (
        const name of ["fs.read", "fs.write", "process.exec", "net.http", "spawn.thread", "kiwi.all", "secret.use"]
      ) {
        assert.isTrue(all.has(name), name)
      }
      for (const { name, scope } of all.values()) assert.strictEqual(kindOf(name), scope, name)
      assert.strictEqual(findCapability(all, "tool.deploy")?.name, "tool.*")
      assert.strictEqual(findCapability(all, "mcp.github")?.name, "mcp.*")
      assert.isUndefined(findCapability(all, "fs.fly"))
    }))

  it.effect("are all that a directive may ask for", () =>
    Effect.gen(function*() {
      const all = yield* shipped
      const ask = (capability: string, scope?: ReadonlyArray<string>) => ({
        allow: [{ capability, ...(scope === undefined ? {} : { scope }) }],
        deny: []
      })
      assert.isUndefined(refusalOf(all, ask("fs.read", ["src/**"]), false))
      assert.include(refusalOf(all, ask("fs.raed"), true), "fs.read is there")
      assert.include(refusalOf(all, ask("registry.write"), false), "registry.write")
      assert.isUndefined(refusalOf(all, ask("registry.write"), true))
      assert.include(refusalOf(all, ask("fs.read", ["/etc/**"]), false), "outside of the project")
      assert.isUndefined(refusalOf(all, ask("fs.read", ["/etc/**"]), true))
    }))

  it.effect("are not run", () =>
    Effect.map(Effect.flip(call("fs_capabilities")), (error) => assert.notStrictEqual(error._tag, "ItemNotFound")).pipe(
      Effect.provide(kernel())
    ))
})
