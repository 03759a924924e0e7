// A token's text: a compact JWS with one possible header and one possible spelling of its claims. Any other text is
// refused before its signature is looked at: other algorithms, other orders, whitespace, keys that occur twice, other
// base64.
import { Result, Schema } from "effect"
import * as Base64Url from "effect/encoding/Base64Url"
import { Claims } from "./CapabilityTokens.ts"

/** In characters. */
const maxLength = 65_536

const keyId = /^[0-9a-f]{16}$/

const headerOf = (kid: string): string => Base64Url.encode(JSON.stringify({ alg: "EdDSA", kid, typ: "kiwi-cap" }))

const decodeClaims = Schema.decodeUnknownResult(Claims, { onExcessProperty: "error" })

const Header = Schema.fromJsonString(Schema.Struct({ kid: Schema.String.check(Schema.isPattern(keyId)) }))
const decodeHeader = Schema.decodeUnknownResult(Header)

/** The text that is signed. */
export const signedText = (kid: string, claims: Claims): string =>
  `${headerOf(kid)}.${Base64Url.encode(JSON.stringify(claims))}`

export interface ParsedToken {
  readonly kid: string
  readonly payload: string
  /** What the signature is about. */
  readonly signed: string
  /** base64url of 64 bytes. */
  readonly signature: string
}

/** Undefined if it has another form or header than Kiwi writes. Says nothing about signature and claims. */
export const parseToken = (text: string): ParsedToken | undefined => {
  if (text.length > maxLength) return undefined
  const [header = "", payload = "", signature = "", ...more] = text.split(".", 4)
  // Several texts decode to the same 64 bytes.
  const bytes = Result.getOrUndefined(Base64Url.decode(signature))
  if (more.length > 0 || !/^[\w-]+$/.test(payload) || bytes?.length !== 64) return undefined
  if (Base64Url.encode(bytes) !== signature) return undefined
  const decoded = Base64Url.decodeString(header).pipe(Result.flatMap(decodeHeader), Result.getOrUndefined)
  return decoded === undefined || headerOf(decoded.kid) !== header
    ? undefined
    : { kid: decoded.kid, payload, signed: `${header}.${payload}`, signature }
}

/** The value of a text that is spelt as `JSON.stringify` spells it. */
const parseJson = (text: string): unknown =>
  Result.getOrUndefined(Result.try((): unknown => {
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text ? value : undefined
  }))

/** Undefined if they are not spelt as Kiwi spells them. To be read once the signature was checked. */
export const readClaims = (payload: string): Claims | undefined => {
  const json = Result.getOrUndefined(Base64Url.decodeString(payload))
  return json === undefined || Base64Url.encode(json) !== payload
    ? undefined
    : Result.getOrUndefined(decodeClaims(parseJson(json)))
}
