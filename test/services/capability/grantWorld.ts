// A small world of grants and accesses in which much overlaps, so that properties are tried where they could break.
import { Schema } from "effect"
import type { Access } from "../../../src/services/capability/Access.ts"
import { Constraint } from "../../../src/services/capability/Constraint.ts"
import type { PatternMatch } from "../../../src/services/capability/Constraint.ts"
import type { Grant, GrantSet } from "../../../src/services/capability/Grant.ts"

const globs = ["**", "*", "src/**", "src/*.ts", "src/a.ts", "src/*/b.ts", "**/*.ts", "**/.env*", "/etc/**", "."]
const scopes: Readonly<Record<string, ReadonlyArray<string>>> = {
  "fs.read": globs,
  "fs.write": globs,
  "fs.delete": globs,
  "process.exec": ["git *", "git commit *", "git status", "npm test", "rm *"],
  "net.http": ["*", "*.x.com", "a.x.com", "x.com:443", "*:443", "a.x.com:8080"],
  "secret.use": ["A", "A_*", "A_B"],
  "mcp.github": ["*", "create_*", "create_issue"],
  "tool.*": ["python", "http"],
  "tool.pay": ["python"],
  "tool.pa*": ["py*"],
  "kiwi.all": ["directive/**"],
  "kiwi.execute": ["directive/**", "directive/ops/*"],
  "kiwi.load": ["directive/**", "knowledge/**"],
  "spawn.thread": ["directive/ops/*"]
}
const capabilities = Object.keys(scopes)

const constraints: ReadonlyArray<Constraint> = [
  { enum: ["eve", "bob"] },
  { enum: ["bob", 5] },
  { type: "string" },
  { prefix: "b" },
  { prefix: "src/" },
  { pattern: ["^b"] },
  { pattern: ["^b", "b$"], maxLength: 3 },
  { minimum: 1 },
  { maximum: 10, type: "integer" },
  { exclusiveMinimum: 1, maximum: 4 },
  { minLength: 2 }
]

const Pick = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 }))
const Seed = Schema.Struct({
  capability: Pick,
  scope: Schema.Array(Pick).check(Schema.isMaxLength(2)),
  constraints: Schema.Array(Schema.Struct({ name: Schema.Literals(["to", "amount"]), which: Pick })).check(
    Schema.isMaxLength(2)
  )
})
export const Seeds = Schema.Struct({
  allow: Schema.Array(Seed).check(Schema.isMaxLength(4)),
  deny: Schema.Array(Seed).check(Schema.isMaxLength(2))
})

const at = <A>(all: ReadonlyArray<A>, index: number): A => all[index % all.length]!

const grantOf = ({ capability: which, constraints: some, scope }: typeof Seed.Type, isDenial: boolean): Grant => {
  const capability = at(capabilities, which)
  const patterns = scope.map((one) => at(scopes[capability]!, one))
  const parameters = capability.startsWith("tool.") && !isDenial
    ? Object.fromEntries(some.map(({ name, which: one }) => [name, at(constraints, one)]))
    : {}
  return {
    capability,
    ...(patterns.length === 0 ? {} : { scope: patterns }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters })
  }
}

export const grantsOf = ({ allow, deny }: typeof Seeds.Type): GrantSet => ({
  allow: allow.map((seed) => grantOf(seed, false)),
  deny: deny.map((seed) => grantOf(seed, true))
})

/** As an engine for patterns: the test's patterns are harmless. */
export const matches: PatternMatch = (pattern, text) => new RegExp(pattern, "u").test(text)

const paths = ["src/a.ts", "src/x/b.ts", "src/x/y/b.ts", "src", "a.ts", "lib/.env", "src/.env", ".", "/etc/passwd"]

export const accesses: ReadonlyArray<Access> = [
  ...paths.flatMap((path) =>
    (["fs.read", "fs.write", "fs.delete"] as const).map((capability): Access => ({ _tag: "Path", capability, path }))
  ),
  ...["git status", "git commit -m x", "git", "npm test", "npm test x", "rm -rf /", "sudo rm x", "github x"].map(
    (text): Access => ({ _tag: "Command", capability: "process.exec", words: text.split(" "), text })
  ),
  { _tag: "Command", capability: "process.exec", words: undefined, text: "git $(x)", opaque: "it is" },
  ...["a.x.com", "x.com", "b.a.x.com", "ax.com"].flatMap((host) =>
    [443, 8080].map((port): Access => ({ _tag: "Host", capability: "net.http", host, port }))
  ),
  ...["A", "A_B", "A_C", "B"].map((name): Access => ({ _tag: "Secret", capability: "secret.use", name })),
  ...["kiwi.search", "kiwi.load", "kiwi.execute", "kiwi.sign", "spawn.thread"].flatMap((capability): Array<Access> => [
    { _tag: "Plain", capability },
    { _tag: "Plain", capability, about: "directive/ops/deploy" },
    { _tag: "Plain", capability, about: "knowledge/x" }
  ]),
  ...["pay", "pax", "read", "github/create_issue", "github/list"].flatMap((id): Array<Access> => [
    { _tag: "Tool", capability: `tool.${id}`, id, parameters: undefined },
    { _tag: "Tool", capability: `tool.${id}`, id, toolType: "python", parameters: {} },
    ...["bob", "eve", "b", "src/x", "src/../x", 5, ["bob"], null].flatMap((to): Array<Access> =>
      [2, 5, 1.5, "2", 11, 0].map((amount) => ({
        _tag: "Tool",
        capability: `tool.${id}`,
        id,
        toolType: "python",
        parameters: { to, amount }
      }))
    )
  ])
]
