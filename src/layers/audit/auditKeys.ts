// The keys that sign heads: one for each installation, made by the first session that needs it. The vault lists them
// under their public keys, so that a check needs no private key. It is not a person's key: that may have a passphrase,
// and a server that an agent starts has nobody to ask.
import { Effect, Predicate } from "effect"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import * as Ed25519 from "../identity/ed25519.ts"
import * as Vault from "../vault/Vault.ts"

export interface AuditKey {
  /** Raw, in base64url. */
  readonly publicKey: string
  readonly sign: (message: string) => string
}

export interface AuditKeys {
  /** A key to sign with. Makes one if there is none that can be used. Undefined if the vault cannot be used. */
  readonly current: Effect.Effect<AuditKey | undefined>
  /** The public keys of this installation. Undefined if the vault's list cannot be read. */
  readonly own: Effect.Effect<ReadonlySet<string> | undefined>
}

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const { withLock } = yield* ProcessLock
  const vault = yield* Vault.make({
    kind: "audit-key",
    title: "The audit's key",
    passphrase: undefined,
    filesOnly: true
  })

  const find = Effect.gen(function*() {
    for (const { name } of yield* vault.list) {
      const privateKey = yield* Effect.orElseSucceed(vault.get(name), () => undefined)
      const sign = privateKey && Ed25519.signer({ publicKey: name, privateKey })
      if (sign !== undefined) return { publicKey: name, sign }
    }
    return undefined
  })

  const generate = Effect.gen(function*() {
    const pair = yield* Effect.sync(Ed25519.generate)
    yield* vault.put(pair.publicKey, pair.privateKey)
    return yield* find
  })

  let known: AuditKey | undefined

  const current = Effect.suspend(() => known === undefined ? load : Effect.succeed(known))
  const load = find.pipe(
    Effect.filterOrElse(
      Predicate.isNotUndefined,
      () => withLock(home, "audit-key")(Effect.filterOrElse(find, Predicate.isNotUndefined, () => generate))
    ),
    Effect.tap((key) =>
      Effect.sync(() => {
        known = key
      })
    ),
    Effect.orElseSucceed(() => undefined)
  )

  const own = vault.list.pipe(
    Effect.map((keys): ReadonlySet<string> => new Set(keys.map(({ name }) => name))),
    Effect.orElseSucceed(() => undefined)
  )

  const keys: AuditKeys = { current, own }
  return keys
})
