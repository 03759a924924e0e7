import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { accessCapabilities } from "../../../src/services/capability/Access.ts"
import { capabilities } from "../../../src/services/capability/CapabilityModule.ts"
import * as HostPattern from "../../../src/services/capability/scopes/HostPattern.ts"
import * as PathPattern from "../../../src/services/capability/scopes/PathPattern.ts"
import { matchesSegments, segmentsOf } from "../../../src/services/capability/scopes/PathPattern.ts"
import { foldName } from "../../../src/services/files/foldName.ts"
import { ruleFor } from "../../../src/services/permission/offeredRule.ts"
import { parseRuleLine, showRule } from "../../../src/services/permission/rule/Rule.ts"
import { parseRuleFile } from "../../../src/services/permission/rule/ruleFile.ts"
import { speaksAbout } from "../../../src/services/permission/rule/ruleSubject.ts"
import { covers } from "../../../src/services/permission/rule/shadowed.ts"

const succeeds = <A>(result: Result.Result<A, string>): A => Result.getOrThrowWith(result, (issue) => new Error(issue))

const matches = (pattern: string, path: string): boolean =>
  matchesSegments(succeeds(PathPattern.parse(pattern)).segments, segmentsOf(path))

describe("a capability in a rule", () => {
  const access = (capability: string): RegExpExecArray | null => /^(?:tool|mcp)\./.exec(capability)
  for (const { name } of capabilities.values()) {
    if (access(name) !== null) continue
    const decides = (accessCapabilities as ReadonlyArray<string>).includes(name)
    for (const outcome of ["allow", "ask", "deny"] as const) {
      it(`${outcome}: ${name} is about an access, or is refused with what to write instead`, () => {
        const bare = parseRuleLine(`${outcome}: ${name}`)
        if (Result.isFailure(bare) && !decides) {
          if (name === "kiwi.execute") assert.match(bare.failure, /tool\.\* for every tool/)
          else assert.match(bare.failure, new RegExp(`write .*tool\\.${name} for a tool`))
          return
        }
        const about = Result.isSuccess(bare) ? bare.success.capability : name
        assert.strictEqual(about, name)
        assert.isTrue(accessCapabilities.some((one) => speaksAbout(name, one, outcome)), `${outcome} ${name}`)
      })
    }
  }

  it("is one of the modules, whatever an access has", () => {
    assert.deepStrictEqual(accessCapabilities.filter((name) => !capabilities.has(name)), [])
  })

  for (
    const [line, issue] of [
      ["deny: git.push", /process\.exec\(git push \*\)/],
      ["deny: git.push(origin)", /process\.exec\(git push \*\)/],
      ["ask: git.read", /git\.\* for Kiwi's tools/],
      ["deny: db.query", /tool\.db\.query/],
      ["deny: thread.inject", /tool\.thread\.inject/],
      ["deny: registry.write", /tool\.registry\.write/],
      ["deny: python.import", /tool\.python\.import/],
      ["deny: env.read(HOME)", /secret\.use\(NAME\)/],
      ["deny: fs.exec", /process\.exec/],
      ["deny: fs.exec(bin/**)", /process\.exec/],
      ["allow: fs.absolute", /\/etc/],
      ["deny: spawn.process", /tool\.spawn\.process/],
      ["deny: net.websocket(a.b)", /net\.http/],
      ["deny: mcp.github", /github\/\*/],
      ["deny: mcp.github(list_issues)", /github\/list_issues/],
      ["deny: kiwi.execute", /tool\.\*/],
      ["ask: kiwi.execute", /tool\.\*/],
      ["deny: threads.inject", undefined],
      ["deny: thread.injekt", /no capability/],
      ["deny: env.raed", /did you mean|no capability/],
      ["deny: git.status", undefined],
      ["deny: git.*", undefined],
      ["deny: db.*", undefined],
      ["deny: tool.db.query", undefined],
      ["deny: tool.git.push", undefined],
      ["allow: kiwi.execute", undefined],
      ["deny: kiwi.all", undefined],
      ["deny: kiwi.lock", undefined]
    ] as const
  ) {
    it(`${line} is ${issue === undefined ? "one" : "refused"}`, () => {
      const parsed = parseRuleLine(line)
      if (issue === undefined) assert.isTrue(Result.isSuccess(parsed), JSON.stringify(parsed))
      else assert.match(Result.isFailure(parsed) ? parsed.failure : "", issue)
    })
  }

  for (
    const id of [
      "deploy",
      "git.push",
      "git.status",
      "db.query",
      "fs.read",
      "thread.x",
      "github/db.query",
      "mcp.a",
      "kiwi.all"
    ]
  ) {
    it(`the rule offered for the tool ${id} is about it`, () => {
      const offered = ruleFor({ _tag: "Tool", capability: `tool.${id}`, id, parameters: undefined })
      const rule = succeeds(parseRuleLine(`allow: ${offered}`))
      assert.deepInclude(rule, { tool: id, capability: undefined })
    })
  }
})

describe("a rule in one line", () => {
  for (
    const line of [
      "allow: fs.read(**)",
      "allow: fs.write(src/**, docs/*.md)",
      "deny: fs.write(infra/**)",
      "deny: fs.read",
      "ask: github/*",
      "deny: *",
      "allow: shell.run(npm test, git commit *)",
      "deny: shell.run(git push *)",
      "allow: process.exec(npm test)",
      "allow: net.http(api.github.com, *.example.com:8443, localhost:*)",
      "allow: secret.use(GITHUB_TOKEN, AWS_*)",
      "ask: kiwi.sign",
      "deny: kiwi.*",
      "allow: deploy",
      "allow: tool.fs.read",
      "allow: filesystem.write(src/**)",
      "allow: fs.read(~/notes/**)",
      "allow: fs.read(/etc/hosts)",
      "allow: fs.write(\"a, b/**\")",
      "allow: fs.write(a (copy)/**)",
      "allow: http.fetch(docs.rs)"
    ]
  ) {
    it(`${line} is one`, () => {
      const rule = succeeds(parseRuleLine(line, { home: "/home/me" }))
      assert.strictEqual(showRule(rule), line)
    })
  }

  for (
    const [line, issue] of [
      ["allow: *", /everything/],
      ["allow: fs.read", /which paths/],
      ["allow: process.exec", /which commands/],
      ["allow: net.http", /which hosts/],
      ["allow: secret.use", /which secrets/],
      ["allow: process.exec(*)", /named/],
      ["allow: process.exec(eval *)", /never count/],
      ["deny: fs.wriet(src/**)", /did you mean fs.write/],
      ["deny: fs.write()", /between its parentheses/],
      ["deny: fs.write(", /parentheses/],
      ["deny: fs.write(a/../b)", /\.\./],
      ["deny: fs.write(./../b)", /\.\./],
      ["deny: fs.write(src/**x)", /\*\* as a whole name/],
      ["deny: fs.write({a,b}/**)", /braces/],
      ["deny: fs.write([ab]/**)", /braces/],
      ["deny: fs.write(!(a)/**)", /braces/],
      ["deny: fs.write(a\\b)", /braces|backslashes/],
      ["deny: fs.write(~root/x)", /home/],
      [`deny: fs.write(${"a".repeat(257)})`, /longer than 256/],
      [`deny: ${"a".repeat(1025)}`, /longer than 1024|name a tool/],
      ["deny: fs.write(a\u0007b)", /control/],
      ["deny: fs.write(a\nb)", /control/],
      ["deny: fs.write(a\u2028b)", /control/],
      ["deny: net.http(https://a.example/)", /scheme/],
      ["deny: net.http(a.example/x)", /scheme/],
      ["deny: net.http(*.com)", /two names/],
      ["deny: net.http(a*.example)", /wildcard/],
      ["deny: net.http(b\u00fccher.example)", /ASCII/],
      ["deny: net.http(a.example:0)", /port/],
      ["deny: net.http(a.example:65536)", /port/],
      ["deny: net.http(::1)", /brackets|host/],
      ["deny: secret.use(a b)", /name/],
      ["deny: kiwi.sign(x)", /no scope/],
      ["deny: D\u0435ploy", /tool/],
      ["deny: a b", /parentheses/],
      ["permit: deploy", /begin with/],
      ["allow deploy", /begin with/]
    ] as const
  ) {
    it(`${JSON.stringify(line).slice(0, 50)} is none`, () => {
      const rule = parseRuleLine(line)
      assert.isTrue(Result.isFailure(rule))
      if (Result.isFailure(rule)) assert.match(rule.failure, issue)
    })
  }
})

describe("a pattern of paths", () => {
  for (
    const [pattern, path, does] of [
      ["src/**", "src/a.ts", true],
      ["src/**", "src/a/b/c.ts", true],
      ["src/**", "src", true],
      ["src/**", "srcx/a", false],
      ["src/*", "src/a/b", false],
      ["src/*", "src", false],
      ["**", ".", true],
      ["**", "a/.b/c", true],
      ["*", "a/b", false],
      ["**/*.md", "a.md", true],
      ["**/*.md", "a/b/c.md", true],
      ["**/*.md", "a/b/c.mdx", false],
      ["a/**/z", "a/z", true],
      ["a/**/z", "a/b/c/z", true],
      ["a/**/z", "a/b/c", false],
      ["a/**/b/**/c", "a/b/x/b/c", true],
      ["?.ts", "a.ts", true],
      ["?.ts", "ab.ts", false],
      ["?.ts", "\u{1f95d}.ts", true],
      ["a*c*e", "abcde", true],
      ["a*c*e", "abde", false],
      ["/etc/*", "/etc/hosts", true],
      ["src/**", "src/../etc", true],
      ["SRC/**", "src/a", false]
    ] as const
  ) {
    it(`${pattern} ${does ? "is" : "is not"} ${path}`, () => assert.strictEqual(matches(pattern, path), does))
  }

  it("of many stars is quick", () => {
    const pattern = succeeds(PathPattern.parse("**/*a*a*a*a*a*a*a*a*a*a*b/**/*a*a*a*a*a*b"))
    const path = segmentsOf(Array.from({ length: 100 }, () => "a".repeat(200)).join("/"))
    const start = performance.now()
    assert.isFalse(matchesSegments(pattern.segments, path))
    assert.isBelow(performance.now() - start, 1_000)
  })

  it("of a rule that restricts knows other spellings of a name", () => {
    for (
      const name of [".GIT", ".git.", ".git ", ".g\u200cit", "\uff0egit", ".git::$INDEX_ALLOCATION", ".G\u200dIT. ."]
    ) {
      assert.strictEqual(foldName(name), ".git", JSON.stringify(name))
    }
    assert.strictEqual(foldName("e\u0301"), foldName("\u00c9"))
    assert.strictEqual(foldName("..."), "...")
  })
})

describe("a pattern of hosts", () => {
  for (
    const [pattern, host, port, strict, does] of [
      ["a.example", "a.example", 443, false, true],
      ["a.example", "A.EXAMPLE.", 443, false, true],
      ["a.example", "a.example", 8080, false, false],
      ["a.example", "a.example", 8080, true, true],
      ["a.example:8080", "a.example", 8080, false, true],
      ["a.example:8080", "a.example", 443, true, false],
      ["*.a.example", "b.a.example", 443, false, true],
      ["*.a.example", "a.example", 443, false, false],
      ["*.a.example", "ba.example", 443, false, false],
      ["*.a.example", "b.a.example.evil.example", 443, false, false],
      ["[::1]:*", "::1", 9, false, true],
      ["127.0.0.1", "127.0.0.1", 80, false, true],
      ["*", "anything.example", 443, false, true]
    ] as const
  ) {
    it(`${pattern} ${does ? "is" : "is not"} ${host}:${port}${strict ? " in a rule that restricts" : ""}`, () => {
      assert.strictEqual(HostPattern.matches(succeeds(HostPattern.parse(pattern)), host, port, !strict), does)
    })
  }
})

it("a grant to write includes reading, and not deleting; a ban on reading includes both", () => {
  const all = ["fs.read", "fs.write", "fs.delete"]
  const of = (capability: string, outcome: "allow" | "ask" | "deny") =>
    all.filter((given) => speaksAbout(capability, given, outcome))
  assert.deepStrictEqual(of("fs.read", "allow"), ["fs.read"])
  assert.deepStrictEqual(of("fs.write", "allow"), ["fs.read", "fs.write"])
  assert.deepStrictEqual(of("fs.delete", "allow"), ["fs.delete"])
  for (const outcome of ["ask", "deny"] as const) {
    assert.deepStrictEqual(of("fs.read", outcome), all)
    assert.deepStrictEqual(of("fs.write", outcome), ["fs.write", "fs.delete"])
    assert.deepStrictEqual(of("fs.delete", outcome), ["fs.delete"])
  }
})

const file = (text: string) => parseRuleFile(new TextEncoder().encode(text), {})

describe("a file of rules", () => {
  it.effect("has lines, conditions and comments", () =>
    Effect.gen(function*() {
      const rules = yield* file(`# mine
rules:
  - allow: shell.run(npm test)   # often
  - deny: fs.write(infra/**)
    reason: infra is changed by hand
  - allow: send_money
    caller: [ci, dev-*]
    signer: you
    parameters:
      amount: {type: number, maximum: 100}
  - ask:
    tool: filesystem.*
    paths: [docs/**]
  - deny: "*"
    action: sign
`)
      assert.deepStrictEqual(rules.map(({ line, rule }) => [line, showRule(rule)]), [
        [3, "allow: shell.run(npm test)"],
        [4, "deny: fs.write(infra/**)"],
        [6, "allow: send_money [caller ci or dev-*; signer you; parameters amount]"],
        [11, "ask: filesystem.*(docs/**)"],
        [14, "deny: * [action sign]"]
      ])
    }))

  for (
    const [text, message] of [
      ["rules:\n  - allow: fs.wriet(a)\n", /line 2, column 12: rules\[0\]\.allow is no capability/],
      ["rules:\n  - allow: deploy\n    deny: deploy\n", /line 2.*exactly one/],
      ["rules:\n  - caller: x\n", /line 2.*exactly one/],
      ["rules:\n  - deny: x\n    tool: y\n", /line 3.*beside/],
      ["rules:\n  - deny: fs.read(a)\n    paths: b\n", /line 3.*beside/],
      ["rules:\n  - deny: net.http\n    paths: b\n", /line 3.*beside/],
      ["rules:\n  - allow: fs.read(a)\n    parameters: {a: {type: string}}\n", /about a tool itself/],
      ["rules:\n  - deny: x\n    callers: y\n", /line 3.*did you mean "caller"/],
      ["default: allow\n", /line 1.*default/],
      ["rules: {}\n", /line 1.*list/],
      ["rules:\n  - deny: a\n  - deny: a\n    deny: b\n", /line 4.*given twice/],
      ["rules:\n  - &a {deny: x}\n  - *a\n", /aliases/],
      ["rules:\n  - deny: !!js/function x\n", /tags|line 2/],
      ["rules:\n  - !x {deny: y}\n", /[Tt]ag/],
      ["rules:\n  - deny: *\n", /line 2/],
      ["rules:\n  - [deny, x]\n", /line 2/],
      ["rules: [\n", /line/],
      ["rules:\n<<<<<<< mine\n  - deny: a\n", /line 2|merge conflict/],
      ["rules:\n  - deny: \"a\\u0007\"\n", /line 2.*control/],
      ["rules:\n  - deny: 5\n", /line 2/],
      ["rules:\n  - deny: x\n    digest: abc\n", /line 3/],
      ["rules:\n  - deny:\n", /line 2.*what it is about/],
      ["rules:\n  - deny: a\n  - allow: fs.read\n  - allow: '*'\n", /line 3.*line 4/]
    ] as const
  ) {
    it.effect(`${JSON.stringify(text)} is refused at its line`, () =>
      Effect.gen(function*() {
        assert.match((yield* Effect.flip(file(text))).message, message)
      }))
  }

  it.effect("may have 10,000 rules", () =>
    Effect.gen(function*() {
      const lines = Array.from({ length: 10_000 }, (_, i) => `  - deny: fs.write(a${i}/**)`)
      assert.lengthOf(yield* file(`rules:\n${lines.join("\n")}\n`), 10_000)
    }))
})

describe("a rule that never decides", () => {
  for (
    const [by, rule, never] of [
      ["deny: fs.write(src/**)", "allow: fs.write(src/a/*.ts)", true],
      ["deny: fs.write(SRC/**)", "allow: fs.write(src/a)", true],
      ["ask: fs.write(**/*.ts)", "allow: fs.write(src/**/*.ts)", true],
      ["deny: fs.read(src/a)", "deny: fs.read(src/a/b)", true],
      ["allow: fs.write(src/**)", "allow: fs.write(src/*/b)", true],
      ["allow: fs.write(src/**)", "allow: fs.write(SRC/a)", false],
      // `src/a` also denies what is below it, and `src/*` does not.
      ["deny: fs.write(src/*)", "deny: fs.write(src/a)", false],
      ["deny: fs.write(src/*)", "allow: fs.write(src/a)", true],
      ["deny: fs.write(/src/**)", "allow: fs.write(src/a)", false],
      ["deny: fs.write(src/a*)", "allow: fs.write(src/*)", false]
    ] as const
  ) {
    it(`${by} leaves ${never ? "nothing" : "something"} to ${rule}`, () => {
      const of = (line: string) => succeeds(parseRuleLine(line))
      assert.strictEqual(covers(of(by), of(rule)), never)
    })
  }
})
