import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import * as RememberedRulesFile from "../../../src/layers/permission/RememberedRulesFile.ts"
import * as RememberedRulesMemory from "../../../src/layers/permission/RememberedRulesMemory.ts"
import type { RememberedRule } from "../../../src/services/permission/RememberedRules.ts"
import { RememberedRules } from "../../../src/services/permission/RememberedRules.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { contract, rememberedRule } from "../../services/permission/RememberedRules.contract.ts"
import { world } from "../../support/trustWorld.ts"

const onDisk = Effect.map(world, ({ layer }) => Layer.provideMerge(RememberedRulesFile.layer, layer))

contract("RememberedRulesMemory", Effect.succeed(RememberedRulesMemory.layer))
contract("RememberedRulesFile", onDisk)

describe("RememberedRulesFile", () => {
  const withFile = <A, E>(use: (file: string, rules: RememberedRules["Service"]) => Effect.Effect<A, E>) =>
    Effect.scoped(Effect.flatMap(onDisk, (layer) =>
      Effect.gen(function*() {
        const { state } = yield* Workspace
        const rules = yield* RememberedRules
        yield* rules.add([rememberedRule("a")])
        return yield* use(join(state, "remembered-rules.json"), rules)
      }).pipe(Effect.provide(layer))))

  it.live("is a file of this user alone", () =>
    withFile((file) => Effect.sync(() => assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600))))

  it.live("reads anew what another process wrote", () =>
    withFile((file, { current }) =>
      Effect.gen(function*() {
        assert.lengthOf(yield* current, 1)
        fs.writeFileSync(file, JSON.stringify({ version: 1, rules: [rememberedRule("b"), rememberedRule("c")] }))
        assert.deepStrictEqual((yield* current).map(({ id }) => id), ["b", "c"])
        fs.rmSync(file)
        assert.deepStrictEqual(yield* current, [])
      })
    ))

  it.live("keeps the answers of sessions that go on, and drops those of ended ones with the next answer", () =>
    withFile((_, { add, current }) =>
      Effect.gen(function*() {
        const { pid: ended = 0 } = spawnSync(process.execPath, ["-e", ""])
        const of = (id: string, more: Partial<RememberedRule>): RememberedRule => ({ ...rememberedRule(id), ...more })
        yield* add([
          of("ended", { session: "s1", pid: ended }),
          of("ended too", { session: "s2", pid: ended }),
          of("goes on", { session: "s3", pid: process.pid }),
          of("of the parent", { session: "s4", pid: process.ppid }),
          of("of no process", { session: "s5" }),
          of("always", {})
        ])
        const kept = ["a", "goes on", "of the parent", "of no process", "always"]
        for (const id of ["one", "two"]) {
          yield* add([of(id, {})])
          kept.push(id)
          assert.deepStrictEqual((yield* current).map((one) => one.id), kept)
        }
      })
    ))

  const bad: ReadonlyArray<readonly [string, (file: string) => void]> = [
    ["is not JSON", (file) => fs.writeFileSync(file, "{")],
    ["has an unknown key", (file) => fs.writeFileSync(file, JSON.stringify({ version: 1, rules: [], more: 1 }))],
    [
      "has a rule without a client",
      (file) => fs.writeFileSync(file, JSON.stringify({ version: 1, rules: [{ id: "x", rule: "allow: deploy" }] }))
    ],
    ["is of another version", (file) => fs.writeFileSync(file, JSON.stringify({ version: 2, rules: [] }))],
    ["others can write", (file) => fs.chmodSync(file, 0o666)],
    ["is a link", (file) => {
      fs.renameSync(file, `${file}.real`)
      fs.symlinkSync(`${file}.real`, file)
    }],
    ["is a folder", (file) => {
      fs.rmSync(file)
      fs.mkdirSync(file)
    }]
  ]
  for (const [what, spoil] of bad) {
    it.live(`settles nothing with a file that ${what}, and does not overwrite it`, () =>
      withFile((file, { add, current }) =>
        Effect.gen(function*() {
          spoil(file)
          const before = fs.lstatSync(file).isFile() ? fs.readFileSync(file, "utf8") : undefined
          assert.deepStrictEqual(yield* current, [])
          assert.strictEqual((yield* Effect.flip(add([rememberedRule("b")])))._tag, "WriteRefused")
          if (before !== undefined) assert.strictEqual(fs.readFileSync(file, "utf8"), before)
        })
      ))
  }
})
