import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { namesFor } from "../../../../src/programs/exposedTools.ts"
import type { ItemLocation } from "../../../../src/services/item/Item.ts"
import { isItemId } from "../../../../src/services/item/ItemId.ts"
import {
  exposedBy,
  isListed,
  isProfileName,
  lockModeOf,
  type Profile
} from "../../../../src/services/permission/profile/Profile.ts"
import { parseProfileFile } from "../../../../src/services/permission/profile/profileFile.ts"
import { RuleIndex } from "../../../../src/services/permission/rule/RuleIndex.ts"

const parse = (text: string) => parseProfileFile(new TextEncoder().encode(text), {})

/** A profile that each of the texts defines, as `web`. `narrows`: texts that nobody has accepted. */
const profileOf = Effect.fnUntraced(function*(texts: ReadonlyArray<string>, narrows: ReadonlyArray<number> = []) {
  const written = yield* Effect.forEach(texts, (text) => parse(`profiles:\n  web: {${text}}\n`))
  return {
    name: "web",
    texts: written.map((one, at) => {
      const { entry, line } = one.get("web")!
      const rules = { file: "f", rules: new RuleIndex([]), narrows: narrows.includes(at), ignored: 0 }
      return { file: "f", line, entry, rules: { ...rules, unusable: undefined } }
    })
  } satisfies Profile as Profile
})

const item = (name: string, more: Partial<ItemLocation> = {}): ItemLocation => {
  const slash = name.lastIndexOf("/")
  const id = name.slice(slash + 1)
  if (!isItemId(id)) throw new Error(id)
  const category = slash < 0 ? "" : name.slice(0, slash)
  return {
    type: "tool",
    tier: "project",
    id,
    category,
    path: `${name}.py`,
    file: name,
    root: "",
    kind: "file",
    ...more
  }
}

const github = { source: { name: "github", digest: "d" } }

describe("isListed", () => {
  const cases: ReadonlyArray<
    readonly [texts: ReadonlyArray<string>, listed: ReadonlyArray<ItemLocation>, others: ReadonlyArray<ItemLocation>]
  > = [
    [[""], [item("a"), item("x", github)], []],
    [["rules: []"], [item("a")], []],
    [["items: []"], [], [item("a"), item("x", github)]],
    [["servers: []"], [], [item("a"), item("x", github)]],
    [["items: [web.*]"], [item("web.get"), item("a/web.get")], [item("web"), item("webx.get"), item("xweb.get")]],
    [["items: ['*']"], [item("a"), item("b/c", { type: "directive" })], [item("x", github)]],
    [["items: [docs/*]"], [item("docs/a"), item("docs/b/c")], [item("a"), item("xdocs/a"), item("docs")]],
    [["items: [github/get_*]"], [item("get_x", github)], [item("put_x", github), item("get_x")]],
    [["servers: [git*]"], [item("x", github)], [item("x"), item("git"), item("github/x")]],
    [["items: [{type: knowledge}]"], [item("a", { type: "knowledge" })], [item("a"), item("x", github)]],
    [["items: [{tier: [user, system]}]"], [item("a", { tier: "user" })], [item("a")]],
    [
      ["items: [{id: deploy, tier: user}]"],
      [item("deploy", { tier: "user" })],
      [item("deploy"), item("deploy2", { tier: "user" })]
    ],
    [["items: [a], expose: [b]"], [item("a"), item("b")], [item("c"), item("b", { type: "directive" })]],
    [["items: [], expose: [{id: b, tier: user}]"], [item("b", { tier: "user" })], [item("b")]],
    [["items: [a, b]", "items: [b, c]"], [item("b")], [item("a"), item("c")]],
    [["items: [a]", "expose: [b]"], [item("a")], [item("b")]],
    [["items: [a], expose: [b]", "items: ['*']"], [item("a"), item("b")], [item("c")]],
    [["servers: [github]", "items: ['*']"], [], [item("a"), item("x", github)]],
    [["items: []"], [item("call.result", { tier: "system" }), item("call.stop", { tier: "system" })], [
      item("call.result"),
      item("call.other", { tier: "system" })
    ]]
  ]
  for (const [texts, listed, others] of cases) {
    it.effect(texts.map((text) => `{${text}}`).join(" and "), () =>
      Effect.gen(function*() {
        const profile = yield* profileOf(texts)
        for (const one of listed) assert.isTrue(isListed(profile, one), JSON.stringify(one))
        for (const one of others) assert.isFalse(isListed(profile, one), JSON.stringify(one))
      }))
  }

  it.effect("each further text can only leave something out", () =>
    Effect.gen(function*() {
      const texts = cases.flatMap(([one]) => one)
      const items = cases.flatMap(([, listed, others]) => listed.concat(others))
      for (const first of texts) {
        for (const second of texts) {
          const both = yield* profileOf([first, second])
          const [a, b] = [yield* profileOf([first]), yield* profileOf([second])]
          for (const one of items) {
            assert.strictEqual(isListed(both, one), isListed(a, one) && isListed(b, one))
          }
        }
      }
    }))
})

it.effect("the strictest lock mode counts, and the first accepted list of exposed tools", () =>
  Effect.gen(function*() {
    const mode = Effect.fnUntraced(function*(...texts: ReadonlyArray<string>) {
      return lockModeOf(yield* profileOf(texts))
    })
    assert.isUndefined(yield* mode("", ""))
    assert.strictEqual(yield* mode("lockfile_mode: strict", "lockfile_mode: off"), "strict")
    assert.strictEqual(yield* mode("", "lockfile_mode: warn"), "warn")
    const exposed = Effect.fnUntraced(function*(texts: ReadonlyArray<string>, narrows?: ReadonlyArray<number>) {
      return exposedBy(yield* profileOf(texts, narrows)).map(({ id }) => id)
    })
    assert.deepStrictEqual(yield* exposed(["expose: [a]", "expose: [b]"]), ["a"])
    assert.deepStrictEqual(yield* exposed(["", "expose: [b]"]), ["b"])
    assert.deepStrictEqual(yield* exposed(["", "expose: [b]"], [1]), [])
    assert.deepStrictEqual(yield* exposed(["expose: []", "expose: [b]"]), [])
  }))

describe("parseProfileFile", () => {
  const wrong: ReadonlyArray<readonly [text: string, line: number, column: number, issue: RegExp]> = [
    ["profile: {}\n", 1, 1, /profile is not known here; did you mean "profiles"\?/],
    ["profiles:\n  web:\n    itmes: [a]\n", 3, 5, /itmes is not known here; did you mean "items"\?/],
    ["profiles:\n  web:\n    items:\n      - {teir: user}\n", 4, 10, /did you mean "tier"\?/],
    ["profiles:\n  web:\n    items: ['../a']\n", 3, 13, /must be an id or category\/id/],
    ["profiles:\n  web:\n    items: [{id: 'a b'}]\n", 3, 18, /must be an id or category\/id/],
    ["profiles:\n  web:\n    servers: [a/b]\n", 3, 15, /must be the name of a server/],
    ["profiles:\n  web:\n    expose: [web.*]\n", 3, 14, /must be the id of one tool/],
    ["profiles:\n  web:\n    expose: [a, b, c, d, e, f, g, h, i, j, k]\n", 3, 13, /must have at most 10 tools/],
    ["profiles:\n  web:\n    lockfile_mode: loose\n", 3, 20, /must be off, warn or strict/],
    ["profiles:\n  web:\n    rules:\n      - alow: deploy\n", 4, 9, /did you mean "allow"\?/],
    ["profiles:\n  web:\n    rules:\n      - allow: fs.wriet(src/**)\n", 4, 16, /profiles\.web\.rules\[0\]\.allow/],
    ["profiles:\n  web:\n    rules:\n      - allow: '*'\n", 4, 16, /would allow everything/],
    ["profiles:\n  ../../etc: {}\n", 2, 3, /has a name that is not 1 to 48 letters/],
    ["profiles:\n  __proto__: {}\n", 2, 3, /has a name/],
    ["profiles:\n  web: {}\n  web: {}\n", 3, 3, /given twice/],
    [`profiles:\n  ${"a".repeat(49)}: {}\n`, 2, 3, /has a name/],
    ["profiles: [web]\n", 1, 11, /must be a map/]
  ]
  for (const [text, line, column, issue] of wrong) {
    it.effect(`refuses ${JSON.stringify(text.slice(0, 60))} at its place`, () =>
      Effect.gen(function*() {
        const parsed = yield* Effect.result(parse(text))
        assert.isTrue(Result.isFailure(parsed))
        if (Result.isSuccess(parsed)) return
        const [first] = parsed.failure.issues
        assert.match(`${first.path} ${first.issue}`, issue)
        assert.deepStrictEqual([first.line, first.column], [line, column])
      }))
  }

  it.effect("an empty file has no profile, and a name of Object.prototype is one like others", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* parse("")).size, 0)
      assert.isUndefined((yield* parse("profiles: {web: {}}")).get("constructor"))
      assert.isDefined((yield* parse("profiles: {constructor: {}}")).get("constructor"))
    }))

  it("names have no path pieces", () => {
    for (const name of ["..", ".", "../web", "a/b", "a\\b", "", " web", "web\n", "é", "~", "-web", "a".repeat(49)]) {
      assert.isFalse(isProfileName(name), name)
    }
    for (const name of ["web", "web-2", "Web.x_y", "0"]) assert.isTrue(isProfileName(name), name)
  })
})

describe("namesFor", () => {
  const reserved = ["search", "load", "execute", "sign", "help"]
  const names = (...items: ReadonlyArray<ItemLocation>) => namesFor(items, reserved)

  it("names a tool by its id", () => {
    assert.deepStrictEqual(names(item("deploy"), item("math/add"), item("web.get"), item("x-y_z")), [
      "deploy",
      "add",
      "web_get",
      "x-y_z"
    ])
    assert.deepStrictEqual(names(item("issues", github)), ["github_issues"])
  })

  const unclear: ReadonlyArray<ReadonlyArray<ItemLocation>> = [
    [item("execute")],
    [item("search"), item("load"), item("sign"), item("help")],
    [item("a/deploy"), item("b/deploy")],
    [item("web.get"), item("web_get")],
    [item("deploy"), item("deploy", { tier: "user" })],
    [item("issues", github), item("github_issues")],
    [item("Issues".toLowerCase(), { source: { name: "GitHub", digest: "d" } }), item("github_issues")],
    [item("a".repeat(49))],
    [item("a".repeat(128)), item(`${"a".repeat(127)}b`)]
  ]
  for (const items of unclear) {
    it(`cuts or hashes ${items.map(({ id }) => id.slice(0, 12)).join(" and ")}`, () => {
      const found = names(...items)
      assert.strictEqual(new Set(found.map((name) => name?.toLowerCase())).size, items.length)
      for (const name of found) {
        assert.match(name ?? "", /^[A-Za-z0-9_-]{1,48}$/)
        assert.match(name ?? "", /_[0-9a-f]{10}$/)
        assert.notInclude(reserved, name)
      }
      assert.deepStrictEqual(names(...items.toReversed()), found.toReversed())
    })
  }

  it("a tool that is named like another one's hashed name does not get that name", () => {
    const [hashed] = names(item("execute"))
    const found = names(item("execute"), item(hashed!))
    assert.strictEqual(new Set(found).size, 2)
    assert.notStrictEqual(found[1], hashed)
  })
})
