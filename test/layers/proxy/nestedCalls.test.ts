// Calls that tools make over their own connection, with programs that are functions.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Latch, Schema } from "effect"
import { serveCalls } from "../../../src/layers/primitive/steps/serveCalls.ts"
import type { Program } from "../../../src/layers/process/ChildProcessesMemory.ts"
import { CallWarning } from "../../../src/services/call/CallWarning.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { Grant } from "../../../src/services/capability/Grant.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { Lockfiles } from "../../../src/services/lockfile/Lockfiles.ts"
import type { Connection } from "../../../src/services/process/ChildProcesses.ts"
import { NestedApproval } from "../../../src/services/proxy/nesting.ts"
import { agree } from "../../support/trustWorld.ts"
import { call, echo, entries, kernel, reasonOf, tool } from "./calls.ts"

const Reply = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.NullOr(Schema.Union([Schema.String, Schema.Int])),
  result: Schema.optionalKey(
    Schema.Struct({ status: Schema.String, data: Schema.Json, warnings: Schema.Array(CallWarning) })
  ),
  error: Schema.optionalKey(Schema.Struct({
    code: Schema.Int,
    message: Schema.String,
    data: Schema.optionalKey(Schema.Struct({ code: Schema.String }))
  }))
})
type Reply = typeof Reply.Type

const next = (connection: Connection) =>
  Effect.flatMap(
    connection.read,
    (bytes) => Effect.orDie(Schema.decodeEffect(Schema.fromJsonString(Reply))(new TextDecoder().decode(bytes)))
  )

const request = (item: string, parameters: Schema.JsonObject = {}, id: string | number = 1, rest = {}) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method: "execute", params: { item_id: item, parameters }, ...rest })}\n`

/** A program that sends text, and prints as many answers as it is told. */
const sends = (text: string, answers = 1): Program => ({ connection, env }) =>
  Effect.gen(function*() {
    if (connection === undefined) return { stdout: JSON.stringify({ none: true, socket: env["KIWI_SOCKET"] ?? null }) }
    yield* connection.write(text)
    const found = yield* Effect.forEach(Array.from({ length: answers }), () => next(connection))
    return { stdout: JSON.stringify(found) }
  })

const asks = (program: string, calls: ReadonlyArray<string> | undefined, more: Schema.JsonObject = {}) =>
  tool({
    ...more,
    config: { command: program, input: "none", output: "json", ...(calls === undefined ? {} : { calls }) }
  })

const world = (programs: Readonly<Record<string, Program>>, tools: Readonly<Record<string, string>> = {}) =>
  kernel({
    programs,
    project: {
      "tools/echo.yaml": echo,
      ...Object.fromEntries(Object.entries(tools).map(([id, text]) => [`tools/${id}.yaml`, text]))
    }
  })

const dataOf = (item: string, rest: Parameters<typeof call>[2] = {}) =>
  Effect.map(call(item, {}, { callId: "outer", ...rest }), ({ data }) => data)

/** What the tool printed: the replies that it got. */
const repliesTo = (item: string, rest: Parameters<typeof call>[2] = {}) =>
  Effect.flatMap(dataOf(item, rest), (data) => Effect.orDie(Schema.decodeUnknownEffect(Schema.Array(Reply))(data)))

const hello = request("echo", { text: "hello" })

describe("a tool that may call others", () => {
  it.effect("gets the result, and each call is in the audit with its parent", () =>
    Effect.gen(function*() {
      const [answer] = yield* repliesTo("outer")
      assert.deepInclude(answer?.result ?? {}, { status: "success", data: ["--", "hello"] })
      const written = yield* entries
      const inner = written.flatMap((entry) => entry.kind === "request" && entry.subject.item === "echo" ? [entry] : [])
      assert.strictEqual(inner[0]?.parent, "outer")
      const results = written.flatMap((entry) => entry.kind === "result" ? [entry.call] : [])
      assert.deepStrictEqual(results, [inner[0]?.call, "outer"])
    }).pipe(Effect.provide(world({ outer: sends(hello) }, { outer: asks("outer", ["tool.echo"]) }))))

  it.effect("ends without a warning, and so do its calls", () =>
    Effect.gen(function*() {
      const { data, warnings } = yield* call("outer")
      assert.deepStrictEqual(warnings, [])
      const replies = yield* Effect.orDie(Schema.decodeUnknownEffect(Schema.Array(Reply))(data))
      assert.deepStrictEqual(replies.map(({ result }) => result?.warnings), [[]])
    }).pipe(Effect.provide(world({ outer: sends(hello) }, { outer: asks("outer", ["tool.echo"]) }))))

  for (
    const { asked, locked, mode } of [
      { mode: "warn", asked: "strict", locked: false },
      { mode: "strict", asked: "off", locked: false },
      { mode: "warn", asked: "strict", locked: true }
    ] as const
  ) {
    it.effect(`asked for ${asked} over ${mode}, calls ${locked ? "a locked" : "no unlocked"} tool`, () =>
      Effect.gen(function*() {
        const signatures = yield* Signatures
        const lockfiles = yield* Lockfiles
        for (const id of ["outer", "echo"]) {
          const plan = yield* signatures.plan({ id, tier: "project", changedOnly: true })
          const act = agree(plan.request)
          const signed = yield* signatures.sign(plan, act)
          if (locked || id === "outer") yield* lockfiles.lockSigned(signed, act)
        }
        const [answer] = yield* repliesTo("outer", { lockfileMode: asked })
        assert.strictEqual(answer?.error?.data?.code, locked ? undefined : "LOCK_MISSING")
        assert.strictEqual(answer?.result?.status, locked ? "success" : undefined)
      }).pipe(Effect.provide(kernel({
        signatures: "checked",
        settings: { lockfileMode: mode },
        programs: { outer: sends(hello) },
        project: new Map([["tools/echo.yaml", echo], ["tools/outer.yaml", asks("outer", ["tool.echo"])]])
      }))))
  }

  it.effect("has no connection unless its signed config asks for it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* dataOf("outer"), { none: true, socket: null })
    }).pipe(Effect.provide(world({ outer: sends(hello) }, { outer: asks("outer", undefined) }))))

  it.effect("gets neither the token nor anything that is like it", () =>
    Effect.gen(function*() {
      const [environment, text] = Array.from((yield* dataOf("outer")) as ReadonlyArray<Schema.Json>)
      assert.deepStrictEqual(environment, ["KIWI_PROJECT", "KIWI_SOCKET"])
      assert.notMatch(String(text), /eyJ|kiwi-cap/)
    }).pipe(Effect.provide(world({
      outer: ({ argv, connection, env, stdin }) =>
        Effect.gen(function*() {
          yield* connection!.write(hello)
          const answer = yield* next(connection!)
          const kiwis = Object.keys(env).filter((name) => name.startsWith("KIWI_"))
          return { stdout: JSON.stringify([kiwis, JSON.stringify([argv, env, stdin, answer])]) }
        })
    }, { outer: asks("outer", ["tool.echo"]) }))))

  it.effect("may do what its config says, and nothing beside it", () =>
    Effect.gen(function*() {
      for (const granted of ["tool.echo", "tool.e*", "tool.*(script)"]) {
        const [answer] = yield* Effect.provide(
          repliesTo("outer"),
          world({ outer: sends(hello) }, { outer: asks("outer", [granted]) })
        )
        assert.strictEqual(answer?.result?.status, "success", granted)
      }
      for (const granted of ["tool.other", "tool.ech", "tool.*(python)", "fs.write(**)", "kiwi.execute", "mcp.echo"]) {
        const [answer] = yield* Effect.provide(
          repliesTo("outer"),
          world({ outer: sends(hello) }, { outer: asks("outer", [granted]) })
        )
        assert.strictEqual(answer?.error?.data?.code, "PERMISSION_DENIED", granted)
      }
    }))

  it.effect("is refused if what it asks for cannot be understood", () =>
    Effect.gen(function*() {
      for (
        const wrong of [
          "echo",
          "tool.echo()",
          "fs.read",
          "fs.read(../**)",
          "process.exec",
          "secret.use",
          "tool.{x}",
          "**"
        ]
      ) {
        const refused = Effect.map(Effect.flip(dataOf("outer")), reasonOf)
        const reason = yield* Effect.provide(
          refused,
          world({ outer: sends(hello) }, { outer: asks("outer", [wrong]) })
        )
        assert.strictEqual(reason._tag, "ConfigInvalid", wrong)
        assert.include(reason.message, "calls/0", wrong)
      }
    }))

  it.effect("cannot get more than a token that it was called with", () =>
    Effect.gen(function*() {
      const tokens = yield* CapabilityTokens
      const withToken = Effect.fnUntraced(function*(allow: ReadonlyArray<Grant>, deny: ReadonlyArray<Grant> = []) {
        const token = yield* tokens.mint({ thread: "t", directive: "d", grants: { allow, deny } })
        return yield* repliesTo("outer", { thread: "t", token })
      })
      const own: Grant = { capability: "tool.outer" }
      const escalation = yield* Effect.flip(withToken([own]))
      assert.deepInclude(escalation, { _tag: "PermissionEscalation", tool: "outer", exceeding: ["tool.echo"] })
      const narrow = yield* Effect.flip(
        withToken([own, { capability: "tool.echo", parameters: { text: { enum: ["x"] } } }])
      )
      assert.strictEqual(narrow._tag, "PermissionEscalation")
      const [answer] = yield* withToken([own, { capability: "tool.*" }])
      assert.strictEqual(answer?.result?.status, "success")
      const [denied] = yield* withToken([own, { capability: "tool.*" }], [{ capability: "tool.echo" }])
      assert.strictEqual(denied?.error?.data?.code, "PERMISSION_DENIED")
    }).pipe(Effect.provide(world({ outer: sends(hello) }, { outer: asks("outer", ["tool.echo"]) }))))

  it.effect("stops calling itself after a few calls, with a typed error", () =>
    Effect.gen(function*() {
      const deepest = JSON.stringify(yield* dataOf("outer"))
      assert.include(deepest, "CALLS_TOO_DEEP")
      const runs = (yield* entries).filter(({ kind }) => kind === "request").length
      assert.strictEqual(runs, 6)
      const denied = (yield* entries).flatMap((entry) =>
        entry.kind === "result" && entry.outcome === "denied" ? [entry] : []
      )
      assert.deepStrictEqual(denied.map(({ error }) => error?.code), ["CALLS_TOO_DEEP"])
    }).pipe(Effect.provide(world({ outer: sends(request("outer")) }, { outer: asks("outer", ["tool.outer"]) }))))
})

describe("a defect of Kiwi in the call of a tool", () => {
  const broken: ReadonlyArray<readonly [string, typeof NestedApproval.Service.ask]> = [
    ["thrown before the call", () => {
      throw new Error("planted")
    }],
    ["in the call", () => Effect.die("planted")]
  ]
  for (const [where, ask] of broken) {
    it.effect(`${where} is answered`, () =>
      Effect.gen(function*() {
        const [answer] = yield* repliesTo("outer")
        assert.strictEqual(answer?.error?.code, -32603)
        assert.notInclude(JSON.stringify(answer), "planted")
      }).pipe(
        Effect.provideService(NestedApproval, { ask }),
        Effect.provide(world({ outer: sends(hello) }, { outer: asks("outer", ["tool.echo"]) }))
      ))
  }

  const failing: ReadonlyArray<readonly [string, Effect.Effect<Uint8Array | undefined>]> = [
    ["that dies", Effect.die("planted")],
    ["that throws", Effect.sync(() => JSON.parse("planted"))]
  ]
  for (const [what, read] of failing) {
    it.effect(`ends a connection ${what} with a message`, () =>
      Effect.gen(function*() {
        const written: Array<string> = []
        const connection: Connection = { read, write: (text) => Effect.sync(() => written.push(text)) }
        yield* serveCalls({ chain: { leaf: { tool: { location: { id: "outer" } } } } } as never, {} as never)(
          connection
        )
        const [last] = yield* Effect.forEach(written, (text) => Schema.decodeEffect(Schema.fromJsonString(Reply))(text))
        assert.strictEqual(last?.error?.code, -32603)
        assert.lengthOf(written, 1)
      }))
  }
})

describe("the connection of a tool", () => {
  const hostile: ReadonlyArray<readonly [name: string, text: string, code: number]> = [
    ["no JSON", "hello\n", -32700],
    ["half of JSON", "{\"jsonrpc\": \"2.0\"\n", -32700],
    ["deep JSON", `${"[".repeat(100_000)}${"]".repeat(100_000)}\n`, -32700],
    ["deep parameters", request("echo", { text: JSON.parse("[".repeat(500) + "]".repeat(500)) }), -32700],
    ["a number", "1\n", -32600],
    ["a batch", `[${hello.trim()}]\n`, -32600],
    ["another version", request("echo", {}, 1, { jsonrpc: "1.0" }), -32600],
    ["no id", `{"jsonrpc":"2.0","method":"execute","params":{"item_id":"echo"}}\n`, -32600],
    ["an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"execute"}\n`, -32600],
    ["a long id", request("echo", {}, "x".repeat(1_000)), -32600],
    ["a token of its own", request("echo", {}, 1, { token: "a.b.c" }), -32600],
    ["an unknown method", request("echo", {}, 1, { method: "sign" }), -32601],
    ["a method of objects", request("echo", {}, 1, { method: "constructor" }), -32601],
    ["no item", request("echo", {}, 1, { params: {} }), -32602],
    ["a caller of its own", request("echo", {}, 1, { params: { item_id: "echo", caller: "me" } }), -32602],
    ["no place in the audit", request("echo", {}, 1, { params: { item_id: "echo", within: [] } }), -32602],
    ["a list for parameters", request("echo", {}, 1, { params: { item_id: "echo", parameters: [] } }), -32602],
    ["a line that never ends", "x".repeat(1_100_000), -32600]
  ]
  for (const [name, text, code] of hostile) {
    it.effect(`answers ${name} with an error`, () =>
      Effect.gen(function*() {
        const [answer] = yield* repliesTo("outer")
        assert.strictEqual(answer?.error?.code, code)
        assert.strictEqual((yield* entries).filter(({ kind }) => kind === "request").length, 1)
      }).pipe(Effect.provide(world({ outer: sends(text) }, { outer: asks("outer", ["tool.*"]) }))))
  }

  it.effect("goes on after a message that was wrong, and takes several in one piece", () =>
    Effect.gen(function*() {
      const answers = yield* repliesTo("outer")
      assert.deepStrictEqual(answers.map(({ error, id }) => [id, error?.code]), [
        [null, -32700],
        ["a", undefined],
        ["b", undefined]
      ])
    }).pipe(Effect.provide(world({
      outer: sends(`nonsense\n\n${request("echo", { text: "1" }, "a")}${request("echo", { text: "2" }, "b")}`, 3)
    }, { outer: asks("outer", ["tool.echo"]) }))))

  it.effect("refuses an id that is in use, and takes it again later", () =>
    Effect.gen(function*() {
      const open = yield* Latch.make()
      const answers = yield* Effect.provide(
        repliesTo("outer"),
        world({
          slow: () => Effect.as(open.await, { stdout: "done" }),
          outer: ({ connection }) =>
            Effect.gen(function*() {
              yield* connection!.write(request("slow") + request("slow"))
              const refused = yield* next(connection!)
              yield* open.open
              const first = yield* next(connection!)
              yield* connection!.write(request("slow"))
              return { stdout: JSON.stringify([refused, first, yield* next(connection!)]) }
            })
        }, { outer: asks("outer", ["tool.slow"]), slow: tool({ config: { command: "slow" } }) })
      )
      assert.deepStrictEqual(answers.map(({ error, result }) => error?.code ?? result?.data), [
        -32600,
        "done",
        "done"
      ])
    }))

  it.effect("is not shared: two tools at once have one each, with a grant each", () =>
    Effect.gen(function*() {
      const found = yield* Effect.all([repliesTo("a", { callId: "a" }), repliesTo("b", { callId: "b" })], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(found.map(([one]) => one?.error?.data?.code ?? "done"), ["done", "PERMISSION_DENIED"])
    }).pipe(Effect.provide(world({ outer: sends(hello) }, {
      a: asks("outer", ["tool.echo"]),
      b: asks("outer", ["tool.other"])
    }))))

  it.effect("ends with its call: what the tool still runs is interrupted, and recorded before it", () =>
    Effect.gen(function*() {
      const started = yield* Latch.make()
      yield* Effect.provide(
        Effect.gen(function*() {
          yield* dataOf("leaves")
          const ends = (yield* entries).flatMap((entry) =>
            entry.kind === "result" ? [[entry.subject.item, entry.outcome]] : []
          )
          assert.deepStrictEqual(ends, [["slow", "interrupted"], ["leaves", "success"]])
          const fiber = yield* Effect.forkChild(dataOf("waits", { callId: "second" }))
          yield* started.await
          yield* Fiber.interrupt(fiber)
          const later = (yield* entries).flatMap((entry) =>
            entry.kind === "result" ? [[entry.subject.item, entry.outcome]] : []
          )
          assert.deepStrictEqual(later.slice(2), [["slow", "interrupted"], ["waits", "interrupted"]])
        }),
        world({
          slow: () => Effect.andThen(started.open, Effect.never),
          leaves: ({ connection }) =>
            Effect.gen(function*() {
              yield* connection!.write(request("slow"))
              yield* started.await
              yield* started.close
              return { stdout: "{}" }
            }),
          waits: sends(request("slow"))
        }, {
          leaves: asks("leaves", ["tool.slow"]),
          waits: asks("waits", ["tool.slow"]),
          slow: tool({ config: { command: "slow" } })
        })
      )
    }))

  it.effect("never waits for the place of its own call", () =>
    Effect.gen(function*() {
      const several = request("echo", { text: "1" }, 1) + request("echo", { text: "2" }, 2) +
        request("middle", {}, 3) + request("echo", { text: "4" }, 4)
      const answers = yield* Effect.provide(
        repliesTo("outer"),
        kernel({
          programs: { outer: sends(several, 4), middle: sends(hello) },
          settings: { limitsConcurrency: { caller: 1, tools: { "*": 1 } } },
          project: {
            "tools/echo.yaml": echo,
            "tools/outer.yaml": asks("outer", ["tool.*"]),
            "tools/middle.yaml": asks("middle", ["tool.echo"])
          }
        })
      )
      assert.deepStrictEqual(
        answers.map(({ result }) => result?.status),
        Array.from({ length: 4 }, () => "success")
      )
    }))
})

/** A clock that jumps: to adjust TestClock would run what Kiwi does each second, hour by hour. */
const makeJumps = () => {
  let by = 0
  const jump = (time: Duration.Input) => Effect.sync(() => void (by += Duration.toMillis(time)))
  const provide = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.clockWith((clock) => {
      const millis = () => clock.currentTimeMillisUnsafe() + by
      const later: Clock.Clock = Object.assign(Object.create(clock), {
        currentTimeMillisUnsafe: millis,
        currentTimeMillis: Effect.sync(millis)
      })
      return Effect.provideService(effect, Clock.Clock, later)
    })
  /** A program that calls after each of these times. */
  const callsAfter = (item: string, ...times: ReadonlyArray<Duration.Input>): Program => ({ connection }) =>
    Effect.gen(function*() {
      const found = yield* Effect.forEach(times, (time, id) =>
        Effect.gen(function*() {
          yield* jump(time)
          yield* connection!.write(request(item, item === "echo" ? { text: "hello" } : {}, id))
          return yield* next(connection!)
        }))
      return { stdout: JSON.stringify(found) }
    })
  return { callsAfter, provide }
}

describe("a tool that runs long", () => {
  const long = (program: string, calls: ReadonlyArray<string>) =>
    tool({ config: { command: program, input: "none", output: "json", timeout: 86_400, calls } })

  const rows: ReadonlyArray<readonly [title: string, times: ReadonlyArray<Duration.Input>]> = [
    ["at once", [0]],
    ["after 59 minutes", ["59 minutes"]],
    ["after an hour", ["1 hour"]],
    ["after 61 minutes", ["61 minutes"]],
    ["after 12 hours", ["12 hours"]],
    ["a minute before its time is up", ["1439 minutes"]],
    ["every half hour", Array.from({ length: 20 }, () => "30 minutes" as const)],
    ["at once and late", [0, "2 hours", 0, "20 hours"]]
  ]
  for (const [title, times] of rows) {
    const { callsAfter, provide } = makeJumps()
    it.effect(`calls ${title}`, () =>
      Effect.gen(function*() {
        const replies = yield* provide(repliesTo("outer"))
        assert.deepStrictEqual(replies.map(({ error }) => error?.data?.code), times.map(() => undefined))
      }).pipe(Effect.provide(world({ outer: callsAfter("echo", ...times) }, { outer: long("outer", ["tool.echo"]) }))))
  }

  it.effect("calls one that runs long and calls", () => {
    const { callsAfter, provide } = makeJumps()
    return Effect.gen(function*() {
      const [reply] = yield* provide(repliesTo("outer"))
      const [inner] = yield* Effect.orDie(Schema.decodeUnknownEffect(Schema.Array(Reply))(reply?.result?.data))
      assert.strictEqual(inner?.result?.status, "success", JSON.stringify(reply))
    }).pipe(Effect.provide(world(
      { outer: callsAfter("middle", "5 hours"), middle: callsAfter("echo", "5 hours") },
      { outer: long("outer", ["tool.middle", "tool.echo"]), middle: long("middle", ["tool.echo"]) }
    )))
  })

  for (
    const [life, after, code] of [
      ["3 hours", "2 hours", undefined],
      ["24 hours", "23 hours", undefined],
      ["2 hours", "3 hours", "TOKEN_INVALID"],
      ["10 minutes", "11 minutes", "TOKEN_INVALID"]
    ] as const
  ) {
    const { callsAfter, provide } = makeJumps()
    it.effect(`whose thread's token lives ${life}, ${code === undefined ? "calls" : "calls no more"} after ${after}`, () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const grants = { allow: [{ capability: "tool.*" }], deny: [] }
        const token = yield* tokens.mint({
          thread: "t1",
          directive: "d1",
          grants,
          life: Duration.fromInputUnsafe(life)
        })
        const [reply] = yield* provide(repliesTo("outer", { thread: "t1", token }))
        assert.strictEqual(reply?.error?.data?.code, code)
      }).pipe(Effect.provide(world({ outer: callsAfter("echo", after) }, { outer: long("outer", ["tool.echo"]) }))))
  }
})
