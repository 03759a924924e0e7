// ChildProcesses over node:child_process. Effect's own spawner ends the process group but not processes that left it by
// setsid, waits on streams as long as a daemon holds them open, and reports an exit by signal as an I/O error. So this
// is a small adapter of our own. A call owns what it starts: processes that remain when the child exits are ended too.
import { Clock, Effect, Fiber, Layer } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import type { Duplex, Readable } from "node:stream"
import {
  type ChildExit,
  ChildProcesses,
  type ChildRequest,
  type Connection,
  type Engine,
  type SpawnFailure,
  type TakeChunk
} from "../../services/process/ChildProcesses.ts"
import { errorCode } from "./errorCode.ts"
import { endTree, isLeft, killNow, type Root } from "./processTree.ts"

/** Milliseconds for which a stream is read after the exit, while another process holds it open. */
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
  /** Undefined unless the child was given a connection. */
  readonly socket: Duplex | undefined
  exit: ChildExit | undefined
  expired: boolean
  timer: Fiber.Fiber<void> | undefined
  /** Number of streams that have not ended. */
  open: number
  /** Effects to run before a paused stream is resumed. */
  readonly jobs: Array<Effect.Effect<void, E>>
  /** Whether an exit, a job or the end of a stream has happened since the last wait. */
  signalled: boolean
  /** Set while a fiber waits for that. */
  wake: (() => void) | undefined
}

/** Running children, by process id. */
type LiveChildren = Map<number, Root>

const signalEvent = <E>(running: Running<E>): void => {
  running.signalled = true
  running.wake?.()
}

/** Reads a stream as data arrives. While a chunk's effect runs, the stream is paused, which also blocks its writer. */
const follow = <E>(running: Running<E>, stream: Readable, take: TakeChunk<E>): void => {
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    running.open--
    signalEvent(running)
  }
  stream.on("data", (chunk: Buffer) => {
    const slow = take(chunk)
    if (slow === undefined) return
    stream.pause()
    running.jobs.push(Effect.andThen(slow, Effect.sync(() => stream.resume())))
    signalEvent(running)
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
        stdio: [
          stdin === undefined ? "ignore" : "pipe",
          "pipe",
          "pipe",
          ...(request.serve === undefined ? [] : ["pipe" as const])
        ]
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
      socket: request.serve === undefined ? undefined : child.stdio[3] as Duplex,
      exit: undefined,
      expired: false,
      timer: undefined,
      open: 2,
      jobs: [],
      signalled: false,
      wake: undefined
    }
    live.set(pid, root)
    child.on("exit", (code, signal) => {
      running.exit = { code, signal }
      signalEvent(running)
    })
    follow(running, stdout, request.stdout)
    follow(running, stderr, request.stderr)
    // A tool that does not read its input is not an error.
    child.stdin?.on("error", () => {})
    child.stdin?.end(stdin)
    resume(Effect.succeed(running))
  })

const ends = ["readable", "end", "close", "error"] as const

const connectionOf = (socket: Duplex): Connection => ({
  read: Effect.callback((resume) => {
    const stop = () => {
      for (const event of ends) socket.off(event, look)
    }
    const look = () => {
      const chunk: Buffer | null = socket.read()
      if (chunk === null && !socket.readableEnded && !socket.destroyed) return
      stop()
      resume(Effect.succeed(chunk ?? undefined))
    }
    for (const event of ends) socket.on(event, look)
    look()
    return Effect.sync(stop)
  }),
  write: (text) =>
    Effect.callback((resume) => {
      if (socket.writable) socket.write(text, () => resume(Effect.void))
      else resume(Effect.void)
    })
})

/** Serves the child's connection while `body` runs. */
const serving = <A, E, E2>(
  { socket }: Running<E2>,
  serve: ChildRequest<never, never>["serve"],
  body: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  if (socket === undefined || serve === undefined) return body
  // Without a listener, its errors would be thrown: the child may be gone at any time.
  socket.on("error", () => {})
  const served = Effect.ensuring(serve(connectionOf(socket)), Effect.sync(() => socket.destroy()))
  return Effect.flatMap(Effect.forkChild(served), (fiber) => Effect.ensuring(body, Fiber.interrupt(fiber)))
}

/** An event may happen between the check and the wait, since a fiber can be suspended anywhere. */
const nextEvent = <E>(running: Running<E>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const wake = () => {
      running.signalled = false
      running.wake = undefined
      resume(Effect.void)
    }
    if (running.signalled) return wake()
    running.wake = wake
    return Effect.sync(() => {
      running.wake = undefined
    })
  })

/**
 * Waits until the child has exited and its output has ended, or another process has held it open for the grace period.
 */
const finish = Effect.fnUntraced(function*<E, X>(running: Running<E>, within: ChildRequest<E, X>["within"]) {
  // A race would take two fibers and start the child later; this fiber starts while the child does.
  running.timer = yield* Effect.forkChild(Effect.andThen(
    Effect.sleep(within.millis),
    Effect.sync(() => {
      running.expired = true
      signalEvent(running)
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
      yield* nextEvent(running)
      continue
    }
    if (running.open === 0 && running.jobs.length === 0) return exit
    const now = yield* Clock.currentTimeMillis
    deadline ??= now + drainGrace
    if (now >= deadline) return exit
    if (running.jobs.length === 0) yield* Effect.timeoutOption(nextEvent(running), deadline - now)
  }
})

/** Running children. They are killed when this process exits, for any reason that Node reports. */
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
    (running) => serving(running, request.serve, finish(running, request.within)),
    Effect.fnUntraced(function*(running) {
      if (running.exit === undefined || isLeft(running.root)) yield* endTree(running.root, request.grace)
      if (running.timer !== undefined) yield* Fiber.interrupt(running.timer)
      live.delete(running.root.pid)
      running.stdout.destroy()
      running.stderr.destroy()
      running.child.stdin?.destroy()
      running.socket?.destroy()
    })
  )

/** There is no sandbox yet: both levels run the program directly, and a tool's limits are part of its argv. */
export const make = Effect.map(makeLiveChildren, (live) => {
  const engine = makeEngine(live)
  return ChildProcesses.fromEngines(new Map([["trusted", engine], ["standard", engine]]))
})

export const layer = Layer.effect(ChildProcesses, make)
