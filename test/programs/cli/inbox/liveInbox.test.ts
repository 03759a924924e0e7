// The live inbox with the keys that a person types, one after the other. In the end the terminal is gone: it quits.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue } from "effect"
import type { FileSystem, Path, Scope } from "effect"
import { TestClock } from "effect/testing"
import { liveInbox } from "../../../../src/programs/cli/inbox/liveInbox.ts"
import type { Output } from "../../../../src/programs/cli/Output.ts"
import type { Shell } from "../../../../src/programs/cli/Shell.ts"
import { uncolored } from "../../../../src/programs/cli/text.ts"
import { AuditLog } from "../../../../src/services/audit/AuditLog.ts"
import { Interventions } from "../../../../src/services/limit/Interventions.ts"
import type { Lineage } from "../../../../src/services/presence/Lineage.ts"
import { caller } from "../../../layers/proxy/calls.ts"
import { askingKernel } from "../../askingKernel.ts"
import type { CliOptions } from "../runCli.ts"
import { device, runCli } from "../runCli.ts"

type World = Effect.Success<typeof askingKernel>

/** Acts need them, and looking does not. */
const unused = Layer.empty as Layer.Layer<FileSystem.FileSystem | Lineage | Output | Path.Path | Shell>

const [up, down] = ["\u001b[A", "\u001b[B"]
const toEnd = Array.from({ length: 12 }, () => " ")

const editOf = (path: string) => ["run", "tool", "edit", "--params", JSON.stringify({ path })]

/** A world in which these files wait to be changed. */
const test = (
  title: string,
  paths: ReadonlyArray<string>,
  body: (
    inbox: (keys: ReadonlyArray<string>, options?: CliOptions) => ReturnType<typeof runCli>,
    world: World,
    cli: (args: ReadonlyArray<string>, options?: CliOptions) => ReturnType<typeof runCli>
  ) => Effect.Effect<unknown, unknown, Scope.Scope>
) =>
  it.effect(title, () =>
    Effect.gen(function*() {
      const world = yield* askingKernel
      const cli = (args: ReadonlyArray<string>, options: CliOptions = {}) =>
        runCli(args, { kernel: world.layer, ...options })
      for (const path of paths) yield* cli(editOf(path))
      yield* body(
        (keys, options) => cli(["inbox"], { answers: keys, terminal: true, terminalStdin: true, ...options }),
        world,
        cli
      )
    }))

const states = (cli: (args: ReadonlyArray<string>) => ReturnType<typeof runCli>) =>
  Effect.map(cli(["status", "--json"]), ({ stdout }) => {
    const { finished, waiting } = JSON.parse(stdout)
    return {
      answers: finished.map((one: { readonly answer: string }) => one.answer),
      waiting: waiting.reduce(
        (sum: number, one: { readonly settles?: ReadonlyArray<string> }) => sum + 1 + (one.settles?.length ?? 0),
        0
      )
    }
  })

describe("kiwi inbox on a terminal", () => {
  test("shows the whole of the chosen request, and its answers", ["src/a.ts"], (inbox) =>
    Effect.gen(function*() {
      const { code, shown, stdout } = yield* inbox(toEnd)
      assert.deepStrictEqual([code, stdout], [0, ""])
      for (
        const text of [
          "1 waiting, 0 asking for help, 0 refused",
          "run tool edit",
          "Tool: project:tools/edit.yaml, version 1.0.0, signed by you",
          "fs.write(src/a.ts): changes files of this project (rule: default: changes ask)",
          "always: this call, and always in this project: allow: fs.write(src/**)",
          "o once | a always | n no | v never"
        ]
      ) assert.include(shown, text)
      assert.notInclude(shown, "s session")
      assert.isTrue(shown.startsWith("\u001b[?1049h") && shown.endsWith("\u001b[?1049l"))
    }))

  for (const [key, answer, ran] of [["o", "once", 1], ["a", "always", 1], ["n", "no", 0], ["v", "never", 0]] as const) {
    test(`one key answers ${answer}`, ["src/a.ts"], (inbox, { asking, audit }, cli) =>
      Effect.gen(function*() {
        const { shown } = yield* inbox([...toEnd, key])
        assert.include(shown, `is answered: ${answer}`)
        assert.deepStrictEqual(yield* states(cli), { answers: [answer], waiting: 0 })
        yield* cli(editOf("src/a.ts"))
        assert.strictEqual(asking.ran, ran)
        const acts = (yield* audit).flatMap((entry) =>
          entry.kind === "act" && entry.outcome !== "refused" ? [[entry.seen, entry.outcome]] : []
        )
        assert.deepStrictEqual(acts, [["answered at /dev/pts/7", "agreed"], ["answered at /dev/pts/7", "done"]])
      }))
  }

  for (const key of ["o", "a", "v"]) {
    test(
      `${key} answers nothing before the end of the text was shown`,
      ["src/a.ts"],
      (inbox, _world, cli) =>
        Effect.gen(function*() {
          assert.include((yield* inbox([key, key])).shown, "Read it to its end first")
          assert.deepStrictEqual(yield* states(cli), { answers: [], waiting: 1 })
        })
    )
  }

  for (
    const keys of [["s"], ["y"], ["\r"], ["O"], ["oo"], ["once"], ["o\r"], ["\u001b"], ["\u001b[Bo"], ["r"], ["d"], [
      "q",
      "o"
    ]]
  ) {
    test(`${JSON.stringify(keys)} is no answer`, ["src/a.ts"], (inbox, _world, cli) =>
      Effect.gen(function*() {
        yield* inbox([...toEnd, ...keys])
        assert.deepStrictEqual(yield* states(cli), { answers: [], waiting: 1 })
      }))
  }

  const refuseFor = (world: World, client: string) =>
    world.use(Effect.flatMap(AuditLog, (audit) => {
      const about = { call: client, operation: "run", subject: { item: "filesystem.read" } }
      const error = { code: "PERMISSION_DENIED", message: "no", allow: "fs.read(/etc/hosts)" }
      const by = { surface: "mcp", client, session: "s1" }
      return Effect.andThen(
        audit.append({ kind: "request", ...about, caller: by, parameters: {} }),
        audit.append({ kind: "result", ...about, outcome: "denied", error, duration_ms: 1 })
      )
    }))

  for (const client of ["codex", "claude code"]) {
    test(
      `a refused call of ${client} is allowed for ${client}, not for every caller`,
      [],
      (inbox, world) =>
        Effect.gen(function*() {
          yield* refuseFor(world, client)
          const { shown } = yield* inbox([...toEnd, "r"])
          assert.include(shown, "allow: fs.read(/etc/hosts)")
          assert.include(shown, `caller: ${client}`)
        })
    )
  }

  for (const client of ["*", "co*x", "code?"]) {
    test(
      `a refused call of "${client}" gets no rule, which would be about others too`,
      [],
      (inbox, world) =>
        Effect.gen(function*() {
          yield* refuseFor(world, client)
          const { shown } = yield* inbox([...toEnd, "r"])
          assert.include(shown, "no rule can name its caller")
          assert.notInclude(shown, "Add the rule")
        })
    )
  }

  test(
    "a second key answers no other request: the person goes there first",
    ["a/a.ts", "b/b.ts"],
    (inbox, world, cli) =>
      Effect.gen(function*() {
        // Offers that differ, so that no answer settles both.
        world.asking.asks = ([first]) => {
          const path = String(first?._tag === "Tool" ? first.parameters?.["path"] : "")
          return [{
            access: { _tag: "Path", capability: "fs.write", path },
            rule: "default: changes ask",
            reason: "changes files",
            offer: `allow: fs.write(${path})`
          }]
        }
        for (const path of ["c/c.ts", "d/d.ts"]) yield* cli(editOf(path))
        const before = (yield* states(cli)).waiting
        yield* inbox([...toEnd, "o", "o", "o"])
        assert.strictEqual((yield* states(cli)).waiting, before - 1)
        yield* inbox([...toEnd, "n", down, ...toEnd, "n", up, up])
        assert.strictEqual((yield* states(cli)).waiting, before - 3)
      })
  )

  const others: ReadonlyArray<readonly [string, CliOptions]> = [
    ["below a coding agent", { env: { CLAUDECODE: "1" } }],
    ["in a tool's call", { env: { KIWI_CALL: "c1" } }],
    ["on a dumb terminal", { env: { TERM: "dumb" } }],
    ["from a pipe", { terminalStdin: false }],
    ["into a pipe", { terminal: false }]
  ]
  for (const [where, options] of others) {
    test(`is the plain list ${where}`, ["src/a.ts"], (inbox, _world, cli) =>
      Effect.gen(function*() {
        const { shown, stdout } = yield* inbox([...toEnd, "o"], options)
        assert.strictEqual(shown, "")
        assert.include(stdout, "Answer one: kiwi approve ID")
        assert.deepStrictEqual(yield* states(cli), { answers: [], waiting: 1 })
      }))
  }

  for (const path of ["src/a.ts", "docs/deep/b.md", "a.txt"]) {
    test(`each row says first what it would touch: ${path}`, [path], (inbox) =>
      Effect.gen(function*() {
        const { shown } = yield* inbox([])
        assert.match(
          shown,
          new RegExp(`> [a-z0-9]{10} {2}fs\\.write\\(${path.replaceAll(".", "\\.")}\\) {2}run tool edit`)
        )
      }))
  }

  for (const [key, answer] of [["1", "drop it"], ["2", "keep it"], ["3", undefined], ["0", undefined]] as const) {
    test(
      `${key} answers a caller that leaves a decision: ${answer ?? "nothing"}`,
      [],
      (inbox, { use }) =>
        Effect.gen(function*() {
          yield* use(Effect.flatMap(Interventions, ({ file }) =>
            file({
              kind: "escalation",
              reason: "Drop the table?",
              options: ["drop it", "keep it"],
              priority: "normal",
              attempts: 0,
              caller,
              sessionId: undefined,
              context: undefined
            })))
          yield* inbox([key])
          const taken = yield* use(Effect.flatMap(Interventions, (one) => one.takeAnswer(caller, "Drop the table?")))
          assert.strictEqual(taken?.answer, answer)
        })
    )
  }

  test("escapes what the caller wrote, on every row", [], (inbox, _world, cli) =>
    Effect.gen(function*() {
      yield* cli(editOf("src/\u202etxt.a\u001b[2K\u0007\u009b2J\n> approved"))
      const { shown } = yield* inbox(toEnd)
      for (const hidden of ["\u202e", "\u001b[2K", "\u0007", "\u009b"]) assert.notInclude(shown, hidden)
      assert.include(shown, "\\u{202e}")
      assert.notMatch(shown, /^> approved/m)
    }))

  test(
    "takes a call for help off the list, and asks before a rule is changed",
    [],
    (inbox, { use }, cli) =>
      Effect.gen(function*() {
        yield* use(Effect.flatMap(Interventions, ({ file }) =>
          file({
            kind: "escalation",
            reason: "Drop the table?",
            options: ["drop it"],
            priority: "high",
            attempts: 0,
            caller,
            sessionId: undefined,
            context: undefined
          })))
        const { shown } = yield* inbox(["d"])
        assert.include(shown, "Drop the table?")
        assert.include(shown, "Taken off the list")
        assert.notInclude((yield* cli(["inbox"])).stdout, "Drop the table?")
      })
  )

  it.effect("looks twice a second for what comes, and for refusals each tenth time", () =>
    Effect.gen(function*() {
      const world = yield* askingKernel
      const keys = yield* Queue.unbounded<string>()
      let shown = ""
      const open = yield* device([], (text) => void (shown = text)).open
      const terminal = { ...open!, readPress: Queue.take(keys) }
      const live = yield* Effect.forkChild(
        Effect.scoped(world.use(liveInbox(terminal, caller, { paint: uncolored, title: "here" })))
      )
      yield* TestClock.adjust("499 millis")
      assert.include(shown, "0 waiting, 0 asking for help, 0 refused")
      yield* runCli(editOf("src/a.ts"), { kernel: world.layer })
      yield* refuseFor(world, "codex")
      assert.include(shown, "0 waiting")
      yield* TestClock.adjust("1 millis")
      assert.include(shown, "1 waiting, 0 asking for help, 0 refused")
      yield* TestClock.adjust("4499 millis")
      assert.include(shown, "0 refused")
      yield* TestClock.adjust("1 millis")
      assert.include(shown, "1 waiting, 0 asking for help, 1 refused")
      yield* Queue.offer(keys, "q")
      yield* Fiber.join(live)
    }).pipe(Effect.provide(unused)))
})
