// Rules proposed from a person's answers: put into the file, they let through what was agreed to, and nothing else.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { auditAsked } from "../../../src/layers/approval/auditAsked.ts"
import { PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import type { RememberedRule } from "../../../src/services/permission/RememberedRules.ts"
import { parseRuleLine } from "../../../src/services/permission/rule/Rule.ts"
import { type AskedCall, suggestRules } from "../../../src/services/permission/suggestRules.ts"
import { accessOf, decideIn, layerGate, runOf, someCaller } from "../../support/permissionWorld.ts"

const callOf = (access: ReadonlyArray<string>, more: Partial<AskedCall> = {}): AskedCall => ({
  item: "filesystem.write",
  client: "dev",
  at: "2026-11-23T00:00:00.000Z",
  asked: auditAsked(access.map((one) => ({ access: accessOf(one), rule: "project-changes", reason: "" })), []) ?? [],
  ...more
})

const suggest = (
  approved: ReadonlyArray<AskedCall | string>,
  refused: ReadonlyArray<AskedCall | string> = [],
  never: ReadonlyArray<string> = []
) => {
  const calls = (all: ReadonlyArray<AskedCall | string>) =>
    all.map((one) => typeof one === "string" ? callOf([one]) : one)
  return suggestRules(
    calls(approved),
    calls(refused),
    () => never.map((line) => Result.getOrThrow(parseRuleLine(line))),
    "/project"
  )
}

const lines = (...all: Parameters<typeof suggest>) => suggest(...all).rules.map(({ allow }) => allow)

describe("a suggestion", () => {
  it("is one rule for one access, of its caller alone", () => {
    const { rules } = suggest(["fs.write(src/a.ts)", "fs.write(src/a.ts)", "net.http(docs.rs:443)"])
    assert.deepStrictEqual(rules, [
      { allow: "fs.write(src/a.ts)", caller: "dev" },
      { allow: "net.http(docs.rs)", caller: "dev" }
    ])
  })

  for (
    const [rule, isOwn] of [
      ["user:config/permissions.yaml:4", true],
      ["project:config/permissions.yaml:12", true],
      ["user:config/profiles.yaml:5", true],
      ["project:config/profiles.yaml:5", true],
      ["project-changes", false],
      ["commands", false],
      ["hosts", false],
      ["profile dev", false],
      ["remembered k7f3m2qa9x", false],
      ["default: changes ask", false]
    ] as const
  ) {
    it(`is ${isOwn ? "not made, and said why," : "made"} where ${rule} asks`, () => {
      const [asked] = callOf(["fs.write(src/a.ts)"]).asked
      const call = callOf([], { asked: [{ ...asked!, rule }] })
      const { left, rules } = suggest([call])
      assert.deepStrictEqual([rules.length, left.length], isOwn ? [0, 1] : [1, 0])
      if (isOwn) assert.include(left[0]?.why, rule)
    })
  }

  it("is made of the access, and not of the text for a person", () => {
    const [asked] = callOf(["fs.write(src/a.ts)"]).asked
    for (const access of ["fs.write(infra/x)", "fs.delete(src/a.ts)", "fs.write(src/a.ts", "process.exec(rm x)", ""]) {
      const { rules } = suggest([callOf([], { asked: [{ ...asked!, access }] })])
      assert.deepStrictEqual(rules, [{ allow: "fs.write(src/a.ts)", caller: "dev" }], access)
    }
    const { left, rules } = suggest([
      callOf([], { asked: [{ access: "fs.write(src/a.ts)", rule: "project-changes" }] })
    ])
    assert.deepStrictEqual([rules.length, left.length], [0, 1])
  })

  it("becomes the innermost folder of three files, and no other", () => {
    const files = ["src/a/1", "src/a/2", "src/a/3", "src/b/1", "README.md", "docs/x"].map((path) => `fs.write(${path})`)
    assert.deepStrictEqual(lines(files), [
      "fs.write(src/b/1)",
      "fs.write(README.md)",
      "fs.write(docs/x)",
      "fs.write(src/a/**)"
    ])
    assert.deepStrictEqual(lines(["fs.write(a)", "fs.write(b)", "fs.write(c)", "fs.write(d)"]).length, 4)
    assert.deepStrictEqual(lines(["fs.write(s/a/1)", "fs.write(s/b/1)", "fs.write(s/c/1)"]), ["fs.write(s/**)"])
  })

  it("stays exact for what is deleted, and outside of the project", () => {
    for (const name of ["fs.delete(src/", "fs.write(/srv/"]) {
      assert.deepStrictEqual(lines([`${name}a)`, `${name}b)`, `${name}c)`]), [`${name}a)`, `${name}b)`, `${name}c)`])
    }
  })

  const three = ["fs.write(src/a)", "fs.write(src/b)", "fs.write(src/c)"]
  for (
    const [what, refused, never] of [
      ["a file in the folder", "fs.write(src/d)", undefined],
      ["a file deep in it", "fs.delete(src/x/y)", undefined],
      ["a file in it in another case", "fs.write(SRC/d)", undefined],
      ["the folder itself", "fs.delete(src)", undefined],
      ["a file that no rule can name", "fs.write(src/a*b)", undefined],
      ["a file in it for good", undefined, "deny: fs.write(src/d)"],
      ["files in it for good", undefined, "deny: fs.write(src/x/**)"],
      ["all of a kind for good", undefined, "deny: fs.write(**/secret)"]
    ] as const
  ) {
    it(`does not become a folder if somebody refused ${what}`, () => {
      assert.deepStrictEqual(
        lines(three, refused === undefined ? [] : [refused], never === undefined ? [] : [never]),
        three
      )
    })
  }

  it("becomes a program with its subcommand, and never a program alone", () => {
    const threeOf = (command: string) => ["a", "b", "c"].map((word) => `process.exec(${command} ${word})`)
    assert.deepStrictEqual(lines(threeOf("git add")), ["process.exec(git add *)"])
    assert.deepStrictEqual(lines(threeOf("git add"), ["process.exec(git add .env)"]), threeOf("git add"))
    assert.deepStrictEqual(lines(threeOf("git add"), [], ["deny: process.exec(git add x)"]), threeOf("git add"))
    for (
      const program of ["curl", "grep", "python3", "node", "bash", "ssh", "npm publish", "git push", "make", "cat"]
    ) {
      const found = lines(threeOf(program))
      for (const line of found) assert.notInclude(line, "*", program)
    }
    assert.deepStrictEqual(lines(["process.exec(bash)", "process.exec(python3)", "process.exec(sudo ls)"]), [])
  })

  it("is never what was refused, alone or together", () => {
    assert.deepStrictEqual(suggest(["fs.write(a)", "fs.write(b)"], ["fs.write(a)"]).rules, [
      { allow: "fs.write(b)", caller: "dev" }
    ])
    const both = callOf(["fs.write(a)", "net.http(x.example:443)"])
    const { left, rules } = suggest(["fs.write(a)", "net.http(x.example:443)", "fs.write(c)"], [both])
    assert.deepStrictEqual(rules.map(({ allow }) => allow), ["fs.write(c)"])
    assert.lengthOf(left, 2)
    // Agreed to by itself, and refused only beside something else.
    assert.deepStrictEqual(lines(["fs.write(a)"], [both]), ["fs.write(a)"])
    assert.deepStrictEqual(lines(["fs.write(a)"], [callOf(["fs.write(a)"], { client: "ci" })]), ["fs.write(a)"])
    assert.deepStrictEqual(lines(["fs.write(a)"], ["fs.read(a)"]), [])
    assert.deepStrictEqual(lines(["fs.write(a)"], [], ["deny: fs.write(a)"]), [])
  })

  it("gives a secret to the tool that was agreed to, as it was", () => {
    const digest = "d".repeat(64)
    assert.deepStrictEqual(suggest([callOf(["secret.use(TOKEN)"], { digest })]).rules, [
      { allow: "secret.use(TOKEN)", caller: "dev", digest }
    ])
    assert.deepStrictEqual(lines(["secret.use(TOKEN)"]), [])
  })

  for (
    const [what, call] of [
      [
        "a rule of the person's own asks",
        { asked: [{ access: "fs.write(a)", rule: "user:config/permissions.yaml:4" }] }
      ],
      ["its command is opaque", { asked: [{ access: "process.exec(a $(b))", rule: "commands" }] }],
      ["its path has a wildcard", { asked: [{ access: "fs.write(a*b)", rule: "project-changes" }] }],
      ["something of it is redacted", {
        asked: auditAsked([{ access: accessOf("process.exec(x ‹redacted›)"), rule: "commands", reason: "" }], []) ?? []
      }],
      ["it was cut", { asked: [{ access: `fs.write(${"x".repeat(900)}`, rule: "project-changes" }] }],
      ["its caller's name is a pattern", { client: "ci*" }],
      ["it is a tool", { asked: [{ access: "tool.deploy", rule: "x" }] }]
    ] satisfies ReadonlyArray<readonly [string, Partial<AskedCall>]>
  ) {
    it(`is not made, and says why, where ${what}`, () => {
      const { left, rules } = suggest([callOf(["fs.write(a)"], call)])
      assert.deepStrictEqual(rules, [])
      assert.isAbove(left[0]?.why.length ?? 0, 10)
    })
  }
})

const base = [
  "allow: fs.write(src/free/**)",
  "ask: fs.write(src/lib/**)",
  "ask: net.http(*.example)",
  "deny: fs.write(src/lib/a)",
  "deny: fs.write(docs)",
  "deny: process.exec(git push *)",
  "deny: net.http(b.example)"
]
const accesses = [
  ...["a", "b", "c", "lib/a", "lib/b", "deep/x/1", "deep/x/2", "deep/x/3", "free/a", ".env"].map((name) =>
    `src/${name}`
  ),
  "README.md",
  "docs/x",
  ".git/config",
  "/etc/hosts"
].flatMap((path) => [`fs.write(${path})`, `fs.delete(${path})`]).concat([
  "net.http(a.example:443)",
  "net.http(b.example:443)",
  "net.http(c.test:8080)",
  ...[
    "npm test",
    "git push",
    "git add a",
    "git add b",
    "git add c",
    "git add .env",
    "bash x",
    "curl x",
    "curl y",
    "curl z"
  ]
    .map((command) => `process.exec(${command})`),
  "opaque(x)",
  "partly(git -C sub push)"
])

const Call = Schema.Struct({
  access: Schema.Array(Schema.Literals(accesses)).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  answer: Schema.Literals(["once", "session", "no", "never"])
})
const Calls = Schema.Array(Call).check(Schema.isMaxLength(25))
const Base = Schema.Array(Schema.Literals(base)).check(Schema.isMaxLength(4))

const entryOf = (line: string) => {
  const colon = line.indexOf(": ")
  return { [line.slice(0, colon)]: line.slice(colon + 2) }
}

describe("for every set of answers", () => {
  it.effect.prop(
    "the suggested rules let through what was agreed to, nothing that was refused, and nothing that was denied",
    [Base, Calls],
    ([given, calls]) =>
      Effect.gen(function*() {
        const rules: ReadonlyArray<object> = given.map(entryOf)
        const approved: Array<readonly [AskedCall, ReadonlyArray<string>]> = []
        const refused: typeof approved = []
        const denied: Array<ReadonlyArray<string>> = []
        const remembered: Array<RememberedRule> = []
        for (const { access, answer } of calls) {
          const decided = yield* Effect.result(
            Effect.flatMap(PermissionGate, (gate) => gate.decide(someCaller, runOf({ access }))).pipe(
              Effect.provide(layerGate({ user: JSON.stringify({ rules }) }))
            )
          )
          if (Result.isFailure(decided)) {
            denied.push(access)
            continue
          }
          const asked = auditAsked(decided.success.asks, [])
          if (asked === undefined) continue
          const call = callOf([], { asked })
          if (answer === "once" || answer === "session") approved.push([call, access])
          else refused.push([call, access])
        }
        const { left, rules: more } = suggestRules(
          approved.map(([call]) => call),
          refused.map(([call]) => call),
          () => [],
          "/memory/project"
        )
        const user = JSON.stringify({ rules: [...rules, ...more] })
        const outcome = (access: ReadonlyArray<string>) =>
          Effect.map(decideIn({ user, remembered }, runOf({ access })), (one) => one.outcome)
        const isLeft = new Set(left.map(({ call }) => call))
        for (const [call, access] of approved) {
          if (!isLeft.has(call)) assert.strictEqual(yield* outcome(access), "allow", access.join())
        }
        for (const [, access] of refused) assert.notStrictEqual(yield* outcome(access), "allow", access.join())
        for (const access of denied) assert.strictEqual(yield* outcome(access), "deny", access.join())
        for (const { call, why } of left) {
          const isAsked = call.asked.some(({ rule, touches, access }) =>
            rule.includes("permissions.yaml") || (access.startsWith("process.exec") && touches === undefined)
          )
          assert.isTrue(isAsked || why.includes("refused") || why.includes("rule"), why)
        }
      }),
    { arbitrary: { runs: 200 } }
  )
})
