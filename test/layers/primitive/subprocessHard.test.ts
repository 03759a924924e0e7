// What a program can do to a machine: use it up, fill it, and outlive its call. Real processes.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, Result, type Schema, type Scope } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as OutputsFile from "../../../src/layers/primitive/OutputsFile.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as SubprocessNode from "../../../src/layers/primitive/SubprocessNode.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { outputId, Outputs } from "../../../src/services/primitive/Outputs.ts"
import type { PrimitiveInput } from "../../../src/services/primitive/Primitive.ts"
import type { ChildProcesses } from "../../../src/services/process/ChildProcesses.ts"
import { inputFor } from "./inputs.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-hard-")))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const inputIn = (cwd: string, config: Schema.JsonObject, more: Partial<PrimitiveInput>): PrimitiveInput =>
  inputFor(config, {
    cwd,
    env: new Map([["PATH", { name: "PATH", value: Redacted.make("/usr/local/bin:/usr/bin:/bin"), origin: "process" }]]),
    ...more
  })

const setup = (options: Partial<SubprocessNode.SubprocessOptions> = {}) =>
  Effect.gen(function*() {
    const cwd = yield* folder
    const outputs = yield* Outputs
    const subprocess = yield* SubprocessNode.make({
      inline: 1_048_576,
      spill: 8_388_608,
      grace: 300,
      timeout: 60_000,
      ...options
    })
    const run = (config: Schema.JsonObject, more: Partial<PrimitiveInput> = {}) =>
      subprocess.run(inputIn(cwd, config, more))
    const bash = (script: string, config: Schema.JsonObject = {}, more: Partial<PrimitiveInput> = {}) =>
      run({ command: "bash", args: ["-c", script], ...config }, more)
    return { cwd, outputs, run, bash }
  })

const test = (name: string, body: () => Effect.Effect<void, unknown, ChildProcesses | Outputs | Scope.Scope>) =>
  it.live(name, () => body().pipe(Effect.provide(Layer.merge(ChildProcessesNode.layer, OutputsMemory.layer))))
const onLinux = process.platform === "linux" ? test : (name: string, _body: unknown) => it.skip(name, () => {})

const running = (pid: number): boolean => {
  try {
    const stat = Fs.readFileSync(`/proc/${pid}/stat`, "latin1")
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z"
  } catch {
    return false
  }
}

const pidIn = (cwd: string) =>
  Effect.gen(function*() {
    const file = Path.join(cwd, "pid")
    for (let i = 0; i < 500; i++) {
      const text = Fs.existsSync(file) ? Fs.readFileSync(file, "utf8").trim() : ""
      if (text !== "") return Number(text)
      yield* Effect.sleep(10)
    }
    return assert.fail("the tool did not start")
  })

const sayOf = (error: { readonly _tag: string; readonly message: string }) => `${error._tag}: ${error.message}`

describe("limits", () => {
  test("end a program that hits them, and say which", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const cpu = yield* Effect.flip(bash("while :; do :; done", { limits: { cpu: 1 } }))
      assert.match(sayOf(cpu), /^ToolFailed: .*signal (?:SIGXCPU \(its limit on CPU time\)|SIGKILL)/)
      const size = yield* Effect.flip(bash("head -c 2000000 /dev/zero > big", { limits: { file_size: "1MiB" } }))
      assert.include(sayOf(size), "ToolFailed")
      const files = yield* Effect.flip(bash("for i in $(seq 100); do eval \"exec $((i+10))<bash\" ; done", {
        limits: { files: 32 }
      }))
      assert.include(sayOf(files), "ToolFailed")
    }))

  onLinux("hold for memory", () =>
    Effect.gen(function*() {
      const { run } = yield* setup()
      const code = "x = bytearray(800_000_000); print('had it')"
      assert.strictEqual(
        (yield* run({ command: "python3", args: ["-c", "print(1)"], limits: { memory: "512MiB" } })).data,
        "1\n"
      )
      const error = yield* Effect.flip(run({ command: "python3", args: ["-c", code], limits: { memory: "512MiB" } }))
      assert.include(sayOf(error), "MemoryError")
    }))

  test("of the kernel's holder hold for every tool, which can only ask for less", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup({ limits: { files: 60 } })
      assert.strictEqual((yield* bash("ulimit -n")).data, "60\n")
      assert.strictEqual((yield* bash("ulimit -n", { limits: { files: 40 } })).data, "40\n")
      assert.strictEqual((yield* bash("ulimit -n", { limits: { files: 90 } })).data, "60\n")
    }))

  test("change nothing else: exit codes, streams and arguments are the program's own", () =>
    Effect.gen(function*() {
      const { bash, run } = yield* setup()
      const limits = { files: 64 }
      assert.strictEqual(
        (yield* run({ command: "printf", args: ["%s|", "$(id)", "a b", ""], limits })).data,
        "$(id)|a b||"
      )
      assert.include(sayOf(yield* Effect.flip(bash("echo why >&2; exit 125", { limits }))), "exit code 125:\nwhy")
      assert.strictEqual(
        (yield* run({ command: "cat", limits, input: "stdin" }, { parameters: { a: 1 } })).data,
        "{\"a\":1}\n"
      )
      const error = yield* Effect.flip(run({ command: "kiwi-no-such-program", limits }))
      assert.include(sayOf(error), "no such program")
    }))
})

describe("UTF-8 strictness: binary output", () => {
  test("is kept byte by byte, shown leniently, and flagged", () =>
    Effect.gen(function*() {
      const { bash, outputs } = yield* setup()
      const { data, metadata } = yield* bash("printf '\\x89PNG\\x00\\xff'; printf '\\xfe' >&2")
      assert.strictEqual(data, "\uFFFDPNG\0\uFFFD")
      const { stderr, stdout } = metadata
      assert.deepStrictEqual([stdout?.binary, stdout?.bytes, stderr?.binary], [true, 6, true])
      const kept = yield* outputs.read(outputId(stdout?.spilled ?? "") ?? "", { offset: 0, length: 100 })
      assert.deepStrictEqual([...kept.bytes], [0x89, 0x50, 0x4e, 0x47, 0, 0xff])
      const text = yield* bash("printf 'é€𝄞'")
      assert.deepStrictEqual([text.metadata.stdout?.binary, text.metadata.stdout?.spilled], [undefined, undefined])
    }))

  test("is flagged also where it is large", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup({ inline: 10_000 })
      const binary = yield* bash("seq 20000; printf '\\xff'; seq 20000")
      assert.isTrue(binary.metadata.stdout?.binary)
      const text = yield* bash("for i in $(seq 9000); do printf '€'; done")
      assert.isUndefined(text.metadata.stdout?.binary)
      assert.isDefined(text.metadata.stdout?.spilled)
    }))

  test("is no JSON", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const error = yield* Effect.flip(bash("printf '\"\\xff\"'", { output: "json" }))
      assert.include(sayOf(error), "it is not UTF-8")
    }))
})

describe("no output caps: a gigabyte", () => {
  it.live("fills neither memory nor disk, and a tool that is stopped for it leaves nothing", () =>
    Effect.gen(function*() {
      const project = yield* folder
      Fs.mkdirSync(Path.join(project, ".ai"))
      const layer = OutputsFile.layer({ keep: "7 days" }).pipe(
        Layer.provide(Layer.merge(SafeFilesNode.layer, WorkspaceMemory.layerWith(project))),
        Layer.provide(KiwiHomeMemory.layer)
      )
      yield* Effect.gen(function*() {
        const { bash } = yield* setup({ inline: 100_000, spill: 20_000_000 })
        const kept = () => {
          const place = Path.join(project, ".ai/outputs")
          return Fs.existsSync(place)
            ? Fs.readdirSync(place).map((name) => Fs.statSync(Path.join(place, name)).size)
            : []
        }
        const before = process.memoryUsage().rss
        const fiber = yield* Effect.forkChild(Effect.flip(bash("head -c 1073741824 /dev/zero")))
        let most = 0
        while (fiber.pollUnsafe() === undefined) {
          most = Math.max(most, ...kept())
          yield* Effect.sleep(5)
        }
        assert.include(sayOf(yield* Fiber.join(fiber)), "more than 20,000,000 bytes of output")
        assert.isAtMost(most, 20_000_000)
        assert.deepStrictEqual(kept(), [])
        assert.isBelow(process.memoryUsage().rss - before, 150_000_000)
        yield* bash("head -c 1000000 /dev/zero")
        assert.deepStrictEqual(kept(), [1_000_000])
      }).pipe(Effect.provide(Layer.merge(ChildProcessesNode.layer, layer)))
    }))
})

describe("large JSON parameters hit the argv limit: by stdin they do not", () => {
  test("thirty-two megabytes arrive whole", () =>
    Effect.gen(function*() {
      const { run } = yield* setup({ inline: 100, spill: 100_000_000 })
      const big = "é".repeat(16 * 1_048_576)
      const { metadata } = yield* run({ command: "cat", input: "stdin" }, { parameters: { big } })
      assert.strictEqual(metadata.stdout?.bytes, Buffer.byteLength(JSON.stringify({ big })) + 1)
    }))

  test("as arguments or variables they are refused by name, with the way out", () =>
    Effect.gen(function*() {
      const { run } = yield* setup()
      for (const input of ["args", "env"]) {
        for (const limits of [{}, { files: 64 }]) {
          const error = yield* Effect.flip(
            run({ command: "true", input, limits }, { parameters: { small: "x", big: "x".repeat(3_000_000) } })
          )
          assert.strictEqual(error._tag, "ParametersUnpassable")
          assert.include(error.message, "big: is too long")
          assert.include(error.message, "input: stdin")
        }
      }
    }))
})

describe("kill only the direct child: everything that a call started ends with it", () => {
  const daemon = (more: string) =>
    `(setsid bash -c '${more}(echo $BASHPID > pid; exec sleep 60) & disown' </dev/null >/dev/null 2>&1 &) ; sleep 0.3`

  onLinux("a daemon that left group, session and parents, when the call ends by itself", () =>
    Effect.gen(function*() {
      const { bash, cwd } = yield* setup()
      yield* bash(`${daemon("")}; echo done`)
      assert.isFalse(running(yield* pidIn(cwd)))
    }))

  onLinux("such a daemon, when the call is cut off", () =>
    Effect.gen(function*() {
      const { bash, cwd } = yield* setup()
      const fiber = yield* Effect.forkChild(bash(`${daemon("")}; sleep 60`))
      const pid = yield* pidIn(cwd)
      assert.isTrue(running(pid))
      yield* Fiber.interrupt(fiber)
      assert.isFalse(running(pid))
    }))

  onLinux("such a daemon that ignores TERM", () =>
    Effect.gen(function*() {
      const { bash, cwd } = yield* setup()
      yield* bash(daemon("trap \"\" TERM; "))
      assert.isFalse(running(yield* pidIn(cwd)))
    }))

  onLinux("a stranger of the same user lives on", () =>
    Effect.gen(function*() {
      const { bash } = yield* setup()
      const other = yield* setup()
      const fiber = yield* Effect.forkChild(other.bash("echo $$ > pid; exec sleep 60"))
      const pid = yield* pidIn(other.cwd)
      yield* bash("true")
      yield* Effect.flip(bash("sleep 60", { timeout: 0.1 }))
      assert.isTrue(running(pid))
      yield* Fiber.interrupt(fiber)
      assert.isFalse(running(pid))
    }))
})

describe("the working directory", () => {
  test("is inside the project, whatever its path says", () =>
    Effect.gen(function*() {
      const { cwd, run } = yield* setup()
      const outside = yield* folder
      Fs.mkdirSync(Path.join(cwd, "in/deep"), { recursive: true })
      Fs.symlinkSync(outside, Path.join(cwd, "in/out"))
      Fs.symlinkSync(Path.join(cwd, "in/deep"), Path.join(cwd, "short"))
      for (const asked of ["in/out", "/", "..", "in/../..", outside, `${cwd}x`, "a\0b"]) {
        const error = yield* Effect.flip(run({ command: "pwd", cwd: asked }))
        assert.strictEqual(error._tag, "ToolUnstartable", asked)
      }
      for (const asked of ["in/deep", "short", cwd, "in/deep/../.."]) {
        assert.isTrue(String((yield* run({ command: "pwd", args: ["-P"], cwd: asked })).data).startsWith(cwd), asked)
      }
    }))

  test("a program of the project's folder has no name", () =>
    Effect.gen(function*() {
      const { cwd, run } = yield* setup()
      Fs.mkdirSync(Path.join(cwd, "bin"))
      Fs.writeFileSync(Path.join(cwd, "bin/uname"), "#!/bin/sh\necho hijacked\n", { mode: 0o755 })
      const env = new Map([["PATH", {
        name: "PATH",
        value: Redacted.make(`${cwd}/bin:bin::/usr/bin:/bin`),
        origin: "process" as const
      }]])
      assert.notInclude(String((yield* run({ command: "uname" }, { env })).data), "hijacked")
      assert.strictEqual((yield* run({ command: "./bin/uname" }, { env })).data, "hijacked\n")
      assert.isTrue(Result.isFailure(yield* Effect.result(run({ command: "kiwi-none" }, { env }))))
    }))
})
