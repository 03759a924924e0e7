// Resources and prompts that a rule asks about or denies.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, FileSystem, Layer, Scope } from "effect"
import { McpSchema } from "effect/ai"
import { TestClock } from "effect/testing"
import * as KernelMemory from "../../../src/layers/KernelMemory.ts"
import * as Projects from "../../../src/layers/Projects.ts"
import * as CallProject from "../../../src/programs/mcp/callProject.ts"
import * as Edge from "../../../src/programs/mcp/edge.ts"
import * as LongCalls from "../../../src/programs/mcp/longCalls.ts"
import { ApprovalNotices } from "../../../src/services/approval/ApprovalNotices.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"
import { answerIt } from "../../layers/approval/ApprovalStore.contract.ts"
import { echo } from "../../layers/proxy/calls.ts"
import { knowledge } from "../items.ts"

const guide = `# Guide

\`\`\`xml
<directive name="guide" version="1.0.0">
  <metadata><description>Guides</description><model tier="general"/><permissions><read resource="filesystem" path="**"/></permissions></metadata>
  <process><step name="one"><action>Walk</action></step></process>
</directive>
\`\`\`
`

const world = Effect.fnUntraced(function*(rule: string, wait: Duration.Input = 0) {
  const announced: Array<string> = []
  const kernel = yield* Layer.build(KernelMemory.layer({
    project: {
      "knowledge/notes.md": knowledge("notes", "What we know."),
      "tools/echo.yaml": echo,
      "directives/guide.md": guide
    },
    permissions: `rules:\n  - ${rule}\n`,
    settings: { approvalsWait: Duration.fromInputUnsafe(wait) },
    replace: Layer.succeed(
      ApprovalNotices,
      ApprovalNotices.of({
        announce: (id, isAsked) => Effect.sync(() => void (isAsked || announced.push(id))),
        ways: Effect.succeed([])
      })
    )
  }))
  const here = Layer.succeedContext(kernel)
  const services = yield* Layer.build(
    Layer.mergeAll(here, Projects.layerWith(() => here), FileSystem.layerNoop({ realPath: Effect.succeed }))
  )
  const edge = yield* Effect.gen(function*() {
    const server = yield* Effect.context<Projects.Projects | Scope.Scope>()
    const options = { client: "ada", presence: { nobody: undefined, agent: undefined } }
    return yield* Edge.make(yield* CallProject.make(""), options, LongCalls.make(), server)
  }).pipe(Effect.provideContext(services))
  const asClient = <A, E>(effect: Effect.Effect<A, E, McpSchema.McpRequestContext>) =>
    Effect.provideService(effect, McpSchema.McpRequestContext, {
      clientId: 0,
      protocolVersion: "2025-11-25",
      clientCapabilities: new McpSchema.ClientCapabilities({})
    })
  const use = <A, E>(effect: Effect.Effect<A, E, ApprovalStore | Outputs>) => Effect.provideContext(effect, kernel)
  const output = yield* use(Effect.flatMap(Outputs, (outputs) => outputs.create))
  yield* output.append(new TextEncoder().encode("0123456789"))
  const reads = {
    "a knowledge entry": asClient(edge.readItem("kiwi://knowledge/notes")),
    "a tool": asClient(edge.readItem("kiwi://tool/echo")),
    "a directive": asClient(edge.readItem("kiwi://directive/guide")),
    "an output": asClient(edge.readOutput(output.uri)),
    "a part of an output": asClient(edge.readOutput(`${output.uri}?offset=2&length=3`)),
    "a prompt": asClient(edge.follow("guide", {}))
  }
  return { announced, edge, reads, asClient, store: yield* use(ApprovalStore) }
})

const capabilityOf = { "an output": "kiwi.output", "a part of an output": "kiwi.output", "a prompt": "kiwi.follow" }
const titles = [
  "a knowledge entry",
  "a tool",
  "a directive",
  "an output",
  "a part of an output",
  "a prompt"
] as const

for (const title of titles) {
  const capability = (capabilityOf as Readonly<Record<string, string>>)[title] ?? "kiwi.load"
  describe(title, () => {
    it.effect("that a rule asks about is announced, and read once a person has agreed", () =>
      Effect.gen(function*() {
        const { announced, reads, store } = yield* world(`ask: ${capability}`)
        const error = yield* Effect.flip(Effect.asVoid<object, Error, never>(reads[title] as never))
        const [waiting] = yield* store.list
        assert.strictEqual(waiting?.state, "pending")
        assert.deepStrictEqual(announced, [waiting?.id])
        assert.include(error.message, `kiwi approve ${waiting?.id}`)
        yield* answerIt(store, waiting!.id, "once")
        yield* reads[title] as Effect.Effect<object, unknown>
      }))

    it.effect("that a rule denies says so, with the rule", () =>
      Effect.gen(function*() {
        const { reads, store } = yield* world(`deny: ${capability}`)
        const error = yield* Effect.flip(Effect.asVoid<object, Error, never>(reads[title] as never))
        assert.include(error.message, "permissions.yaml")
        assert.notInclude(error.message, "not found")
        assert.deepStrictEqual(yield* store.list, [])
      }))

    it.effect("waits for an answer from elsewhere, as a call does", () =>
      Effect.gen(function*() {
        const { announced, reads, store } = yield* world(`ask: ${capability}`, "45 seconds")
        const fiber = yield* Effect.forkChild(reads[title] as Effect.Effect<object, unknown>)
        for (let looked = 0; announced.length === 0 && looked < 50; looked++) yield* TestClock.adjust("100 millis")
        yield* answerIt(store, announced[0]!, "once")
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
      }))
  })
}

it.effect("what is not there is not found, whatever the rule says", () =>
  Effect.gen(function*() {
    for (const rule of ["ask: kiwi.load", "deny: kiwi.load", "ask: kiwi.output"]) {
      const { asClient, edge, store } = yield* world(rule)
      for (const uri of ["kiwi://knowledge/none", "kiwi://secret/x", "kiwi://tool/../x"]) {
        const { message } = yield* Effect.flip(asClient(edge.readItem(uri)))
        assert.strictEqual(message, `Resource '${uri}' not found`)
      }
      assert.deepStrictEqual(yield* store.list, [])
    }
  }))
