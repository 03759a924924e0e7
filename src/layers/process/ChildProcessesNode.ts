// ChildProcesses over node:child_process. Effect's own spawner ends the process group, but not what left the group by
// setsid, waits on its streams for as long as a daemon holds them, and reports an exit by signal as an I/O error; so
// this is a small adapter of our own. A call owns what it starts: what is left when the child exits is ended too.
import { Clock, Effect, Fiber, Layer } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import type { Readable } from "node:stream"
import {
  type ChildExit,
  ChildProcesses,
  type ChildRequest,
  type Engine,
  type SpawnFailure,
  type TakeChunk
} from "../../services/process/ChildProcesses.ts"
import { errorCode } from "./errorCode.ts"
import { endTree, isLeft, killNow, type Root } from "./processTree.ts"

/** Milliseconds that a stream is read on after the exit, while something else holds it open. */
const drainGrace = 500

const failure = (cause: unknown): SpawnFailure => ({
  _tag: "SpawnFailure",
  code: errorCode(cause) || "EUNKNOWN"
})

interface Running<E> {
  readonly child: ChildProcess
  readonly root: Root
  readonly stdout: Readable
  readonly stderr: Readable
  exit: ChildExit | undefined
  expired: boolean
  timer: Fiber.Fiber<void> | undefined
  /** Streams that have not ended. */
  open: number
  /** What has to be done before a paused stream is read on. */
  readonly jobs: Array<Effect.Effect<void, E>>
  /** The exit, a job or the end of a stream has come since somebody last heard of one. */
  told: boolean
  /** Set while somebody waits for that. */
  wake: (() => void) | undefined
}

/** Children that run, by their process's id. */
type LiveChildren = Map<number, Root>

const tell = <E>(running: Running<E>): void => {
  running.told = true
  running.wake?.()
}

/** Reads a stream as it comes; where a chunk needs work first, the stream stands still and so holds its writer back. */
const follow = <E>(running: Running<E>, stream: Readable, take: TakeChunk<E>): void => {
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    running.open--
    tell(running)
  }
  stream.on("data", (chunk: Buffer) => {
    const slow = take(chunk)
    if (slow === undefined) return
    stream.pause()
    running.jobs.push(Effect.andThen(slow, Effect.sync(() => stream.resume())))
    tell(running)
  })
  stream.on("end", end)
  stream.on("close", end)
  stream.on("error", end)
}

const start = <E, X>(
  { argv, as, cwd, env, mark, stdin, ...request }: ChildRequest<E, X>,
  live: LiveChildren
): Effect.Effect<Running<E>, SpawnFailure> =>
  Effect.callback((resume) => {
    const value = randomUUID()
    let child: ChildProcess
    try {
      child = spawn(argv[0] ?? "", argv.slice(1), {
        cwd,
        ...(as === undefined ? {} : { argv0: as }),
        env: { ...env, [mark]: value },
        detached: true,
        shell: false,
        windowsHide: true,
        stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]
      })
    } catch (cause) {
      return resume(Effect.fail(failure(cause)))
    }
    child.on("error", (cause) => resume(Effect.fail(failure(cause))))
    const { pid, stderr, stdout } = child
    if (pid === undefined || stdout === null || stderr === null) return
    const root = { pid, mark: `${mark}=${value}` }
    const running: Running<E> = {
      child,
      root,
      stdout,
      stderr,
      exit: undefined,
      expired: false,
      timer: undefined,
      open: 2,
      jobs: [],
      told: false,
      wake: undefined
    }
    live.set(pid, root)
    child.on("exit", (code, signal) => {
      running.exit = { code, signal }
      tell(running)
    })
    follow(running, stdout, request.stdout)
    follow(running, stderr, request.stderr)
    // A tool that does not read its input is no error.
    child.stdin?.on("error", () => {})
    child.stdin?.end(stdin)
    resume(Effect.succeed(running))
  })

/** Something may come between a look and the wait for more: a fiber may pause anywhere. */
const news = <E>(running: Running<E>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const wake = () => {
      running.told = false
      running.wake = undefined
      resume(Effect.void)
    }
    if (running.told) return wake()
    running.wake = wake
    return Effect.sync(() => {
      running.wake = undefined
    })
  })

/** Until the child has exited and its output has ended, or is held open for longer than the grace by something else. */
const finish = Effect.fnUntraced(function*<E, X>(running: Running<E>, within: ChildRequest<E, X>["within"]) {
  // A race would cost two fibers, and start the child later; this one starts while the child does.
  running.timer = yield* Effect.forkChild(Effect.andThen(
    Effect.sleep(within.millis),
    Effect.sync(() => {
      running.expired = true
      tell(running)
    })
  ))
  let deadline: number | undefined
  while (true) {
    if (running.expired) return yield* Effect.fail(within.expired())
    const job = running.jobs.shift()
    if (job !== undefined) {
      yield* job
      if (deadline === undefined) continue
    }
    const { exit } = running
    if (exit === undefined) {
      yield* news(running)
      continue
    }
    if (running.open === 0 && running.jobs.length === 0) return exit
    const now = yield* Clock.currentTimeMillis
    deadline ??= now + drainGrace
    if (now >= deadline) return exit
    if (running.jobs.length === 0) yield* Effect.timeoutOption(news(running), deadline - now)
  }
})

/** Running children; they are killed when this process exits by itself, however that comes about. */
const makeLiveChildren = Effect.acquireRelease(
  Effect.sync(() => {
    const live: LiveChildren = new Map()
    const onExit = () => live.forEach(killNow)
    process.on("exit", onExit)
    return { live, onExit }
  }),
  ({ onExit }) => Effect.sync(() => process.off("exit", onExit))
).pipe(Effect.map(({ live }) => live))

const makeEngine = (live: LiveChildren): Engine => (request) =>
  Effect.acquireUseRelease(
    start(request, live),
    (running) => finish(running, request.within),
    Effect.fnUntraced(function*(running) {
      if (running.exit === undefined || isLeft(running.root)) yield* endTree(running.root, request.grace)
      if (running.timer !== undefined) yield* Fiber.interrupt(running.timer)
      live.delete(running.root.pid)
      running.stdout.destroy()
      running.stderr.destroy()
      running.child.stdin?.destroy()
    })
  )

/** There is no sandbox yet: both levels run as they are, and a tool's limits are part of its argv. */
export const make = Effect.map(makeLiveChildren, (live) => {
  const engine = makeEngine(live)
  return ChildProcesses.fromEngines(new Map([["trusted", engine], ["standard", engine]]))
})

export const layer = Layer.effect(ChildProcesses, make)
