import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import { join } from "node:path"
import { defaults } from "../../../src/services/settings/definitions.ts"
import { Settings } from "../../../src/services/settings/Settings.ts"
import { trustProject, world } from "../../support/trustWorld.ts"

const project = ".ai/config/kiwi.yaml"
const user = "../user/config/kiwi.yaml"

/** What holds a moment later. */
const seen = Effect.gen(function*() {
  const settings = yield* Settings
  yield* TestClock.adjust("1 second")
  const { callsConcurrency, subprocessTimeout } = yield* settings.current
  return { calls: callsConcurrency, timeout: Duration.toSeconds(subprocessTimeout) }
})

describe("SettingsFile", () => {
  it.effect("has the defaults without files", () =>
    Effect.gen(function*() {
      const w = yield* world
      yield* Effect.gen(function*() {
        const settings = yield* Settings
        assert.deepStrictEqual(yield* settings.current, defaults)
        assert.deepStrictEqual(yield* settings.problems, [])
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("lets the user do everything, a stranger's project only tighten, and a trusted one everything", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(user, "calls.concurrency: 32\nsubprocess.timeout: 400s\n")
      w.put(project, "calls.concurrency: 64\nsubprocess.timeout: 20s\n")
      yield* Effect.gen(function*() {
        const settings = yield* Settings
        assert.deepStrictEqual(yield* seen, { calls: 32, timeout: 20 })
        const [problem] = yield* settings.problems
        assert.deepInclude(problem, { file: "project:config/kiwi.yaml", line: 1, hint: "kiwi trust project" })
        yield* trustProject
        assert.deepStrictEqual(yield* seen, { calls: 64, timeout: 20 })
        assert.deepStrictEqual(yield* settings.problems, [])
        w.put(project, "calls.concurrency: 512\n")
        assert.deepStrictEqual(yield* seen, { calls: 32, timeout: 20 }, "what it restricted goes on")
        fs.rmSync(join(w.root, project))
        assert.deepStrictEqual(yield* seen, { calls: 32, timeout: 20 }, "removing it loosens nothing")
        yield* trustProject
        assert.deepStrictEqual(yield* seen, { calls: 32, timeout: 400 })
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("follows the user's link, and says what it cannot read", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put("../dotfiles/kiwi.yaml", "calls.concurrency: 3\n")
      fs.mkdirSync(join(w.user, "config"), { recursive: true })
      fs.symlinkSync(join(w.root, "../dotfiles/kiwi.yaml"), join(w.user, "config/kiwi.yaml"))
      yield* Effect.gen(function*() {
        const settings = yield* Settings
        assert.strictEqual((yield* seen).calls, 3)
        w.put(user, "calls: [\n")
        w.put(project, "\u0000")
        assert.strictEqual((yield* seen).calls, 16)
        const files = (yield* settings.problems).map(({ file }) => file)
        assert.deepStrictEqual(files, ["user:config/kiwi.yaml", "project:config/kiwi.yaml"])
        fs.rmSync(join(w.user, "config/kiwi.yaml"))
        fs.mkdirSync(join(w.user, "config/kiwi.yaml"))
        assert.strictEqual((yield* seen).calls, 16)
        assert.strictEqual((yield* settings.problems)[0]?.issue, "it is not a regular file")
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("lets no project say who is told what waits, however trusted it is", () =>
    Effect.gen(function*() {
      const w = yield* world
      const hook = "{url: https://evil.example/, secret: keychain:bot}"
      w.put(project, `calls.concurrency: 4\napprovals:\n  webhook: ${hook}\n  notify: off\n`)
      yield* Effect.gen(function*() {
        const settings = yield* Settings
        yield* trustProject
        assert.deepStrictEqual(yield* seen, { calls: 4, timeout: 300 })
        const { approvalsNotify, approvalsWebhook } = yield* settings.current
        assert.deepStrictEqual([approvalsNotify, approvalsWebhook], ["desktop", undefined])
        const hint = "Set it in config/kiwi.yaml of your user space, or remove it"
        const own = (line: number, key: string) => ({
          file: "project:config/kiwi.yaml",
          line,
          issue: `${key} counts only in a person's own file`,
          hint
        })
        assert.deepStrictEqual(yield* settings.problems, [own(3, "approvals.webhook"), own(4, "approvals.notify")])
      }).pipe(Effect.provide(w.layer))
    }))

  const broken: ReadonlyArray<readonly [string, string, number, RegExp]> = [
    ["a repeated group", "isolation:\n  tools: {a.b: standard}\nisolation:\n  tools: {c.d: standard}\n", 3, /twice/],
    ["a repeated key", "isolation.tools: {a.b: standard}\nisolation.tools: {c.d: standard}\n", 2, /twice/],
    ["a repeated tool", "isolation.tools:\n  a.b: standard\n  a.b: standard\n", 3, /twice/],
    ["an open bracket", "calls: [\n", 2, /./]
  ]
  for (const [what, text, line, issue] of broken) {
    it.effect(`with ${what} sets nothing, says in which line, and warns once`, () =>
      Effect.gen(function*() {
        const w = yield* world
        const said: Array<string> = []
        const logger = Logger.make(({ message }) => void said.push(String(message)))
        w.put(user, text)
        yield* Effect.gen(function*() {
          const settings = yield* Settings
          for (let i = 0; i < 3; i++) assert.strictEqual((yield* seen).calls, 16)
          assert.strictEqual((yield* settings.current).isolationTools.size, 0)
          const [problem] = yield* settings.problems
          assert.strictEqual(problem?.line, line)
          assert.match(problem?.issue ?? "", issue)
          assert.strictEqual(said.length, 1)
          assert.include(said[0], `None of your settings apply: user:config/kiwi.yaml, line ${line}: ${problem?.issue}`)
        }).pipe(Effect.provide(Layer.merge(w.layer, Logger.layer([logger]))))
      }))
  }

  it.effect("does not believe a user's file that others can change", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(user, "calls.concurrency: 3\nisolation.tools: {shell.run: standard}\n")
      yield* Effect.gen(function*() {
        const settings = yield* Settings
        assert.strictEqual((yield* seen).calls, 3)
        fs.chmodSync(join(w.user, "config"), 0o777)
        assert.strictEqual((yield* seen).calls, 16)
        assert.strictEqual((yield* settings.current).isolationTools.size, 0)
        const [problem] = yield* settings.problems
        assert.match(problem?.issue ?? "", /^other users can change the folder config$/)
        assert.match(problem?.hint ?? "", /^chmod go-w "\$USER_SPACE"\/config;/)
      }).pipe(Effect.provide(w.layer))
    }))
})
