import { assert, describe, it } from "@effect/vitest"
import { Redacted, Schema } from "effect"
import { redactParameters, redactWords } from "../../../src/services/audit/redaction.ts"
import { redactUrls } from "../../../src/services/audit/urlSecrets.ts"

const percent = encodeURIComponent
const base64 = (text: string) => Buffer.from(text).toString("base64")
const hidden = "hunter2-hunter2"

describe("what URLs carry", () => {
  const cases: ReadonlyArray<readonly [what: string, text: string, kept: string]> = [
    ["a password", `https://ada:${hidden}@example.org/a?b=1`, "https://‹redacted›@example.org/a?b=1"],
    ["a token as the name", `https://${hidden}@github.com/x/y.git`, "https://‹redacted›@github.com/x/y.git"],
    ["an @ in the password", `https://ada:${hidden}@x@example.org`, "https://‹redacted›@example.org"],
    ["a database's password", `postgres://ada:${hidden}@db:5432/shop`, "postgres://‹redacted›@db:5432/shop"],
    ["a password of git over ssh", `git+ssh://git:${hidden}@h/x`, "git+ssh://‹redacted›@h/x"],
    ["one slash", `https:/ada:${hidden}@h/`, "https:/‹redacted›@h/"],
    ["no slash", `https:ada:${hidden}@h/`, "https:‹redacted›@h/"],
    ["backslashes", `HTTPS:\\\\ada:${hidden}@h/`, "HTTPS:\\\\‹redacted›@h/"],
    ["escaped slashes", `{"url":"redis:\\/\\/:${hidden}@h"}`, "{\"url\":\"redis:\\/\\/‹redacted›@h\"}"],
    ["an API key", `https://h/v1?api_key=${hidden}&page=2`, "https://h/v1?api_key=‹redacted›&page=2"],
    [
      "an access token",
      `https://h/v1?page=2&access_token=${hidden}#x`,
      "https://h/v1?page=2&access_token=‹redacted›#x"
    ],
    [
      "a token in the fragment",
      `https://h/cb#access_token=${hidden}&state=1`,
      "https://h/cb#access_token=‹redacted›&state=1"
    ],
    ["a presigned URL", `https://b.s3/x?X-Amz-Signature=${hidden}`, "https://b.s3/x?X-Amz-Signature=‹redacted›"],
    ["a shared access signature", `https://b/x?sv=1&sig=${hidden}`, "https://b/x?sv=1&sig=‹redacted›"],
    ["a path", `/login?next=1&client-secret=${hidden}`, "/login?next=1&client-secret=‹redacted›"],
    ["an authorization code", `https://h/cb?code=${hidden}&state=1`, "https://h/cb?code=‹redacted›&state=1"],
    ["a code in the fragment", `https://h/cb#state=1&code=${hidden}`, "https://h/cb#state=1&code=‹redacted›"],
    ["a code behind a route", `https://h/#/cb?code=${hidden}`, "https://h/#/cb?code=‹redacted›"],
    ["a key", `https://maps/api?key=${hidden}&q=x`, "https://maps/api?key=‹redacted›&q=x"],
    ["a key in a path", `curl /v1?KEY=${hidden}`, "curl /v1?KEY=‹redacted›"],
    ["a signature", `https://h/x?Expires=1&Signature=${hidden}`, "https://h/x?Expires=1&Signature=‹redacted›"],
    ["a key pair", `https://h/x?Key-Pair-Id=${hidden}&a=b`, "https://h/x?Key-Pair-Id=‹redacted›&a=b"],
    [
      "a presigned URL's other fields",
      `https://b/x?X-Amz-Date=1&X-Amz-Credential=${hidden}&X-Amz-Security-Token=${hidden}&X-Amz-Expires=9`,
      "https://b/x?X-Amz-Date=1&X-Amz-Credential=‹redacted›&X-Amz-Security-Token=‹redacted›&X-Amz-Expires=9"
    ],
    ["Google's presigned URL", `https://b/x?X-Goog-Credential=${hidden}`, "https://b/x?X-Goog-Credential=‹redacted›"],
    ["an access key", `https://b/x?AWSAccessKeyId=${hidden}`, "https://b/x?AWSAccessKeyId=‹redacted›"],
    ["a session in the path", `https://h/x;jsessionid=${hidden}`, "https://h/x;jsessionid=‹redacted›"],
    ["a one-time code", `https://h/verify?otp=${hidden}`, "https://h/verify?otp=‹redacted›"],
    ["a ticket", `https://h/cas?ticket=${hidden}`, "https://h/cas?ticket=‹redacted›"],
    ["an assertion", `grant_type=x&assertion=${hidden}`, "grant_type=x&assertion=‹redacted›"],
    ["a form's code", `grant_type=authorization_code&code=${hidden}`, "grant_type=authorization_code&code=‹redacted›"],
    ["the first field of a form: its code", `code=${hidden}&client_id=a`, "code=‹redacted›&client_id=a"],
    [
      "a code in a field",
      `https://h/?next=${percent(`https://i/cb?code=${hidden}&a=b`)}`,
      `https://h/?next=${percent("https://i/cb?code=")}‹redacted›${percent("&a=b")}`
    ],
    ["an encoded name", `https://h/?api%5Fkey=${hidden}`, "https://h/?api%5Fkey=‹redacted›"],
    ["a name in brackets", `https://h/?user[password]=${hidden}`, "https://h/?user[password]=‹redacted›"],
    ["a form", `grant_type=x&client_secret=${hidden}`, "grant_type=x&client_secret=‹redacted›"],
    ["the first field of a form", `password=${hidden}&user=ada`, "password=‹redacted›&user=ada"],
    [
      "a command",
      `curl -s 'https://ada:${hidden}@h/?token=${hidden}' -o x`,
      "curl -s 'https://‹redacted›@h/?token=‹redacted›' -o x"
    ],
    ["two URLs", `https://a:${hidden}@h https://b:${hidden}@i`, "https://‹redacted›@h https://‹redacted›@i"],
    [
      "a URL in a field",
      `https://h/?next=${percent(`https://ada:${hidden}@i/?a=b`)}`,
      `https://h/?next=${percent("https://")}‹redacted›${percent("@i/?a=b")}`
    ],
    [
      "a field in a field",
      `https://h/?next=${percent(`/x?api_key=${hidden}&a=b`)}`,
      `https://h/?next=${percent("/x?api_key=")}‹redacted›${percent("&a=b")}`
    ],
    [
      "two URLs deep",
      `https://h/?n=${percent(`https://i/?n=${percent(`https://ada:${hidden}@j`)}`)}`,
      `https://h/?n=${percent(`https://i/?n=${percent("https://")}`)}‹redacted›${percent(percent("@j"))}`
    ],
    ["an encoded URL", percent(`https://ada:${hidden}@h`), `${percent("https://")}‹redacted›${percent("@h")}`],
    ["Latin-1", `https%3A%2F%2Fada%3A%FF${hidden}%40h`, `${percent("https://")}‹redacted›${percent("@h")}`],
    ["a URL in Base64", base64(`https://ada:${hidden}@h/?token=x`), "‹redacted›"],
    ["a URL in Base64url", Buffer.from(`https://h/?token=${hidden}~~~`).toString("base64url"), "‹redacted›"],
    ["JSON in Base64", base64(JSON.stringify({ url: `https://ada:${hidden}@h/` })), "‹redacted›"]
  ]
  for (const [what, text, kept] of cases) {
    it(`is removed from ${what}`, () => {
      assert.strictEqual(redactUrls(text), kept)
      assert.strictEqual(redactUrls(kept), kept, "again")
    })
    it(`is removed from ${what} in parameters of any form`, () => {
      const isWhole = /Base64|first field/.test(what)
      const value = { url: text, list: [[text]], [text]: 1, text: `see ${text}`, json: JSON.stringify({ url: text }) }
      // In the middle of a text, Base64 and the beginning of a form are not recognized.
      const { json: _, text: __, ...exact } = value
      assert.notInclude(JSON.stringify(redactParameters(isWhole ? exact : value, [])), hidden)
      if (!isWhole) assert.notInclude(redactWords(`get ${text} now`, []), hidden)
    })
  }

  for (
    const text of [
      "",
      "https://example.org/a?b=1&page_token=x&max_tokens=5#part",
      "ssh://git@github.com/x/y.git",
      "git@github.com:x/y.git",
      "mail ada@example.org about https://example.org",
      "const a = b ? c = 1 : d",
      "a=b&c=d",
      "100%3D",
      "see key=value; author=ada",
      "key=value",
      "code=1 make",
      "https://h/?keyword=x&zipcode=1&codec=y&monkey=z&state=1",
      "https://b/x?X-Amz-Date=1&X-Amz-Algorithm=a&X-Amz-SignedHeaders=host",
      "https://example.org/@ada/p",
      "https://h/?next=https%3A%2F%2Fi%2F%3Fa%3Db",
      base64("nothing of a secret in here, only words"),
      "deadbeefdeadbeefdeadbeef",
      "curl h/?token=$(id>/tmp/x)",
      "curl https://ada:$(id)@h",
      "curl h/?token=`id`",
      "curl \"h/?token=${TOKEN}\""
    ]
  ) {
    it(`leaves ${JSON.stringify(text)}`, () => assert.strictEqual(redactUrls(text), text))
  }

  it("is done with a long text at once", () => {
    for (const one of ["https:", "a", "%3A", "?a=", "https://a:", "aGVsbG8=", "%", "x@", "&token="]) {
      const started = performance.now()
      redactUrls(one.repeat(200_000))
      assert.isBelow(performance.now() - started, 5_000, one)
    }
  })
})

const encoders: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text),
  url: (text) => `https://h/?q=${percent(text)}`,
  form: (text) => new URLSearchParams({ q: text }).toString()
}
const last: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  base64,
  base64url: (text) => Buffer.from(text).toString("base64url"),
  "base64 in a URL": (text) => `https://h/?q=${percent(base64(text))}`
}

describe("a known secret", () => {
  const Place = Schema.Struct({
    /** With all that an encoding treats in its own way. */
    tail: Schema.String,
    inner: Schema.Literals(["plain", "json", "url", "form"]),
    outer: Schema.Literals(["plain", "json"]),
    end: Schema.Literals(["plain", "base64", "base64url", "base64 in a URL"]),
    key: Schema.Boolean,
    depth: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  })
  it.prop(
    "leaves every nesting and encoding that Kiwi produces",
    [Place],
    ([{ depth, end, inner, key, outer, tail }]) => {
      const secret = `s3c"r/e\\t+ö-${tail.toWellFormed()}-t0ken`
      const encodeIn = encoders[inner]!
      // Base64 is of the whole value: once encoded before, at most.
      const encodeOut = end === "plain" ? encoders[outer]! : encoders["plain"]!
      const encodeEnd = inner === "form" ? last["plain"]! : last[end]!
      const text = encodeEnd(encodeOut(encodeIn(secret)))
      let value: Schema.Json = key ? { [text]: 1 } : text
      for (let at = 0; at < depth; at++) value = at % 2 === 0 ? [value] : { a: value }
      const shown = JSON.stringify(redactParameters(value, [Redacted.make(secret)]))
      assert.notInclude(shown, JSON.stringify(text).slice(1, -1))
      assert.include(shown, "‹redacted›")
      for (const piece of shown.split("‹redacted›")) {
        assert.notInclude(Buffer.from(piece, "base64").toString(), secret.slice(0, 12))
      }
    },
    { arbitrary: { runs: 400 } }
  )
})
