import { assert, describe, it } from "@effect/vitest"
import type { Approval, AskedAccess } from "../../../src/services/approval/Approval.ts"
import { offersOf } from "../../../src/services/approval/Approval.ts"
import { record, together } from "../../../src/services/approval/recordAnswer.ts"

const asked = (path: string, offer: string | undefined, more: Partial<AskedAccess> = {}): AskedAccess => ({
  access: `fs.read(${path})`,
  touches: { _tag: "Path", capability: "fs.read", path },
  rule: "user:2",
  askedBy: ["user a"],
  reason: "r",
  ...(offer === undefined ? {} : { offer }),
  ...more
})
const tree = (path: string, offer: string | undefined = `allow: fs.read(${path}/**)`) =>
  asked(path, offer, { touches: { _tag: "Path", capability: "fs.read", path, below: true } })

const waiting = (id: string, asks: ReadonlyArray<AskedAccess>, more: Partial<Approval> = {}): Approval => ({
  id,
  call: id,
  caller: { surface: "mcp", client: "dev", session: "s1" },
  what: "run tool x",
  asks,
  details: "",
  unreadable: [],
  digest: id,
  at: 0,
  until: 1_000,
  state: "pending",
  ...more
})

const src = "allow: fs.read(src/**)"
const first = [asked("src/a", src)]

describe("requests that the inbox shows as one", () => {
  const rows: ReadonlyArray<
    readonly [
      what: string,
      a: ReadonlyArray<AskedAccess>,
      b: ReadonlyArray<AskedAccess>,
      isOne: boolean,
      Partial<Approval>?
    ]
  > = [
    ["the same offer", first, [asked("src/b", src)], true],
    ["a narrower offer", first, [asked("src/lib/b", "allow: fs.read(src/lib/**)")], true],
    ["a wider offer", [asked("src/lib/b", "allow: fs.read(src/lib/**)")], first, false],
    ["another rule on the same line", first, [asked("src/b", src, { askedBy: ["user b"] })], false],
    ["one rule more", first, [asked("src/b", src, { askedBy: ["user a", "user b"] })], false],
    ["one rule less", [asked("src/a", src, { askedBy: ["user a", "user b"] })], [asked("src/b", src)], true],
    ["the same rule on another line", first, [asked("src/b", src, { rule: "user:9" })], true],
    [
      "the same offer by what Kiwi ships",
      first,
      [{ ...asked("src/b", src), rule: "hosts", askedBy: ["hosts"] }],
      false
    ],
    ["a folder and all below it", [asked("src", "allow: fs.read(src)")], [tree("src")], false],
    ["all below a folder, and the folder", [tree("src")], [asked("src", "allow: fs.read(src)")], true],
    ["one question more", first, [asked("src/b", src), asked("lib/b", "allow: fs.read(lib/**)")], false],
    ["one question less", [...first, asked("lib/b", "allow: fs.read(lib/**)")], [asked("src/b", src)], true],
    ["no offer", first, [asked("lib/b", undefined)], false],
    ["no offer first", [asked("src/a", undefined)], [asked("src/b", src)], false],
    ["a tool by the same line", [asked("x", "allow: x", { touches: undefined as never })], first, false],
    ["another session", first, [asked("src/b", src)], false, {
      caller: { surface: "mcp", client: "dev", session: "s2" }
    }],
    ["another client", first, [asked("src/b", src)], false, {
      caller: { surface: "mcp", client: "eve", session: "s1" }
    }],
    ["one that was answered", first, [asked("src/b", src)], false, { state: "approved" }]
  ]
  for (const [what, a, b, isOne, more] of rows) {
    it(`are those that one answer settles: ${what}, ${isOne ? "yes" : "no"}`, () => {
      const [one, other] = [waiting("A", a), waiting("B", b, more)]
      assert.deepStrictEqual(together([one, other]).length, isOne ? 1 : 2)
      const rules = offersOf(a)
      const after = record([one, other], one, { answer: "session", rules, by: "", at: 1 }, 1_000)
      assert.strictEqual(after[1] !== other, isOne)
    })
  }
})
