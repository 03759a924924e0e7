// What everything that starts processes does, over five programs that each implementation has in its own way.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, type Layer, type Scope } from "effect"
import { ChildProcesses, type ChildRequest, type SpawnFailure } from "../../../src/services/process/ChildProcesses.ts"
import type { SandboxUnavailable } from "../../../src/services/sandbox/Isolation.ts"

export interface Programs {
  /** Answers with what it reads. */
  readonly echo: string
  /** Answers with the variable WORD. */
  readonly word: string
  /** Says "no" on stderr, and ends with 3. */
  readonly refuse: string
  /** Goes on for ever, once it has let `started` succeed. */
  readonly hang: string
  /** Lets `started` succeed, and ends. */
  readonly mark: string
  /** No program. */
  readonly none: string
}

export interface Setup {
  readonly programs: Programs
  readonly started: Effect.Effect<boolean>
}

const text = (chunks: ReadonlyArray<Uint8Array>): string => Buffer.concat(chunks).toString("utf8")

export const contract = <E>(
  name: string,
  /** Fresh: nothing has started. */
  setup: Effect.Effect<Setup & { readonly layer: Layer.Layer<ChildProcesses, E> }, never, Scope.Scope>
) =>
  describe(`${name} satisfies ChildProcesses`, () => {
    const test = (
      title: string,
      body: (
        world: Setup & {
          readonly children: ChildProcesses["Service"]
          readonly run: (
            argv: ReadonlyArray<string>,
            more?: Partial<ChildRequest<string, "late">>
          ) => Effect.Effect<
            { readonly code: number | null; readonly stdout: string; readonly stderr: string },
            SandboxUnavailable | SpawnFailure | string
          >
        }
      ) => Effect.Effect<void, unknown>
    ) =>
      it.live(title, () =>
        Effect.flatMap(setup, ({ layer, ...world }) =>
          ChildProcesses.use((children) =>
            body({
              ...world,
              children,
              run: Effect.fnUntraced(function*(argv, more) {
                const [stdout, stderr]: [Array<Uint8Array>, Array<Uint8Array>] = [[], []]
                const { code } = yield* children.run<string, "late">({
                  name: "tool",
                  isolation: "standard",
                  argv,
                  cwd: "/",
                  env: {},
                  mark: "KIWI_CALL",
                  stdout: (chunk) => void stdout.push(chunk),
                  stderr: (chunk) => void stderr.push(chunk),
                  within: { millis: 60_000, expired: () => "late" },
                  grace: 300,
                  ...more
                })
                return { code, stdout: text(stdout), stderr: text(stderr) }
              })
            })
          ).pipe(Effect.provide(layer))))

    test("answers with the code, and gives what was said to whoever takes it", ({ programs, run }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* run([programs.echo], { stdin: "héllo" }), {
          code: 0,
          stdout: "héllo",
          stderr: ""
        })
        assert.deepStrictEqual(yield* run([programs.refuse]), { code: 3, stdout: "", stderr: "no" })
      }))

    test("gives nothing to read where nothing is given, and bytes as they are", ({ programs, run }) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* run([programs.echo])).stdout, "")
        assert.strictEqual((yield* run([programs.echo], { stdin: Uint8Array.from([104, 105]) })).stdout, "hi")
      }))

    test("gives the environment", ({ programs, run }) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* run([programs.word], { env: { WORD: "kiwi" } })).stdout, "kiwi")
      }))

    test("fails with the system's code where there is no program", ({ programs, run }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* Effect.flip(run([programs.none])), { _tag: "SpawnFailure", code: "ENOENT" })
      }))

    test("fails as whoever takes its output does", ({ programs, run }) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(run([programs.echo], { stdin: "x", stdout: () => Effect.fail("full") }))
        assert.strictEqual(error, "full")
      }))

    test("ends what takes too long", ({ programs, run, started }) =>
      Effect.gen(function*() {
        const within = { millis: 700, expired: () => "late" as const }
        const [elapsed, error] = yield* Effect.timed(Effect.flip(run([programs.hang], { within })))
        assert.strictEqual(error, "late")
        assert.isBelow(Duration.toSeconds(elapsed), 30)
        assert.isTrue(yield* started)
      }))

    test("ends with whoever waits for it", ({ programs, run, started }) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(run([programs.hang]))
        while (!(yield* started)) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
      }))

    test("runs at the levels that it has", ({ children, programs, run }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual([...children.levels].toSorted(), ["standard", "trusted"])
        for (const isolation of children.levels) {
          assert.strictEqual((yield* run([programs.echo], { isolation })).code, 0)
        }
      }))

    const requests: Readonly<Record<string, Partial<ChildRequest<string, "late">>>> = {
      "a tool": {},
      "a child of Kiwi's own": { mark: "KIWI_CHILD" },
      "one with something to read": { stdin: "x" },
      "one without time": { within: { millis: 0, expired: () => "late" } },
      "one in a folder that is gone": { cwd: "/nowhere/at/all" },
      "one under another name": { as: "/bin/true" }
    }
    for (const isolation of ["sandboxed", "restricted"] as const) {
      for (const [what, request] of Object.entries(requests)) {
        test(`starts nothing ${isolation}, for want of an engine: ${what}`, ({ programs, run, started }) =>
          Effect.gen(function*() {
            const error = yield* Effect.flip(run([programs.mark], { ...request, isolation }))
            assert.deepInclude(error, { _tag: "SandboxUnavailable", tool: "tool", level: isolation })
            assert.isFalse(yield* started)
            yield* run([programs.mark])
            assert.isTrue(yield* started)
          }))
      }
    }
  })
