// Keys in a vault that all projects share, and one ledger file for each project. The ledger is replaced as a whole, so
// that a killed process leaves it as it was before or after. A ledger that cannot be read counts as lost: no token is
// valid until a person has looked at it.
import { Effect, Layer, Redacted, Result, Schema } from "effect"
import { basename, join, relative } from "node:path"
import { CapabilityTokens, TokensUnavailable } from "../../services/capability/CapabilityTokens.ts"
import * as Ledger from "../../services/capability/tokenLedger.ts"
import type { TokenLedger } from "../../services/capability/tokenLedger.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Readings } from "../files/believe.ts"
import { givenPassphrase } from "../identity/key/newPassphrase.ts"
import * as Vault from "../vault/Vault.ts"
import type { TokenKey } from "./makeCapabilityTokens.ts"
import { make as makeTokens } from "./makeCapabilityTokens.ts"

const maxBytes = 16_777_216

const decodeLedger = Schema.decodeUnknownResult(Schema.fromJsonString(Ledger.TokenLedger))

const Keys = Schema.fromJsonString(Schema.Struct({
  version: Schema.Literal(1),
  keys: Schema.Array(Schema.Struct({
    publicKey: Schema.String,
    privateKey: Schema.String,
    until: Schema.optionalKey(Schema.Int)
  }))
}))
const decodeKeys = Schema.decodeUnknownResult(Keys)
const encodeKeys = Schema.encodeSync(Keys)

const newKeys = "Remove token-keys.json and token-keys/ from $KIWI_HOME: a new key is then made"

/** The name in the vault. */
const name = "signing"

const showLocked = (passphrase: "missing" | "wrong"): string =>
  passphrase === "missing"
    ? "their key is encrypted and KIWI_PASSPHRASE is not set"
    : "this passphrase does not open their key"

const failed = ({ message, remediation }: KiwiError) =>
  new TokensUnavailable({ detail: message, remedy: remediation ?? newKeys })

/** Of the vault's own errors. */
const unavailable = (error: { readonly _tag: string }): TokensUnavailable => {
  if ("passphrase" in error && (error.passphrase === "missing" || error.passphrase === "wrong")) {
    return new TokensUnavailable({
      detail: showLocked(error.passphrase),
      remedy: `Set KIWI_PASSPHRASE to what it was when the key was made. Otherwise: ${newKeys}`
    })
  }
  if ("remediation" in error && "message" in error && typeof error.message === "string") {
    return failed(error as KiwiError)
  }
  return new TokensUnavailable({ detail: "their key cannot be read or stored", remedy: newKeys })
}

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const workspace = yield* Workspace
  const files = yield* SafeFiles
  const { withLock } = yield* ProcessLock
  const vault = yield* Vault.make({
    kind: "token-key",
    title: "The key of capability tokens",
    passphrase: yield* givenPassphrase
  })
  const file = join(workspace.state, "tokens.json")
  const path = relative(home, file)
  const readings = new Readings<TokenLedger>({ most: 1 })

  const damaged = new TokensUnavailable({
    detail: `${path} in $KIWI_HOME is not what Kiwi writes`,
    remedy: `Move ${path} away, and revoke again with care: tokens that were revoked count again until they expire`
  })

  const readLedger = files.read(home, path, { maxBytes, own: true }).pipe(
    Effect.mapError(failed),
    Effect.flatMap((bytes) =>
      bytes === undefined
        ? Effect.succeed(Ledger.empty)
        : Effect.mapError(Effect.fromResult(decodeLedger(new TextDecoder().decode(bytes))), () => damaged)
    )
  )

  const readKeys = Effect.gen(function*() {
    const value = yield* Effect.mapError(vault.get(name), unavailable)
    if (value === undefined) return []
    const read = decodeKeys(Redacted.value(value))
    if (Result.isFailure(read)) {
      return yield* new TokensUnavailable({ detail: "their key is not what Kiwi stored", remedy: newKeys })
    }
    return read.success.keys.map(({ privateKey, publicKey, until }): TokenKey => ({
      pair: { publicKey, privateKey: Redacted.make(privateKey, { label: "private key" }) },
      ...(until === undefined ? {} : { until })
    }))
  })

  const inTurn = <A, E>(folder: string, lock: string, effect: Effect.Effect<A, E>) =>
    Effect.flatMap(Effect.mapError(withLock(folder, lock)(Effect.result(effect)), failed), Effect.fromResult)

  return yield* makeTokens({
    audience: basename(workspace.state),
    keys: readKeys,
    changeKeys: (change) =>
      inTurn(
        home,
        "token-signing",
        Effect.gen(function*() {
          const keys = change(yield* readKeys)
          const value = encodeKeys({
            version: 1,
            keys: keys.map(({ pair, until }) => ({
              publicKey: pair.publicKey,
              privateKey: Redacted.value(pair.privateKey),
              ...(until === undefined ? {} : { until })
            }))
          })
          yield* Effect.mapError(vault.put(name, Redacted.make(value)), unavailable)
          return keys
        })
      ),
    ledger: Effect.map(readings.getEffect(file, readLedger), (ledger) => ledger ?? Ledger.empty),
    changeLedger: (change) =>
      inTurn(
        workspace.state,
        "tokens",
        Effect.gen(function*() {
          const changed = yield* Effect.fromResult(change(yield* readLedger))
          yield* Effect.mapError(files.write(home, path, `${JSON.stringify(changed)}\n`, { mode: 0o600 }), failed)
        })
      )
  })
})

export const layer = Layer.effect(CapabilityTokens, make)
