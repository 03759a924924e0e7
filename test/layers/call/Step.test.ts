import { assert, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import type { Facts } from "../../../src/layers/call/Step.ts"
import { begin, Steps, take } from "../../../src/layers/call/Step.ts"

const call = {
  callId: "1",
  caller: { surface: "embed", client: "me", session: "s" },
  item: "x",
  parameters: {},
  dryRun: true
} as const

class Modes extends Context.Service<Modes, { readonly dry: "off" | "strict" }>()("test/Modes") {}

const choose = Effect.map(
  Modes,
  ({ dry }) => ({ call: asked }: Facts<"call">) => Effect.succeed({ lockMode: asked.dryRun ? dry : "off" as const })
)
const judge = Effect.succeed(({ lockMode }: Facts<"lockMode">) => Effect.succeed({ rule: `by ${lockMode}` }))
const look = Effect.succeed(({ rule }: Facts<"rule">) => rule === "" ? Effect.die("no rule") : Effect.void)

it.effect("a step has what those before it have added", () =>
  Effect.gen(function*() {
    const known = begin(call, () => Effect.die("not called"))
    const steps = yield* Steps.from.traced("choose", choose).called("judge", judge).called("look", look).make
    for (const step of steps.list) yield* take(step, known)
    assert.deepStrictEqual([known.lockMode, known.rule, known.env], ["strict", "by strict", undefined])
    assert.deepStrictEqual(steps.list.map(({ isTraced, name }) => [name, isTraced]), [
      ["choose", true],
      ["judge", false],
      ["look", false]
    ])
  }).pipe(Effect.provideService(Modes, { dry: "strict" })))

it("a step in a wrong place does not compile", () => {
  // @ts-expect-error: nothing has chosen the mode
  Steps.from.traced("judge", judge)
  // @ts-expect-error: only a call knows the rule
  Steps.from.traced("choose", choose).called("judge", judge).traced("look", look)
  // @ts-expect-error: the rule comes after
  Steps.from.traced("choose", choose).called("look", look).called("judge", judge)
})
