import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Ed25519 from "../../../src/layers/identity/ed25519.ts"
import { type AuditHead, encodeHead, parseHead, signedText, zeros } from "../../../src/services/audit/AuditEntry.ts"
import { open, report, request, session, stateOf, type World, world } from "./auditWorld.ts"

const headsFile = (made: World) => join(stateOf(made), "audit-heads")

const headsOf = (made: World): ReadonlyArray<AuditHead> =>
  fs.readFileSync(headsFile(made), "utf8").trimEnd().split("\n").map((line) => parseHead(line)!)

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

const projectOf = (made: World) => stateOf(made).split("/").at(-1)!

type Sign = (head: Omit<AuditHead, "v">) => Omit<AuditHead, "v">

const unsigned: Sign = ({ file, head, i, n, place, prev, state }) => ({ file, head, i, n, place, prev, state })

const signedBy = (pair: Ed25519.KeyPair, project: string, shown = pair.publicKey): Sign => (head) => {
  const named = { ...unsigned(head), key: shown }
  return { ...named, sig: Ed25519.signer(pair)!(signedText(project, named)) }
}

/** Writes the list anew from line `from` on, with a right chain. */
const rewrite = (made: World, from: number, sign: Sign, change: (heads: ReadonlyArray<AuditHead>) => typeof heads) => {
  let prev = zeros
  const lines = change(headsOf(made)).map((head, index) => {
    const line = index + 1 < from ? encodeHead(head) : encodeHead(sign({ ...head, i: index + 1, prev }))
    prev = sha256(line)
    return line
  })
  fs.writeFileSync(headsFile(made), `${lines.join("\n")}\n`)
}

const found = (made: World) =>
  Effect.map(report(made), ({ problems }) => problems.map(({ file, line, problem }) => [file, line, problem]))

const twoSessions = Effect.gen(function*() {
  const made = yield* world
  yield* session(made, (audit) => audit.append(request("c1")))
  yield* session(made, (audit) => audit.append(request("c2")))
  return made
})

describe("a signed head", () => {
  it.live("is every head, by one key that the first session made", () =>
    Effect.gen(function*() {
      const made = yield* twoSessions
      const heads = headsOf(made)
      assert.strictEqual(heads.length, 4)
      assert.strictEqual(new Set(heads.map(({ key }) => key)).size, 1)
      const verify = Ed25519.verifier(heads[0]!.key!)!
      for (const head of heads) assert.isTrue(verify(signedText(projectOf(made), head), head.sig!))
      const { keys, problems, sealed } = yield* report(made)
      assert.deepStrictEqual([keys, sealed, problems], [[Ed25519.keyIdOf(heads[0]!.key!)], 2, []])
      const [file, ...more] = fs.readdirSync(join(made.home, "audit-keys"))
      assert.deepStrictEqual(more, [])
      assert.strictEqual(fs.statSync(join(made.home, "audit-keys", file!)).mode & 0o777, 0o600)
    }))

  it.live("is signed by the same key in every project of a home", () =>
    Effect.gen(function*() {
      const made = yield* twoSessions
      const other = { ...made, root: join(made.folder, "other"), audit: join(made.folder, "other/.ai/logs/audit") }
      fs.mkdirSync(join(other.root, ".ai"), { recursive: true })
      yield* session(other, (audit) => audit.append(request("c1")))
      const keys = fs.globSync(join(made.home, "projects/*/audit-heads")).flatMap((path) =>
        fs.readFileSync(path, "utf8").trimEnd().split("\n").map((line) => parseHead(line)!.key)
      )
      assert.deepStrictEqual([keys.length, new Set(keys).size], [6, 1])
    }))

  it.live("is signed by one key when two sessions begin at once", () =>
    Effect.gen(function*() {
      const made = yield* world
      const both = yield* Effect.all([open(made), open(made)])
      yield* Effect.all(both.map(({ audit }) => audit.append(request("c1"))), { concurrency: 2 })
      yield* Effect.all(both.map(({ end }) => end))
      assert.strictEqual(new Set(headsOf(made).map(({ key }) => key)).size, 1)
      assert.deepStrictEqual(yield* found(made), [])
    }))

  const list = "audit-heads"
  const mallory = Ed25519.generate()
  const same = (heads: ReadonlyArray<AuditHead>) => heads
  const cases: ReadonlyArray<
    readonly [what: string, harm: (made: World) => void, expected: ReadonlyArray<readonly [string, number, string]>]
  > = [
    // The second session's file names the line of the list after which it began.
    ["all heads written anew without signatures", (made) => rewrite(made, 1, unsigned, same), [
      [list, 1, "unsigned"],
      [list, 3, "changed"]
    ]],
    ["the last two written anew without signatures", (made) => rewrite(made, 3, unsigned, same), [
      [list, 3, "unsigned"]
    ]],
    ["the last one written anew without a signature", (made) => rewrite(made, 4, unsigned, same), [
      [list, 4, "unsigned"]
    ]],
    ["all heads signed by another key", (made) => rewrite(made, 1, signedBy(mallory, projectOf(made)), same), [
      [list, 1, "foreign-key"],
      [list, 3, "changed"]
    ]],
    ["the last one signed by another key", (made) => rewrite(made, 4, signedBy(mallory, projectOf(made)), same), [
      [list, 4, "foreign-key"]
    ]],
    ["another key's signature under the right key's name", (made) => {
      const own = headsOf(made)[0]!.key!
      rewrite(made, 4, signedBy(mallory, projectOf(made), own), same)
    }, [[list, 4, "wrong-signature"]]],
    ["the signature of another head", (made) => {
      const { key, sig } = headsOf(made)[0]!
      rewrite(made, 3, (head) => ({ ...head, key: key!, sig: sig! }), same)
    }, [[list, 3, "wrong-signature"]]],
    ["a head of another project's list", (made) => {
      rewrite(made, 4, signedBy(mallory, "another-project"), same)
    }, [[list, 4, "foreign-key"]]],
    ["first unsigned, then foreign", (made) => {
      rewrite(made, 3, signedBy(mallory, projectOf(made)), same)
      rewrite(made, 4, unsigned, same)
    }, [[list, 3, "foreign-key"], [list, 4, "unsigned"]]],
    ["another spelling of the same signature", (made) => {
      const text = fs.readFileSync(headsFile(made), "utf8")
      const at = text.lastIndexOf("\"}")
      const next: Record<string, string> = { A: "B", Q: "R", g: "h", w: "x" }
      fs.writeFileSync(headsFile(made), `${text.slice(0, at - 1)}${next[text[at - 1]!]}${text.slice(at)}`)
    }, [[list, 4, "changed"], [list, 3, "removed"]]],
    ["the list of keys deleted", (made) => fs.rmSync(join(made.home, "audit-keys.json")), [[list, 1, "foreign-key"]]],
    ["the list of keys damaged", (made) => fs.writeFileSync(join(made.home, "audit-keys.json"), "{"), [
      ["audit-keys.json", 0, "unreadable"]
    ]]
  ]
  for (const [what, harm, expected] of cases) {
    it.live(`is checked: ${what}`, () =>
      Effect.gen(function*() {
        const made = yield* twoSessions
        assert.deepStrictEqual(yield* found(made), [])
        harm(made)
        assert.deepStrictEqual(yield* found(made), expected as never)
      }))
  }

  it.live("is not there if the vault cannot be used, and the calls go on", () =>
    Effect.gen(function*() {
      const made = yield* world
      fs.mkdirSync(made.home, { mode: 0o700 })
      fs.writeFileSync(join(made.home, "audit-keys.json"), "{", { mode: 0o600 })
      yield* session(made, (audit) => audit.append(request("c1")))
      assert.deepStrictEqual(headsOf(made).map(({ key }) => key), [undefined, undefined])
      assert.deepStrictEqual(yield* found(made), [["audit-keys.json", 0, "unreadable"], [list, 1, "unsigned"]])
      // As soon as it can be used, heads are signed, and the others are still told.
      fs.rmSync(join(made.home, "audit-keys.json"))
      yield* session(made, (audit) => audit.append(request("c2")))
      assert.deepStrictEqual(headsOf(made).map(({ key }) => key !== undefined), [false, false, true, true])
      const { problems } = yield* report(made)
      assert.deepStrictEqual(problems.map(({ line, problem }) => [line, problem]), [[1, "unsigned"]])
      assert.include(problems[0]!.detail, "lines 1 to 2 are each not signed")
    }))

  for (const harm of ["deleted", "damaged", "readable for others"]) {
    it.live(`is signed by a new key if the old one is ${harm}, and the old heads stay proved`, () =>
      Effect.gen(function*() {
        const made = yield* twoSessions
        const [key] = fs.globSync(join(made.home, "audit-keys/*"))
        if (harm === "deleted") fs.rmSync(key!)
        else if (harm === "damaged") fs.writeFileSync(key!, "{}")
        else fs.chmodSync(key!, 0o644)
        yield* session(made, (audit) => audit.append(request("c3")))
        const { keys, problems } = yield* report(made)
        assert.deepStrictEqual([keys.length, problems], [2, []])
      }))
  }
})

describe("an anchor", () => {
  it.live("proves what was recorded up to it, and shows a list written anew by whoever has the key", () =>
    Effect.gen(function*() {
      const made = yield* twoSessions
      const kept = yield* session(made, (audit) => audit.anchor)
      assert.strictEqual(kept.n, 4)
      const against = (anchor: typeof kept) =>
        session(
          made,
          (audit) =>
            Effect.map(audit.verifyAgainst(anchor), ({ problems }) =>
              problems.map(({ line, problem }) => [line, problem]))
        )
      assert.deepStrictEqual(yield* against(kept), [])
      yield* session(made, (audit) => audit.append(request("c3")))
      assert.deepStrictEqual(yield* against(kept), [])
      assert.deepStrictEqual(yield* against({ ...kept, head: "a".repeat(64) }), [[4, "changed"]])
      assert.deepStrictEqual(yield* against({ ...kept, n: 9 }), [[7, "cut-tail"]])
      assert.deepStrictEqual(yield* against({ head: zeros, n: 0 }), [])

      // With the key in the vault one can write everything anew; only the anchor shows it.
      fs.rmSync(headsFile(made))
      fs.rmSync(join(made.root, ".ai/logs"), { recursive: true })
      yield* session(made, (audit) => audit.append(request("forged")))
      assert.deepStrictEqual(yield* found(made), [])
      assert.notDeepEqual(yield* against(kept), [])
    }))
})
