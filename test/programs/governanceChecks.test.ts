import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Kernel from "../../src/layers/Kernel.ts"
import { checkGovernance } from "../../src/programs/governanceChecks.ts"
import { ApprovalStore } from "../../src/services/approval/ApprovalStore.ts"
import { agreeTo, request, writes } from "../layers/approval/approvalRequest.ts"
import { temporary } from "../support/temporary.ts"

const found = (files: Readonly<Record<string, string>>, before: Effect.Effect<unknown, unknown, ApprovalStore>) =>
  Effect.scoped(Effect.gen(function*() {
    const folder = yield* temporary
    for (const name of ["project/.ai/config", "user/config"]) fs.mkdirSync(join(folder, name), { recursive: true })
    for (const [path, text] of Object.entries(files)) fs.writeFileSync(join(folder, path), text)
    const [project, home, userSpace] = ["project", "home", "user"].map((name) => join(folder, name))
    const findings = yield* Effect.provide(
      Effect.andThen(before, checkGovernance),
      Kernel.layer({ project: project!, home, userSpace })
    )
    return findings.map(({ check, found: text, remedy, result }) =>
      `${result} ${check}: ${text}${remedy === undefined ? "" : ` -> ${remedy}`}`
    )
  }))

describe("doctor, of what agents may do", () => {
  it.live("says what there is not", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* found({}, Effect.void), [
        "ok rules: you have none: what Kiwi ships decides",
        "ok answers: none of your answers is remembered in this project",
        "ok requests: none waits for you",
        "ok webhook: no service is told what waits",
        "ok desktop: no notification: CI is set",
        "ok tokens: no client has one",
        "ok isolation: no tool was lowered"
      ])
    }))

  it.live("says whose rules there are, what waits and what was lowered", () =>
    Effect.gen(function*() {
      const files = {
        "user/config/permissions.yaml": "rules:\n  - allow: fs.read(**)\n  - deny: fs.write(infra/**)\n",
        "project/.ai/config/permissions.yaml": "rules:\n  - allow: fs.write(**)\n  - deny: fs.read(secret/**)\n",
        "user/config/kiwi.yaml": "isolation.tools: {shell.run: standard}\n" +
          "approvals: {webhook: {url: 'https://bot.example/path', secret: 'keychain:bot'}, notify: off}\n"
      }
      const before = Effect.gen(function*() {
        const store = yield* ApprovalStore
        const { id } = yield* Effect.map(Effect.flip(store.require(request())), (error) =>
          "id" in error ? error : assert.fail(error.message))
        yield* store.answer(id, agreeTo((yield* store.propose(id)).question, "always"))
        yield* Effect.flip(store.require(request({ digest: "e".repeat(64), asks: [writes("b.ts", undefined)] })))
      })
      assert.deepStrictEqual(yield* found(files, before), [
        "ok rules: 2 rules in user:config/permissions.yaml",
        "warn rules: 1 rule in project:config/permissions.yaml, which nobody has accepted; 1 rule that would allow more " +
        "do not count -> kiwi trust project",
        "ok answers: 1 rule from your answers -> kiwi permissions list",
        "warn requests: 1 request waits for you -> kiwi inbox",
        "warn webhook: https://bot.example is not told what waits: there is no secret bot -> " +
        "echo \"whsec_$(openssl rand -base64 32)\" | kiwi env secret set bot --stdin",
        "ok desktop: no notification: approvals.notify is off",
        "ok tokens: no client has one",
        "warn isolation: your settings let these run without the sandbox that they need: shell.run -> Remove what you " +
        "do not use from isolation.tools in config/kiwi.yaml of your user space"
      ])
    }))

  it.live("says what is invalid, in which line", () =>
    Effect.gen(function*() {
      const [rules] = yield* found({ "user/config/permissions.yaml": "rules:\n  - alow: x\n" }, Effect.void)
      assert.match(rules ?? "", /^fail rules: user:config\/permissions.yaml, line 2: .*Nothing runs until/)
    }))
})
