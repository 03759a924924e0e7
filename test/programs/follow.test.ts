import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { execute } from "../../src/programs/execute.ts"
import { inputSchema, substitute } from "../../src/programs/follow.ts"
import { AuditLog, AuditUnavailable } from "../../src/services/audit/AuditLog.ts"
import { caller, echo, entries, kernel } from "../layers/proxy/calls.ts"
import { directive, inputs, knowledge } from "./items.ts"

const follow = (id: string, parameters: Schema.JsonObject = {}) =>
  execute({ id, parameters, dryRun: false, callId: "call" }, caller)

const greet = { "directives/greet.md": directive("greet", "Greet {{who}}", inputs) }

describe("following a directive", () => {
  it.effect("hands over the steps with the inputs put in, defaults too, and leaves what is no input", () =>
    Effect.gen(function*() {
      const { data, status } = yield* follow("greet", { who: "Ada" })
      assert.strictEqual(status, "ready")
      assert.deepInclude(data, {
        name: "greet",
        description: "Greet Ada",
        inputs: { who: "Ada", what: "hello" },
        steps: [{ name: "one", description: "For Ada", action: "Tell Ada: hello and {{other}}" }]
      })
    }).pipe(Effect.provide(kernel({ project: greet }))))

  it.effect("puts them in once: an input that looks like a place stays what it is", () =>
    Effect.gen(function*() {
      const { data } = yield* follow("greet", { who: "{{what}}", what: "{{who}} $& $1 ${HOME}" })
      assert.deepInclude(data, {
        steps: [{
          name: "one",
          description: "For {{what}}",
          action: "Tell {{what}}: {{who}} $& $1 ${HOME} and {{other}}"
        }]
      })
    }).pipe(Effect.provide(kernel({ project: greet }))))

  it.prop(
    "never looks twice",
    [Schema.String, Schema.String],
    ([one, two]) => substitute("a {{one}} b {{two}} c", { one, two }) === `a ${one} b ${two} c`
  )

  it("puts in what is no text as JSON", () => {
    assert.strictEqual(substitute("{{ n }} {{list}} {{toString}}", { n: 1, list: ["a"] }), `1 ["a"] {{toString}}`)
  })

  for (
    const [what, parameters, fields] of [
      ["missing", {}, ["who"]],
      ["of the wrong type", { who: "Ada", times: "2" }, ["times"]],
      ["not declared", { who: "Ada", shell: "x" }, ["shell"]]
    ] as const
  ) {
    it.effect(`refuses an input that is ${what}, and records a failure`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(follow("greet", parameters))
        assert.strictEqual(error._tag, "ParametersInvalid")
        if (error._tag === "ParametersInvalid") assert.deepStrictEqual(error.issues.map((i) => i.field), [...fields])
        const result = (yield* entries)[1]
        assert.deepInclude(result, { kind: "result", outcome: "failure" })
      }).pipe(Effect.provide(kernel({ project: greet }))))
  }

  it.effect("follows nothing of a restricted project, and nothing unsigned: denied, and recorded", () =>
    Effect.gen(function*() {
      for (
        const [options, tag] of [
          [{ project: greet, trusted: false }, "ProjectRestricted"],
          [{ project: greet, signatures: "checked" as const }, "Unsigned"]
        ] as const
      ) {
        yield* Effect.gen(function*() {
          const error = yield* Effect.flip(follow("greet", { who: "Ada" }))
          assert.strictEqual(error._tag, tag)
          const [request, result] = yield* entries
          assert.include(request, { kind: "request", operation: "follow" })
          assert.include(result, { kind: "result", outcome: "denied" })
        }).pipe(Effect.provide(kernel(options)))
      }
    }))

  it.effect("records what it hands over, by digest", () =>
    Effect.gen(function*() {
      const followed = yield* follow("greet", { who: "Ada" })
      const digest = "digest" in followed.metadata ? followed.metadata.digest : ""
      const [request, result] = yield* entries
      assert.deepInclude(request, { subject: { type: "directive", item: "greet", tier: "project" } })
      assert.deepInclude(result, {
        outcome: "success",
        rule: "follow-believed",
        subject: { type: "directive", item: "greet", tier: "project", version: "1.0.0", digest }
      })
    }).pipe(Effect.provide(kernel({ project: greet }))))

  const forgetful = (kind: string) =>
    Layer.succeed(
      AuditLog,
      AuditLog.of({
        append: (record) => record.kind === kind ? Effect.fail(new AuditUnavailable({ detail: "full" })) : Effect.void,
        read: () => Effect.succeed([]),
        stream: () => Stream.empty,
        follow: () => Stream.empty,
        verify: Effect.die("unused"),
        verifyAgainst: () => Effect.die("unused"),
        anchor: Effect.die("unused"),
        prune: Effect.die("unused")
      })
    )
  for (const kind of ["request", "result"]) {
    it.effect(`hands over nothing when its ${kind} cannot be recorded`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(follow("greet", { who: "Ada" })))._tag, "AuditUnavailable")
      }).pipe(Effect.provide(Layer.provideMerge(forgetful(kind), kernel({ project: greet })))))
  }

  it("has a schema, also where the directive brings none", () => {
    const schema = inputSchema({
      inputSchema: undefined,
      inputs: [
        { name: "a", type: "string", required: true, description: "" },
        { name: "b", type: "integer", required: true, default: 1, description: "B" }
      ]
    })
    assert.deepStrictEqual(schema, {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "integer", description: "B", default: 1 } },
      required: ["a"]
    })
  })
})

it.effect("execute reads knowledge, follows a directive and runs a tool, by id alone", () =>
  Effect.gen(function*() {
    assert.deepInclude((yield* follow("note")).data, { title: "A note", content: "Body.\n" })
    assert.deepInclude((yield* follow("greet", { who: "Ada" })).data, { name: "greet" })
    assert.deepStrictEqual((yield* follow("echo", { text: "x" })).data, ["--", "x"])
    const unknown = yield* Effect.flip(follow("nothing"))
    assert.strictEqual(unknown._tag, "ItemNotFound")
  }).pipe(Effect.provide(kernel({
    project: { ...greet, "knowledge/note.md": knowledge("A note", "Body."), "tools/echo.yaml": echo }
  }))))
