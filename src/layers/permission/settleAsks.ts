// Which questions a person's earlier answers settle. The answers that deny are rules (rememberedDenials.ts).
import { Result } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { type Ask, askersOf } from "../../services/permission/PermissionGate.ts"
import type { RememberedRule } from "../../services/permission/RememberedRules.ts"
import type { RuleQuery } from "../../services/permission/rule/matchRule.ts"
import { parseRuleLine, type Rule } from "../../services/permission/rule/Rule.ts"
import { type FoundRule, RuleIndex } from "../../services/permission/rule/RuleIndex.ts"
import type { RuleContext } from "../../services/permission/rule/ruleSubject.ts"

interface Settled {
  /** What still has to be asked. */
  readonly asks: ReadonlyArray<Ask>
  /** The others, and the rules that settled them. */
  readonly by: ReadonlyArray<{ readonly ask: Ask; readonly rule: FoundRule }>
}

export const appliesTo = ({ client, ran, session }: RememberedRule, caller: Caller): boolean =>
  ran === undefined && client === caller.client && (session === undefined || session === caller.session)

export const makeSettle = (context: RuleContext) => {
  const parsed = new BoundedMap<string, Rule | undefined>(10_000)
  const parse = (line: string): Rule | undefined => {
    const known = parsed.get(line)
    if (known !== undefined) return known
    const rule = Result.getOrUndefined(parseRuleLine(line, context))
    parsed.set(line, rule)
    return rule
  }

  return (
    remembered: ReadonlyArray<RememberedRule>,
    caller: Caller,
    query: RuleQuery,
    asks: ReadonlyArray<Ask>
  ): Settled => {
    const answersOf = new Map(remembered.map(({ answers, id }) => [id, answers]))
    const isFor = (id: string | undefined, asking: string): boolean => answersOf.get(id ?? "")?.includes(asking) ?? true
    const index = new RuleIndex(
      remembered.filter((one) => appliesTo(one, caller)).flatMap(({ id, rule: line }) => {
        const rule = parse(line)
        return rule?.outcome === "allow" ? [{ rule, file: "remembered", line: 0, id }] : []
      })
    )
    const open: Array<Ask> = []
    const by: Array<Settled["by"][number]> = []
    for (const ask of asks) {
      const yes = index.find(query, ask.access)
      const answers = askersOf(ask).map((asking) => yes.find(({ id }) => isFor(id, asking)))
      const [rule] = answers
      if (rule === undefined || answers.includes(undefined)) open.push(ask)
      else by.push({ ask, rule })
    }
    return { asks: open, by }
  }
}
