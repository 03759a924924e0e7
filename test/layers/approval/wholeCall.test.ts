// An answer that makes rules is offered only if they are about the whole call, and `never` refuses nothing else.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as ApprovalStoreMemory from "../../../src/layers/approval/ApprovalStoreMemory.ts"
import * as RememberedRulesMemory from "../../../src/layers/permission/RememberedRulesMemory.ts"
import * as SettingsMemory from "../../../src/layers/settings/SettingsMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import type { Access } from "../../../src/services/capability/Access.ts"
import { offerFor } from "../../../src/services/permission/offeredRule.ts"
import type { Ask } from "../../../src/services/permission/PermissionGate.ts"
import { RememberedRules } from "../../../src/services/permission/RememberedRules.ts"
import { request, start } from "./approvalRequest.ts"
import { answerIt, file } from "./ApprovalStore.contract.ts"

const store = ApprovalStoreMemory.layer.pipe(
  Layer.provideMerge(RememberedRulesMemory.layer),
  Layer.provide(SettingsMemory.layer),
  Layer.provide(KiwiHomeMemory.layer)
)

const path = (name: string, capability: "fs.read" | "fs.write" | "fs.delete" = "fs.write"): Access => ({
  _tag: "Path",
  capability,
  path: name
})

/** `line`: the whole line that it is in, which cannot be taken apart. */
const command = (text: string, line?: string): Access => ({
  _tag: "Command",
  capability: "process.exec",
  words: text.split(" "),
  text,
  ...(line === undefined ? {} : { line: { text: line, folder: "." } })
})

const opaque = (text: string, line?: string): Access => ({
  _tag: "Command",
  capability: "process.exec",
  words: undefined,
  text,
  opaque: "it runs the output of a command",
  ...(line === undefined ? {} : { line: { text: line, folder: "." } })
})

const asked = (access: Access): Ask => {
  const offer = offerFor(access, false)
  return {
    access,
    rule: "default",
    reason: "runs a command",
    ...(offer === undefined ? {} : { offer: `allow: ${offer}` })
  }
}

const source = "source .env && node --test"
const loop = "for i in 1 2; do echo $i; done > out.txt"

const rows: ReadonlyArray<
  readonly [title: string, accesses: ReadonlyArray<Access>, answers: string, never: ReadonlyArray<string>]
> = [
  ["one command", [command("npm test")], "session always never", ["deny: process.exec(npm test)"]],
  ["a command that no rule can name", [opaque("xargs wc -l")], "", []],
  ["a command beside one that no rule can name", [command("npm test"), opaque("xargs rm")], "", []],
  ["one that no rule can name, and then a command", [opaque("xargs rm"), command("npm test")], "", []],
  ["a file beside a command that no rule can name", [opaque("xargs rm"), path("out.txt")], "", []],
  ["two commands", [command("npm test"), command("npm run lint")], "session always never", [
    "deny: process.exec(npm test)",
    "deny: process.exec(npm run lint)"
  ]],
  ["a line", [opaque("source .env", source), command("node --test", source)], "session always never", [
    `deny: process.exec('${source}')`
  ]],
  ["the part of a line that is asked", [command("node --test", source)], "session always never", [
    `deny: process.exec('${source}')`
  ]],
  ["a line that writes a file", [opaque("for …", loop), path("out.txt")], "session always never", [
    `deny: process.exec('${loop}')`
  ]],
  ["a file before a line", [path("out.txt"), opaque("for …", loop)], "session always never", [
    `deny: process.exec('${loop}')`
  ]],
  ["two files", [path("a.txt", "fs.delete"), path("b.txt")], "session always never", [
    "deny: fs.delete(a.txt)",
    "deny: fs.write(b.txt)"
  ]],
  [
    "a file beside something that can only be allowed once",
    [path("b.txt"), {
      _tag: "Plain",
      capability: "kiwi.sync"
    }],
    "",
    []
  ]
]

describe("of a call with several parts, the answers that make rules are about all of it:", () => {
  for (const [title, accesses, answers, never] of rows) {
    it.effect(title, () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(start)
        const approvals = yield* ApprovalStore
        const id = yield* file(approvals, request({ asks: accesses.map(asked) }))
        const { question } = yield* approvals.propose(id)
        const offered = (question.choices ?? []).map(({ value }) => value)
        assert.strictEqual(offered.filter((one) => one !== "once" && one !== "no").join(" "), answers)
        if (never.length === 0) {
          const refused = yield* Effect.flip(approvals.propose(id, { answers: ["never"] }))
          assert.include(refused.message, "no rule can name exactly what it asks")
          return
        }
        yield* answerIt(approvals, id, "never")
        assert.deepStrictEqual((yield* (yield* RememberedRules).current).map(({ rule }) => rule), never)
      }).pipe(Effect.provide(store)))
  }
})
