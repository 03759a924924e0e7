import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted, Schedule, type Schema, type Scope } from "effect"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as SubprocessNode from "../../../src/layers/primitive/SubprocessNode.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import type { CallEvent } from "../../../src/services/call/CallEvents.ts"
import type { EnvVariable } from "../../../src/services/env/EnvResolver.ts"
import { outputId, Outputs } from "../../../src/services/primitive/Outputs.ts"
import type { PrimitiveInput } from "../../../src/services/primitive/Primitive.ts"
import type { ChildProcesses } from "../../../src/services/process/ChildProcesses.ts"
import { inputFor } from "./inputs.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-subprocess-")))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const variables = (values: Record<string, string>): ReadonlyMap<string, EnvVariable> =>
  new Map(
    Object.entries(values).map(([name, value]) => [name, { name, value: Redacted.make(value), origin: "process" }])
  )

const path = process.env["PATH"] ?? "/usr/bin:/bin"

const inputIn = (cwd: string, config: Schema.JsonObject, more: Partial<PrimitiveInput> = {}): PrimitiveInput =>
  inputFor(config, { cwd, env: variables({ PATH: path }), ...more })

const setup = (limits = { inline: 1_048_576, spill: 8_388_608 }, grace = 300) =>
  Effect.gen(function*() {
    const cwd = yield* folder
    const outputs = yield* Outputs
    const subprocess = yield* SubprocessNode.make({ ...limits, grace, timeout: 60_000 })
    return {
      cwd,
      outputs,
      run: (config: Schema.JsonObject, more: Partial<PrimitiveInput> = {}) =>
        subprocess.run(inputIn(cwd, config, more)),
      bash: (script: string, config: Schema.JsonObject = {}, more: Partial<PrimitiveInput> = {}) =>
        subprocess.run(inputIn(cwd, { command: "bash", args: ["-c", script], ...config }, more))
    }
  })

const test = (name: string, body: () => Effect.Effect<void, unknown, ChildProcesses | Outputs | Scope.Scope>) =>
  it.live(name, () => body().pipe(Effect.provide(Layer.merge(ChildProcessesNode.layer, OutputsMemory.layer))))

/** Alive, and not merely waiting to be reaped. */
const running = (pid: number): boolean => {
  try {
    const stat = Fs.readFileSync(`/proc/${pid}/stat`, "latin1")
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z"
  } catch {
    return false
  }
}

describe("subprocess", () => {
  test("returns what the tool printed, and how it ended", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const { data, metadata } = yield* bash("echo out; echo err >&2")
      assert.strictEqual(data, "out\n")
      assert.strictEqual(metadata.exit_code, 0)
      assert.strictEqual(metadata.stderr?.text, "err\n")
    }))

  test("uses no shell: operators and substitutions are text", () =>
    Effect.gen(function*() {
      const { run } = yield* setup()
      const { data } = yield* run({ command: "printf", args: ["%s", "$(id) `id` ; id | id > f && *"] })
      assert.strictEqual(data, "$(id) `id` ; id | id > f && *")
    }))

  test("gives the child an empty stdin, not the server's", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const { data } = yield* bash("cat; readlink /proc/self/fd/0; echo done")
      assert.strictEqual(data, "/dev/null\ndone\n")
    }))

  test("gives the child exactly the environment that was resolved", () =>
    Effect.gen(function*() {
      const { run } = yield* setup()
      process.env["KIWI_TEST_LEAK"] = "leaked"
      const { data } = yield* run({ command: "/usr/bin/env", env: { GREETING: "hi", N: 3 } }, {
        env: variables({ PATH: path, SECRET: "s" })
      }).pipe(Effect.ensuring(Effect.sync(() => delete process.env["KIWI_TEST_LEAK"])))
      const lines = String(data).trim().split("\n").map((line) =>
        line.replace(/^KIWI_CALL=[0-9a-f-]{36}$/, "KIWI_CALL")
      )
      assert.deepStrictEqual(lines.toSorted(), [
        "GREETING=hi",
        "KIWI_CALL",
        "N=3",
        `PATH=${path}`,
        "SECRET=s"
      ])
    }))

  test("leads a process group and session of its own", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const { data } = yield* bash("echo $$; ps -o pgid=,sid= -p $$ 2>/dev/null || cut -d' ' -f5,6 /proc/$$/stat")
      const [pid, ids] = String(data).trim().split("\n")
      assert.deepStrictEqual(ids?.trim().split(/\s+/), [pid, pid])
    }))

  test("hands over parameters by stdin", () =>
    Effect.gen(function*() {
      const { run } = yield* setup()
      const { data } = yield* run({ command: "cat", input: "stdin", output: "json" }, { parameters: { a: ["é", 1] } })
      assert.deepStrictEqual(data, { a: ["é", 1] })
    }))

  test("does not mind a tool that never reads its stdin", () =>
    Effect.gen(function*() {
      const { run } = yield* setup()
      const { metadata } = yield* run({ command: "true", input: "stdin" }, { parameters: { a: "x".repeat(1_000_000) } })
      assert.strictEqual(metadata.exit_code, 0)
    }))

  test("binary output is text with replacement characters, not an error", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const { data } = yield* bash("printf 'a\\xff\\xfe\\x00b'")
      assert.strictEqual(data, "a\uFFFD\uFFFD\0b")
    }))

  test("a character that is split over two writes stays one character", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const told: Array<CallEvent> = []
      const { data } = yield* bash("printf '\\xe2\\x82'; sleep 0.15; printf '\\xac\\n'", {}, {
        emit: (event) => Effect.sync(() => told.push(event))
      })
      assert.strictEqual(data, "€\n")
      assert.strictEqual(told.map((e) => e._tag === "Chunk" ? e.text : "").join(""), "€\n")
    }))

  test("tells lines while the tool runs, each whole", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const first = yield* Deferred.make<CallEvent>()
      const fiber = yield* Effect.forkChild(
        bash("echo one >&2; printf tw >&2; read -t 20 < <(sleep 30)", { timeout: 20 }, {
          emit: (event) => Effect.asVoid(Deferred.succeed(first, event))
        })
      )
      assert.deepStrictEqual(yield* Deferred.await(first), { _tag: "Chunk", channel: "stderr", text: "one\n" })
      yield* Fiber.interrupt(fiber)
    }))

  test("a listener that hangs does not hold the tool", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const { data } = yield* bash("for i in $(seq 2000); do echo line $i >&2; done; sleep 0.3; echo ok", {}, {
        emit: () => Effect.never
      })
      assert.strictEqual(data, "ok\n")
    }))

  describe("JSON output", () => {
    test("is data", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        assert.deepStrictEqual((yield* bash("echo log >&2; echo '{\"sum\": 3}'", { output: "json" })).data, { sum: 3 })
        assert.strictEqual((yield* bash("echo 0", { output: "json" })).data, 0)
      }))

    test("must be exactly one finite value of bounded depth", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        const bad = [
          "true",
          "echo 1; echo 2",
          "echo done: '{}'",
          "echo '[NaN]'",
          "echo '[1e999]'",
          "printf '[%.0s' $(seq 500); printf ']%.0s' $(seq 500)",
          "printf '\"\\xff\"{'"
        ]
        for (const script of bad) {
          const error = yield* Effect.flip(bash(script, { output: "json" }))
          assert.strictEqual(error._tag, "ToolOutputInvalid", script)
        }
      }))

    test("too large to return whole is refused, and says where it is not", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup({ inline: 1_000, spill: 100_000 })
        const error = yield* Effect.flip(bash("printf '\"%2000s\"' x", { output: "json" }))
        assert.strictEqual(error._tag, "ToolOutputInvalid")
        assert.include(error.message, "2,002 bytes")
      }))

    test("a failing tool's JSON answer is shown beside its log", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        const error = yield* Effect.flip(
          bash("echo log line >&2; echo '{\"error\": \"no such host\"}'; exit 3", { output: "json" })
        )
        assert.strictEqual(error._tag, "ToolFailed")
        assert.include(error.message, "exit code 3")
        assert.include(error.message, "no such host")
        assert.include(error.message, "log line")
      }))
  })

  describe("failures", () => {
    test("stderr explains a failure, else stdout", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        const first = yield* Effect.flip(bash("echo noise; echo reason >&2; exit 2"))
        assert.deepStrictEqual(first._tag === "ToolFailed" && [first.how, first.output], ["exit code 2", "reason"])
        const second = yield* Effect.flip(bash("echo only this; exit 1"))
        assert.deepStrictEqual(second._tag === "ToolFailed" && second.output, "only this")
      }))

    test("an error holds the tail of a long story", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        const error = yield* Effect.flip(bash("seq 100000 >&2; echo the end >&2; exit 1"))
        assert.isTrue(error._tag === "ToolFailed" && error.output.length <= 4_096 && error.output.endsWith("the end"))
      }))

    test("an exit by signal is named", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        const error = yield* Effect.flip(bash("kill -SEGV $$"))
        assert.strictEqual(error._tag === "ToolFailed" && error.how, "signal SIGSEGV")
      }))

    test("what cannot be started says why, without paths outside the project", () =>
      Effect.gen(function*() {
        const { cwd, run } = yield* setup()
        Fs.writeFileSync(Path.join(cwd, "plain"), "x")
        const cases = [
          [{ command: "kiwi-no-such-program" }, "no such program"],
          [{ command: "/nowhere/private/python3" }, "python3: no such program"],
          [{ command: "./plain" }, "not executable"],
          [{ command: "true", cwd: "missing" }, "missing does not exist"],
          [{ command: "true", cwd: ".." }, "outside the project"],
          [{ command: "true", cwd: "plain" }, "not a folder"]
        ] as const
        for (const [config, text] of cases) {
          const error = yield* Effect.flip(run(config))
          assert.strictEqual(error._tag, "ToolUnstartable")
          assert.include(error.message, text)
          assert.notInclude(error.message, "/nowhere/private")
        }
      }))

    test("a working directory that is a link out of the project is refused", () =>
      Effect.gen(function*() {
        const { cwd, run } = yield* setup()
        Fs.symlinkSync("/", Path.join(cwd, "out"))
        Fs.mkdirSync(Path.join(cwd, "in"))
        assert.include((yield* Effect.flip(run({ command: "pwd", cwd: "out" }))).message, "outside the project")
        assert.strictEqual((yield* run({ command: "pwd", cwd: "in" })).data, `${cwd}/in\n`)
      }))

    test("a parameter that is too long for an argument is named", () =>
      Effect.gen(function*() {
        const { run } = yield* setup()
        const error = yield* Effect.flip(
          run({ command: "true" }, { parameters: { small: "x", big: "x".repeat(3_000_000) } })
        )
        assert.strictEqual(error._tag, "ParametersUnpassable")
        assert.include(error.message, "big")
        assert.include(error.remediation ?? "", "stdin")
      }))
  })

  describe("large output", () => {
    test("is kept in full, and its head and tail are returned", () =>
      Effect.gen(function*() {
        const { bash, outputs } = yield* setup()
        const { data, metadata } = yield* bash("seq 400000")
        const { stdout } = metadata
        assert.isTrue(stdout !== undefined && stdout.bytes > 2_000_000 && stdout.dropped === 0)
        assert.isTrue(String(data).startsWith("1\n2\n") && String(data).endsWith("399999\n400000\n"))
        assert.isBelow(String(data).length, 40_000)
        assert.include(String(data), stdout?.spilled ?? "?")
        const id = outputId(stdout?.spilled ?? "") ?? ""
        const ranges: Array<Uint8Array> = []
        for (let offset = 0; offset < (stdout?.bytes ?? 0); offset += ranges.at(-1)?.length ?? 0) {
          ranges.push((yield* outputs.read(id, { offset, length: 1_000_000 })).bytes)
        }
        assert.strictEqual(
          Buffer.concat(ranges).toString("utf8"),
          Array.from({ length: 400_000 }, (_, i) => `${i + 1}\n`).join("")
        )
      }))

    test("is cut between characters", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup({ inline: 1_001, spill: 100_000 })
        const { data } = yield* bash("for i in $(seq 2000); do printf '€'; done; printf ab")
        assert.notInclude(String(data), "\uFFFD")
      }))

    test("beyond the cap the tool is stopped, and memory stays as it was", () =>
      Effect.gen(function*() {
        const { bash, cwd } = yield* setup({ inline: 10_000, spill: 50_000_000 })
        const before = process.memoryUsage().rss
        const error = yield* Effect.flip(bash("trap '' PIPE; echo $$ > pid; yes"))
        assert.strictEqual(error._tag === "ToolFailed" && error.how, "more than 50,000,000 bytes of output")
        assert.isTrue(error._tag === "ToolFailed" && error.output.endsWith("y\ny"))
        assert.isFalse(running(Number(Fs.readFileSync(Path.join(cwd, "pid"), "utf8"))))
        assert.isBelow(process.memoryUsage().rss - before, 200_000_000)
      }))

    test("an endless printer does not stop the server", () =>
      Effect.gen(function*() {
        const { run } = yield* setup({ inline: 10_000, spill: 100_000_000 })
        const fiber = yield* Effect.forkChild(Effect.flip(run({ command: "yes", timeout: 30 })))
        // Other fibers and timers get their turn while it prints.
        let turns = 0
        while (fiber.pollUnsafe() === undefined) {
          yield* Effect.sleep(1)
          turns++
        }
        assert.isAbove(turns, 10)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "ToolFailed")
      }))
  })

  describe("ending", () => {
    const pidFile = (cwd: string) => Path.join(cwd, "pid")
    const readPid = (cwd: string) =>
      Effect.gen(function*() {
        for (let i = 0; i < 500; i++) {
          const text = Fs.existsSync(pidFile(cwd)) ? Fs.readFileSync(pidFile(cwd), "utf8").trim() : ""
          if (text !== "") return Number(text)
          yield* Effect.sleep(10)
        }
        return assert.fail("the tool did not start")
      })

    const ended = (name: string, script: string) =>
      test(`${name} dies on timeout`, () =>
        Effect.gen(function*() {
          const { bash, cwd } = yield* setup()
          const fiber = yield* Effect.forkChild(Effect.flip(bash(script, { timeout: 0.4 })))
          const pid = yield* readPid(cwd)
          assert.isTrue(running(pid))
          const error = yield* Fiber.join(fiber)
          assert.strictEqual(error._tag, "ToolTimeout")
          assert.isFalse(running(pid))
        }))

    ended("the tool", "echo $$ > pid; sleep 60")
    ended("a grandchild", "bash -c 'echo $$ > pid; sleep 60; :' & wait")
    ended("a grandchild in a group of its own", "set -m; bash -c 'echo $$ > pid; sleep 60; :' & wait")
    ended("a grandchild in a session of its own", "setsid bash -c 'echo $$ > pid; sleep 60; :' & wait")
    ended("an orphan that left the group", "(set -m; bash -c 'echo $$ > pid; sleep 60; :' &) ; sleep 60")
    ended("a tool that ignores TERM", "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done")
    ended(
      "a setsid grandchild that ignores TERM",
      "setsid bash -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.1; done' & wait"
    )

    test("interruption ends the whole tree before it returns", () =>
      Effect.gen(function*() {
        const { bash, cwd } = yield* setup()
        const fiber = yield* Effect.forkChild(bash("setsid bash -c 'echo $$ > pid; sleep 60; :' & wait"))
        const pid = yield* readPid(cwd)
        yield* Fiber.interrupt(fiber)
        assert.isFalse(running(pid))
      }))

    test("a tool has its grace to tidy up", () =>
      Effect.gen(function*() {
        const { bash, cwd } = yield* setup()
        yield* Effect.flip(bash("trap 'echo tidy > note; exit 0' TERM; sleep 60 & wait", { timeout: 0.3 }))
        assert.strictEqual(Fs.readFileSync(Path.join(cwd, "note"), "utf8"), "tidy\n")
      }))

    test("a timeout shows what was said until then", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        const error = yield* Effect.flip(bash("echo got this far >&2; sleep 60", { timeout: 0.3 }))
        assert.strictEqual(error._tag === "ToolTimeout" && error.output, "got this far")
      }))

    test("closing stdout is not exiting", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        const { metadata } = yield* bash("echo x; exec >&- 2>&-; sleep 0.3; exit 0")
        assert.strictEqual(metadata.exit_code, 0)
        assert.strictEqual((yield* Effect.flip(bash("exec >&- 2>&-; sleep 0.2; exit 4")))._tag, "ToolFailed")
      }))

    test("a background process that holds the pipe does not hold the call, and ends with it", () =>
      Effect.gen(function*() {
        const { bash, cwd } = yield* setup()
        const start = performance.now()
        const { data } = yield* bash("sleep 60 & echo $! > pid; echo answer")
        assert.strictEqual(data, "answer\n")
        assert.isBelow(performance.now() - start, 20_000)
        assert.isFalse(running(yield* readPid(cwd)))
      }))

    test("output written after the exit of the leader is still read", () =>
      Effect.gen(function*() {
        const { bash } = yield* setup()
        assert.strictEqual((yield* bash("(sleep 0.15; echo late) & echo early")).data, "early\nlate\n")
      }))
  })

  test("a call killed from outside is a failure of the tool", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const error = yield* Effect.flip(bash("kill -KILL $$"))
      assert.strictEqual(error._tag === "ToolFailed" && error.how, "signal SIGKILL")
    }))
})

describe("the end of the server", () => {
  it.live("a child does not outlive a server that exits", () =>
    Effect.gen(function*() {
      const cwd = yield* folder
      const module = new URL("../../../src/layers/process/ChildProcessesNode.ts", import.meta.url).href
      const script = `
        import { Effect } from "effect"
        import { make } from ${JSON.stringify(module)}
        setTimeout(() => process.exit(7), 400)
        Effect.runFork(Effect.scoped(Effect.flatMap(make, ({ run }) =>
          run({ argv: ["bash", "-c", "echo $$ > pid; sleep 60; :"], cwd: ${JSON.stringify(cwd)}, isolation: "standard",
            env: { PATH: process.env.PATH }, mark: "KIWI_CALL", grace: 100, within: { millis: 60_000 },
            stdout: () => undefined, stderr: () => undefined }))))`
      const root = new URL("../../../", import.meta.url).pathname
      const { status, stderr } = yield* Effect.sync(() =>
        spawnSync(process.execPath, ["--input-type=module", "-e", script], {
          cwd: root,
          encoding: "utf8",
          timeout: 20_000
        })
      )
      assert.strictEqual(status, 7, stderr)
      const pid = Number(Fs.readFileSync(Path.join(cwd, "pid"), "utf8"))
      const ended = yield* Effect.repeat(Effect.sync(() => !running(pid)), {
        until: (gone) => gone,
        schedule: Schedule.spaced("20 millis"),
        times: 250
      })
      assert.isTrue(ended)
    }))
})
