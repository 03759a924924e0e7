import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Access } from "../../../src/services/capability/Access.ts"
import { showAccess } from "../../../src/services/capability/Access.ts"
import type { GrantSet } from "../../../src/services/capability/Grant.ts"
import {
  covers,
  denies,
  exceeding,
  intersect,
  isBound,
  isWithin,
  showGrant
} from "../../../src/services/capability/Grant.ts"
import { attenuate } from "../../../src/services/capability/Request.ts"
import { accesses, grantsOf, matches, Seeds } from "./grantWorld.ts"

const covered = (grants: GrantSet) => new Set(accesses.filter((access) => covers(grants, access, matches)))

const assertInside = (child: GrantSet, parent: GrantSet) => {
  const outer = covered(parent)
  for (const access of covered(child)) {
    assert.isTrue(outer.has(access), `${showAccess(access)} ${JSON.stringify({ access, child, parent })}`)
  }
}

const assertSame = (a: GrantSet, b: GrantSet) => {
  assertInside(a, b)
  assertInside(b, a)
}

const many = { arbitrary: { runs: 300 }, timeout: 60_000 }

describe("of any grants", () => {
  it.prop(
    "the intersection covers exactly what both cover",
    [Seeds, Seeds],
    ([one, other]) => {
      const [a, b] = [grantsOf(one), grantsOf(other)]
      const both = intersect(a, b)
      const [inA, inB] = [covered(a), covered(b)]
      // Whether a tool could run with some parameters is not asked exactly.
      const isExact = (access: Access) => access._tag !== "Tool" || access.parameters !== undefined
      const expected = accesses.filter((access) => inA.has(access) && inB.has(access))
      const found = covered(both)
      assert.deepStrictEqual([...found].filter(isExact), expected.filter(isExact), JSON.stringify({ a, b, both }))
      assert.isTrue([...found].every((access) => expected.includes(access)))
    },
    many
  )

  it.prop("the intersection is idempotent, commutative and monotone", [Seeds, Seeds, Seeds], ([x, y, z]) => {
    const [a, b, c] = [grantsOf(x), grantsOf(y), grantsOf(z)]
    const both = intersect(a, b)
    assertSame(intersect(a, a), a)
    assert.deepStrictEqual(intersect(intersect(a, a), intersect(a, a)), intersect(a, a))
    assertSame(both, intersect(b, a))
    assertInside(intersect(both, c), intersect(a, c))
    assertSame(intersect(both, c), intersect(a, intersect(b, c)))
  }, many)

  /** Calls that need no grant of their own, beside those for what they touch. */
  const free = (grants: GrantSet) =>
    accesses.filter((access) =>
      access._tag === "Tool" && access.parameters !== undefined &&
      (isBound(grants, access) ? covers(grants, access, matches) : !denies(grants, access))
    )

  it.prop(
    "a constraint on a tool that needs no grant holds for all descendants",
    [Seeds, Seeds, Seeds],
    ([x, y, z]) => {
      const [a, b, c] = [grantsOf(x), grantsOf(y), grantsOf(z)]
      const child = intersect(intersect(a, b), c)
      const allowed = free(child)
      for (const one of [a, b, c]) {
        const outer = new Set(free(one))
        for (const access of allowed) {
          assert.isTrue(outer.has(access), `${showAccess(access)} ${JSON.stringify({ access, child, one })}`)
        }
      }
    },
    many
  )

  it.prop("what is within covers no more, and the intersection is within both", [Seeds, Seeds], ([x, y]) => {
    const [a, b] = [grantsOf(x), grantsOf(y)]
    if (isWithin(a, b)) assertInside(a, b)
    for (const grant of a.allow) {
      if (exceeding({ allow: [grant] }, b).length === 0) {
        assertInside({ allow: [grant], deny: b.deny }, b)
      }
    }
    const both = intersect(a, b)
    assert.isTrue(isWithin(both, a), JSON.stringify({ a, b, both }))
    assert.isTrue(isWithin(both, b), JSON.stringify({ a, b, both }))
    assert.isTrue(isWithin(a, a))
  }, many)

  it.prop("a thread has no more than its caller, whatever its directive asks for", [
    Seeds,
    Schema.Array(Schema.Struct({ request: Seeds, optional: Schema.Boolean })).check(Schema.isMaxLength(4))
  ], ([first, requests]) => {
    const caller = grantsOf(first)
    let held = caller
    for (const { optional, request } of requests) {
      const { allow, deny } = grantsOf(request)
      const asked = { allow: allow.map((grant) => optional ? { ...grant, optional: true as const } : grant), deny }
      const { exceeding: tooMuch, granted } = attenuate(held, asked)
      assertInside(granted, held)
      assertInside(granted, caller)
      assertInside(granted, { allow, deny })
      assert.isTrue(isWithin(granted, held))
      if (tooMuch.length > 0) assert.deepStrictEqual(granted, { allow: [], deny: [] })
      if (optional) assert.deepStrictEqual(tooMuch, [])
      held = granted
    }
  }, many)
})

describe("a child", () => {
  const parent: GrantSet = {
    allow: [
      { capability: "fs.write", scope: ["src/**"] },
      { capability: "tool.pay", parameters: { to: { enum: ["bob", "eve"] }, amount: { maximum: 100 } } },
      { capability: "kiwi.execute" },
      { capability: "process.exec", scope: ["git *"] },
      { capability: "tool.github_*" }
    ],
    deny: [{ capability: "fs.read", scope: ["**/.env*"] }]
  }
  const tooMuch = (...allow: GrantSet["allow"]) => exceeding({ allow }, parent).map(showGrant)

  it("gets what its parent's grants imply", () => {
    assert.deepStrictEqual(
      tooMuch(
        { capability: "fs.read", scope: ["src/**"] },
        { capability: "fs.read", scope: ["src/*.ts"] },
        { capability: "kiwi.search" },
        { capability: "kiwi.load", scope: ["directive/**"] },
        { capability: "process.exec", scope: ["git status"] },
        { capability: "tool.github_issue" },
        { capability: "tool.github_i*" },
        { capability: "tool.pay", parameters: { to: { enum: ["bob"] }, amount: { maximum: 5, minimum: 1 } } }
      ),
      []
    )
  })

  it("gets nothing beyond, and is told what is too much", () => {
    assert.deepStrictEqual(
      tooMuch(
        { capability: "fs.read", scope: ["**"] },
        { capability: "fs.read" },
        { capability: "fs.delete", scope: ["src/**"] },
        { capability: "kiwi.sign" },
        { capability: "kiwi.all" },
        { capability: "process.exec", scope: ["github *"] },
        { capability: "process.exec" },
        { capability: "tool.git*" },
        { capability: "tool.pay" },
        { capability: "tool.pay", parameters: { to: { enum: ["bob"] } } },
        { capability: "tool.pay", parameters: { to: { enum: ["bob", "mallory"] }, amount: { maximum: 5 } } },
        { capability: "tool.pay", parameters: { to: { enum: ["bob"] }, amount: { maximum: 101 } } },
        { capability: "mcp.github" }
      ),
      [
        "fs.read(**)",
        "fs.read",
        "fs.delete(src/**)",
        "kiwi.sign",
        "kiwi.all",
        "process.exec(github *)",
        "process.exec",
        "tool.git*",
        "tool.pay",
        `tool.pay(to: {"enum":["bob"]})`,
        `tool.pay(to: {"enum":["bob","mallory"]} and amount: {"maximum":5})`,
        `tool.pay(to: {"enum":["bob"]} and amount: {"maximum":101})`,
        "mcp.github"
      ]
    )
  })

  it("keeps its parent's denials, whether it repeats them or not", () => {
    const child = { allow: [{ capability: "fs.read", scope: ["src/**"] }], deny: [] }
    assert.isFalse(isWithin(child, parent))
    const { granted } = attenuate(parent, child)
    assert.isTrue(isWithin(granted, parent))
    assert.isFalse(covers(granted, { _tag: "Path", capability: "fs.read", path: "src/.env" }))
    assert.isTrue(covers(granted, { _tag: "Path", capability: "fs.read", path: "src/a.ts" }))
  })

  it("gets what is optional as far as its parent reaches", () => {
    const { exceeding: none, granted } = attenuate(parent, {
      allow: [{ capability: "fs.read", scope: ["**/*.ts"], optional: true }, {
        capability: "fs.delete",
        optional: true
      }],
      deny: []
    })
    assert.deepStrictEqual(none, [])
    assert.deepStrictEqual(granted.allow, [{ capability: "fs.read", scope: ["**/*.ts", "src/**"] }])
  })

  it("has no tool of a server by a grant for tools, nor a denied command in another's clothes", () => {
    const tools: GrantSet = { allow: [{ capability: "tool.*" }], deny: [] }
    const upstream = { _tag: "Tool", capability: "tool.github/x", id: "github/x", parameters: {} } as const
    assert.isFalse(covers(tools, upstream))
    assert.isTrue(covers({ allow: [{ capability: "mcp.github" }], deny: [] }, upstream))
    const shell: GrantSet = {
      allow: [{ capability: "process.exec" }],
      deny: [{ capability: "process.exec", scope: ["rm *"] }]
    }
    const run = (words: ReadonlyArray<string> | undefined) =>
      covers(shell, { _tag: "Command", capability: "process.exec", words, text: "" })
    assert.isTrue(run(["git", "status"]))
    for (const words of [["rm"], ["/bin/rm", "x"], ["sudo", "rm", "x"], undefined]) assert.isFalse(run(words))
  })
})
