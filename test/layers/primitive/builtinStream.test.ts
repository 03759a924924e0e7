// Builtins that answer in pieces: what is heard, what the result is, and what is left when it breaks off.
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Redacted, Schema, Stream } from "effect"
import * as BuiltinRegistry from "../../../src/layers/primitive/BuiltinRegistry.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import { CallEvents } from "../../../src/services/call/CallEvents.ts"
import type { CallEvent } from "../../../src/services/call/CallEvents.ts"
import { WriteRefused } from "../../../src/services/files/SafeFiles.ts"
import type { BuiltinHandler } from "../../../src/services/primitive/Builtins.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"
import type { PrimitiveStream } from "../../../src/services/primitive/Primitive.ts"
import { call, entries, kernel, reasonOf, tool } from "../proxy/calls.ts"
import { inputFor } from "./inputs.ts"

const token = "tok-0123456789/abc+def"
const full = new WriteRefused({ path: "night.txt", issue: "no-space", detail: "the disk is full" })

/** A kernel whose tool `talk` is this handler. */
const talking = (handler: BuiltinHandler) =>
  Layer.merge(
    kernel({
      items: {
        "tools/acme/talk.yaml": tool({
          executor_id: "builtin",
          config: { handler: "talk" },
          requires: { environment: ["SERVICE_TOKEN"] }
        })
      },
      builtins: new Map([["talk", handler]]),
      host: { variables: { PATH: "/usr/bin", SERVICE_TOKEN: token } }
    }),
    Logger.layer([])
  )

const answering = (answer: unknown): BuiltinHandler => () => Effect.succeed(answer as PrimitiveStream)

const heardOf = (heard: ReadonlyArray<CallEvent>) => heard.map((event) => event._tag === "Chunk" ? event.text : "")

/** What comes of a call of `talk`, and what is heard of it. */
const talk = (handler: BuiltinHandler) =>
  Effect.gen(function*() {
    const heard: Array<CallEvent> = []
    const result = yield* call("talk").pipe(
      Effect.provideService(CallEvents, { emit: (event) => Effect.sync(() => void heard.push(event)) }),
      Effect.provide(talking(handler))
    )
    return { ...result, heard: heardOf(heard) }
  })

describe("a handler that answers a stream", () => {
  const streams: ReadonlyArray<
    readonly [what: string, answer: PrimitiveStream, heard: ReadonlyArray<string>, data: Schema.Json]
  > = [
    ["of text", { stream: Stream.make("It was ", "dark") }, ["It was ", "dark"], "It was dark"],
    ["of objects, each a line", { stream: Stream.make({ n: 1 }, { n: 2 }) }, [
      "{\"n\":1}\n",
      "{\"n\":2}\n"
    ], "{\"n\":1}\n{\"n\":2}\n"],
    ["of both", { stream: Stream.make("a\n", { b: [null] }) }, ["a\n", "{\"b\":[null]}\n"], "a\n{\"b\":[null]}\n"],
    ["that is empty", { stream: Stream.empty }, [], ""],
    ["of pieces that are", { stream: Stream.make("", "a", "") }, ["a"], "a"],
    [
      "and a summary",
      {
        stream: Stream.make("a", "b"),
        summary: ({ bytes, text }) => Effect.succeed({ bytes, text, tokens: 2 })
      },
      ["a", "b"],
      { bytes: 2, text: "ab", tokens: 2 }
    ],
    ["and a summary of nothing", { stream: Stream.make("a"), summary: () => Effect.succeed(null) }, ["a"], null],
    ["that cuts a character in two", { stream: Stream.make("a\ud83d", "\ude00b") }, ["a", "😀b"], "a😀b"],
    ["that ends within a character", { stream: Stream.make("a\ud83d") }, ["a", "\ud83d"], "a\ufffd"],
    ["with a secret", { stream: Stream.make(`<${token}>`) }, ["<‹redacted›>"], "<‹redacted›>"],
    ["that cuts a secret", { stream: Stream.make("<tok-01234", "56789/abc+def>") }, [
      "<",
      "‹redacted›>"
    ], "<‹redacted›>"],
    ["with a secret in an object", { stream: Stream.make({ [token]: token }) }, [
      "{\"‹redacted›\":\"‹redacted›\"}\n"
    ], "{\"‹redacted›\":\"‹redacted›\"}\n"]
  ]
  for (const [what, answer, heard, data] of streams) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const result = yield* talk(answering(answer))
        assert.deepStrictEqual([result.status, result.heard, result.data], ["success", heard, data])
        assert.notProperty(result.metadata, "output")
      }))
  }

  it.effect("is heard while it goes on, and slowed down by who listens", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const first = yield* Deferred.make<CallEvent>()
      let made = 0
      const fiber = yield* call("talk").pipe(
        Effect.provideService(CallEvents, {
          emit: (event) => Effect.andThen(Deferred.succeed(first, event), Deferred.await(gate))
        }),
        Effect.provide(talking(answering({
          stream: Stream.mapEffect(Stream.make("one", "two", "three"), (text) =>
            Effect.sync(() => {
              made++
              return text
            }))
        }))),
        Effect.forkChild
      )
      assert.deepStrictEqual(yield* Deferred.await(first), { _tag: "Chunk", channel: "stdout", text: "one" })
      assert.isBelow(made, 3)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(fiber)).data, "onetwothree")
    }))

  it.effect("does not run in a dry run", () =>
    Effect.gen(function*() {
      const { status } = yield* call("talk", {}, { dryRun: true })
      assert.strictEqual(status, "validation_passed")
    }).pipe(Effect.provide(talking(answering({ stream: Stream.die("it ran") })))))

  it.effect("beyond 1 MiB is kept as an output, without its secrets", () =>
    Effect.gen(function*() {
      const piece = `${"x".repeat(99_990)}${token.slice(0, 10)}`
      const { data, metadata } = yield* call("talk")
      assert.include(data, "bytes left out, all of it in kiwi://output/")
      const outputs = yield* Outputs
      const { bytes, total } = yield* outputs.read(metadata.output?.uri ?? "", { offset: 0, length: 200_000 })
      assert.strictEqual(total, metadata.output?.bytes)
      assert.strictEqual(
        Buffer.from(bytes).toString().slice(0, 100_020),
        `${piece.slice(0, -10)}‹redacted›`.padEnd(100_020, "x")
      )
    }).pipe(Effect.provide(talking(answering({
      stream: Stream.forever(
        Stream.make(`${"x".repeat(99_990)}${token.slice(0, 10)}`, `${token.slice(10)}${"x".repeat(100_000)}`)
      ).pipe(Stream.take(14))
    })))))
})

const limits = { inline: 8_192, spill: 20_000 }

/** A handler by itself, with small limits; `kept`: what it left in Outputs. */
const ask = (handler: BuiltinHandler) =>
  Effect.gen(function*() {
    const outputs = yield* Outputs
    const left = new Set<string>()
    const watched = Outputs.of({
      ...outputs,
      create: Effect.map(outputs.create, (writer) => {
        left.add(writer.uri)
        return {
          ...writer,
          discard: Effect.andThen(Effect.sync(() => left.delete(writer.uri)), writer.discard)
        }
      })
    })
    const { run } = yield* BuiltinRegistry.make(limits).pipe(
      Effect.provide(Layer.merge(
        BuiltinRegistry.layerWith(new Map([["talk", handler]])),
        Layer.succeed(Outputs, watched)
      ))
    )
    return { run: run(inputFor({ handler: "talk" }, { secrets: [Redacted.make(token)] })), left, outputs }
  })

class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", { secret: Schema.String }) {
  override get message() {
    return `Too many ask at once (${this.secret})`
  }
  get remediation() {
    return "Ask later"
  }
  get retryable() {
    return true
  }
}

describe("a stream that breaks off", () => {
  it.effect("is a typed error with its cause, and the head of what it gave", () =>
    Effect.gen(function*() {
      const error = reasonOf(yield* Effect.flip(call("talk")))
      if (error._tag !== "StreamFailed") throw new Error(error._tag)
      assert.deepInclude({ ...error }, { tool: "talk", output: "It was dark‹redacted›, tok-0" })
      assert.deepInclude(error.cause, { _tag: "Overloaded" })
      assert.deepStrictEqual([error.remediation, error.retryable], ["Ask later", true])
      assert.notInclude(JSON.stringify([error, error.message, yield* entries]), token)
    }).pipe(Effect.provide(talking(answering({
      stream: Stream.concat(
        Stream.make("It was dark", token.slice(0, 9), token.slice(9), ", tok-0"),
        Stream.fail(new Overloaded({ secret: token }))
      )
    })))))

  const pieces: ReadonlyArray<readonly [what: string, stream: Stream.Stream<unknown, unknown>, issue: RegExp]> = [
    ["by an error of Kiwi's", Stream.fail(full), /the disk is full/],
    ["by one of JavaScript", Stream.fail(new RangeError("secret-4711")), /^it fails$/],
    ["by a text", Stream.fail("secret-4711"), /^it fails$/],
    ["by nothing", Stream.fail(undefined), /^it fails$/],
    ["since it dies", Stream.die(new Error("secret-4711")), /^it fails$/],
    [
      "since it throws",
      Stream.map(Stream.make(1), (): string => {
        throw new Error("secret-4711")
      }),
      /^it fails$/
    ],
    ["with a number", Stream.make(1), /neither text nor an object/],
    ["with a list", Stream.make([1]), /neither text nor an object/],
    ["with null", Stream.make(null), /neither text nor an object/],
    ["with bytes", Stream.make(new Uint8Array(3)), /instance of a class/],
    ["with a bigint", Stream.make({ a: { b: 1n } }), /a bigint/],
    ["with a map", Stream.make(new Map()), /instance of a class/]
  ]
  for (const [what, stream, issue] of pieces) {
    it.effect(`${what}: what came before is kept`, () =>
      Effect.gen(function*() {
        const { left, run } = yield* ask(answering({ stream: Stream.concat(Stream.make("before"), stream) }))
        const error = yield* Effect.flip(run)
        if (error._tag !== "StreamFailed") throw new Error(`${error._tag}: ${error.message}`)
        assert.strictEqual(error.output, "before")
        assert.match(error.issue, issue)
        assert.notInclude(JSON.stringify(error), "secret-4711")
        assert.strictEqual(left.size, 0)
      }).pipe(Effect.provide(Layer.merge(OutputsMemory.layer, Logger.layer([])))))
  }

  for (const [what, size] of [["in memory", 6_000], ["on disk", 12_000]] as const) {
    it.effect(`late, ${what}: all of it is kept, and named`, () =>
      Effect.gen(function*() {
        const { outputs, run } = yield* ask(answering({
          stream: Stream.concat(Stream.make("é".repeat(size / 2), token), Stream.fail(full))
        }))
        const error = yield* Effect.flip(run)
        if (error._tag !== "StreamFailed") throw new Error(error._tag)
        assert.strictEqual(error.output, "é".repeat(2_048))
        const { bytes } = yield* outputs.read(error.kept ?? "", { offset: 0, length: 100_000 })
        assert.strictEqual(Buffer.from(bytes).toString(), `${"é".repeat(size / 2)}‹redacted›`)
      }).pipe(Effect.provide(OutputsMemory.layer)))
  }

  it.effect("since it never ends, at the cap", () =>
    Effect.gen(function*() {
      const { outputs, run } = yield* ask(answering({ stream: Stream.forever(Stream.make("0123456789".repeat(100))) }))
      const error = yield* Effect.flip(run)
      if (error._tag !== "StreamFailed") throw new Error(error._tag)
      assert.include(error.message, "longer than 20,000 bytes")
      const { total } = yield* outputs.read(error.kept ?? "", { offset: 0, length: 1 })
      assert.strictEqual(total, 20_000)
    }).pipe(Effect.provide(OutputsMemory.layer)))

  it.effect("since its call is: nothing of it goes on, and nothing is left", () =>
    Effect.gen(function*() {
      let ended = false
      const said = yield* Deferred.make<void>()
      const { left, run } = yield* ask(answering({
        stream: Stream.concat(
          Stream.make("x".repeat(10_000)),
          Stream.fromEffect(Effect.andThen(Deferred.succeed(said, undefined), Effect.never))
        ).pipe(Stream.ensuring(Effect.sync(() => {
          ended = true
        })))
      }))
      const fiber = yield* Effect.forkChild(run)
      yield* Deferred.await(said)
      assert.strictEqual(left.size, 1)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([ended, left.size], [true, 0])
    }).pipe(Effect.provide(OutputsMemory.layer)))
})

describe("a summary that cannot be used fails the call as a handler does", () => {
  const summaries: Readonly<Record<string, unknown>> = {
    "fails": () => Effect.fail(full),
    "fails with a text": () => Effect.fail("secret-4711"),
    "throws": () => {
      throw new Error("secret-4711")
    },
    "dies": () => Effect.die("secret-4711"),
    "answers a promise": () => Promise.resolve(1),
    "answers the data itself": () => "data",
    "answers a promise that fails": () => Promise.reject(new Error("secret-4711")),
    "answers nothing": () => Effect.void,
    "answers a date": () => Effect.succeed(new Date(0)),
    "is a text": "all of it"
  }
  for (const [what, summary] of Object.entries(summaries)) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const error = reasonOf(yield* Effect.flip(call("talk")))
        if (error._tag !== "BuiltinFailed") throw new Error(error._tag)
        assert.strictEqual(error.cause?._tag, what === "fails" ? "WriteRefused" : undefined)
        assert.notInclude(JSON.stringify(error), "secret-4711")
      }).pipe(Effect.provide(talking(answering({ stream: Stream.make("a"), summary })))))
  }

  it.effect("and so does a stream that is none", () =>
    Effect.gen(function*() {
      for (const stream of ["text", ["a"], undefined, null, Effect.succeed("a"), new ReadableStream()]) {
        const error = reasonOf(yield* Effect.provide(Effect.flip(call("talk")), talking(answering({ stream }))))
        assert.strictEqual(error._tag, "BuiltinFailed")
        assert.include(error.message, "does not answer a result")
      }
    }))
})
