// Whether a person may answer with this rule in place of the offered one. The rules of a project know what is too wide;
// where nothing does, only a rule about the same capabilities is taken.
import { Context, Effect } from "effect"

/** "allow: fs.write(src/**)" */
const form = /^(allow|deny): ([a-z][\w.*/-]{0,127})(?:\(([^\n]{1,4096})\))?$/

/** The issue of a rule, or undefined. `offers`: the rules that are offered, as "allow: …". */
export type CheckRule = (rule: string, offers: ReadonlyArray<string>) => Effect.Effect<string | undefined>

const check = (rule: string, offers: ReadonlyArray<string>): string | undefined => {
  const [, effect, name, scope] = form.exec(rule) ?? []
  if (effect === undefined) return "it is not a rule like allow: fs.write(src/**)"
  if (effect === "deny" || offers.includes(rule)) return undefined
  const same = offers.map((offer) => form.exec(offer)).filter((offer) => offer?.[2] === name)
  if (same.length === 0) return `${name} is not what the request is about`
  // A name without a scope is everything of its kind.
  const isWhole = scope === undefined || /^[*/. ]*$/.test(scope)
  return isWhole ? `it allows every ${name}` : undefined
}

export const CheckRule = Context.Reference<CheckRule>("kiwi/services/permission/CheckRule", {
  defaultValue: () => (rule, offers) => Effect.succeed(check(rule, offers))
})
