// What a person was asked about, for the audit: `kiwi permissions suggest` makes rules of it.
import type { AuditAsked } from "../../services/audit/AuditEntry.ts"
import { redactUrls } from "../../services/audit/urlSecrets.ts"
import { showAccess } from "../../services/capability/Access.ts"
import type { Ask, SettledAsk } from "../../services/permission/PermissionGate.ts"

/** Beyond these an entry would be long for no use: no rule is made of such an access, or of so many. */
const longest = 1_000
const most = 50

const auditedAsk = ({ access, answer, rule }: Ask & Partial<SettledAsk>): typeof AuditAsked.Type => {
  const whole = showAccess(access)
  const shown = redactUrls(whole)
  // No rule is made of a command with a secret.
  const words = access._tag === "Command" && shown === whole && shown.length <= longest ? access.words : undefined
  return {
    access: shown.slice(0, longest).toWellFormed(),
    ...(words === undefined ? {} : { words }),
    rule,
    ...(answer === undefined ? {} : { answer })
  }
}

export const auditAsked = (
  asks: ReadonlyArray<Ask>,
  settled: ReadonlyArray<SettledAsk>
): ReadonlyArray<typeof AuditAsked.Type> | undefined => {
  if (asks.length + settled.length === 0) return undefined
  const all: ReadonlyArray<Ask & Partial<SettledAsk>> = [...settled, ...asks]
  return all.slice(0, most).map(auditedAsk)
}
