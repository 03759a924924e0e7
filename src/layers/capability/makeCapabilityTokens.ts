// Tokens over any store of keys and ledgers.
//
// Gotcha: time never goes back within a process, so that a clock that is set back brings no expired token to life.
import { Duration, Effect, Redacted, Result } from "effect"
import { randomBytes } from "node:crypto"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { refusalOf } from "../../services/capability/CapabilityModule.ts"
import { CapabilityTokens, maxDepth } from "../../services/capability/CapabilityTokens.ts"
import {
  CapabilityInvalid,
  PermissionEscalation,
  TokenInvalid,
  TokenRevoked,
  TokensUnavailable
} from "../../services/capability/CapabilityTokens.ts"
import type {
  Amounts,
  Bearer,
  BudgetExceeded,
  Claims,
  NewToken,
  Token
} from "../../services/capability/CapabilityTokens.ts"
import { showGrant } from "../../services/capability/Grant.ts"
import type { Request } from "../../services/capability/Request.ts"
import { attenuate as cut } from "../../services/capability/Request.ts"
import * as Ledger from "../../services/capability/tokenLedger.ts"
import type { TokenLedger } from "../../services/capability/tokenLedger.ts"
import { parseToken, readClaims, signedText } from "../../services/capability/tokenText.ts"
import { generate, keyIdOf, sign, verifier } from "../identity/ed25519.ts"
import type { KeyPair } from "../identity/ed25519.ts"
import { sha256 } from "../identity/sha256.ts"

/** In seconds. */
const longestLife = 86_400
const usualLife = Duration.hours(1)
/** How long keys are used before they are read again, in seconds: another process may have forgotten one. */
const keysLast = 60
/** Most characters of tokens that are remembered. */
const maxRemembered = 8_000_000

/** A signing key. `until`: a newer one took its place, and tokens of this one count until then, in seconds. */
export interface TokenKey {
  readonly pair: KeyPair
  readonly until?: number
}

export interface TokenStore {
  /** The audience of all tokens. */
  readonly audience: string
  /** The newest first. Empty if none was made yet. */
  readonly keys: Effect.Effect<ReadonlyArray<TokenKey>, TokensUnavailable>
  /** Replaces the keys. One process at a time. */
  readonly changeKeys: (
    change: (keys: ReadonlyArray<TokenKey>) => ReadonlyArray<TokenKey>
  ) => Effect.Effect<ReadonlyArray<TokenKey>, TokensUnavailable>
  readonly ledger: Effect.Effect<TokenLedger, TokensUnavailable>
  /** Replaces the ledger at once, or leaves it as it was. One process at a time. */
  readonly changeLedger: <E = never>(
    change: (ledger: TokenLedger) => Result.Result<TokenLedger, E>
  ) => Effect.Effect<void, E | TokensUnavailable>
}

interface Remembered {
  readonly kid: string
  readonly claims: Claims
  /** Of the token's text. */
  readonly length: number
}

interface KnownKeys {
  readonly list: ReadonlyArray<TokenKey>
  readonly verifiers: ReadonlyMap<string, (message: string, signature: string) => boolean>
  readonly at: number
}

const kidOf = ({ pair }: TokenKey): string => keyIdOf(pair.publicKey)

/** The lower of both, for each name that either has. */
const within = (parent: Amounts | undefined, child: Amounts | undefined): Amounts | undefined => {
  if (parent === undefined || child === undefined) return child ?? parent
  const found = new Map(Object.entries(parent))
  for (const [name, amount] of Object.entries(child)) found.set(name, Math.min(amount, found.get(name) ?? amount))
  return Object.fromEntries(found)
}

/** Who mints a token decides what it may: only what does not exist is refused. */
const requireValid = (request: Request): Effect.Effect<void, CapabilityInvalid> => {
  const found = refusalOf(request, true)
  return found === undefined ? Effect.void : Effect.fail(new CapabilityInvalid({ issue: found }))
}

export const make = (store: TokenStore) => {
  const remembered = new BoundedMap<string, Remembered>(maxRemembered, ({ length }) => length)
  /** Of the tokens in use: a thread makes all of its calls with the same one. */
  const digests = new WeakMap<Token, string>()
  let latest = 0
  let known: KnownKeys | undefined

  const digestOf = (token: Token): string => {
    const before = digests.get(token)
    if (before !== undefined) return before
    const digest = sha256(Redacted.value(token))
    digests.set(token, digest)
    return digest
  }

  const now = Effect.clockWith((clock) => {
    latest = Math.max(latest, Math.floor(clock.currentTimeMillisUnsafe() / 1_000))
    return Effect.succeed(latest)
  })

  const take = (list: ReadonlyArray<TokenKey>, at: number): KnownKeys => {
    const verifiers = new Map<string, (message: string, signature: string) => boolean>()
    for (const key of list) {
      const check = verifier(key.pair.publicKey)
      if (check !== undefined && (key.until === undefined || key.until >= at)) verifiers.set(kidOf(key), check)
    }
    known = { list, verifiers, at }
    return known
  }

  const readKeys = Effect.fnUntraced(function*(at: number) {
    return take(yield* store.keys, at)
  })

  const currentKey = Effect.fnUntraced(function*(at: number) {
    const { list } = yield* readKeys(at)
    const [first] = list
    if (first !== undefined) return first
    const made = yield* store.changeKeys((keys) => keys.length > 0 ? keys : [{ pair: generate() }])
    take(made, at)
    return made[0]!
  })

  const issue = Effect.fnUntraced(function*(claims: Claims, at: number) {
    const key = yield* currentKey(at)
    const text = signedText(kidOf(key), claims)
    const [signature] = sign(key.pair, [text]) ?? []
    if (signature === undefined) {
      return yield* new TokensUnavailable({
        detail: "their signing key is damaged",
        remedy: "Remove token-keys.json and token-keys/ from $KIWI_HOME: a new key is then made"
      })
    }
    if (claims.budget !== undefined) {
      yield* store.changeLedger((ledger) => Result.succeed(Ledger.open(Ledger.prune(ledger, at - longestLife), claims)))
    }
    return Redacted.make(`${text}.${signature}`, { label: "capability token" })
  })

  const begin = (
    { budget, directive, life = usualLife, thread }: NewToken,
    at: number
  ): Omit<Claims, "caps" | "parent"> => ({
    jti: randomBytes(16).toString("hex"),
    iss: "kiwi",
    sub: thread,
    act: directive,
    aud: store.audience,
    exp: at + Math.max(0, Math.min(longestLife, Math.floor(Duration.toSeconds(life)))),
    ...(budget === undefined ? {} : { budget })
  })

  const mint = Effect.fn("CapabilityTokens.mint")(function*(
    { grants, ...options }: NewToken & { readonly grants: Claims["caps"] }
  ) {
    yield* requireValid(grants)
    const at = yield* now
    const { budget, ...claims } = begin(options, at)
    return yield* issue({ ...claims, caps: grants, parent: [], ...(budget === undefined ? {} : { budget }) }, at)
  })

  /** The claims of a token whose signature is valid. */
  const authenticate = Effect.fnUntracedEager(function*(token: Token, at: number) {
    const digest = digestOf(token)
    let keys = known
    if (keys === undefined || at - keys.at > keysLast) keys = yield* readKeys(at)
    const before = remembered.get(digest)
    if (before !== undefined && keys.verifiers.has(before.kid)) return before.claims
    const text = Redacted.value(token)
    const parsed = parseToken(text)
    if (parsed === undefined) return yield* new TokenInvalid({ why: "malformed" })
    if (!keys.verifiers.has(parsed.kid)) keys = yield* readKeys(at)
    const check = keys.verifiers.get(parsed.kid)
    if (check === undefined) return yield* new TokenInvalid({ why: "key" })
    if (!check(parsed.signed, parsed.signature)) return yield* new TokenInvalid({ why: "signature" })
    const claims = readClaims(parsed.payload)
    if (claims === undefined) return yield* new TokenInvalid({ why: "malformed" })
    remembered.set(digest, { kid: parsed.kid, claims, length: text.length })
    return claims
  })

  const verify = Effect.fnUntraced(function*(token: Token, { directive, thread }: Bearer) {
    const at = yield* now
    const claims = yield* authenticate(token, at)
    const { act, aud, exp, jti, sub } = claims
    const invalid = (why: TokenInvalid["why"]) => new TokenInvalid({ why, jti })
    if (aud !== store.audience) return yield* invalid("audience")
    // One that lives longer than any that is made was made before the clock was set back.
    if (exp <= at || exp > at + longestLife) return yield* invalid("expired")
    if (sub !== thread) return yield* invalid("thread")
    if (directive !== undefined && act !== directive) return yield* invalid("directive")
    const revoked = Ledger.revokedOf(yield* store.ledger, claims)
    if (revoked !== undefined) return yield* new TokenRevoked({ jti, revoked })
    return claims
  })

  const attenuate = Effect.fn("CapabilityTokens.attenuate")(function*(
    token: Token,
    bearer: Bearer,
    { request, ...options }: NewToken & { readonly request: Parameters<typeof cut>[1] }
  ) {
    const parent = yield* verify(token, bearer)
    yield* requireValid(request)
    if (parent.parent.length >= maxDepth) return yield* new TokenInvalid({ why: "depth", jti: parent.jti })
    const { exceeding, granted } = cut(parent.caps, request)
    if (exceeding.length > 0) {
      return yield* new PermissionEscalation({ thread: options.thread, exceeding: exceeding.map(showGrant) })
    }
    const at = yield* now
    const { budget, ...claims } = begin(options, at)
    const ceiling = within(parent.budget, budget)
    return yield* issue({
      ...claims,
      caps: granted,
      exp: Math.min(claims.exp, parent.exp),
      parent: [parent.jti, ...parent.parent],
      ...(ceiling === undefined ? {} : { budget: ceiling })
    }, at)
  })

  const revoke = Effect.fn("CapabilityTokens.revoke")(function*(jti: string) {
    const at = yield* now
    yield* store.changeLedger((ledger) =>
      Result.succeed(Ledger.revoke(Ledger.prune(ledger, at - 2 * longestLife), jti, at))
    )
  })

  const spend = Effect.fn("CapabilityTokens.spend")((claims: Claims, amounts: Amounts) =>
    store.changeLedger<BudgetExceeded>((ledger) => Ledger.spend(ledger, claims, amounts))
  )

  const rotate = Effect.fn("CapabilityTokens.rotate")(
    function*({ forget = false }: { readonly forget?: boolean } = {}) {
      const at = yield* now
      const made = yield* store.changeKeys((keys) => [
        { pair: generate() },
        ...(forget ? [] : keys)
          .map(({ pair, until }): TokenKey => ({ pair, until: until ?? at + longestLife }))
          .filter(({ until }) => until! >= at)
      ])
      take(made, at)
      return kidOf(made[0]!)
    }
  )

  return CapabilityTokens.of({
    mint,
    verify,
    attenuate,
    revoke,
    spend,
    spent: (jti) => Effect.map(store.ledger, (ledger) => Ledger.spentOf(ledger, jti)),
    rotate
  })
}
