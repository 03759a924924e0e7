// A process that is to be killed: `PROJECT HOME USER FOLDER NAME DIES` does everything that leaves something behind, side by
// side and for ever. FOLDER/effects gets the mark of each call that has run, and FOLDER/journal what this process has
// been told is done. Says on stdout when the first call is done, and each step of a request. With DIES `before` or `after` it kills
// itself at its first effect that a person agreed to.
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { ApprovalPending } from "../../../src/services/approval/ApprovalErrors.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import type { Caller } from "../../../src/services/call/Caller.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import { PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { agreeTo, writes } from "../approval/approvalRequest.ts"

const [, , project, home, userSpace, folder, name, dies] = process.argv

const tool = (id: string) =>
  `tool_id: ${id}
version: "1.0.0"
tool_type: builtin
executor_id: builtin
category: acme
description: "Leaves a mark"
config:
  handler: mark
input_schema:
  type: object
  properties:
    mark: { type: string }
    filler: { type: string }
`

const gate = PermissionGate.of({
  decide: (_, action) =>
    Effect.succeed({
      rule: "by name",
      asks: action._tag === "Run" && action.chain.leaf.tool.location.id === "deploy" ? [writes("src/a.ts")] : []
    })
})

const layer = Kernel.layer({
  project,
  home,
  userSpace,
  items: { "tools/acme/mark.yaml": tool("mark"), "tools/acme/deploy.yaml": tool("deploy") },
  builtins: new Map([["mark", ({ parameters }) =>
    Effect.sync(() => {
      const mark = String((parameters as { mark?: unknown }).mark)
      const die = (when: string) => {
        if (dies === when && mark.includes("-deploy-")) process.kill(process.pid, "SIGKILL")
      }
      die("before")
      fs.appendFileSync(join(folder!, "effects"), `${mark}\n`)
      die("after")
      return { data: null, metadata: {} }
    })]]),
  replace: Layer.succeed(PermissionGate, gate)
})

const note = (...words: ReadonlyArray<string | number>) =>
  Effect.sync(() => fs.appendFileSync(join(folder!, "journal"), `${words.join(" ")}\n`))

const step = (word: string, id: string) =>
  Effect.andThen(note(word, id), Effect.sync(() => process.stdout.write(`${word}\n`)))

const caller: Caller = { surface: "embed", client: name!, session: name! }

const call = (callId: string, item = "acme/mark", mark = callId) =>
  Effect.flatMap(
    ToolProxy,
    (proxy) =>
      proxy.call({
        callId,
        caller,
        item,
        parameters: { mark, filler: "x".repeat(mark.length * 50) },
        dryRun: false
      })
  )

/** Each step leaves the others, whose files and locks take turns of the event loop, a millisecond. */
const forEver = <A, E, R>(use: (count: number) => Effect.Effect<A, E, R>) => {
  let count = 0
  return Effect.forever(Effect.suspend(() => Effect.andThen(Effect.sleep(1), use(count++))))
}

/** Files a request, and returns its id. */
const file = Effect.fnUntraced(function*(mark: string, word = "filed") {
  const error = yield* Effect.flip(call(mark, "acme/deploy"))
  if (!(error instanceof ApprovalPending)) return yield* Effect.die(error)
  yield* step(word, error.id)
  return error.id
})

const answer = Effect.fnUntraced(function*(id: string, choice: "once" | "no") {
  const store = yield* ApprovalStore
  const { question } = yield* store.propose(id)
  yield* store.answer(id, agreeTo(question, choice))
  yield* step(choice, id)
})

/** A person agrees once, and two calls try to use that. */
const deploy = Effect.fnUntraced(function*(mark: string) {
  yield* answer(yield* file(mark), "once")
  yield* Effect.forEach(["one", "two"], (which) =>
    call(`${mark}-${which}`, "acme/deploy", mark).pipe(
      Effect.catchTag("ApprovalPending", ({ id }) => Effect.andThen(step("filed", id), answer(id, "no")))
    ), { concurrency: 2 })
})

const spend = Effect.gen(function*() {
  const tokens = yield* CapabilityTokens
  const own = { thread: name!, directive: "d" }
  const parent = yield* tokens.mint({ ...own, grants: { allow: [], deny: [] }, budget: { turns: 1_000_000 } })
  const claims = yield* tokens.verify(parent, own)
  return yield* forEver(Effect.fnUntraced(function*(count) {
    yield* tokens.spend(claims, { turns: 1 })
    yield* note("spent", claims.jti, count + 1)
    const child = yield* tokens.attenuate(parent, own, { ...own, request: { allow: [], deny: [] } })
    const { jti } = yield* tokens.verify(child, own)
    yield* tokens.revoke(jti)
    yield* note("revoked", jti)
  }))
})

const program = Effect.gen(function*() {
  yield* call(`${name}-first`)
  process.stdout.write("ready\n")
  yield* Effect.all([
    Effect.forEach(["a", "b", "c", "d"], (fiber) => forEver((count) => call(`${name}-${fiber}-${count}`)), {
      concurrency: "unbounded"
    }),
    Effect.forEach(["deploy-a", "deploy-b"], (fiber) => forEver((count) => deploy(`${name}-${fiber}-${count}`)), {
      concurrency: "unbounded"
    }),
    file(`${name}-waits`, "waits"),
    spend
  ], { concurrency: "unbounded" })
}).pipe(Effect.provide(layer))

await Effect.runPromise(program)
