// A rule that asks or denies never makes anything possible that was not possible without it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Access, PathAccess } from "../../../src/services/capability/Access.ts"
import type { Action } from "../../../src/services/permission/Action.ts"
import { accessOf, decideIn, runOf, type SignerName, useSecretOf } from "../../support/permissionWorld.ts"

const order = { allow: 0, ask: 1, deny: 2 } as const

const path = (capability: PathAccess["capability"], name: string, below?: true): PathAccess => ({
  _tag: "Path",
  capability,
  path: name,
  ...(below === undefined ? {} : { below })
})

/** As a call has it: the command, and beside it what it opens. */
const opening = (text: string, ...opens: ReadonlyArray<PathAccess>): ReadonlyArray<Access> => [
  { _tag: "Command", capability: "process.exec", words: text.split(" "), text, opens },
  ...opens
]

const textOf = (lines: ReadonlyArray<string>) =>
  JSON.stringify({
    rules: lines.map((line) => {
      const colon = line.indexOf(": ")
      const [subject = "", when] = line.slice(colon + 2).split(" when ")
      return { [line.slice(0, colon)]: subject, ...(when === undefined ? {} : { when }) }
    })
  })

describe("what is denied stays denied", () => {
  const rows: ReadonlyArray<readonly [access: ReadonlyArray<Access>, rule: string]> = [
    [[path("fs.read", "/home/u", true)], "fs.read(/home/u/.ssh/**)"],
    [[path("fs.read", "/", true)], "fs.read(/home/u/.ssh/**)"],
    [[path("fs.read", ".ssh", true)], "fs.read(.ssh/id_*)"],
    [[path("fs.read", ".env.d", true)], "fs.read(**/x)"],
    [[path("fs.write", "/home/u", true)], "fs.write(/home/u/a/b)"],
    [[path("fs.delete", "/home/u")], "fs.delete(/home/u/x)"],
    [[path("fs.delete", "/home/u", true)], "fs.delete(/home/u/x)"],
    [[path("fs.write", "/etc/hosts")], "fs.read(/etc/**)"],
    [[path("fs.delete", "/etc/hosts")], "fs.write(/etc/**)"],
    [[path("fs.read", ".env")], "fs.read(**)"],
    [[path("fs.read", ".env")], "fs.read"],
    [[path("fs.read", "/etc/hosts")], "fs.read(/ETC/hosts)"],
    [[path("fs.read", "/etc/hosts")], "*"],
    [opening("ls -R /home/u", path("fs.read", "/home/u", true)), "fs.read(/home/u/.ssh/**)"],
    [opening("cat /etc/hosts", path("fs.read", "/etc/hosts")), "process.exec(cat *)"]
  ]
  for (const [accesses, rule] of rows) {
    for (const outcome of ["ask", "deny"]) {
      it.effect(`${JSON.stringify(accesses.at(-1))} beside "${outcome}: ${rule}"`, () =>
        Effect.gen(function*() {
          const action = runOf({ tool: "git.diff", accesses })
          assert.strictEqual((yield* decideIn({}, action)).outcome, "deny")
          for (
            const place of [{ user: textOf([`${outcome}: ${rule}`]) }, { project: textOf([`${outcome}: ${rule}`]) }]
          ) {
            const decided = yield* decideIn(place, action)
            assert.strictEqual(decided.outcome, "deny", decided.text)
          }
        }))
    }
  }

  it.effect("but a rule that allows opens it, and one that asks then asks", () =>
    Effect.gen(function*() {
      const action = runOf({ access: ["fs.read(/etc/hosts)"] })
      const outcome = (...lines: ReadonlyArray<string>) =>
        Effect.map(decideIn({ user: textOf(lines) }, action), (one) => one.outcome)
      assert.strictEqual(yield* outcome("allow: fs.read(/etc/**)"), "allow")
      assert.strictEqual(yield* outcome("allow: fs.read(/etc/**)", "ask: fs.read(/etc/hosts)"), "ask")
      assert.strictEqual(yield* outcome("allow: fs.read(/etc/**)", "deny: fs.read(/etc/hosts)"), "deny")
    }))
})

const subjects = [
  "fs.read",
  "fs.read(**)",
  "fs.read(src/**)",
  "fs.read(src/keys/**)",
  "fs.read(.ssh/id_*)",
  "fs.read(.env)",
  "fs.read(/home/u/**)",
  "fs.read(/home/u/.ssh/**)",
  "fs.write(src/**)",
  "fs.write(**)",
  "fs.write(/home/u/x)",
  "fs.delete(src/a.ts)",
  "fs.delete(/home/u/x)",
  "process.exec(cat *)",
  "process.exec(git push *)",
  "process.exec(npm test)",
  "net.http(*.example)",
  "net.http(a.example)",
  "secret.use(TOKEN)",
  "filesystem.write(src/**)",
  "filesystem.*",
  "shell.run",
  "shell.run(cat *)",
  "git.diff(src/**)",
  "deploy",
  "github/*",
  "*"
]
const isScoped = (subject: string): boolean => subject.includes("(") || !/^(?:fs\.read|\*)$/.test(subject)
const restricting = [
  ...subjects.flatMap((subject) => [`ask: ${subject}`, `deny: ${subject}`]),
  "ask: * when first-run",
  "ask: deploy when changed"
]
const lines = [...subjects.filter(isScoped).map((subject) => `allow: ${subject}`), ...restricting]

const accesses: ReadonlyArray<ReadonlyArray<Access>> = [
  ...["src", ".", "src/keys", ".ssh", "/home/u", "/home", "/"].flatMap((name) => [
    [path("fs.read", name, true)],
    [path("fs.read", name)],
    [path("fs.delete", name, true)],
    [path("fs.write", name, true)]
  ]),
  ...["src/a.ts", "src/keys/k", ".env", "/home/u/x", "/home/u/.ssh/id", ".git/config"].flatMap((name) => [
    [path("fs.read", name)],
    [path("fs.write", name)],
    [path("fs.delete", name)]
  ]),
  opening("pwd"),
  opening("cat src/a.ts", path("fs.read", "src/a.ts")),
  opening("cat /home/u/x", path("fs.read", "/home/u/x")),
  opening("ls -R src", path("fs.read", "src", true)),
  opening("ls -R /home/u", path("fs.read", "/home/u", true)),
  opening("mkdir src/x", path("fs.write", "src/x")),
  ...["process.exec(npm test)", "process.exec(git push)", "opaque(eval x)", "partly(git $x)", "net.http(a.example:443)"]
    .map((text) => [accessOf(text)]),
  ...["net.http(other:8080)", "secret.use(TOKEN)"].map((text) => [accessOf(text)]),
  []
]
const tools: ReadonlyArray<{ readonly tool: string; readonly by: ReadonlyArray<SignerName> }> = [
  { tool: "filesystem.write", by: ["system"] },
  { tool: "shell.run", by: ["system"] },
  { tool: "git.diff", by: ["system"] },
  { tool: "deploy", by: ["you"] },
  { tool: "deploy", by: ["grace"] },
  { tool: "deploy", by: ["agent", "system"] },
  { tool: "github/issue", by: ["github"] }
]

const indexOf = (all: ReadonlyArray<unknown>) =>
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: all.length - 1 }))
const Rules = Schema.Array(Schema.Literals(lines)).check(Schema.isMaxLength(4))
const More = Schema.Array(Schema.Literals(restricting)).check(Schema.isMinLength(1), Schema.isMaxLength(3))
const Calls = Schema.Array(indexOf(accesses)).check(Schema.isMinLength(1), Schema.isMaxLength(2))

const actionOf = (touched: ReadonlyArray<number>, tool: number, isSecret: boolean): Action =>
  isSecret
    ? useSecretOf(tools[tool]!, "TOKEN")
    : runOf({ ...tools[tool], accesses: touched.flatMap((one) => accesses[one]!) })

describe("for every set of rules and every call", () => {
  it.effect.prop(
    "a rule more that asks or denies never loosens, in either file and for an untrusted project too",
    [Rules, Rules, More, Calls, indexOf(tools), Schema.Boolean, Schema.Boolean],
    ([user, project, more, touched, tool, isSecret, trusted]) =>
      Effect.gen(function*() {
        const action = actionOf(touched, tool, isSecret)
        const before = yield* decideIn({ user: textOf(user), project: textOf(project), trusted }, action)
        for (
          const place of [
            { user: textOf([...user, ...more]), project: textOf(project) },
            { user: textOf(user), project: textOf([...more, ...project]) }
          ]
        ) {
          const after = yield* decideIn({ ...place, trusted }, action)
          assert.isAtLeast(order[after.outcome], order[before.outcome], `${before.text} / ${after.text}`)
        }
      }),
    { arbitrary: { runs: 400 }, timeout: 60_000 }
  )
})
