// Kiwi in a minute: an agent finds, runs and writes tools, asks for signatures, and is refused what nobody agreed to.
// The built server, the official client and four kinds of tools are real. The demo plays the person, and says so. The
// demo stops at the first scene that fails.
import { Clock, Data, Effect, Path, Schema } from "effect"
import * as ChildProcessesNode from "../../layers/process/ChildProcessesNode.ts"
import type { Agent, AgentFailed, Answer } from "./agent.ts"
import { connect } from "./agent.ts"
import { DemoFailed } from "./Scene.ts"
import type { Line, Scene } from "./Scene.ts"
import * as World from "./world.ts"

/** A scene had an unexpected result. */
class SceneFailed extends Data.TaggedError("SceneFailed")<{ readonly what: string }> {}

const Hits = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      state: Schema.String,
      call: Schema.optionalKey(Schema.String),
      description: Schema.optionalKey(Schema.String)
    })
  )
})
const Loaded = Schema.Struct({
  state: Schema.String,
  signed_by: Schema.String,
  item: Schema.Struct({ version: Schema.String })
})
const Initialized = Schema.Struct({ trust: Schema.Literal("trusted"), signed: Schema.Array(Schema.String) })
const Signed = Schema.Struct({ signed: Schema.Array(Schema.Struct({ id: Schema.String, digest: Schema.String })) })
const Entries = Schema.Struct({
  entries: Schema.Array(
    Schema.Struct({
      kind: Schema.String,
      operation: Schema.optionalKey(Schema.String),
      outcome: Schema.optionalKey(Schema.String),
      title: Schema.optionalKey(Schema.String),
      subject: Schema.optionalKey(Schema.Struct({ item: Schema.String })),
      error: Schema.optionalKey(Schema.Struct({ code: Schema.String }))
    })
  )
})
const Verified = Schema.Struct({ intact: Schema.Boolean, entries: Schema.Int })

const json = (value: unknown): string => JSON.stringify(value)

const expect = (holds: boolean, what: () => string): Effect.Effect<void, SceneFailed> =>
  holds ? Effect.void : Effect.fail(new SceneFailed({ what: what() }))

const decode = <A, I>(schema: Schema.Codec<A, I>, value: unknown): Effect.Effect<A, SceneFailed> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(schema)(value),
    () => new SceneFailed({ what: `Kiwi answered ${json(value)?.slice(0, 400) ?? "nothing"}` })
  )

const succeeded = (answer: Answer): Effect.Effect<void, SceneFailed> =>
  expect(answer.status === "success", () => `Kiwi answered ${json(answer).slice(0, 400)}`)

const refused = Effect.fnUntraced(function*(answer: Answer, code: string) {
  yield* expect(answer.error?.code === code, () => `${code} was expected, Kiwi answered ${json(answer).slice(0, 400)}`)
  const { message = "", remediation } = answer.error ?? {}
  const lines: ReadonlyArray<Line> = [
    { who: "refusal", text: `${code}: ${message}` },
    ...(remediation === undefined ? [] : [{ who: "kiwi", text: `what helps: ${remediation}` } as const])
  ]
  return lines
})

interface Cast {
  readonly world: World.World
  readonly agent: Agent
}

type Play = Effect.Effect<ReadonlyArray<Line>, AgentFailed | SceneFailed>

/** Arguments joined by blanks, at which a line can be wrapped. */
const said = (tool: string, args: Schema.JsonObject): Line => ({
  who: "agent",
  text: `${tool} {${Object.entries(args).map(([name, value]) => `"${name}":${json(value)}`).join(", ")}}`
})

const runs = Effect.fnUntraced(function*(
  { agent }: Cast,
  item_id: string,
  parameters: Schema.JsonObject,
  fits: (data: unknown) => boolean,
  language: string
) {
  const args = { item_id, parameters }
  const answer = yield* agent.call("execute", args)
  yield* succeeded(answer)
  yield* expect(fits(answer.data), () => `${item_id} answered ${json(answer.data)}`)
  const lines: ReadonlyArray<Line> = [
    said("execute", args),
    { who: "kiwi", text: `${typeof answer.data === "string" ? answer.data.trim() : json(answer.data)}  (${language})` }
  ]
  return lines
})

const is = (wanted: Schema.Json) => (data: unknown): boolean => json(data) === json(wanted)

interface Script {
  readonly title: string
  readonly why: string
  readonly play: (cast: Cast) => Play
}

const theTool = ["shop", "order_status.yaml"] as const

/** The scenes after the agent has connected. */
const script = (join: (...parts: ReadonlyArray<string>) => string): ReadonlyArray<Script> => [
  {
    title: "An agent connects, by MCP over stdio",
    why: "The agent sees five tools, however many Kiwi can find: its context stays free.",
    play: Effect.fnUntraced(function*({ agent }) {
      const names = yield* agent.tools
      yield* expect(names.join() === "search,load,execute,sign,help", () => `its tools are ${names.join(", ")}`)
      return [{ who: "kiwi", text: names.join("  ") }]
    })
  },
  {
    title: "It looks for a tool",
    why: "A hit says how to call the tool, and whether it can run now.",
    play: Effect.fnUntraced(function*({ agent }) {
      const args = { query: "add two numbers", limit: 1 }
      const { results: [first] } = yield* decode(Hits, (yield* agent.call("search", args)).data)
      yield* expect(first?.id === "add" && first.state === "ok", () => `it found ${json(first) ?? "nothing"}`)
      return [
        said("search", args),
        { who: "kiwi", text: `${first?.call ?? ""}  ${first?.state ?? ""}  ${first?.description ?? ""}` }
      ]
    })
  },
  {
    title: "It reads before it runs",
    why: "It is shown exactly the bytes that were signed, and who signed them.",
    play: Effect.fnUntraced(function*({ agent }) {
      const args = { item_id: "add" }
      const { item, signed_by, state } = yield* decode(Loaded, (yield* agent.call("load", args)).data)
      yield* expect(state === "ok", () => `its state is ${state}`)
      return [
        said("load", args),
        { who: "kiwi", text: `add ${item.version}, signed by ${signed_by}` }
      ]
    })
  },
  {
    title: "It runs Python, bash and Node",
    why: "Parameters are checked against the tool's own schema, and stay data: there is no shell in between.",
    play: Effect.fnUntraced(function*(cast) {
      return [
        ...(yield* runs(cast, "add", { a: 1, b: 2 }, is({ sum: 3 }), "Python")),
        ...(yield* runs(
          cast,
          "find_text",
          { text: "kiwi; rm -rf /" },
          (data) => typeof data === "string" && data.includes("notes.txt:1:"),
          "bash"
        )),
        ...(yield* runs(cast, "slug", { title: "Kiwi in a Minute" }, is({ slug: "kiwi-in-a-minute" }), "Node"))
      ]
    })
  },
  {
    title: "It writes a tool of its own, and is refused",
    why: "A prompt can make an agent write anything. What it writes runs when you have read it, not before.",
    play: Effect.fnUntraced(function*({ agent, world }) {
      const args = { item_id: "order_status", parameters: { order: 42 } }
      yield* world.write(join(world.project, ".ai/tools", ...theTool), world.orderStatus)
      return [
        { who: "agent", text: `writes .ai/tools/${theTool.join("/")}` },
        said("execute", args),
        ...(yield* refused(yield* agent.call("execute", args), "UNSIGNED"))
      ]
    })
  },
  {
    title: "It asks for your signature",
    why: "An agent can only ask. Exactly the bytes that you were shown are signed.",
    play: Effect.fnUntraced(function*({ agent, world }) {
      const args = { item_id: "order_status" }
      const answer = yield* agent.call("sign", args)
      // If an agent runs the demo, its client's answers do not count as a person's.
      if (answer.error?.code === "HUMAN_REQUIRED") {
        const refusal = yield* refused(answer, "HUMAN_REQUIRED")
        yield* world.kiwi("sign", "tool", "order_status", "--project", world.project)
        return [
          said("sign", args),
          ...refusal,
          { who: "you", text: "kiwi sign tool order_status  (in this demo, you are played)" }
        ]
      }
      const [question = "", ...more] = agent.asked()
      yield* expect(more.length === 0 && question.includes("private_hosts"), () => `you were asked: ${question}`)
      const { signed: [one] } = yield* decode(Signed, answer.data)
      yield* expect(one?.id === "order_status", () => "something else was signed")
      return [
        said("sign", args),
        { who: "kiwi", text: `asks you: ${question.split("\n", 1)[0] ?? ""}? (and shows all of it)` },
        { who: "you", text: "yes  (in this demo, you are played)" },
        { who: "kiwi", text: `signed  sha256 ${one?.digest.slice(0, 16) ?? ""}…` }
      ]
    })
  },
  {
    title: "Now the same call runs, over HTTP",
    why: "The signed file says where it may connect to. No parameter can change that.",
    play: (cast) => runs(cast, "order_status", { order: 42 }, is({ order: 42, status: "shipped" }), "HTTP")
  },
  {
    title: "Somebody changes a signed tool",
    why: "The signature covers content, name and place. Kiwi runs the verified copy, never the file.",
    play: Effect.fnUntraced(function*({ agent, world }) {
      const file = join(world.project, ".ai/tools/math/add.py")
      yield* world.write(file, (yield* world.read(file)).replace("given.a + given.b", "given.a - given.b"))
      const args = { item_id: "add", parameters: { a: 1, b: 2 } }
      return [
        { who: "check", text: "a + becomes a - in .ai/tools/math/add.py" },
        said("execute", args),
        ...(yield* refused(yield* agent.call("execute", args), "TAMPERED"))
      ]
    })
  },
  {
    title: "Signed again, it still differs from its lock",
    why:
      "Signing locks a tool with everything that it is built on. In strict mode, nothing else runs, whoever signed it.",
    play: Effect.fnUntraced(function*({ agent, world }) {
      yield* world.kiwi("sign", "tool", "add", "--no-freeze", "--project", world.project)
      const args = { item_id: "add", parameters: { a: 1, b: 2 }, lockfile_mode: "strict" }
      return [
        { who: "you", text: "kiwi sign tool add --no-freeze" },
        said("execute", args),
        ...(yield* refused(yield* agent.call("execute", args), "LOCK_MISMATCH"))
      ]
    })
  },
  {
    title: "A repository that a stranger made",
    why: "It brings a valid signature, its signer's name to trust, and a .env. None of it counts until you say so.",
    play: ({ world }) =>
      Effect.scoped(Effect.gen(function*() {
        const agent = yield* connect(world.serve(world.clone))
        const find = { query: "faster" }
        const { results } = yield* decode(Hits, (yield* agent.call("search", find)).data)
        const hit = results.find(({ id }) => id === "faster")
        yield* expect(
          hit?.state === "restricted" && hit.description === undefined && hit.call === undefined,
          () => `it found ${json(hit) ?? "nothing"}`
        )
        const args = { item_id: "faster" }
        const lines = yield* refused(yield* agent.call("execute", args), "PROJECT_RESTRICTED")
        yield* expect(!(yield* world.marked), () => "it ran")
        return [
          said("search", find),
          { who: "kiwi", text: "faster  restricted" },
          said("execute", args),
          ...lines
        ]
      }))
  }
]

const audit: Omit<Script, "play"> & { readonly play: (world: World.World) => Play } = {
  title: "What happened, as evidence",
  why: "Each entry holds the hash of the one before, and is written before anything runs.",
  play: Effect.fnUntraced(function*(world) {
    const shown = yield* world.kiwi("audit", "show", "--limit", "200", "--project", world.project)
    const { entries } = yield* decode(Entries, shown.answer)
    const ended = entries.flatMap((entry) => {
      // `refused` is expected if an agent runs the demo: its client's answers do not count as a person's.
      const what = entry.outcome === "agreed" || entry.outcome === "refused"
        ? undefined
        : entry.kind === "act"
        ? entry.title
        : entry.kind === "result" && entry.operation === undefined
        ? entry.subject?.item
        : undefined
      return what === undefined ? [] : [{
        what,
        outcome: entry.error === undefined ? entry.outcome ?? "" : `${entry.outcome ?? ""}: ${entry.error.code}`
      }]
    })
    const shownEntries = ended.filter(({ what }) =>
      /^(add|find_text|slug|order_status)$|^Sign.*order_status/.test(what)
    )
    const wanted = [
      "success",
      "success",
      "success",
      "denied: UNSIGNED",
      "done",
      "success",
      "denied: TAMPERED",
      "denied: LOCK_MISMATCH"
    ]
    yield* expect(
      json(shownEntries.map(({ outcome }) => outcome)) === json(wanted),
      () => `the audit says ${json(ended)}`
    )
    const checked = yield* world.kiwi("audit", "verify", "--project", world.project)
    const report = yield* decode(Verified, checked.answer)
    yield* expect(checked.code === 0 && report.intact && report.entries > 0, () => `it is not intact: ${json(report)}`)
    return [
      { who: "you", text: "kiwi logs" },
      ...shownEntries.map(({ outcome, what }): Line => ({
        who: outcome.startsWith("denied") ? "refusal" : "kiwi",
        text: `${outcome.padEnd(22)} ${what}`
      })),
      { who: "you", text: "kiwi audit verify" },
      { who: "kiwi", text: `intact: ${report.entries} entries` }
    ]
  })
}

const init: typeof audit = {
  title: "You make a folder a project",
  why: "Only what a person signed runs. No agent, tool or repository can sign with your key.",
  play: Effect.fnUntraced(function*(world) {
    const { answer } = yield* world.kiwi("init", world.project)
    const { signed, trust } = yield* decode(Initialized, answer)
    yield* expect(signed.length === 5, () => `${signed.length} items were signed`)
    yield* world.write(`${world.project}/notes.txt`, "Do not type: kiwi; rm -rf /\n")
    return [
      { who: "you", text: "kiwi init shop" },
      { who: "kiwi", text: `${trust}, and ${signed.length} small example items signed with your new key` }
    ]
  })
}

const hint = "Run `kiwi doctor`, which looks at the usual causes; if it finds none, report this"

export interface Stage {
  /** Wraps each scene, which may take a second or two. */
  readonly during: <A, E, R>(title: string, play: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Gets each scene after its checks have passed. */
  readonly show: (scene: Scene) => Effect.Effect<void>
}

export const demo = Effect.fn("demo")(function*(options: World.DemoOptions, stage: Stage) {
  const { join } = yield* Path.Path
  const begun = yield* Clock.currentTimeMillis
  const scenes: Array<Scene> = []
  const scene = Effect.fnUntraced(function*<E extends AgentFailed | SceneFailed>(
    { title, why }: Pick<Script, "title" | "why">,
    play: Effect.Effect<ReadonlyArray<Line>, E>
  ) {
    const n = scenes.length + 1
    const failed = (detail: string) => new DemoFailed({ n, title, detail, hint })
    const lines = yield* stage.during(title, play).pipe(
      Effect.mapError((error) => failed(error._tag === "SceneFailed" ? error.what : error.message)),
      Effect.timeoutOrElse({ duration: "30 seconds", orElse: () => failed("it took longer than 30 seconds") })
    )
    const finished: Scene = { n, title, lines, why }
    scenes.push(finished)
    yield* stage.show(finished)
  })
  yield* World.requireLanguages
  yield* Effect.scoped(Effect.gen(function*() {
    const world = yield* World.make(options)
    yield* scene(init, init.play(world))
    yield* Effect.scoped(Effect.gen(function*() {
      const agent = yield* Effect.mapError(
        connect(world.serve(world.project)),
        (error) => new DemoFailed({ n: scenes.length + 1, title: "An agent connects", detail: error.message, hint })
      )
      for (const part of script(join)) yield* scene(part, part.play({ world, agent }))
    }))
    yield* scene(audit, audit.play(world))
  }))
  return { scenes, duration_ms: (yield* Clock.currentTimeMillis) - begun }
  // The demo has no kernel of its own: it starts Kiwi as a child process, as a person would.
}, Effect.provide(ChildProcessesNode.layer))
