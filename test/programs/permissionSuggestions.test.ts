// kiwi permissions suggest: from the audit of real calls and a person's answers to them.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { answerApproval } from "../../src/programs/approvals.ts"
import { ApprovalStore } from "../../src/services/approval/ApprovalStore.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { kernelOfSurfaces } from "../errors/surfaces.ts"
import { call, caller } from "../layers/proxy/calls.ts"
import { kernelOf, type RealProject, realProject } from "../support/realProject.ts"
import { trustProject } from "../support/trustWorld.ts"
import { runCli } from "./cli/runCli.ts"

const mcp = { ...caller, surface: "mcp" as const }

/** A call, the person's answer if there is a question, and the call again. */
const answered = Effect.fnUntraced(function*(item: string, parameters: Record<string, string>, choice: string) {
  const attempt = Effect.result(
    call(item, parameters, { caller: mcp, callId: `${item} ${JSON.stringify(parameters)}` })
  )
  yield* attempt
  const { list } = yield* ApprovalStore
  const waiting = (yield* list).find(({ state }) => state === "pending")
  if (waiting === undefined) return
  const person = HumanGate.of({
    ask: ({ digest, kind }) => Effect.succeed({ kind, digest, choice, by: "terminal", seen: "at a desk" })
  })
  yield* Effect.provideService(answerApproval(waiting.id, mcp), HumanGate, person)
  if (choice !== "no") yield* attempt
})

const write = (path: string, choice: string) => answered("filesystem.write", { path, content: "x" }, choice)

const run = (place: RealProject, args: ReadonlyArray<string>, answers: ReadonlyArray<string> = ["y"]) =>
  runCli(["permissions", "suggest", ...args], {
    cwd: place.project,
    kernel: kernelOfSurfaces(place),
    terminal: true,
    terminalStdin: true,
    answers: [...answers]
  })

const worked = Effect.gen(function*() {
  const place = yield* realProject({ "src/old.ts": "", "locked/x": "" })
  yield* Effect.gen(function*() {
    yield* trustProject
    yield* write("README.md", "once")
    yield* write("secret/plan.md", "no")
    yield* answered("filesystem.delete", { path: "src/old.ts" }, "once")
    for (const name of ["a", "b", "c"]) yield* write(`src/lib/${name}.ts`, "session")
    yield* Effect.result(call("filesystem.read", { path: "/etc/hosts" }, { caller: mcp, callId: "outside" }))
  }).pipe(Effect.provide(kernelOf(place)))
  return place
})

const userFile = ({ userSpace }: RealProject) => `${userSpace}/config/permissions.yaml`

describe("kiwi permissions suggest", () => {
  it.live("proposes rules for what was agreed to, and lists what was refused", () =>
    Effect.gen(function*() {
      const place = yield* worked
      const suggested = JSON.parse((yield* run(place, ["--json"])).stdout)
      assert.deepStrictEqual(suggested.rules, [
        "allow: fs.write(README.md) [caller tester]",
        "allow: fs.delete(src/old.ts) [caller tester]",
        "allow: fs.write(src/lib/**) [caller tester]"
      ])
      assert.include(suggested.diff, "+  - allow: fs.write(README.md)")
      assert.deepStrictEqual(
        suggested.refused.map(({ touches, why }: { touches: ReadonlyArray<string>; why: string }) => [touches, why]),
        [
          [["fs.write(secret/plan.md)"], "a person said no"],
          [[], suggested.refused[1].why]
        ]
      )
      assert.include(suggested.refused[1].why, "/etc/hosts is outside the project")
      assert.isFalse(fs.existsSync(userFile(place)))
      const shown = yield* run(place, [])
      assert.include(shown.stdout, "Refused, and never proposed:")
      assert.include(shown.stderr, "--apply")
    }).pipe(Effect.scoped))

  it.live("adds them after a person saw the change, once", () =>
    Effect.gen(function*() {
      const place = yield* worked
      const { shown } = yield* run(place, ["--apply"], ["n"])
      assert.include(shown, "+  - allow: fs.write(src/lib/**)")
      assert.isFalse(fs.existsSync(userFile(place)))
      const applied = JSON.parse((yield* run(place, ["--apply", "--json"])).stdout)
      assert.lengthOf(applied.added, 3)
      assert.isTrue(applied.accepted)
      assert.include(fs.readFileSync(userFile(place), "utf8"), "- allow: fs.write(src/lib/**)\n    caller: tester\n")
      assert.deepStrictEqual(JSON.parse((yield* run(place, ["--json"])).stdout).rules, [])
      yield* call("filesystem.write", { path: "src/lib/d.ts", content: "" }, { caller: { ...mcp, session: "two" } })
        .pipe(
          Effect.provide(kernelOf(place))
        )
    }).pipe(Effect.scoped))

  it.live("is no agent's: --yes does not replace a person", () =>
    Effect.gen(function*() {
      const place = yield* worked
      const { stdout } = yield* runCli(["permissions", "suggest", "--apply", "--yes", "--json"], {
        cwd: place.project,
        kernel: kernelOfSurfaces(place)
      })
      assert.strictEqual(JSON.parse(stdout).error.code, "HUMAN_REQUIRED")
      assert.isFalse(fs.existsSync(userFile(place)))
    }).pipe(Effect.scoped))

  it.live("has nothing to propose where nothing was asked", () =>
    Effect.gen(function*() {
      const place = yield* realProject({})
      assert.include((yield* run(place, ["--apply"])).stdout, "No rule is proposed")
      assert.notStrictEqual((yield* run(place, ["--days", "0"])).code, 0)
    }).pipe(Effect.scoped))
})
