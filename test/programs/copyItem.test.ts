// Copying an item between tiers: on a real disk, with real signatures.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { withApproval } from "../../src/programs/approvals.ts"
import * as CopyItem from "../../src/programs/copyItem.ts"
import { loadInto } from "../../src/programs/load.ts"
import { suggestPermissions } from "../../src/programs/permissionSuggestions.ts"
import { runTool } from "../../src/programs/runTool.ts"
import { sign } from "../../src/programs/sign.ts"
import { AuditLog } from "../../src/services/audit/AuditLog.ts"
import { codeOf, innermost } from "../../src/services/error/KiwiError.ts"
import type { KiwiError } from "../../src/services/error/KiwiError.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { caller, tool } from "../layers/proxy/calls.ts"
import { kernelOf, realProject } from "../support/realProject.ts"
import { trustProject } from "../support/trustWorld.ts"
import { person } from "./items.ts"

/** After the person's answer: the shipped rules ask about every copy. */
const answered = <A, E extends { readonly _tag: string }, R>(copy: Effect.Effect<A, E, R>) =>
  Effect.provideService(withApproval(copy, caller, 0), HumanGate, person("yes"))

const copyItem: typeof CopyItem.copyItem = (input, by) =>
  answered(CopyItem.copyItem(input, by)) as ReturnType<typeof CopyItem.copyItem>

const say = (version: string, text = "hi") => tool({ version, config: { command: "echo", args: [text] } })

const folder = {
  "tools/web/fetch/tool.yaml": `version: "1.0.0"
tool_type: script
executor_id: bash_runtime
description: Fetches
entrypoint: run.sh
`,
  "tools/web/fetch/run.sh": "#!/bin/sh\necho fetched\n"
}

const world = (files: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const place = yield* realProject(
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`.ai/${path}`, text]))
    )
    const kernel = kernelOf(place)
    const use = <A, E, R extends HumanGate | Layer.Success<typeof kernel>>(effect: Effect.Effect<A, E, R>) =>
      Effect.provide(effect, Layer.merge(kernel, Layer.succeed(HumanGate, person("yes"))))
    yield* use(trustProject)
    return {
      ...place,
      use,
      inUser: (path: string) => join(place.userSpace, path),
      inProject: (path: string) => join(place.project, ".ai", path)
    }
  })

const codeFrom = (error: KiwiError) => codeOf(innermost(error))

describe("copying an item to another tier", () => {
  it.live("keeps its category, its signature and its bytes, and it runs there", () =>
    Effect.gen(function*() {
      const w = yield* world({ "tools/misc/say.yaml": say("1.0.0") })
      yield* w.use(sign({ id: "say" }, caller))
      const copied = yield* w.use(copyItem({ id: "say", destination: "user", version: "1.0.0" }, caller))
      assert.deepStrictEqual(copied, { to: "user:tools/misc/say.yaml", written: true })
      const asked = (yield* w.use(Effect.flatMap(AuditLog, (audit) => audit.read()))).flatMap((entry) =>
        entry.kind === "result" && entry.asked !== undefined ? entry.asked : []
      )
      const question = { access: "kiwi.write", rule: "copies-ask" }
      assert.deepStrictEqual(asked, [question, question], "when it was filed, and when it was allowed")
      const { left, rules } = yield* w.use(suggestPermissions(1, "user"))
      assert.deepStrictEqual(rules, [])
      assert.deepStrictEqual(left.map(({ touches, why }) => [touches, why]), [
        [["kiwi.write"], "no rule can name what it touches"]
      ])
      assert.strictEqual(
        fs.readFileSync(w.inUser("tools/misc/say.yaml"), "utf8"),
        fs.readFileSync(w.inProject("tools/misc/say.yaml"), "utf8")
      )
      fs.rmSync(w.inProject("tools/misc/say.yaml"))
      const result = yield* w.use(runTool("say"))
      assert.strictEqual(result.metadata.tool.tier, "user")
      const back = yield* w.use(answered(loadInto({ id: "say", destination: "project" }, caller)))
      assert.deepInclude(back, {
        tier: "project",
        state: "ok",
        copied: { to: "project:tools/misc/say.yaml", written: true }
      })
      assert.strictEqual((yield* w.use(runTool("say"))).metadata.tool.tier, "project")
      const again = yield* w.use(copyItem({ id: "say", tier: "user", destination: "project" }, caller))
      assert.isFalse(again.written)
    }).pipe(Effect.scoped))

  it.live("of a folder takes all of its files, their modes and the signature beside it", () =>
    Effect.gen(function*() {
      const w = yield* world(folder)
      fs.chmodSync(w.inProject("tools/web/fetch/run.sh"), 0o755)
      yield* w.use(sign({ id: "fetch" }, caller))
      yield* w.use(copyItem({ id: "fetch", destination: "user" }, caller))
      assert.strictEqual(fs.statSync(w.inUser("tools/web/fetch/run.sh")).mode & 0o777, 0o755)
      assert.isTrue(fs.existsSync(w.inUser("tools/web/fetch.kiwi-sig")))
      fs.rmSync(w.inProject("tools/web"), { recursive: true })
      assert.include(JSON.stringify((yield* w.use(runTool("fetch"))).data), "fetched")
    }).pipe(Effect.scoped))

  it.live("replaces an older version, and no newer or other one", () =>
    Effect.gen(function*() {
      const w = yield* world({ "tools/say.yaml": say("1.0.0") })
      const write = (version: string, text?: string) =>
        Effect.andThen(
          Effect.sync(() => fs.writeFileSync(w.inProject("tools/say.yaml"), say(version, text))),
          w.use(sign({ id: "say", tier: "project" }, caller))
        )
      yield* w.use(sign({ id: "say" }, caller))
      yield* w.use(copyItem({ id: "say", destination: "user" }, caller))
      yield* write("1.1.0")
      const newer = yield* w.use(copyItem({ id: "say", tier: "project", destination: "user" }, caller))
      assert.strictEqual(newer.replaced, "1.0.0")
      const there = fs.readFileSync(w.inUser("tools/say.yaml"), "utf8")
      for (const [version, issue] of [["1.0.9", "newer"], ["1.1.0", "different"]] as const) {
        yield* write(version, "other")
        const error = yield* Effect.flip(w.use(copyItem({ id: "say", tier: "project", destination: "user" }, caller)))
        assert.deepInclude(error, { _tag: "CopyRefused", issue })
        assert.strictEqual(fs.readFileSync(w.inUser("tools/say.yaml"), "utf8"), there)
      }
      const wrong = yield* Effect.flip(
        w.use(copyItem({ id: "say", tier: "project", destination: "user", version: "9.0.0" }, caller))
      )
      assert.deepInclude(wrong, { _tag: "CopyRefused", issue: "version" })
    }).pipe(Effect.scoped))

  it.live("is refused for an item that nobody signed, that was changed since, and for Kiwi's own", () =>
    Effect.gen(function*() {
      const w = yield* world({ "tools/say.yaml": say("1.0.0"), "tools/other.yaml": say("1.0.0") })
      yield* w.use(sign({ id: "say" }, caller))
      fs.appendFileSync(w.inProject("tools/say.yaml"), "\n")
      const expected = [["other", "UNSIGNED"], ["say", "TAMPERED"], ["ping", "COPY_REFUSED"]] as const
      for (const [id, code] of expected) {
        const error = yield* Effect.flip(w.use(copyItem({ id, destination: "user" }, caller)))
        assert.strictEqual(codeFrom(error as KiwiError), code, id)
      }
      assert.isFalse(fs.existsSync(w.inUser("tools")))
    }).pipe(Effect.scoped))

  it.live("does not write through a link", () =>
    Effect.gen(function*() {
      const w = yield* world({ "tools/misc/say.yaml": say("1.0.0") })
      yield* w.use(sign({ id: "say" }, caller))
      fs.mkdirSync(w.inUser("tools"), { recursive: true })
      fs.mkdirSync(join(w.home, "elsewhere"), { recursive: true })
      fs.symlinkSync(join(w.home, "elsewhere"), w.inUser("tools/misc"))
      const error = yield* Effect.flip(w.use(copyItem({ id: "say", destination: "user" }, caller)))
      assert.strictEqual((error as KiwiError)._tag, "WriteRefused")
      assert.deepStrictEqual(fs.readdirSync(join(w.home, "elsewhere")), [])
    }).pipe(Effect.scoped))
})
