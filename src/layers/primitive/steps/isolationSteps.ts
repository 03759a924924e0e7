// The level of isolation that a call needs, and whether this kernel has it.
import { Effect } from "effect"
import type { Chain } from "../../../services/chain/Chain.ts"
import { isYours } from "../../../services/integrity/Verifier.ts"
import { callerChoice } from "../../../services/primitive/callerChoice.ts"
import { ChildProcesses } from "../../../services/process/ChildProcesses.ts"
import type { Isolation } from "../../../services/sandbox/Isolation.ts"
import { SandboxUnavailable } from "../../../services/sandbox/Isolation.ts"
import { propertiesIn } from "../../../services/schema/json.ts"
import { blame } from "../../call/blame.ts"
import type { Facts } from "../../call/Step.ts"

const levelOf = ({ verified }: Facts<"verified">, field: string | undefined): Isolation =>
  field !== undefined || verified.some(({ by }) => by._tag === "Signer" && !isYours(by))
    ? "sandboxed"
    : verified.every(({ by }) => by._tag === "System")
    ? "trusted"
    : "standard"

export const isolate = Effect.gen(function*() {
  const children = yield* ChildProcesses

  const choices = new WeakMap<Chain, { readonly field: string | undefined }>()
  const choiceIn = (chain: Chain) => {
    const known = choices.get(chain)
    if (known !== undefined) return known.field
    const hasParameters = Object.keys(propertiesIn(chain.leaf.tool.parameters)).length > 0
    const field = callerChoice(chain.primitive.tool.location.id, chain.config, hasParameters)
    choices.set(chain, { field })
    return field
  }

  return Effect.fnUntraced(function*(facts: Facts<"chain" | "verified">) {
    const { leaf, primitive } = facts.chain
    const field = choiceIn(facts.chain)
    const level = levelOf(facts, field)
    // Only programs have engines. A request whose address the caller chooses would need grants of hosts, which do not
    // exist yet.
    const isThere = primitive.tool.location.id === "subprocess" ? children.levels.has(level) : level !== "sandboxed"
    if (isThere) return { isolation: level }
    const tool = leaf.tool.location.id
    return yield* blame(
      facts.chain,
      new SandboxUnavailable({ tool, level, ...(field === undefined ? {} : { field }) })
    )
  })
})
