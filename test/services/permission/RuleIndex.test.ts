// The index finds what a look at every rule would find.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { Access, PathAccess } from "../../../src/services/capability/Access.ts"
import { foremostOf, matchRule, type RuleQuery } from "../../../src/services/permission/rule/matchRule.ts"
import { parseRuleLine } from "../../../src/services/permission/rule/Rule.ts"
import { RuleIndex } from "../../../src/services/permission/rule/RuleIndex.ts"
import { accessOf, signers } from "../../support/permissionWorld.ts"

const names = ["a", "A", "b", "*", "**", "?", "a*", ".env", "é"]
const hosts = ["a.example", "*.a.example", "b.a.example", "*", "a.example:*", "a.example:8080", "[::1]"]
const commands = ["npm test", "git *", "git push *", "sudo *", "make"]
const secrets = ["A", "a", "A*", "*B"]
const tools = ["deploy", "filesystem.write", "filesystem.*", "*", "ops/*", "ops/deploy", "github/*"]

const Outcomes = Schema.Literals(["allow", "ask", "deny"])
const Path = Schema.Struct({
  root: Schema.Literals(["", "/", "/memory/project/", "~/"]),
  names: Schema.Array(Schema.Literals(names)).check(Schema.isMinLength(1), Schema.isMaxLength(4))
})
const Subjects = Schema.Union([
  Schema.Struct({ kind: Schema.Literals(["fs.read", "fs.write", "fs.delete", "filesystem.write"]), path: Path }),
  Schema.Struct({ kind: Schema.Literal("net.http"), scope: Schema.Literals(hosts) }),
  Schema.Struct({ kind: Schema.Literals(["process.exec", "shell.run"]), scope: Schema.Literals(commands) }),
  Schema.Struct({ kind: Schema.Literal("secret.use"), scope: Schema.Literals(secrets) }),
  Schema.Struct({ kind: Schema.Literals([...tools, "fs.write", "kiwi.sign", "kiwi.*"]) })
])
type Subject = typeof Subjects.Type

const lineOf = (outcome: string, subject: Subject): string => {
  const scope = "path" in subject
    ? subject.path.root + subject.path.names.join("/")
    : "scope" in subject
    ? subject.scope
    : undefined
  return `${outcome}: ${subject.kind}${scope === undefined ? "" : `(${scope})`}`
}

const Rules = Schema.Array(Schema.Struct({ outcome: Outcomes, subject: Subjects })).check(Schema.isMaxLength(20))

const accesses: ReadonlyArray<Access> = [
  ...["fs.read", "fs.write", "fs.delete"].flatMap((capability): ReadonlyArray<Access> =>
    [
      "a",
      "A/b",
      "a/a/b",
      ".",
      "É",
      "e\u0301/x",
      "/memory/project2/a",
      "/memory",
      "/",
      "/a/b",
      "/memory/home/a",
      ".ENV",
      "b/.env"
    ].flatMap((
      path
    ) => {
      const access = accessOf(`${capability}(${path})`) as PathAccess
      return [access, { ...access, below: true }]
    })
  ),
  ...["a.example:443", "b.a.example:443", "A.Example.:8080", "::1:443", "x:1"].map((at) => accessOf(`net.http(${at})`)),
  ...["npm test", "git push origin", "/usr/bin/git status", "sudo git push", "sudo make"].map((text) =>
    accessOf(`process.exec(${text})`)
  ),
  accessOf("opaque(x)"),
  ...["A", "a", "AB", "b"].map((name) => accessOf(`secret.use(${name})`)),
  { _tag: "Tool", capability: "tool.deploy", id: "deploy", parameters: {} },
  { _tag: "Tool", capability: "tool.filesystem.write", id: "filesystem.write", parameters: {} },
  { _tag: "Plain", capability: "kiwi.sign" }
]

const queryFor = (access: Access): RuleQuery => {
  const id = access._tag === "Tool" ? access.id : "filesystem.write"
  return {
    client: "dev",
    action: "run",
    item: {
      id,
      name: id === "deploy" ? "ops/deploy" : id,
      source: undefined,
      tier: "project",
      digests: [],
      by: [signers.you]
    },
    foremost: foremostOf([access]),
    root: "/memory/project"
  }
}

describe("the index", () => {
  it.prop("finds what a look at every rule finds", [Rules], ([rules]) => {
    const placed = rules.flatMap(({ outcome, subject }, line) => {
      const rule = parseRuleLine(lineOf(outcome, subject), { home: "/memory/home" })
      return Result.isSuccess(rule) ? [{ rule: rule.success, file: "user", line }] : []
    })
    const index = new RuleIndex(placed)
    for (const access of accesses) {
      const query = queryFor(access)
      const naive = placed.flatMap((one) => {
        const match = matchRule(one.rule, query, access)
        return match === "no" ? [] : [`${one.line} ${match}`]
      })
      const found = index.find(query, access).map(({ line, match }) => `${line} ${match}`)
      assert.deepStrictEqual(found.toSorted(), naive.toSorted(), JSON.stringify(access))
    }
  }, { arbitrary: { runs: 300 } })

  it("finds something of each kind", () => {
    const found = (line: string, access: Access) => {
      const rule = Result.getOrThrow(parseRuleLine(line))
      return new RuleIndex([{ rule, file: "user", line: 1 }]).find(queryFor(access), access).length
    }
    for (
      const [line, access] of [
        ["deny: fs.write(a/b/**)", "fs.delete(a)"],
        ["deny: fs.write(a/b/**)", "fs.delete(A)"],
        ["deny: fs.write(a/**/b)", "fs.delete(a)"],
        ["deny: fs.read(/memory/project/a/**)", "fs.delete(a)"],
        ["deny: net.http(*.example)", "net.http(a.b.example:1)"],
        ["deny: net.http(*.b.example)", "net.http(a.b.example:1)"]
      ] as const
    ) {
      if (Result.isFailure(parseRuleLine(line))) continue
      assert.strictEqual(found(line, accessOf(access)), 1, line)
    }
    for (
      const line of [
        "deny: fs.read(a/b)",
        "ask: fs.read(a/b/**)",
        "deny: fs.read(**/b)",
        "deny: fs.read(/memory/project/a/b)"
      ]
    ) {
      const searched = accessOf("fs.read(a)") as PathAccess
      assert.strictEqual(found(line, { ...searched, below: true }), 1, line)
    }
    assert.strictEqual(found("deny: fs.write(a/b/**)", accessOf("fs.write(a)")), 0)
    assert.strictEqual(found("allow: fs.write(a/b/**)", accessOf("fs.delete(a)")), 0)
    assert.strictEqual(found("deny: fs.write(a/b/**)", accessOf("fs.delete(ab)")), 0)
  })
})
