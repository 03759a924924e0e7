// The forms in which a file stores a private key or another secret: plain, in a file that only its owner can read;
// sealed by a passphrase (scrypt, AES-256-GCM); or sealed by a key in the keychain. A sealed text is bound to its
// subject – a public key, a name – and does not open for another.
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto"
import { normalizePassphrase } from "../../services/identity/passphrase.ts"

const Base64Url = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]+$/), Schema.isMaxLength(262_144))
const atMost = (n: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: n }))

const Encrypted = { iv: Base64Url, tag: Base64Url, sealed: Base64Url }

const SealedText = Schema.fromJsonString(Schema.Union([
  Schema.Struct({
    version: Schema.Literal(1),
    protection: Schema.Literal("none"),
    privateKey: Schema.RedactedFromValue(Base64Url)
  }),
  Schema.Struct({
    version: Schema.Literal(1),
    protection: Schema.Literal("scrypt-aes-256-gcm"),
    // Bounded, so that a damaged file cannot request all of the memory.
    cost: atMost(2 ** 20),
    blockSize: atMost(32),
    parallelization: atMost(16),
    salt: Base64Url,
    ...Encrypted
  }),
  Schema.Struct({ version: Schema.Literal(1), protection: Schema.Literal("aes-256-gcm"), ...Encrypted })
]))

export type SealIssue = "damaged" | "missing-passphrase" | "wrong-passphrase"

export interface Kdf {
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
}

/** About 0.2 s and 64 MiB. */
const strength: Kdf = { cost: 2 ** 16, blockSize: 8, parallelization: 1 }

const derive = (passphrase: Redacted.Redacted, salt: Buffer, kdf: Kdf) =>
  Effect.callback<Buffer, SealIssue>((resume) => {
    const memory = 256 * kdf.cost * kdf.blockSize
    const damaged = Effect.fail("damaged" as const)
    const typed = normalizePassphrase(Redacted.value(passphrase))
    // The key derivation pads with zeros, so a passphrase would equal the same one followed by a zero byte.
    if (typed.includes("\0")) return resume(Effect.fail("wrong-passphrase"))
    try {
      scrypt(
        typed,
        salt,
        32,
        { ...kdf, maxmem: memory },
        (error, key) => resume(error === null ? Effect.succeed(key) : damaged)
      )
    } catch {
      // Contradicting parameters are refused at once.
      resume(damaged)
    }
  })

const encrypt = (value: Redacted.Redacted, boundTo: string, key: Buffer) => {
  const iv = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(boundTo))
  const sealed = Buffer.concat([cipher.update(Redacted.value(value), "utf8"), cipher.final()])
  return {
    iv: iv.toString("base64url"),
    tag: cipher.getAuthTag().toString("base64url"),
    sealed: sealed.toString("base64url")
  }
}

const decrypt = (text: { readonly [K in keyof typeof Encrypted]: string }, boundTo: string, key: Buffer) => {
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(text.iv, "base64url"), { authTagLength: 16 })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(Buffer.from(text.tag, "base64url"))
  const bytes = Buffer.concat([decipher.update(Buffer.from(text.sealed, "base64url")), decipher.final()])
  return Redacted.make(bytes.toString("utf8"), { label: "secret" })
}

const printed = (form: object): string => `${JSON.stringify({ version: 1, ...form })}\n`

/** `value` is base64url. Plain text without a passphrase. */
export const print = Effect.fnUntraced(function*(
  value: Redacted.Redacted,
  boundTo: string,
  passphrase: Redacted.Redacted | undefined,
  kdf: Kdf = strength
) {
  if (passphrase === undefined) return printed({ protection: "none", privateKey: Redacted.value(value) })
  const salt = randomBytes(16)
  const key = yield* derive(passphrase, salt, kdf)
  return printed({
    protection: "scrypt-aes-256-gcm",
    ...kdf,
    salt: salt.toString("base64url"),
    ...encrypt(value, boundTo, key)
  })
})

/** A key for `printWithKey`, in base64url. */
export const newKey = (): Redacted.Redacted => Redacted.make(randomBytes(32).toString("base64url"), { label: "key" })

const keyBytes = (key: Redacted.Redacted): Buffer => Buffer.from(Redacted.value(key), "base64url")

export const isKey = (text: Redacted.Redacted): boolean => /^[A-Za-z0-9_-]{43}$/.test(Redacted.value(text))

export const printWithKey = (value: Redacted.Redacted, boundTo: string, key: Redacted.Redacted): string =>
  printed({ protection: "aes-256-gcm", ...encrypt(value, boundTo, keyBytes(key)) })

/** How a text is sealed. Undefined if it is not in one of these forms. */
export const protectionOf = (text: string): "none" | "scrypt-aes-256-gcm" | "aes-256-gcm" | undefined =>
  Option.getOrUndefined(Option.map(Schema.decodeOption(SealedText)(text), ({ protection }) => protection))

/** A sealed text opens with what sealed it. A plain text opens whatever is given. */
export const parse = Effect.fnUntraced(function*(
  text: string,
  boundTo: string,
  by: { readonly passphrase?: Redacted.Redacted | undefined; readonly key?: Redacted.Redacted | undefined }
) {
  const form = yield* Effect.mapError(Schema.decodeEffect(SealedText)(text), (): SealIssue => "damaged")
  if (form.protection === "none") return form.privateKey
  if (form.protection === "aes-256-gcm") {
    return yield* Effect.fromResult(Result.try({
      try: () => decrypt(form, boundTo, keyBytes(by.key ?? Redacted.make(""))),
      catch: (): SealIssue => "damaged"
    }))
  }
  if (by.passphrase === undefined) return yield* Effect.fail<SealIssue>("missing-passphrase")
  const key = yield* derive(by.passphrase, Buffer.from(form.salt, "base64url"), form)
  return yield* Effect.fromResult(Result.try({
    try: () => decrypt(form, boundTo, key),
    catch: (): SealIssue => "wrong-passphrase"
  }))
})
