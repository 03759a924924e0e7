// A person and an agent at the command line: run asks at once, approve and reject answer, inbox and status show.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { readFileSync } from "node:fs"
import { ApprovalAnswer } from "../../../src/services/approval/Approval.ts"
import { Interventions } from "../../../src/services/limit/Interventions.ts"
import { definitions } from "../../../src/services/settings/definitions.ts"
import { commandsIn, isUnderstood } from "../../errors/remedies.ts"
import { caller } from "../../layers/proxy/calls.ts"
import { askingKernel } from "../askingKernel.ts"
import type { CliOptions } from "./runCli.ts"
import { runCli } from "./runCli.ts"

const run = ["run", "tool", "edit", "--params", `{"path": "src/a.ts"}`]

type World = Effect.Success<typeof askingKernel>

const test = (
  title: string,
  body: (
    world: World,
    cli: (args: ReadonlyArray<string>, options?: CliOptions) => ReturnType<typeof runCli>
  ) => Effect.Effect<unknown, unknown, Scope.Scope>
) =>
  it.effect(title, () =>
    Effect.gen(function*() {
      const world = yield* askingKernel
      yield* body(world, (args, options = {}) => runCli(args, { kernel: world.layer, ...options }))
    }))

const atTerminal = (...answers: ReadonlyArray<string>): CliOptions => ({ answers, terminalStdin: true, terminal: true })

const failure = (stdout: string): { readonly code: string; readonly message: string; readonly remediation: string } =>
  JSON.parse(stdout).error

/** Runs the call where nobody can be asked, and returns the id under which it waits. */
const waiting = (cli: (args: ReadonlyArray<string>) => ReturnType<typeof runCli>, args = run) =>
  Effect.map(cli([...args, "--json"]), ({ code, stdout }) => {
    assert.strictEqual(code, 1)
    assert.strictEqual(failure(stdout).code, "APPROVAL_PENDING")
    return /request ([a-z0-9]{10}),/.exec(failure(stdout).message)?.[1] ?? ""
  })

describe("kiwi run at a terminal", () => {
  for (const answer of ["once", "o", "always", "a", " Once "]) {
    test(
      `shows the call and its answers, and goes on for "${answer}"`,
      ({ asking, audit }, cli) =>
        Effect.gen(function*() {
          const { code, shown, stdout } = yield* cli(run, atTerminal(answer))
          assert.deepStrictEqual([code, asking.ran, stdout], [0, 1, "edited src/a.ts\n"])
          for (
            const text of [
              "run tool edit",
              "Tool: project:tools/edit.yaml, version 1.0.0, signed by you",
              "fs.write(src/a.ts): changes files of this project (rule: default: changes ask)",
              `"path": "src/a.ts"`,
              "Would run:",
              `"edit"`,
              "always: this call, and always in this project: allow: fs.write(src/**)",
              "never: no, and always in this project: deny: fs.write(src/a.ts)"
            ]
          ) assert.include(shown, text)
          assert.notInclude(shown, "session:")
          const results = (yield* audit).filter((entry) => entry.kind === "result")
          assert.deepStrictEqual(results.map(({ outcome }) => outcome), ["asked", "success"])
          const [asked, done] = results
          assert.strictEqual(asked?.approval?.id, done?.approval?.id)
          assert.strictEqual(done?.approval?.by, "answered at /dev/pts/7")
          assert.match(done?.rule ?? "", /^approved (once|always)$/)
        })
    )
  }

  test("runs nothing for no, and says so to whoever repeats it", ({ asking }, cli) =>
    Effect.gen(function*() {
      for (const answers of [["no"], []]) {
        const { code, stdout } = yield* cli([...run, "--json"], atTerminal(...answers))
        assert.deepStrictEqual([code, failure(stdout).code], [1, "APPROVAL_REJECTED"])
      }
      assert.strictEqual(asking.ran, 0)
    }))

  test(
    "asks again for what is none of the answers, and takes it for none",
    ({ asking, audit }, cli) =>
      Effect.gen(function*() {
        const { code, shown } = yield* cli(run, atTerminal("yes", "ony", "once"))
        assert.deepStrictEqual([code, asking.ran], [0, 1])
        assert.lengthOf(shown.match(/That is none of these answers/g) ?? [], 2)
        yield* cli(run, atTerminal("yes", "y", "session"))
        const declined = (yield* audit).flatMap((entry) =>
          entry.kind === "act" && entry.outcome === "declined" ? [entry.seen] : []
        )
        assert.deepStrictEqual(declined, ["stopped before the end at /dev/pts/7"])
      })
  )

  for (const answer of ["", "y", "yes", "x", "oncee", "session"]) {
    test(`takes "${answer}" for no answer: the request waits`, ({ asking }, cli) =>
      Effect.gen(function*() {
        const { code, stdout } = yield* cli([...run, "--json"], atTerminal(answer))
        assert.deepStrictEqual([code, failure(stdout).code, asking.ran], [1, "APPROVAL_PENDING", 0])
      }))
  }

  const agents: ReadonlyArray<readonly [string, CliOptions]> = [
    ["below a coding agent", { ...atTerminal("once"), env: { CLAUDECODE: "1" } }],
    ["in a tool's call", { ...atTerminal("once"), env: { KIWI_CALL: "c1" } }],
    ["without a terminal", { terminalStdin: true, terminal: true }],
    ["from a pipe", { answers: ["once"], terminal: true }],
    ["into a pipe", { answers: ["once"], terminalStdin: true }]
  ]
  for (const [where, options] of agents) {
    test(`asks nobody ${where}`, ({ asking }, cli) =>
      Effect.gen(function*() {
        const { code, shown, stdout } = yield* cli([...run, "--json"], options)
        assert.deepStrictEqual([code, failure(stdout).code, asking.ran, shown], [1, "APPROVAL_PENDING", 0, ""])
        assert.match(failure(stdout).remediation, /^Ask the person to type: kiwi approve [a-z0-9]{10}; then repeat/)
      }))

    for (const command of ["approve", "reject"]) {
      for (const flag of command === "approve" ? ["--once", "--always", "--yes", ""] : ["", "--never"]) {
        test(`kiwi ${command} ${flag} ${where} is refused`, ({ asking }, cli) =>
          Effect.gen(function*() {
            const id = yield* waiting(cli)
            const args = [command, id, ...(flag === "" ? [] : [flag]), "--json"]
            const { code, stdout } = yield* cli(args, options)
            assert.deepStrictEqual([code, failure(stdout).code], [1, "HUMAN_REQUIRED"])
            assert.strictEqual(yield* waiting(cli), id)
            assert.strictEqual(asking.ran, 0)
          }))
      }
    }
  }
})

describe("kiwi approve", () => {
  test("answers from another terminal, and the call then runs once", ({ asking }, cli) =>
    Effect.gen(function*() {
      const id = yield* waiting(cli)
      const { code, shown, stdout } = yield* cli(["approve", id, "--once"], atTerminal("y"))
      assert.deepStrictEqual([code, asking.ran], [0, 0])
      assert.include(shown, `Allow ${id}: run tool edit`)
      assert.notInclude(shown, "always:")
      assert.include(stdout, "approved")
      assert.strictEqual((yield* cli(run)).code, 0)
      assert.strictEqual(asking.ran, 1)
      assert.notStrictEqual(yield* waiting(cli), id)
      assert.strictEqual(asking.ran, 1)
    }))

  test("asks which answer, and none of them is a no", (_world, cli) =>
    Effect.gen(function*() {
      const id = yield* waiting(cli)
      const { code, shown } = yield* cli(["approve", id], atTerminal("always"))
      assert.strictEqual(code, 0)
      assert.include(shown, "[once, always]")
    }))

  test("makes the rule that the person gives", (_world, cli) =>
    Effect.gen(function*() {
      const id = yield* waiting(cli)
      const rule = "allow: fs.write(src/a.ts)"
      const { shown, stdout } = yield* cli(["approve", id, "--always", "--rule", rule, "--json"], atTerminal("y"))
      assert.include(shown, rule)
      assert.deepStrictEqual(JSON.parse(stdout).made, [rule])
    }))

  for (const rule of ["allow: fs.write", "allow: kiwi.all", "deny: fs.write(src/**)"]) {
    test(`and not ${rule}`, (_world, cli) =>
      Effect.gen(function*() {
        const id = yield* waiting(cli)
        const { stdout } = yield* cli(["approve", id, "--always", "--rule", rule, "--json"], atTerminal("y"))
        assert.strictEqual(failure(stdout).code, "ANSWER_REFUSED")
      }))
  }

  test("takes a session's id, and no id that is unknown, answered or twice", (_world, cli) =>
    Effect.gen(function*() {
      const id = yield* waiting(cli)
      const [{ session }] = JSON.parse((yield* cli(["status", id, "--json"])).stdout)
      assert.strictEqual((yield* cli(["approve", session, "--once", "--yes"], atTerminal())).code, 0)
      const again = yield* cli(["approve", id, "--once", "--json"], atTerminal("y"))
      assert.strictEqual(failure(again.stdout).code, "APPROVAL_CLOSED")
      const unknown = yield* cli(["approve", "aaaaaaaaaa", "--once", "--json"], atTerminal("y"))
      assert.strictEqual(failure(unknown.stdout).code, "APPROVAL_NOT_FOUND")
      assert.strictEqual((yield* cli(["approve", id, "--once", "--always"], atTerminal("y"))).code, 2)
    }))

  test(
    "refuses one that changed while the person read, and the call asks anew",
    ({ asking, change, files }, cli) =>
      Effect.gen(function*() {
        const id = yield* waiting(cli)
        yield* cli(["approve", id, "--once", "--yes"], atTerminal())
        const others = [
          ["run", "tool", "edit", "--params", `{"path": "src/b.ts"}`],
          ["run", "tool", "edit", "--params", `{"path": "src/a.ts", "text": ""}`]
        ]
        for (const other of others) assert.notStrictEqual(yield* waiting(cli, other), id)
        const before = files.get("tools/edit.yaml")!
        change()
        assert.notStrictEqual(yield* waiting(cli), id)
        files.set("tools/edit.yaml", before)
        const asks = asking.asks
        asking.asks = (
          accesses
        ) => [...asks(accesses), { ...asks(accesses)[0]!, rule: "project: ask: fs.write(src/a.ts)" }]
        assert.notStrictEqual(yield* waiting(cli), id)
        assert.strictEqual(asking.ran, 0)
      })
  )
})

describe("kiwi reject", () => {
  test("refuses the call, and with --never makes a rule", ({ asking }, cli) =>
    Effect.gen(function*() {
      const id = yield* waiting(cli)
      const { code, stdout } = yield* cli(["reject", id, "--never"], atTerminal())
      assert.strictEqual(code, 0)
      assert.include(stdout, "deny: fs.write(src/a.ts)")
      assert.strictEqual(failure((yield* cli([...run, "--json"])).stdout).code, "APPROVAL_REJECTED")
      assert.strictEqual(asking.ran, 0)
    }))

  test("says why never makes no rule, and rejects nothing then", ({ asking }, cli) =>
    Effect.gen(function*() {
      asking.asks = () => [{
        access: {
          _tag: "Command",
          capability: "process.exec",
          words: undefined,
          text: "$(x)",
          opaque: "it is unclear"
        },
        rule: "default: commands",
        reason: "runs a command"
      }]
      const id = yield* waiting(cli)
      const { stdout } = yield* cli(["reject", id, "--never", "--json"], atTerminal())
      assert.strictEqual(failure(stdout).code, "ANSWER_REFUSED")
      assert.include(failure(stdout).message, "no rule can name exactly what it asks")
      assert.strictEqual(yield* waiting(cli), id)
    }))

  test(
    "--all refuses everything that waits, by one act of a person",
    ({ asking, audit }, cli) =>
      Effect.gen(function*() {
        const runs = ["src/a.ts", "src/b.ts", "src/c.ts"].map((path) => [
          "run",
          "tool",
          "edit",
          "--params",
          JSON.stringify({ path })
        ])
        for (const one of runs) yield* waiting(cli, one)
        const agent = yield* cli(["reject", "--all", "--json"], { ...atTerminal(), env: { CLAUDECODE: "1" } })
        assert.strictEqual(failure(agent.stdout).code, "HUMAN_REQUIRED")
        assert.deepStrictEqual(JSON.parse((yield* cli(["reject", "--all", "--json"], atTerminal())).stdout), {
          rejected: 3
        })
        for (const one of runs) {
          assert.strictEqual(failure((yield* cli([...one, "--json"])).stdout).code, "APPROVAL_REJECTED")
        }
        assert.strictEqual(asking.ran, 0)
        const done = (yield* audit).filter((entry) => entry.kind === "act" && entry.outcome === "done")
        assert.lengthOf(done, 1)
        assert.strictEqual(
          failure((yield* cli(["reject", "--all", "--json"], atTerminal())).stdout).code,
          "APPROVAL_NOT_FOUND"
        )
        for (const wrong of [["reject"], ["reject", "--all", "--never"]]) {
          assert.strictEqual((yield* cli(wrong, atTerminal())).code, 2)
        }
      })
  )
})

describe("kiwi inbox and kiwi status", () => {
  test(
    "show what waits as one where one answer settles it, and what was answered",
    (_world, cli) =>
      Effect.gen(function*() {
        assert.include((yield* cli(["inbox"])).stdout, "Nothing waits for you.")
        const id = yield* waiting(cli)
        const { stdout } = yield* cli(["inbox"])
        for (const text of [id, "run tool edit", "tester by cli", "fs.write(src/a.ts)", "allow: fs.write(src/**)"]) {
          assert.include(stdout, text)
        }
        const { waiting: list } = JSON.parse((yield* cli(["inbox", "--json"])).stdout)
        assert.deepStrictEqual(list.map((one: { readonly id: string }) => one.id), [id])
        yield* cli(["reject", id], atTerminal())
        assert.include((yield* cli(["status"])).stdout, "rejected (no)")
        const one = (yield* cli(["status", id])).stdout
        for (const text of ["rejected", "Parameters:", "Would run:", "src/a.ts"]) assert.include(one, text)
        const { refused } = JSON.parse((yield* cli(["inbox", "--json"])).stdout)
        assert.deepStrictEqual(refused, [])
        yield* cli(run)
        const after = JSON.parse((yield* cli(["inbox", "--json"])).stdout)
        assert.deepInclude(after.refused[0], { code: "APPROVAL_REJECTED", item: "edit", rule: "default: changes ask" })
      })
  )

  test(
    "show who is stuck or leaves a decision to you, until you take it off the list yourself",
    ({ use }, cli) =>
      Effect.gen(function*() {
        const id = yield* use(Effect.flatMap(Interventions, ({ file }) =>
          file({
            kind: "escalation",
            reason: "Drop the table?\u001b[2K\u202e",
            options: ["drop it", "keep it"],
            priority: "high",
            attempts: 0,
            caller,
            sessionId: undefined,
            context: { table: "users" }
          })))
        const { stdout } = yield* cli(["inbox"])
        for (const text of [id, "leaves a decision to you", "urgent", "Drop the table?", "keep it", "users"]) {
          assert.include(stdout, text)
        }
        assert.notInclude(stdout, "\u202e")
        for (const command of [["approve", id], ["approve", id, "--once"], ["reject", id], ["status", id]]) {
          const { code, remediation } = failure((yield* cli([...command, "--json"], atTerminal())).stdout)
          assert.strictEqual(code, "APPROVAL_NOT_FOUND")
          assert.include(remediation, `kiwi inbox --done ${id} --say TEXT`, command.join(" "))
        }
        const refused = yield* cli(["inbox", "--done", id, "--json"], { ...atTerminal(), env: { CLAUDECODE: "1" } })
        assert.strictEqual(failure(refused.stdout).code, "HUMAN_REQUIRED")
        assert.include((yield* cli(["inbox"])).stdout, id)
        assert.strictEqual((yield* cli(["inbox", "--done", id], atTerminal())).code, 0)
        assert.notInclude((yield* cli(["inbox"])).stdout, id)
        const again = yield* cli(["inbox", "--done", id, "--json"], atTerminal())
        assert.strictEqual(failure(again.stdout).code, "APPROVAL_NOT_FOUND")
      })
  )

  test("escape what the caller wrote, and hide nothing of it", (_world, cli) =>
    Effect.gen(function*() {
      const path = "src/\u202etxt.a\u001b[2K\nAnswers:\n- once: nothing"
      const id = yield* waiting(cli, [
        "run",
        "tool",
        "edit",
        "--params",
        JSON.stringify({ path, text: "x".repeat(3_000) + "END" })
      ])
      for (const args of [["inbox"], ["status", id]]) {
        const { stdout } = yield* cli(args, { terminal: true, env: { NO_COLOR: "1" } })
        for (const hidden of ["\u202e", "\u001b"]) assert.notInclude(stdout, hidden)
        assert.notMatch(stdout, /^\s*- once: nothing/m)
      }
      const { stdout } = yield* cli(["status", id])
      assert.include(stdout, "END")
      assert.include(stdout, "! path: characters that are not shown")
      assert.include(stdout, "! text: 3003 characters")
    }))
})

describe("docs/approvals.md", () => {
  const page = readFileSync(new URL("../../../docs/approvals.md", import.meta.url), "utf8")
  const commands = [...page.matchAll(/^kiwi .*$/gm)].flatMap(([line]) => commandsIn(line))
  for (const words of commands) {
    it.effect(`names a command that exists: ${words.join(" ")}`, () =>
      Effect.map(isUnderstood(words), (understood) => assert.isTrue(understood)))
  }

  it("names settings that exist, and every answer", () => {
    for (const [, name] of page.matchAll(/`(approvals\.\w+)`/g)) {
      assert.isTrue(Object.values(definitions).some(({ key }) => key === name), name)
    }
    const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, answer]) => answer)
    assert.deepStrictEqual(rows, [...ApprovalAnswer.literals])
    assert.lengthOf(commands, 8)
  })
})
