// The level of isolation that a call needs, and whether this kernel has it.
import { Effect } from "effect"
import type { Chain } from "../../../services/chain/Chain.ts"
import { isYours } from "../../../services/integrity/Verifier.ts"
import { callerChoice } from "../../../services/primitive/callerChoice.ts"
import type { NeededLevel } from "../../../services/primitive/Primitive.ts"
import { Primitives } from "../../../services/primitive/Primitive.ts"
import { ChildProcesses } from "../../../services/process/ChildProcesses.ts"
import type { Isolation } from "../../../services/sandbox/Isolation.ts"
import { SandboxUnavailable } from "../../../services/sandbox/Isolation.ts"
import { propertiesIn } from "../../../services/schema/json.ts"
import { Settings } from "../../../services/settings/Settings.ts"
import { blame } from "../../call/blame.ts"
import type { Facts } from "../../call/Step.ts"
import { toolAccess } from "../../permission/ruleQuery.ts"

/** What the caller chooses, and what has to hold the level that this takes. */
interface Choice {
  readonly needed: NeededLevel | undefined
  /** The config field that a parameter decides. */
  readonly field: string | undefined
}

/** Others' code runs in a sandbox, whoever calls it. */
const levelOf = ({ verified }: Facts<"verified">): Isolation =>
  verified.some(({ by }) => by._tag === "Signer" && !isYours(by))
    ? "sandboxed"
    : verified.every(({ by }) => by._tag === "System")
    ? "trusted"
    : "standard"

export const isolate = Effect.gen(function*() {
  const children = yield* ChildProcesses
  const primitives = yield* Primitives
  const settings = yield* Settings

  const choices = new WeakMap<Chain, Choice>()
  const choiceIn = (chain: Chain): Choice => {
    const known = choices.get(chain)
    if (known !== undefined) return known
    const primitive = chain.primitive.tool.location.id
    const hasParameters = Object.keys(propertiesIn(chain.leaf.tool.parameters)).length > 0
    const field = callerChoice(primitive, chain.config, hasParameters)
    const choice: Choice = {
      field,
      needed: field === undefined ? primitives.needs(primitive, chain.config) : { level: "sandboxed", by: "engine" }
    }
    choices.set(chain, choice)
    return choice
  }

  /** A person's own file may lower one tool by its name, if it is theirs or Kiwi's. */
  const lowered = Effect.fnUntraced(function*({ chain, verified }: Facts<"chain" | "verified">) {
    const { isolationTools } = yield* settings.current
    const level = isolationTools.get(toolAccess(chain, undefined).id)
    return level !== undefined && verified.every(({ by }) => by._tag === "System" || isYours(by)) ? level : undefined
  })

  return Effect.fnUntracedEager(function*(facts: Facts<"chain" | "verified">) {
    const { leaf, primitive } = facts.chain
    const { field, needed } = choiceIn(facts.chain)
    // Requests of http_client have no grants of hosts: only their signed address keeps them from any other.
    const isRequest = field !== undefined && primitive.tool.location.id !== "subprocess"
    if (needed === undefined) {
      const level = levelOf(facts)
      // Only programs have engines, and a request of others' tools would need grants of hosts.
      const isThere = primitive.tool.location.id === "subprocess" ? children.levels.has(level) : level !== "sandboxed"
      if (isThere) return { isolation: level }
      return yield* blame(facts.chain, new SandboxUnavailable({ tool: leaf.tool.location.id, level }))
    }
    if (needed.by === "outbound") return { isolation: needed.level }
    const level = isRequest ? needed.level : (yield* lowered(facts)) ?? needed.level
    if (!isRequest && children.levels.has(level)) return { isolation: level }
    return yield* blame(
      facts.chain,
      new SandboxUnavailable({
        tool: leaf.tool.location.id,
        level,
        ...(field === undefined ? {} : { field }),
        ...(level === needed.level && !isRequest ? { lowered: "standard" as const } : {})
      })
    )
  })
})
