import { assert, describe, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import { redactParameters, redactText, redactValue, redactWords } from "../../../src/services/audit/redaction.ts"
import { isSecretKey } from "../../../src/services/audit/secretNames.ts"

const secret = (value: string) => [Redacted.make(value)]

describe("isSecretKey", () => {
  for (
    const key of [
      "password",
      "Passwd",
      "db_password",
      "dbPassword",
      "PGPASSWORD",
      "password_confirmation",
      "newPassword2",
      "passphrase",
      "pass",
      "pwd",
      "token",
      "accessToken",
      "access_token",
      "ACCESS-TOKEN",
      "x-auth-token",
      "refreshtoken",
      "token_value",
      "secret",
      "client_secret",
      "secrets",
      "authorization",
      "Proxy-Authorization",
      "api_key",
      "apikey",
      "apiKey",
      "X-API-Key",
      "api.key",
      "cookie",
      "Set-Cookie",
      "private_key",
      "privateKeyPem",
      "secret_key",
      "aws_secret_access_key",
      "credential",
      "credentials",
      "auth",
      "bearer",
      "jwt",
      "ｔｏｋｅｎ"
    ]
  ) {
    it(`knows ${key}`, () => assert.isTrue(isSecretKey(key)))
  }

  for (
    const key of [
      "max_tokens",
      "maxTokens",
      "token_count",
      "tokens",
      "tokenizer",
      "max_token",
      "eos_token",
      "stop_tokens",
      "next_page_token",
      "key",
      "keys",
      "keyboard",
      "public_key",
      "primary_key",
      "sort_key",
      "author",
      "authors",
      "authenticated",
      "passed",
      "passenger",
      "compass",
      "bypass",
      "path",
      "pattern",
      "secretary",
      "cookie_policy",
      "password_length",
      "credential_type",
      "monkey",
      "",
      "__proto__",
      "constructor"
    ]
  ) {
    it(`leaves ${JSON.stringify(key)}`, () => assert.isFalse(isSecretKey(key)))
  }

  it("is done with a long name at once", () => {
    assert.isTrue(isSecretKey(`${"confirm".repeat(100_000)}token`))
    assert.isFalse(isSecretKey("token1".repeat(100_000) + "x"))
  })
})

describe("by key", () => {
  it("takes the whole value, at any depth, and leaves what says nothing", () => {
    const value = {
      headers: [{ Authorization: "Bearer abc" }, { name: "X-Api-Key", value: 12 }, { name: "Accept", value: "json" }],
      deep: { list: [{ credentials: { user: "u", password: "p" } }] },
      token: null,
      secret: false,
      cookie: "",
      api_key: 0,
      max_tokens: 5
    }
    assert.deepStrictEqual(redactParameters(value, []), {
      headers: [
        { Authorization: "‹redacted›" },
        { name: "X-Api-Key", value: "‹redacted›" },
        { name: "Accept", value: "json" }
      ],
      deep: { list: [{ credentials: "‹redacted›" }] },
      token: null,
      secret: false,
      cookie: "",
      api_key: "‹redacted›",
      max_tokens: 5
    })
  })

  it("does not change what it was given", () => {
    const value = { token: "abc", list: ["abc"] }
    redactParameters(value, [])
    assert.deepStrictEqual(value, { token: "abc", list: ["abc"] })
  })
})

describe("by value", () => {
  const password = "p@ss/wörd \"1\"\n+x"
  const bytes = Buffer.from(password)
  const forms: Readonly<Record<string, string>> = {
    "as it is": password,
    "in JSON": JSON.stringify(password),
    "in JSON of ASCII": "p@ss/w\\u00f6rd \\\"1\\\"\\n+x",
    "in JSON with escaped slashes": JSON.stringify(password).replace("/", "\\/"),
    "in Base64": bytes.toString("base64"),
    "in Base64url": bytes.toString("base64url"),
    "percent-encoded": encodeURIComponent(password),
    "percent-encoded in lower case": encodeURIComponent(password).toLowerCase(),
    "as a form": new URLSearchParams({ v: password }).toString()
  }
  for (const [how, form] of Object.entries(forms)) {
    it(`finds a secret ${how}`, () => {
      const redacted = redactText(`before ${form} after`, secret(password))
      assert.match(redacted, /^before .{0,3}‹redacted›.{0,4} after$/)
    })
  }

  it.prop("finds a secret in the Base64 of what it stands in", [Schema.String, Schema.String], ([before, after]) => {
    const hidden = "Tr0ub4dor&3÷"
    const text = Buffer.from(`${before.toWellFormed()}${hidden}${after.toWellFormed()}`)
    for (const encoding of ["base64", "base64url"] as const) {
      assert.include(redactText(text.toString(encoding), secret(hidden)), "‹redacted›")
    }
  })

  it.prop("leaves nothing of a secret in any value", [Schema.Json, Schema.String], ([json, tail]) => {
    const hidden = `s3cret-${tail}-t0ken`
    const value = { json, text: `a${hidden}b`, [`k${hidden}`]: [hidden] }
    assert.notInclude(JSON.stringify(redactValue(value, secret(hidden))), JSON.stringify(hidden).slice(1, -1))
  })

  it("leaves values that are too short, and text without secrets", () => {
    assert.strictEqual(redactText("1234567", secret("1234567")), "1234567")
    assert.strictEqual(redactText("12345678", secret("12345678")), "‹redacted›")
    assert.strictEqual(redactText("nothing here", secret("12345678")), "nothing here")
    assert.strictEqual(redactText("nothing here", []), "nothing here")
  })

  it("takes the longer of two secrets whole", () => {
    const both = [Redacted.make("abcdefgh"), Redacted.make("abcdefghijkl")]
    assert.strictEqual(redactText("abcdefghijkl abcdefgh", both), "‹redacted› ‹redacted›")
  })

  it("takes half a character, and patterns, as they are", () => {
    assert.strictEqual(redactText("x\ud800-secret-x", secret("\ud800-secret-")), "x‹redacted›x")
    assert.strictEqual(redactText("x$&.*(secret)x", secret("$&.*(secret)")), "x‹redacted›x")
  })

  it("keeps a key that is a trap a key", () => {
    const value = JSON.parse("{\"__proto__\":{\"token\":\"abc\"}}")
    assert.strictEqual(JSON.stringify(redactParameters(value, [])), "{\"__proto__\":{\"token\":\"‹redacted›\"}}")
    assert.strictEqual(JSON.stringify(redactValue(value, secret("12345678"))), "{\"__proto__\":{\"token\":\"abc\"}}")
  })
})

describe("in words", () => {
  for (
    const [words, kept] of [
      ["password=hunter2", "password=‹redacted›"],
      ["PGPASSWORD='a b' psql", "PGPASSWORD=‹redacted› psql"],
      ["Authorization: Bearer abc.def ok", "Authorization: Bearer ‹redacted› ok"],
      ["authorization:Basic YTpi", "authorization:Basic ‹redacted›"],
      ["deploy --token abc now", "deploy --token ‹redacted› now"],
      ["x --api-key=abc", "x --api-key=‹redacted›"],
      ["add password = \"my own\" now", "add password = ‹redacted› now"],
      ["{\"secret\": \"abc\", \"b\": 1}", "{\"secret\": ‹redacted›, \"b\": 1}"],
      ["apiKey=x&other=y", "apiKey=‹redacted›"],
      ["token a=b", "token a=b"],
      ["max_tokens=5 token_count: 7", "max_tokens=5 token_count: 7"],
      ["rotate a password", "rotate a password"],
      ["", ""]
    ] as const
  ) {
    it(`makes ${JSON.stringify(kept)} of ${JSON.stringify(words)}`, () =>
      assert.strictEqual(redactWords(words, []), kept))
  }

  it("takes a known value too", () => {
    assert.strictEqual(redactWords("find 12345678", secret("12345678")), "find ‹redacted›")
  })
})
