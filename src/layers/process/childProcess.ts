// One child process over node:child_process. Effect's own spawner ends the process group, but not what left the group
// by setsid, waits on its streams for as long as a daemon holds them, and reports an exit by signal as an I/O error;
// so this is a small adapter of our own. A call owns its group: what is left of it when the child exits is ended too.
import { Effect, Fiber } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { endTree, groupLeft, killNow } from "./processTree.ts"

export interface ChildSpec {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string | undefined
  /** Milliseconds between TERM and KILL. */
  readonly grace: number
}

export interface ChildExit {
  readonly code: number | null
  readonly signal: string | null
}

export interface SpawnFailure {
  readonly _tag: "SpawnFailure"
  readonly code: string
}

/** Milliseconds that a stream is read on after the exit, while something else holds it open. */
const drainGrace = 500

const failure = (cause: unknown): SpawnFailure => ({
  _tag: "SpawnFailure",
  code: typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "EUNKNOWN"
})

interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly stdout: Readable
  readonly stderr: Readable
  /** Set by the exit event; `listen` is told once. */
  exit: ChildExit | undefined
  listen: ((exit: ChildExit) => void) | undefined
}

const start = (spec: ChildSpec, live: Set<number>): Effect.Effect<Running, SpawnFailure> =>
  Effect.callback((resume) => {
    let child: ChildProcess
    try {
      child = spawn(spec.argv[0] ?? "", spec.argv.slice(1), {
        cwd: spec.cwd,
        env: spec.env,
        detached: true,
        shell: false,
        windowsHide: true,
        stdio: [spec.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]
      })
    } catch (cause) {
      return resume(Effect.fail(failure(cause)))
    }
    child.on("error", (cause) => resume(Effect.fail(failure(cause))))
    const { pid, stderr, stdout } = child
    if (pid === undefined || stdout === null || stderr === null) return
    const running: Running = { child, pid, stdout, stderr, exit: undefined, listen: undefined }
    live.add(pid)
    child.on("exit", (code, signal) => {
      running.exit = { code, signal }
      running.listen?.(running.exit)
    })
    // A tool that does not read its input is no error.
    child.stdin?.on("error", () => {})
    child.stdin?.end(spec.stdin)
    resume(Effect.succeed(running))
  })

const awaitExit = (running: Running): Effect.Effect<ChildExit> =>
  Effect.callback((resume) => {
    if (running.exit !== undefined) return resume(Effect.succeed(running.exit))
    running.listen = (exit) => resume(Effect.succeed(exit))
    return Effect.sync(() => {
      running.listen = undefined
    })
  })

/** The next bytes; `undefined` at the end. Reading only on demand is what holds a fast writer back. */
const next = (stream: Readable): Effect.Effect<Buffer | undefined> =>
  Effect.callback((resume) => {
    const done = () => {
      stream.off("readable", attempt)
      stream.off("end", end)
      stream.off("close", end)
      stream.off("error", end)
    }
    const end = () => {
      done()
      resume(Effect.undefined)
    }
    const attempt = () => {
      const chunk: unknown = stream.read()
      if (Buffer.isBuffer(chunk)) {
        done()
        resume(Effect.succeed(chunk))
      } else if (stream.readableEnded || stream.destroyed) end()
    }
    stream.on("readable", attempt)
    stream.on("end", end)
    stream.on("close", end)
    stream.on("error", end)
    attempt()
    return Effect.sync(done)
  })

const pump = Effect.fnUntraced(function*(stream: Readable, consume: (chunk: Buffer) => Effect.Effect<void> | undefined) {
  while (true) {
    const chunk = yield* next(stream)
    if (chunk === undefined) return
    const slow = consume(chunk)
    if (slow !== undefined) yield* slow
  }
})

/** Ids of running children; they are killed when this process exits by itself, however that comes about. */
export const makeLiveChildren = Effect.acquireRelease(
  Effect.sync(() => {
    const live = new Set<number>()
    const onExit = () => live.forEach(killNow)
    process.on("exit", onExit)
    return { live, onExit }
  }),
  ({ onExit }) => Effect.sync(() => process.off("exit", onExit))
).pipe(Effect.map(({ live }) => live))

/**
 * Runs a child until it has exited and its output is read. Interruption, and so a timeout around it, ends the whole
 * tree before it goes on.
 */
export const runChild = (spec: ChildSpec, live: Set<number>, sinks: {
  /** Takes a chunk; returns an effect only where more may not be read until it is done. */
  readonly stdout: (chunk: Buffer) => Effect.Effect<void> | undefined
  readonly stderr: (chunk: Buffer) => Effect.Effect<void> | undefined
}): Effect.Effect<ChildExit, SpawnFailure> =>
  Effect.acquireUseRelease(
    start(spec, live),
    (running) =>
      Effect.scoped(Effect.gen(function*() {
        const pumps = yield* Effect.forkScoped(
          Effect.all([pump(running.stdout, sinks.stdout), pump(running.stderr, sinks.stderr)], { concurrency: 2 })
        )
        const exit = yield* awaitExit(running)
        yield* Effect.timeoutOption(Fiber.await(pumps), drainGrace)
        return exit
      })),
    Effect.fnUntraced(function*(running) {
      if (running.exit === undefined || groupLeft(running.pid)) yield* endTree(running.pid, spec.grace)
      live.delete(running.pid)
      running.stdout.destroy()
      running.stderr.destroy()
      running.child.stdin?.destroy()
    })
  )
