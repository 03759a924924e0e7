// What a person was asked about, for the audit: `kiwi permissions suggest` makes rules of it.
import type { AuditAsked, AuditTouched } from "../../services/audit/AuditEntry.ts"
import { redactUrls } from "../../services/audit/urlSecrets.ts"
import type { Access } from "../../services/capability/Access.ts"
import { showAccess } from "../../services/capability/Access.ts"
import type { Ask, SettledAsk } from "../../services/permission/PermissionGate.ts"

/** Beyond these an entry would be long for no use: no rule is made of such an access, or of so many. */
const longest = 1_000
const most = 50

/** What rules need of an access that they can name. */
export const touchedOf = (access: Access): typeof AuditTouched.Type | undefined => {
  switch (access._tag) {
    case "Path": {
      const { _tag, below, capability, path } = access
      return { _tag, capability, path, ...(below === undefined ? {} : { below }) }
    }
    case "Command": {
      const { _tag, capability, text, words } = access
      return words === undefined ? undefined : { _tag, capability, words, text }
    }
    case "Host":
      return { _tag: access._tag, capability: access.capability, host: access.host, port: access.port }
    case "Secret":
      return { _tag: access._tag, capability: access.capability, name: access.name }
    default:
      return undefined
  }
}

const auditedAsk = ({ access, answer, rule }: Ask & Partial<SettledAsk>): typeof AuditAsked.Type => {
  const whole = showAccess(access)
  const shown = redactUrls(whole)
  // No rule is made of what carries a secret.
  const touches = shown === whole && shown.length <= longest ? touchedOf(access) : undefined
  return {
    access: shown.slice(0, longest).toWellFormed(),
    ...(touches === undefined ? {} : { touches }),
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
