// Whether a person may answer with this rule in place of the offered one.
import { Result } from "effect"
import { parseRuleLine } from "./rule/Rule.ts"

/** What a rule in one line is about: "fs.write" of "allow: fs.write(src/**)". */
const aboutOf = (line: string): string | undefined => /^(?:allow|deny): ([^\s(]+)/.exec(line)?.[1]

/**
 * The issue of a rule, or undefined. `offers`: the rules that are offered, as "allow: …". A rule that allows has to be
 * about what was asked, and not about everything of its kind.
 */
export const answeredRuleIssue = (line: string, offers: ReadonlyArray<string>): string | undefined => {
  const parsed = parseRuleLine(line)
  if (Result.isFailure(parsed)) return parsed.failure
  if (line.startsWith("deny: ") || offers.includes(line)) return undefined
  const about = aboutOf(line)
  if (!offers.some((offer) => aboutOf(offer) === about)) return `${about ?? "it"} is not what the request is about`
  return /\([*/. ]*\)$/.test(line) || !line.endsWith(")") ? `it allows every ${about}` : undefined
}
