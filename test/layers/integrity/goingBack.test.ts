// Going back to a branch whose items a person has signed: one question for all of them, and none for what was accepted.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { sign } from "../../../src/programs/sign.ts"
import { codeOf, innermost } from "../../../src/services/error/KiwiError.ts"
import { HumanGate } from "../../../src/services/trust/HumanAct.ts"
import type { HumanRequest } from "../../../src/services/trust/HumanAct.ts"
import { kernelOf, realProject } from "../../support/realProject.ts"
import { agree, trustProject } from "../../support/trustWorld.ts"
import { call, caller, object, tool } from "../proxy/calls.ts"

const ids = Array.from({ length: 20 }, (_, index) => `t${String(index).padStart(2, "0")}`)
const pathOf = (id: string): string => `.ai/tools/${id}.yaml`
const textOf = (version: string, says = version): string =>
  tool({ version, input_schema: object({}), config: { command: "echo", args: [says] } })

/** A repository with a tool for each id, on a real disk under the real kernel, trusted; `asked` is what a person saw. */
const world = Effect.gen(function*() {
  const of = yield* realProject({ ".ai/.gitignore": "logs/\n" })
  const asked: Array<HumanRequest> = []
  const gate = Layer.succeed(HumanGate, {
    ask: (request) =>
      Effect.sync(() => {
        asked.push(request)
        return agree(request)
      })
  })
  const context = yield* Layer.build(Layer.merge(kernelOf(of), gate))
  const git = (...args: ReadonlyArray<string>): string =>
    execFileSync("git", ["-c", "user.name=ada", "-c", "user.email=ada@example.com", ...args], {
      cwd: of.project,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "", HOME: of.home, GIT_CONFIG_NOSYSTEM: "1" },
      stdio: ["ignore", "pipe", "pipe"]
    })
  git("init", "-q", "-b", "main")
  yield* Effect.provideContext(trustProject, context)
  const signing = (id: string) =>
    Effect.provideContext(Effect.orDie(sign({ id, type: "tool" }, caller)), context)
  /** Why a tool does not run; `undefined`: it has run. */
  const refusal = (id: string) =>
    call(id).pipe(
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(codeOf(innermost(error)))),
      Effect.provideContext(context)
    )
  const refusals = Effect.forEach(ids, refusal)
  /** Does what an agent does: runs each, and asks the person where it is told to. */
  const useAll = Effect.gen(function*() {
    for (const id of ids) {
      const code = yield* refusal(id)
      if (code === undefined) continue
      assert.strictEqual(code, "GOES_BACK", id)
      yield* signing(id)
      assert.isUndefined(yield* refusal(id), id)
    }
  })
  const commit = (...args: ReadonlyArray<string>) => {
    git("add", "-A")
    git("commit", "-q", "-m", "work", ...args)
  }
  /** All tools at a version, signed and committed, on a branch of that name. */
  const branch = Effect.fnUntraced(function*(name: string, version: string) {
    if (name !== "main") git("checkout", "-q", "-b", name)
    for (const id of ids) of.write(pathOf(id), textOf(version))
    yield* signing("**")
    commit()
  })
  return { ...of, asked, git, branch, commit, context, refusal, refusals, signing, useAll }
})

describe("going back to a branch whose items a person has signed", () => {
  it.live("asks once for all of them, however often one goes to and fro, and leaves the files alone", () =>
    Effect.gen(function*() {
      const { asked, branch, git, useAll } = yield* world
      yield* branch("main", "1.0.0")
      yield* useAll
      yield* branch("next", "2.0.0")
      yield* useAll
      asked.length = 0
      for (let turn = 0; turn < 5; turn++) {
        for (const name of ["main", "next"]) {
          git("checkout", "-q", name)
          yield* useAll
          assert.strictEqual(git("status", "--porcelain"), "", name)
        }
        assert.lengthOf(asked, 1)
      }
      const [{ command, details, title, verdict }] = asked as [HumanRequest]
      assert.strictEqual(title, "Let 20 items go back to what was signed (project)")
      assert.strictEqual(command, "kiwi sign tool t00")
      assert.match(verdict![0], /^T00 goes back from 2\.0\.0 to 1\.0\.0; \d+ more below$/)
      assert.match(verdict![1], /^20 signed before: 20 lines added, 20 lines removed; sha256 [0-9a-f]{16}$/)
      assert.strictEqual(details.split("goes back from 2.0.0 to 1.0.0").length - 1, 20)
      assert.strictEqual(details.split('-{"version":"2.0.0"').length - 1, 20)
    }).pipe(Effect.scoped), 120_000)
})
