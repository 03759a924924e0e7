import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as HostPattern from "../../../src/services/capability/scopes/HostPattern.ts"
import * as NamePattern from "../../../src/services/capability/scopes/NamePattern.ts"
import * as PathPattern from "../../../src/services/capability/scopes/PathPattern.ts"
import { foldName } from "../../../src/services/files/foldName.ts"

const pattern = (text: string) =>
  Result.getOrThrowWith(PathPattern.parse(text), (issue) => new Error(`${text} ${issue}`))

describe("a pattern of paths", () => {
  const cases: ReadonlyArray<readonly [pattern: string, yes: ReadonlyArray<string>, no: ReadonlyArray<string>]> = [
    ["src/*", ["src/a.ts", "src/.env", "src/a"], ["src", "src/a/b.ts", "srcs/a", "lib/a", "/src/a"]],
    ["**/*.py", ["main.py", "a/main.py", "a/b/c.py", ".py"], ["main.pyc", "main.py/x", "a/b"]],
    ["**/*", ["README.md", "a/b", ".git/config"], [".", "/etc/passwd"]],
    ["**", ["README.md", ".", "a/b/c", ".env"], ["/etc/passwd", "../x", "a/../../x", "a//b", "C:/x"]],
    ["src/**", ["src", "src/a", "src/a/b", "src/.a"], ["srcs", "src/../etc/passwd", "a/src/b", "SRC/a"]],
    ["src/", ["src", "src/a/b"], ["srcs"]],
    ["./src/a.ts", ["src/a.ts"], ["src/aats", "a.ts"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/xb", "ab", "a/b/c"]],
    ["a/**/**/b", ["a/b", "a/x/b"], ["a"]],
    ["a?c/*.t?", ["abc/x.ts", "aßc/.tx"], ["a/c/x.ts", "ac/x.ts", "abc/x.t"]],
    [".", ["."], ["a", "/"]],
    ["/etc/**", ["/etc", "/etc/passwd"], ["etc/passwd", "/etcx", "/etc/../root"]],
    ["/", ["/"], [".", "/a"]],
    ["a+b (1)/x.ts", ["a+b (1)/x.ts"], ["aab (1)/x.ts"]],
    ["**/.env*", [".env", "a/.env.local"], ["a/env", ".env/x"]]
  ]
  for (const [text, yes, no] of cases) {
    it(text, () => {
      for (const path of yes) assert.isTrue(PathPattern.matches(pattern(text), path), path)
      for (const path of no) assert.isFalse(PathPattern.matches(pattern(text), path), path)
    })
  }

  it("is refused where it could mean something else", () => {
    for (
      const text of [
        "",
        " src",
        "a{b,c}",
        "a[bc]",
        "a\\b",
        "!src",
        "@(a|b)",
        "+(a)",
        "*(a)",
        "?(a)",
        "../x",
        "src/../x",
        "src//a",
        "src/./a",
        "~root/x",
        "a**b",
        "C:/x",
        "a\0b",
        "a\nb",
        "a\u202eb",
        "x".repeat(257)
      ]
    ) assert.isTrue(Result.isFailure(PathPattern.parse(text)), JSON.stringify(text))
  })

  const inside: ReadonlyArray<readonly [child: string, parent: string, is: boolean]> = [
    ["src/**", "**", true],
    ["**", "src/**", false],
    ["src/a.ts", "src/*.ts", true],
    ["src/*.ts", "src/a.ts", false],
    ["src/*.ts", "src/*", true],
    ["src/*", "src/**", true],
    ["src/**", "src/*", false],
    ["src/**/*.ts", "src/**", true],
    ["src/**/*.ts", "**/*.ts", true],
    ["src/**", "src/**/*", false],
    ["src/*/b", "src/**/b", true],
    ["github/**", "git/**", false],
    ["git*", "git", false],
    ["srcs/**", "src/**", false],
    ["src", "src/**", true],
    ["a/**/b/**/c", "a/**/c", true],
    ["a/**/c", "a/**/b/**/c", false],
    ["/etc/**", "**", false],
    ["**", "/**", false],
    ["a?c", "a*c", true],
    ["a*c", "a?c", false],
    ["*a*", "*", true],
    ["**/x", "**/*", true],
    ["*.test.ts", "*.ts", true]
  ]
  for (const [child, parent, is] of inside) {
    it(`${child} is ${is ? "" : "not "}within ${parent}`, () =>
      assert.strictEqual(PathPattern.isWithin([pattern(child)], pattern(parent)), is))
  }

  it("is compared together with others that have to match too", () => {
    assert.isTrue(PathPattern.isWithin([pattern("src/**"), pattern("**/*.ts")], pattern("src/**/*.ts")))
    assert.isFalse(PathPattern.isWithin([pattern("src/**"), pattern("**/*.ts")], pattern("src/*.ts")))
    assert.isTrue(PathPattern.isEmpty([pattern("src/**"), pattern("lib/**")]))
    assert.isTrue(PathPattern.isEmpty([pattern("**/*.ts"), pattern("**/*.md")]))
    assert.isTrue(PathPattern.isEmpty([pattern("**"), pattern("/**")]))
    assert.isFalse(PathPattern.isEmpty([pattern("src/**"), pattern("**/*.ts")]))
  })

  it("is not within another if that takes too long to find out", () => {
    const slow = Array.from({ length: 60 }, () => "**/a*").join("/").slice(0, 250)
    assert.isFalse(PathPattern.isWithin([pattern(slow), pattern("**/b*/**/*c")], pattern(`**/x/${slow}`.slice(0, 250))))
  })
})

describe("patterns of paths that are compared", () => {
  const parts = ["a", "b", "ab", "A", "*", "?", "**", "a*", "*b", "?b"]
  const Pattern = Schema.Array(Schema.Literals(parts)).check(Schema.isMinLength(1), Schema.isMaxLength(4))
  const Path = Schema.Array(Schema.Literals(["a", "b", "ab", "AB", "aab"])).check(Schema.isMaxLength(4))

  it.prop("agree with what they match, in a grant and in a rule that restricts", [Pattern, Pattern, Path], (given) => {
    const [one, other] = [pattern(given[0].join("/")), pattern(given[1].join("/"))]
    const path = given[2].join("/") || "."
    const [inOne, inOther] = [PathPattern.matches(one, path), PathPattern.matches(other, path)]
    if (PathPattern.isWithin([one], other)) assert.isTrue(!inOne || inOther)
    if (PathPattern.isEmpty([one, other])) assert.isFalse(inOne && inOther)
    if (PathPattern.matchesBelow(one, path)) assert.isTrue(inOne)
    if (inOne) assert.isTrue(PathPattern.reachesBelow(one, path))
    if (inOne) assert.isTrue(PathPattern.matchesSegments(one.reach, given[2].map(foldName)))
  })
})

describe("a host", () => {
  const host = (text: string) => Result.getOrThrow(HostPattern.parse(text))
  it("matches with port and wildcard", () => {
    const cases: ReadonlyArray<readonly [string, string, number, boolean]> = [
      ["api.github.com", "api.github.com", 443, true],
      ["api.github.com", "api.github.com", 8080, true],
      ["api.github.com:443", "api.github.com", 8080, false],
      ["API.GitHub.com.", "api.github.com", 443, true],
      ["api.github.com", "api.github.com.", 443, true],
      ["api.github.com", "xapi.github.com", 443, false],
      ["api.github.com", "api.github.com.evil.com", 443, false],
      ["*.github.com", "api.github.com", 443, true],
      ["*.github.com", "a.b.github.com", 443, true],
      ["*.github.com", "github.com", 443, false],
      ["*.github.com", "evilgithub.com", 443, false],
      ["*:8080", "x", 8080, true],
      ["*:8080", "x", 80, false],
      ["[::1]:3000", "::1", 3000, true],
      ["[::1]", "::2", 3000, false],
      ["127.0.0.1", "127.0.0.1", 1, true]
    ]
    for (const [text, name, port, is] of cases) {
      assert.strictEqual(HostPattern.matches(host(text), name, port), is, `${text} ${name}:${port}`)
    }
  })
  it("is refused where it could mean something else", () => {
    for (
      const text of [
        "",
        "a b",
        "https://x.com",
        "x.com/path",
        "u@x.com",
        "x.com:0",
        "x.com:99999",
        "a*.com",
        "a.*.com",
        "*.1.2.3.4",
        "127.1",
        "0x7f.0.0.1",
        "münchen.de",
        "x.com:443:1",
        "*.*.com",
        "::1"
      ]
    ) assert.isTrue(Result.isFailure(HostPattern.parse(text)), text)
  })
  it("is within another", () => {
    const cases: ReadonlyArray<readonly [string, string, boolean]> = [
      ["api.github.com", "*.github.com", true],
      ["*.api.github.com", "*.github.com", true],
      ["*.github.com", "*.api.github.com", false],
      ["github.com", "*.github.com", false],
      ["x.com:443", "x.com", true],
      ["x.com", "x.com:443", false],
      ["*", "*.com", false],
      ["*.com:1", "*:1", true],
      ["*:2", "*:1", false]
    ]
    for (const [child, parent, is] of cases) {
      assert.strictEqual(HostPattern.isWithin([host(child)], host(parent)), is, `${child} ${parent}`)
    }
    assert.isTrue(HostPattern.isWithin([host("*.com"), host("*:1")], host("*.com:1")))
    assert.isTrue(HostPattern.isEmpty([host("a.com"), host("b.com")]))
    assert.isTrue(HostPattern.isEmpty([host("*:1"), host("*:2")]))
    assert.isFalse(HostPattern.isEmpty([host("*.com"), host("a.com:1")]))
  })
})

describe("a name", () => {
  const name = (text: string) => Result.getOrThrow(NamePattern.parse(text))
  it("has a * only at its end", () => {
    assert.isTrue(NamePattern.matches(name("GITHUB_*"), "GITHUB_TOKEN"))
    assert.isFalse(NamePattern.matches(name("GITHUB_TOKEN"), "GITHUB_TOKEN2"))
    assert.isTrue(NamePattern.isWithin([name("a_b*")], name("a_*")))
    assert.isFalse(NamePattern.isWithin([name("a_*")], name("a_")))
    assert.isTrue(NamePattern.isEmpty([name("a*"), name("b*")]))
    for (const text of ["", "a*b", "**", "a b", "a,b", "a\n"]) {
      assert.isTrue(Result.isFailure(NamePattern.parse(text)), text)
    }
  })
})
