// The answer `never` denies like every other rule that denies: whatever allows, and whoever made that rule.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Access } from "../../../src/services/capability/Access.ts"
import type { Action } from "../../../src/services/permission/Action.ts"
import { PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import type { RememberedRule } from "../../../src/services/permission/RememberedRules.ts"
import {
  decideIn,
  layerGate,
  runOf,
  type RunOptions,
  someCaller,
  useSecretOf,
  type WorldOptions
} from "../../support/permissionWorld.ts"

const answered = (rule: string, more: Partial<RememberedRule> = {}): RememberedRule => ({
  id: "n1",
  rule,
  client: someCaller.client,
  at: "2026-11-23T00:00:00.000Z",
  by: "answered at /dev/pts/3",
  approval: "n1",
  ...more
})

const text = (...rules: ReadonlyArray<string>) => `rules:\n${rules.map((rule) => `  - ${rule}\n`).join("")}`

interface Row {
  readonly never: string
  readonly call: RunOptions
  readonly world: WorldOptions
}

const write = (path: string): RunOptions => ({ access: [`fs.write(${path})`] })
const command = (line: string): RunOptions => ({ tool: "shell.run", access: [`process.exec(${line})`] })

const rows: ReadonlyArray<Row> = [
  { never: "fs.write(docs/a.md)", call: write("docs/a.md"), world: { user: text("allow: fs.write(docs/**)") } },
  { never: "fs.write(docs/a.md)", call: write("docs/a.md"), world: { user: text("allow: fs.write(docs/a.md)") } },
  { never: "fs.write(docs/a.md)", call: write("docs/a.md"), world: { project: text("allow: fs.write(**)") } },
  { never: "fs.write(docs/a.md)", call: write("docs/a.md"), world: { user: text("allow: filesystem.write(docs/**)") } },
  {
    never: "fs.delete(docs/a.md)",
    call: { access: ["fs.delete(docs/a.md)"] },
    world: { user: text("allow: fs.delete(docs/**)") }
  },
  {
    never: "fs.write(docs/a.md)",
    call: write("docs/a.md"),
    world: { remembered: [answered("allow: fs.write(docs/**)", { id: "y1" })] }
  },
  {
    never: "fs.write(docs/a.md)",
    call: write("docs/a.md"),
    world: { remembered: [answered("allow: fs.write(docs/**)", { id: "y1", session: "s1" })] }
  },
  {
    never: "process.exec(git push origin main)",
    call: command("git push origin main"),
    world: { project: text("allow: shell.run(git push *)") }
  },
  {
    never: "process.exec(git push origin main)",
    call: command("git push origin main"),
    world: { user: text("allow: process.exec(git *)") }
  },
  { never: "process.exec(npm test)", call: command("npm test"), world: { sandboxed: true } },
  {
    never: "process.exec(cat src/price.js)",
    call: {
      tool: "shell.run",
      accesses: [
        {
          _tag: "Command",
          capability: "process.exec",
          words: ["cat", "src/price.js"],
          text: "cat src/price.js",
          opens: [{ _tag: "Path", capability: "fs.read", path: "src/price.js" }]
        },
        { _tag: "Path", capability: "fs.read", path: "src/price.js" }
      ]
    },
    world: {}
  },
  { never: "fs.read(src/a.ts)", call: { tool: "filesystem.read", access: ["fs.read(src/a.ts)"] }, world: {} },
  {
    never: "net.http(b.a.example)",
    call: { tool: "http.fetch", access: ["net.http(b.a.example:443)"] },
    world: { user: text("allow: net.http(*.a.example)") }
  },
  { never: "deploy", call: { tool: "deploy", by: ["you"] }, world: {} },
  { never: "deploy", call: { tool: "deploy", by: ["you"] }, world: { user: text("allow: tool.*") } }
]

describe("`never` refuses", () => {
  for (const { call, never, world } of rows) {
    it.effect(`${never} beside ${JSON.stringify(world)}`, () =>
      Effect.gen(function*() {
        const remembered = [...world.remembered ?? [], answered(`deny: ${never}`)]
        assert.strictEqual((yield* decideIn(world, runOf(call))).outcome, "allow")
        const denied = yield* decideIn({ ...world, remembered }, runOf(call))
        assert.strictEqual(denied.outcome, "deny")
        assert.strictEqual(denied.rule, "remembered n1")
        assert.include(denied.text, `the rule "deny: ${never}", which a person's answer "never" made, denies `)
        assert.include(denied.hint, "kiwi permissions remove n1")
      }))
  }

  it.effect("a secret for one's own tool", () =>
    Effect.gen(function*() {
      const action = useSecretOf({ tool: "deploy", by: ["you"] }, "TOKEN")
      assert.strictEqual((yield* decideIn({}, action)).outcome, "allow")
      const remembered = [answered("deny: secret.use(TOKEN)")]
      assert.strictEqual((yield* decideIn({ remembered }, action)).outcome, "deny")
    }))

  it.effect("with a profile that allows", () =>
    Effect.gen(function*() {
      const caller = { ...someCaller, profile: "wide" }
      const profiles = "profiles:\n  wide:\n    rules: [{allow: fs.write(docs/**)}]\n"
      const outcome = (remembered: ReadonlyArray<RememberedRule>) =>
        Effect.map(decideIn({ profiles, remembered }, runOf(write("docs/a.md")), caller), (one) => one.outcome)
      assert.strictEqual(yield* outcome([]), "allow")
      assert.strictEqual(yield* outcome([answered("deny: fs.write(docs/a.md)")]), "deny")
    }))

  it.effect("and a part of a call refuses all of it", () =>
    Effect.gen(function*() {
      const user = text("allow: fs.write(docs/**)")
      const both = runOf({ access: ["fs.write(docs/b.md)", "fs.write(docs/a.md)"] })
      const remembered = [answered("deny: fs.write(docs/a.md)")]
      assert.strictEqual((yield* decideIn({ user, remembered }, both)).outcome, "deny")
    }))
})

describe("`never` is for", () => {
  const user = text("allow: fs.write(docs/**)")
  const outcome = (more: Partial<RememberedRule>, rule = "deny: fs.write(docs/a.md)", path = "docs/a.md") =>
    Effect.map(
      decideIn({ user, remembered: [answered(rule, more)] }, runOf(write(path))),
      (one) => one.outcome
    )

  it.effect("the client that asked, and what was asked", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcome({}), "deny")
      assert.strictEqual(yield* outcome({ client: "other" }), "allow")
      assert.strictEqual(yield* outcome({ session: "s2" }), "allow")
      assert.strictEqual(yield* outcome({}, undefined, "docs/b.md"), "allow")
      // What was run is no answer.
      assert.strictEqual(yield* outcome({ ran: { tool: "t", print: "p" } }), "allow")
    }))

  it.effect("all that a rule that denies is about: a folder around it, a program by its path", () =>
    Effect.gen(function*() {
      const rules = [answered("deny: fs.delete(docs/a.md)"), answered("deny: process.exec(npm publish)", { id: "n2" })]
      const decideBy = (action: Action, remembered = rules) =>
        decideIn(
          { user: text("allow: fs.delete(docs/**)", "allow: process.exec(/usr/bin/npm publish)"), remembered },
          action
        )
      const folder = runOf({ access: ["fs.delete(docs)"] })
      const through = runOf({ access: ["process.exec(/usr/bin/npm publish)"] })
      for (const [action, id] of [[folder, "n1"], [through, "n2"]] as const) {
        assert.strictEqual((yield* decideBy(action, [])).outcome, "allow")
        assert.strictEqual((yield* decideBy(action)).outcome, "deny")
        assert.strictEqual((yield* decideBy(action)).rule, `remembered ${id}`)
      }
      const below: Access = { _tag: "Path", capability: "fs.read", path: "docs", below: true }
      const asked = yield* decideBy(runOf({ accesses: [below] }), [answered("deny: fs.read(docs/a.md)")])
      assert.strictEqual(asked.outcome, "ask")
      assert.strictEqual(asked.rule.split(", ").at(-1), "remembered n1")
    }))

  it.effect("nothing that is denied without it", () =>
    Effect.gen(function*() {
      for (const [rule, access] of [["fs.read(/etc/a)", "fs.read(/etc)"], ["fs.write(.git/a)", "fs.delete(.git)"]]) {
        const got = yield* decideIn({ remembered: [answered(`deny: ${rule}`)] }, runOf({ access: [access ?? ""] }))
        assert.strictEqual(got.outcome, "deny")
        assert.notInclude(got.rule, "remembered")
      }
    }))
})

it.effect("an explanation has the answer among the rules that speak", () =>
  Effect.gen(function*() {
    const gate = yield* PermissionGate
    const judged: Array<string> = []
    yield* Effect.flip(gate.decide(someCaller, runOf(write("docs/a.md")), (one) => {
      judged.push(`${one.outcome} ${one.speaks.map(({ id, line }) => id ?? line).join(" ")}`)
    }))
    assert.deepStrictEqual(judged.at(-1), "deny 2 n1")
  }).pipe(Effect.provide(layerGate({
    user: text("allow: fs.write(docs/**)"),
    remembered: [answered("deny: fs.write(docs/a.md)")]
  }))))
