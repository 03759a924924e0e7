import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Logger, Redacted } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import * as CapabilityTokensFile from "../../../src/layers/capability/CapabilityTokensFile.ts"
import * as CapabilityTokensMemory from "../../../src/layers/capability/CapabilityTokensMemory.ts"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { NewToken, Token } from "../../../src/services/capability/CapabilityTokens.ts"
import type { GrantSet } from "../../../src/services/capability/Grant.ts"
import type { Request } from "../../../src/services/capability/Request.ts"
import { readClaims } from "../../../src/services/capability/tokenText.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { temporary } from "../../support/temporary.ts"

const grants: GrantSet = {
  allow: [{ capability: "fs.write", scope: ["src/**"] }, { capability: "tool.*" }],
  deny: [{ capability: "fs.read", scope: ["**/.env*"] }]
}
const request: Request = { allow: [{ capability: "fs.read", scope: ["src/*.ts"] }], deny: [] }
const thread = { thread: "t1", directive: "d1" }

const mint = (options: Partial<NewToken> = {}, given = grants) =>
  CapabilityTokens.use((tokens) => tokens.mint({ ...thread, grants: given, ...options }))
const verify = (token: Token, bearer: { thread: string; directive?: string } = { thread: "t1" }) =>
  CapabilityTokens.use((tokens) => tokens.verify(token, bearer))
const child = (token: Token, of: string, options: Partial<NewToken> & { request?: Request } = {}) =>
  CapabilityTokens.use((tokens) =>
    tokens.attenuate(token, { thread: of }, { thread: "child", directive: "d2", request, ...options })
  )
const whyNot = (token: Token | string, bearer?: { thread: string; directive?: string }) =>
  Effect.map(
    Effect.flip(verify(typeof token === "string" ? Redacted.make(token) : token, bearer)),
    (error) => error._tag === "TokenInvalid" ? error.why : error._tag
  )

/** A process with a home on disk. */
const open = (home: string, project = "p1", config: Record<string, string> = {}) => {
  const place = KiwiHomeNode.layerWith({ home })
  return CapabilityTokensFile.layer.pipe(
    Layer.provide(Layer.succeed(Workspace, { state: join(home, "projects", project) } as Workspace["Service"])),
    Layer.provide([place, KeychainMemory.layerUnavailable, ProcessLockSqlite.layer]),
    Layer.provide(Layer.provide(SafeFilesNode.layer, place)),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(config))),
    Layer.provide(Logger.layer([]))
  )
}
const homeFolder = Effect.map(temporary, (folder) => join(folder, "kiwi"))

const contract = <E>(name: string, layer: Layer.Layer<CapabilityTokens, E>) =>
  describe(name, () => {
    it.effect("carries its claims", () =>
      Effect.gen(function*() {
        const token = yield* mint({ budget: { turns: 5 } })
        const claims = yield* verify(token, thread)
        assert.deepInclude(claims, {
          iss: "kiwi",
          sub: "t1",
          act: "d1",
          caps: grants,
          parent: [],
          budget: { turns: 5 }
        })
        assert.strictEqual(claims.exp, 3_600)
        assert.deepStrictEqual(yield* verify(token), claims)
        assert.notInclude(String(token) + JSON.stringify({ token }), "ey")
      }).pipe(Effect.provide(layer)))

    it.effect("gives a child what it asks for, and never more than the parent", () =>
      Effect.gen(function*() {
        const token = yield* mint({ life: Duration.minutes(10), budget: { turns: 5, tokens: 100 } })
        const cut = yield* child(token, "t1", { life: Duration.hours(5), budget: { turns: 9, spend: 7 } })
        const claims = yield* verify(cut, { thread: "child", directive: "d2" })
        assert.deepStrictEqual(claims.caps, { allow: request.allow, deny: grants.deny })
        assert.strictEqual(claims.exp, 600)
        assert.deepStrictEqual(claims.budget, { turns: 5, tokens: 100, spend: 7 })
        assert.deepStrictEqual(claims.parent, [(yield* verify(token)).jti])
        const error = yield* Effect.flip(child(token, "t1", {
          request: {
            allow: [{ capability: "fs.write", scope: ["**"] }, { capability: "net.http", optional: true }],
            deny: []
          }
        }))
        assert.strictEqual(error._tag, "PermissionEscalation")
        assert.deepStrictEqual(error._tag === "PermissionEscalation" && error.exceeding, ["fs.write(**)"])
        assert.strictEqual((yield* Effect.flip(child(cut, "t1")))._tag, "TokenInvalid")
      }).pipe(Effect.provide(layer)))

    it.effect("counts until it expires, and a clock that is set back changes nothing", () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_000_000_000_000)
        const token = yield* mint({ life: Duration.minutes(1) })
        const cut = yield* child(token, "t1", { life: Duration.days(2) })
        yield* TestClock.adjust("59 seconds")
        yield* verify(token)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* whyNot(token), "expired")
        assert.strictEqual(yield* whyNot(cut, { thread: "child" }), "expired")
        yield* TestClock.setTime(999_999_990_000)
        assert.strictEqual(yield* whyNot(token), "expired")
        const endless = yield* mint({ life: Duration.infinity })
        assert.strictEqual((yield* verify(endless)).exp, 1_000_000_060 + 86_400)
        assert.strictEqual(yield* whyNot(yield* mint({ life: Duration.seconds(-5) })), "expired")
      }).pipe(Effect.provide(layer)))

    it.effect("counts for its thread and its directive alone", () =>
      Effect.gen(function*() {
        const token = yield* mint()
        assert.strictEqual(yield* whyNot(token, { thread: "t2" }), "thread")
        assert.strictEqual(yield* whyNot(token, { thread: "" }), "thread")
        assert.strictEqual(yield* whyNot(token, { thread: "t1", directive: "d2" }), "directive")
      }).pipe(Effect.provide(layer)))

    it.effect("does not count once it, or one that it comes from, is revoked", () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const [first, other] = [yield* mint(), yield* mint()]
        const second = yield* child(first, "t1")
        const third = yield* child(second, "child")
        yield* verify(third, { thread: "child" })
        yield* tokens.revoke((yield* verify(first)).jti)
        for (const [token, thread] of [[first, "t1"], [second, "child"], [third, "child"]] as const) {
          assert.strictEqual(yield* whyNot(token, { thread }), "TokenRevoked")
        }
        assert.strictEqual((yield* Effect.flip(child(third, "child")))._tag, "TokenRevoked")
        yield* verify(other)
      }).pipe(Effect.provide(layer)))

    it.effect("has so many descendants and no more", () =>
      Effect.gen(function*() {
        let token = yield* child(yield* mint(), "t1")
        for (let depth = 1; depth < 16; depth++) token = yield* child(token, "child")
        assert.strictEqual((yield* verify(token, { thread: "child" })).parent.length, 16)
        const error = yield* Effect.flip(child(token, "child"))
        assert.deepInclude(error, { _tag: "TokenInvalid", why: "depth" })
      }).pipe(Effect.provide(layer)))

    it.effect("is spent along its ancestors, whole or not at all", () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const first = yield* mint({ budget: { turns: 10 } })
        const [a, b] = [yield* child(first, "t1", { budget: { turns: 8 } }), yield* child(first, "t1")]
        const [root, one, two] = [
          yield* verify(first),
          yield* verify(a, { thread: "child" }),
          yield* verify(b, { thread: "child" })
        ]
        yield* tokens.spend(one, { turns: 6, calls: 1 })
        const over = yield* Effect.flip(tokens.spend(one, { turns: 3 }))
        assert.deepInclude(over, { _tag: "BudgetExceeded", jti: one.jti, ceiling: 8, spent: 6, amount: 3 })
        const sibling = yield* Effect.flip(tokens.spend(two, { calls: 1, turns: 5 }))
        assert.deepInclude(sibling, { _tag: "BudgetExceeded", jti: root.jti, ceiling: 10, spent: 6 })
        assert.deepStrictEqual(yield* tokens.spent(two.jti), {})
        yield* tokens.spend(two, { turns: 4 })
        assert.deepStrictEqual(yield* tokens.spent(root.jti), { turns: 10, calls: 1 })
        assert.deepStrictEqual(yield* tokens.spent(one.jti), { turns: 6, calls: 1 })
        const huge = Number.MAX_SAFE_INTEGER
        assert.strictEqual((yield* Effect.flip(tokens.spend(one, { calls: huge })))._tag, "BudgetExceeded")
        yield* Effect.all(Array.from({ length: 20 }, () => tokens.spend(two, { calls: 1 })), { concurrency: 20 })
        assert.deepStrictEqual(yield* tokens.spent(root.jti), { turns: 10, calls: 21 })
      }).pipe(Effect.provide(layer)))

    it.effect("counts under a key that was replaced until it expires, unless the key is forgotten", () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const before = yield* mint()
        yield* tokens.rotate()
        const after = yield* mint()
        const kid = (token: Token) => Buffer.from(Redacted.value(token).split(".")[0]!, "base64url").toString()
        assert.notStrictEqual(kid(before), kid(after))
        yield* verify(before)
        yield* verify(yield* child(before, "t1"), { thread: "child" })
        yield* tokens.rotate({ forget: true })
        assert.strictEqual(yield* whyNot(before), "key")
        assert.strictEqual(yield* whyNot(after), "key")
        yield* verify(yield* mint())
      }).pipe(Effect.provide(layer)))

    it.effect("is refused in any other text", () =>
      Effect.gen(function*() {
        const token = Redacted.value(yield* mint())
        const [header = "", payload = "", signature = ""] = token.split(".")
        const b64 = (text: string) => Buffer.from(text).toString("base64url")
        const read = (part: string) => Buffer.from(part, "base64url").toString()
        const { kid } = JSON.parse(read(header))
        const claims = JSON.parse(read(payload))
        const { privateKey } = generateKeyPairSync("ed25519")
        const signed = (head: unknown, body: string, key = privateKey) => {
          const text = `${b64(typeof head === "string" ? head : JSON.stringify(head))}.${b64(body)}`
          return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`
        }
        const good = { alg: "EdDSA", kid, typ: "kiwi-cap" }
        const body = JSON.stringify(claims)
        const hmac = (head: unknown) => {
          const text = `${b64(JSON.stringify(head))}.${payload}`
          return `${text}.${createHmac("sha256", kid).update(text).digest("base64url")}`
        }
        const malformed: Readonly<Record<string, string>> = {
          "nothing": "",
          "one part": header,
          "no signature": `${header}.${payload}.`,
          "alg none": `${b64(JSON.stringify({ alg: "none", kid, typ: "kiwi-cap" }))}.${payload}.`,
          "alg none, signed": `${b64(JSON.stringify({ alg: "none", kid, typ: "kiwi-cap" }))}.${payload}.${signature}`,
          "alg HS256": hmac({ alg: "HS256", kid, typ: "kiwi-cap" }),
          "other typ": signed({ ...good, typ: "JWT" }, body),
          "no typ": signed({ alg: "EdDSA", kid }, body),
          "another order": signed({ kid, alg: "EdDSA", typ: "kiwi-cap" }, body),
          "jwk in the header": signed({ ...good, jwk: { kty: "OKP" } }, body),
          "crit": signed({ ...good, crit: ["exp"] }, body),
          "alg twice": signed(`{"alg":"none","alg":"EdDSA","kid":"${kid}","typ":"kiwi-cap"}`, body),
          "kid as a path": signed({ ...good, kid: "../../etc/passwd" }, body),
          "kid as an object": signed({ ...good, kid: { $ne: "" } }, body),
          "kid __proto__": signed({ ...good, kid: "__proto__" }, body),
          "kid in capitals": signed({ ...good, kid: kid.toUpperCase().replace(/\d/g, "A") }, body),
          "trailing part": `${token}.`,
          "trailing bytes": `${token}AA`,
          "trailing newline": `${token}\n`,
          "leading blank": ` ${token}`,
          "padding": `${header}.${payload}.${signature}==`,
          "standard base64": `${header}.${payload}.${signature.slice(0, -1)}+`,
          "blank in a part": `${header}.${payload.slice(0, 4)} ${payload.slice(4)}.${signature}`,
          "huge": `${header}.${"A".repeat(70_000)}.${signature}`,
          "many parts": ".".repeat(100_000),
          "not base64": `${header}.%%%.${signature}`
        }
        for (const [what, text] of Object.entries(malformed)) {
          assert.strictEqual(yield* whyNot(text), "malformed", what)
        }
        const bodies: Readonly<Record<string, string>> = {
          "a claim twice": body.replace("{", `{"sub":"t2",`),
          "whitespace in claims": ` ${body}`,
          "an unknown claim": JSON.stringify({ ...claims, admin: true }),
          "a claim is missing": JSON.stringify({ ...claims, exp: undefined }),
          "exp as text": JSON.stringify({ ...claims, exp: "9999999999" }),
          "exp as a float": JSON.stringify({ ...claims, exp: 9.5 }),
          "exp too large": body.replace(/"exp":\d+/, `"exp":1e308`),
          "exp beyond integers": body.replace(/"exp":\d+/, `"exp":9007199254740993`),
          "exp negative": body.replace(/"exp":\d+/, `"exp":-1`),
          "other issuer": JSON.stringify({ ...claims, iss: "evil" }),
          "no array of ancestors": JSON.stringify({ ...claims, parent: null }),
          "too many ancestors": JSON.stringify({ ...claims, parent: Array(17).fill(claims.jti) }),
          "jti as a path": JSON.stringify({ ...claims, jti: "../../revoked" }),
          "null": "null",
          "array": "[]",
          "deep": `${"[".repeat(9_000)}${"]".repeat(9_000)}`
        }
        for (const [what, text] of Object.entries(bodies)) {
          assert.strictEqual(yield* whyNot(signed(good, text)), "signature", what)
          // Also if it were signed.
          assert.isUndefined(readClaims(b64(text)), what)
        }
        assert.deepStrictEqual(readClaims(payload), claims)
        assert.isUndefined(readClaims(`${payload}=`))
        assert.strictEqual(yield* whyNot(signed(good, body)), "signature")
        const wider = JSON.stringify({ ...claims, caps: { allow: [{ capability: "kiwi.all" }], deny: [] } })
        assert.strictEqual(yield* whyNot(`${header}.${b64(wider)}.${signature}`), "signature")
        assert.strictEqual(yield* whyNot(signed({ ...good, kid: "0123456789abcdef" }, body)), "key")
        const flipped = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`
        assert.strictEqual(yield* whyNot(`${header}.${payload}.${flipped}`), "signature")
        // The last of 86 characters carries two bits: fifteen other characters decode to the same bytes.
        for (const last of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
          const text = `${header}.${payload}.${signature.slice(0, -1)}${last}`
          if (text === token) continue
          assert.include(["malformed", "signature"], yield* whyNot(text), last)
        }
        for (const part of [header, payload]) {
          for (const last of "ABCDwxyz0123") {
            const changed = `${part.slice(0, -1)}${last}`
            if (changed === part) continue
            const text = token.replace(part, changed)
            assert.include(["malformed", "signature", "key"], yield* whyNot(text))
          }
        }
        yield* verify(Redacted.make(token))
      }).pipe(Effect.provide(layer)))
  })

contract("a token of a process's own", CapabilityTokensMemory.layer)
contract("a token with its keys and its ledger on disk", Layer.unwrap(Effect.map(homeFolder, (home) => open(home))))

describe("on disk", () => {
  it.effect("tokens, revocations and spending outlast the process", () =>
    Effect.gen(function*() {
      const home = yield* homeFolder
      const [first, second] = yield* Effect.all([mint({ budget: { turns: 3 } }), mint()]).pipe(
        Effect.provide(open(home))
      )
      yield* Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        yield* tokens.spend(yield* verify(first), { turns: 2 })
        yield* tokens.revoke((yield* verify(second)).jti)
      }).pipe(Effect.provide(open(home)))
      yield* Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const claims = yield* verify(first)
        assert.deepStrictEqual(yield* tokens.spent(claims.jti), { turns: 2 })
        assert.strictEqual((yield* Effect.flip(tokens.spend(claims, { turns: 2 })))._tag, "BudgetExceeded")
        assert.strictEqual(yield* whyNot(second), "TokenRevoked")
      }).pipe(Effect.provide(open(home)))
    }))

  it.effect("a running process sees what another revokes, spends and rotates", () =>
    Effect.gen(function*() {
      const home = yield* homeFolder
      const here = yield* Effect.provide(CapabilityTokens, open(home))
      const there = yield* Effect.provide(CapabilityTokens, open(home))
      const token = yield* here.mint({ ...thread, grants })
      const { jti } = yield* there.verify(token, thread)
      yield* there.rotate()
      yield* here.verify(yield* there.mint({ ...thread, grants }), thread)
      yield* there.revoke(jti)
      assert.strictEqual((yield* Effect.flip(here.verify(token, thread)))._tag, "TokenRevoked")
      const next = yield* here.mint({ ...thread, grants })
      yield* there.rotate({ forget: true })
      yield* TestClock.adjust("62 seconds")
      assert.deepInclude(yield* Effect.flip(here.verify(next, thread)), { _tag: "TokenInvalid", why: "key" })
    }))

  it.effect("a token of one project does not count in another", () =>
    Effect.gen(function*() {
      const home = yield* homeFolder
      const token = yield* Effect.provide(mint(), open(home))
      assert.strictEqual(yield* Effect.provide(whyNot(token), open(home, "p2")), "audience")
    }))

  it.effect("no token counts while the ledger cannot be read", () =>
    Effect.gen(function*() {
      const home = yield* homeFolder
      const tokens = yield* Effect.provide(CapabilityTokens, open(home))
      const token = yield* tokens.mint({ ...thread, grants })
      yield* tokens.revoke("0".repeat(32))
      const file = join(home, "projects/p1/tokens.json")
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      for (const text of ["", "{}", "{\"version\":1", JSON.stringify({ version: 2, revoked: {}, rows: {} })]) {
        fs.writeFileSync(file, text)
        assert.strictEqual((yield* Effect.flip(tokens.verify(token, thread)))._tag, "TokensUnavailable")
        assert.strictEqual((yield* Effect.flip(tokens.revoke("1".repeat(32))))._tag, "TokensUnavailable")
      }
      fs.rmSync(file)
      fs.symlinkSync("/dev/null", file)
      assert.strictEqual((yield* Effect.flip(tokens.verify(token, thread)))._tag, "TokensUnavailable")
    }))

  it.effect("no file has a token, and no error shows one", () =>
    Effect.gen(function*() {
      const home = yield* homeFolder
      const tokens = yield* Effect.provide(CapabilityTokens, open(home))
      const token = yield* tokens.mint({ ...thread, grants, budget: { turns: 1 } })
      const [header = "", payload = "", signature = ""] = Redacted.value(token).split(".")
      const errors = [
        yield* Effect.flip(tokens.verify(token, { thread: "t2" })),
        yield* Effect.flip(tokens.verify(Redacted.make(`${header}.${payload}.${signature}A`), thread))
      ]
      const shown = errors.map((error) => `${error.message} ${JSON.stringify(error)}`).join()
      const files = fs.readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        .map((entry) => fs.readFileSync(join(entry.parentPath, entry.name), "latin1")).join()
      for (const part of [payload, signature]) assert.notInclude(shown + files, part)
    }))

  it.live("a key that another made first is used", () =>
    Effect.gen(function*() {
      const home = yield* homeFolder
      const all = yield* Effect.forEach([1, 2, 3, 4], () => Effect.provide(CapabilityTokens, open(home)))
      const made = yield* Effect.forEach(all, (tokens) => tokens.mint({ ...thread, grants }), { concurrency: 4 })
      for (const tokens of all) {
        for (const token of made) yield* tokens.verify(token, thread)
      }
      assert.strictEqual(new Set(made.map((token) => Redacted.value(token).split(".")[0])).size, 1)
    }))
})
