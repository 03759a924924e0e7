// Rewrites a remedy for somebody who types commands.
import { shellWord } from "../text/shellWord.ts"
import { callIn } from "./calls.ts"

export const commandRemedy = (remediation: string): string => {
  const call = callIn(remediation)
  switch (call?._tag) {
    case undefined:
      return remediation
    case "Search":
      return `Look for it with: kiwi search ${shellWord(call.query)}`
    case "Load":
      return `kiwi load ${call.type} ${shellWord(call.id)}`
    case "Open":
      return "Go to the folder of the project that was meant, or name it: --project DIR"
  }
}

/** An error, or one of Kiwi's own reports, with every `remediation` rewritten for the command line. */
export const forCommand = <A>(report: A): A => {
  const told = (value: unknown, key?: string): unknown => {
    if (key === "remediation" && typeof value === "string") return commandRemedy(value)
    if (Array.isArray(value)) return value.map((one) => told(one))
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, told(one, name)]))
  }
  return told(report) as A
}
