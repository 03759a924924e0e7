// What a call reports while it runs, seen by who listens: no secret, whatever cuts the chunks.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeReporter } from "../../../../src/layers/primitive/reportLines.ts"
import { redactedEvents } from "../../../../src/layers/primitive/steps/redactedEvents.ts"
import { CallEvents } from "../../../../src/services/call/CallEvents.ts"
import type { CallEvent } from "../../../../src/services/call/CallEvents.ts"
import type { BuiltinHandler } from "../../../../src/services/primitive/Builtins.ts"
import type { PrimitiveInput } from "../../../../src/services/primitive/Primitive.ts"
import { call, kernel, tool } from "../../proxy/calls.ts"

const token = "tok-0123456789/abc+def"
const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----"

/** Who listens, and what it heard. */
const listening = (heard: Array<CallEvent>) =>
  Effect.provideService(CallEvents, { emit: (event) => Effect.sync(() => void heard.push(event)) })

const textOf = (heard: ReadonlyArray<CallEvent>, channel: "stdout" | "stderr" = "stdout"): string =>
  heard.map((event) => event._tag === "Chunk" && event.channel === channel ? event.text : "").join("")

const says = (talk: (secret: string, emit: PrimitiveInput["emit"]) => Effect.Effect<void>): BuiltinHandler => (input) =>
  Effect.as(talk(Redacted.value(input.env.get("SERVICE_TOKEN")!.value), input.emit), { data: null, metadata: {} })

const talking = (handler: BuiltinHandler, secret: string = token) =>
  kernel({
    items: {
      "tools/acme/talk.yaml": tool({
        executor_id: "builtin",
        config: { handler: "talk" },
        requires: { environment: ["SERVICE_TOKEN"] }
      })
    },
    builtins: new Map([["talk", handler]]),
    host: { variables: { PATH: "/usr/bin", SERVICE_TOKEN: secret } }
  })

const chunks = (emit: PrimitiveInput["emit"], ...texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => emit({ _tag: "Chunk", channel: "stdout", text }), { discard: true })

type Talk = Parameters<typeof says>[0]

const talks: ReadonlyArray<readonly [what: string, secret: string, talk: Talk, heard: string]> = [
  ["in two", token, (s, emit) => chunks(emit, `key ${s.slice(0, 9)}`, `${s.slice(9)} end`), "key ‹redacted› end"],
  ["in single characters", token, (s, emit) => chunks(emit, ...`<${s}>`), "<‹redacted›>"],
  ["over an empty chunk", token, (s, emit) => chunks(emit, s.slice(0, 3), "", s.slice(3)), "‹redacted›"],
  ["over progress", token, (s, emit) =>
    Effect.andThen(
      chunks(emit, s.slice(0, 8)),
      Effect.andThen(emit({ _tag: "Progress", message: "half" }), chunks(emit, s.slice(8)))
    ), "‹redacted›"],
  ["over what the other channel says", token, (s, emit) =>
    Effect.andThen(
      chunks(emit, s.slice(0, 8)),
      Effect.andThen(emit({ _tag: "Chunk", channel: "stderr", text: "note" }), chunks(emit, s.slice(8)))
    ), "‹redacted›"],
  ["at its line ends", key, (s, emit) => chunks(emit, ...s.split(/(?<=\n)/)), "‹redacted›"],
  ["in Base64", token, (s, emit) => {
    const form = btoa(s)
    return chunks(emit, form.slice(0, 10), form.slice(10))
  }, "‹redacted›g=="],
  ["as JSON writes it", "p@ss w0rd \"quoted\"", (s, emit) => {
    const form = JSON.stringify(s)
    return chunks(emit, form.slice(0, 13), form.slice(13))
  }, "\"‹redacted›\""],
  [
    "twice over three chunks",
    token,
    (s, emit) => chunks(emit, s.slice(0, 4), `${s.slice(4)} ${s.slice(0, 5)}`, s.slice(5)),
    "‹redacted› ‹redacted›"
  ],
  [
    "and then only begun",
    token,
    (s, emit) => chunks(emit, s.slice(0, 4), s.slice(4), "then tok-"),
    "‹redacted›then tok-"
  ]
]

describe("a secret is not heard that chunks cut", () => {
  for (const [what, secret, talk, expected] of talks) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const heard: Array<CallEvent> = []
        yield* call("talk").pipe(listening(heard), Effect.provide(talking(says(talk), secret)))
        assert.strictEqual(textOf(heard), expected)
      }))
  }
})

describe("what is held back at the end", () => {
  it.effect("is heard when the call fails, too", () =>
    Effect.gen(function*() {
      const heard: Array<CallEvent> = []
      const failing: BuiltinHandler = (input) =>
        Effect.andThen(chunks(input.emit, "at tok"), Effect.fail(undefined as never))
      yield* Effect.flip(call("talk").pipe(listening(heard), Effect.provide(talking(failing))))
      assert.strictEqual(textOf(heard), "at tok")
    }))

  it.effect("does not hold the call, if whoever listens hangs", () =>
    Effect.gen(function*() {
      const events = redactedEvents(
        (event) => event._tag === "Chunk" && event.text === "tok" ? Effect.never : Effect.void,
        [Redacted.make(token)]
      )
      yield* chunks(events.emit, "at tok")
      const fiber = yield* Effect.forkChild(events.finishing(Effect.void))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
    }))
})

/** What is heard of a program that says these pieces, one each batch; `undefined` ends a batch. */
const reported = (
  secret: string,
  pieces: ReadonlyArray<string | Buffer | undefined>
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function*() {
    const heard: Array<CallEvent> = []
    const secrets = [Redacted.make(secret)]
    const events = redactedEvents((event) => Effect.sync(() => void heard.push(event)), secrets)
    const report = makeReporter({ emit: events.emit, secrets }, yield* Effect.scope)
    yield* report.start
    for (const piece of pieces) {
      if (piece === undefined) yield* TestClock.adjust("100 millis")
      else report.push("stdout", Buffer.from(piece))
    }
    yield* TestClock.adjust("100 millis")
    yield* events.finishing(report.finish)
    return textOf(heard)
  })

describe("of a program's progress no secret is heard", () => {
  it.effect("that has line ends, over two batches", () =>
    Effect.gen(function*() {
      const middle = key.indexOf("\n") + 1
      assert.strictEqual(
        yield* reported(key, [`using\n${key.slice(0, middle)}`, undefined, `${key.slice(middle)}\ndone\n`]),
        "using\n‹redacted›\ndone\n"
      )
    }))

  it.effect("in a line that is too long to wait for its end", () =>
    Effect.gen(function*() {
      const line = "x".repeat(4_090)
      assert.strictEqual(
        yield* reported(token, [line + token.slice(0, 12), undefined, `${token.slice(12)}\n`]),
        `${line}‹redacted›\n`
      )
    }))

  it.effect("in a last line that does not end", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reported(token, ["a\n", undefined, token]), "a\n‹redacted›")
    }))

  it.effect("beside lines that were missed", () =>
    Effect.gen(function*() {
      for (const at of [1, 4, 12, token.length - 1]) {
        const heard = yield* reported(token, [
          `first\n${"y".repeat(4_096)}${token.slice(0, at)}`,
          token.slice(at) + "z".repeat(70_000),
          `${token.slice(at)} again\n`,
          undefined,
          "last, after enough other text to be shown again\n"
        ])
        assert.include(heard, "bytes not shown")
        for (const half of [token.slice(0, at), token.slice(at)]) {
          if (half.length > 3) assert.notInclude(heard, half)
        }
        assert.include(heard, "be shown again")
      }
    }))
})
