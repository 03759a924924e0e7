// What Kiwi remembers of tokens beside their own text: which were revoked, and what was spent of their budgets.
import { Result, Schema } from "effect"
import { Amounts, BudgetExceeded } from "./CapabilityTokens.ts"
import type { Claims } from "./CapabilityTokens.ts"

const Seconds = Schema.Int

const Row = Schema.Struct({
  /** When the token expires. */
  exp: Seconds,
  parent: Schema.Array(Schema.String),
  ceiling: Amounts,
  spent: Amounts
})

export const TokenLedger = Schema.Struct({
  version: Schema.Literal(1),
  /** When each was revoked, by `jti`. */
  revoked: Schema.Record(Schema.String, Seconds),
  /** By `jti`. */
  rows: Schema.Record(Schema.String, Row)
})
export type TokenLedger = typeof TokenLedger.Type

export const empty: TokenLedger = { version: 1, revoked: {}, rows: {} }

const own = <A>(record: Readonly<Record<string, A>>, key: string): A | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** The token itself or its nearest ancestor that was revoked. */
export const revokedOf = ({ revoked }: TokenLedger, { jti, parent }: Claims): string | undefined =>
  [jti, ...parent].find((one) => Object.hasOwn(revoked, one))

export const revoke = (ledger: TokenLedger, jti: string, now: number): TokenLedger => ({
  ...ledger,
  revoked: { ...ledger.revoked, [jti]: own(ledger.revoked, jti) ?? now }
})

const rowOf = ({ budget = {}, exp, parent }: Claims): typeof Row.Type => ({ exp, parent, ceiling: budget, spent: {} })

/** Opens the row of a new token that has a budget. */
export const open = (ledger: TokenLedger, claims: Claims): TokenLedger => ({
  ...ledger,
  rows: { ...ledger.rows, [claims.jti]: own(ledger.rows, claims.jti) ?? rowOf(claims) }
})

export const spentOf = ({ rows }: TokenLedger, jti: string): Amounts => own(rows, jti)?.spent ?? {}

/** Adds to the rows of the token and its ancestors, or fails for the first that it is too much for. */
export const spend = (
  ledger: TokenLedger,
  claims: Claims,
  amounts: Amounts
): Result.Result<TokenLedger, BudgetExceeded> => {
  const { rows } = open(ledger, claims)
  const changed = new Map<string, typeof Row.Type>()
  for (const jti of [claims.jti, ...claims.parent]) {
    const row = own(rows, jti)
    if (row === undefined) continue
    const spent = new Map(Object.entries(row.spent))
    for (const [name, amount] of Object.entries(amounts)) {
      const before = spent.get(name) ?? 0
      const ceiling = own(row.ceiling, name) ?? Number.MAX_SAFE_INTEGER
      if (amount > ceiling - before) {
        return Result.fail(new BudgetExceeded({ jti, name, ceiling, spent: before, amount }))
      }
      spent.set(name, before + amount)
    }
    changed.set(jti, { ...row, spent: Object.fromEntries(spent) })
  }
  return Result.succeed({ ...ledger, rows: { ...rows, ...Object.fromEntries(changed) } })
}

/** Without what ended long before `before`: its tokens have expired too. */
export const prune = ({ revoked, rows }: TokenLedger, before: number): TokenLedger => ({
  version: 1,
  revoked: Object.fromEntries(Object.entries(revoked).filter(([, at]) => at >= before)),
  rows: Object.fromEntries(Object.entries(rows).filter(([, { exp }]) => exp >= before))
})
