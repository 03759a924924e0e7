// Tokens whose keys and ledger are gone with the process.
import { Effect, Layer, Result } from "effect"
import { CapabilityTokens } from "../../services/capability/CapabilityTokens.ts"
import * as Ledger from "../../services/capability/tokenLedger.ts"
import type { TokenKey } from "./makeCapabilityTokens.ts"
import { make as makeTokens } from "./makeCapabilityTokens.ts"

export const make = Effect.suspend(() => {
  let keys: ReadonlyArray<TokenKey> = []
  let ledger = Ledger.empty
  return makeTokens({
    audience: "memory",
    keys: Effect.sync(() => keys),
    changeKeys: (change) =>
      Effect.sync(() => {
        keys = change(keys)
        return keys
      }),
    ledger: Effect.sync(() => ledger),
    changeLedger: (change) =>
      Effect.suspend(() =>
        Effect.fromResult(Result.map(change(ledger), (changed) => {
          ledger = changed
        }))
      )
  })
})

export const layer = Layer.effect(CapabilityTokens, make)
