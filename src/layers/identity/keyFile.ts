// The form in which a private key, or another secret, is kept: plain, for a place that only its owner can read, or sealed
// by a passphrase (scrypt, AES-256-GCM, bound to the public key or the name).
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto"
import { normalizePassphrase } from "../../services/identity/passphrase.ts"
import type { KeyPair } from "./ed25519.ts"

const Base64Url = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]+$/), Schema.isMaxLength(262_144))
const atMost = (n: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: n }))

const KeyFile = Schema.fromJsonString(Schema.Union([
  Schema.Struct({
    version: Schema.Literal(1),
    protection: Schema.Literal("none"),
    privateKey: Schema.RedactedFromValue(Base64Url)
  }),
  Schema.Struct({
    version: Schema.Literal(1),
    protection: Schema.Literal("scrypt-aes-256-gcm"),
    // Bounded, so that a damaged file cannot ask for all the memory that there is.
    cost: atMost(2 ** 20),
    blockSize: atMost(32),
    parallelization: atMost(16),
    salt: Base64Url,
    iv: Base64Url,
    tag: Base64Url,
    sealed: Base64Url
  })
]))

/** What went wrong, for a sentence that goes on "the key file …". */
export type KeyFileIssue =
  | "is damaged"
  | "is encrypted and KIWI_PASSPHRASE is not set"
  | "does not open by this passphrase"

export interface Kdf {
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
}

/** About 0.2 s and 64 MiB. */
const strength: Kdf = { cost: 2 ** 16, blockSize: 8, parallelization: 1 }

const derive = (passphrase: Redacted.Redacted, salt: Buffer, kdf: Kdf) =>
  Effect.callback<Buffer, KeyFileIssue>((resume) => {
    const memory = 256 * kdf.cost * kdf.blockSize
    const damaged = Effect.fail("is damaged" as const)
    const typed = normalizePassphrase(Redacted.value(passphrase))
    // The key derivation pads with zeros, so that a passphrase and the same one with a zero after it would be one.
    if (typed.includes("\0")) return resume(Effect.fail("does not open by this passphrase"))
    try {
      scrypt(
        typed,
        salt,
        32,
        { ...kdf, maxmem: memory },
        (error, key) => resume(error === null ? Effect.succeed(key) : damaged)
      )
    } catch {
      // Parameters that contradict each other are refused at once.
      resume(damaged)
    }
  })

export const print = Effect.fnUntraced(function*(
  pair: KeyPair,
  passphrase: Redacted.Redacted | undefined,
  kdf: Kdf = strength
) {
  const bytes = Redacted.value(pair.privateKey)
  if (passphrase === undefined) {
    return `${JSON.stringify({ version: 1, protection: "none", privateKey: bytes })}\n`
  }
  const [salt, iv] = [randomBytes(16), randomBytes(12)]
  const key = yield* derive(passphrase, salt, kdf)
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(pair.publicKey))
  const sealed = Buffer.concat([cipher.update(bytes, "utf8"), cipher.final()])
  return `${
    JSON.stringify({
      version: 1,
      protection: "scrypt-aes-256-gcm",
      ...kdf,
      salt: salt.toString("base64url"),
      iv: iv.toString("base64url"),
      tag: cipher.getAuthTag().toString("base64url"),
      sealed: sealed.toString("base64url")
    })
  }\n`
})

/** Whether the text is a sealed one. */
export const isSealed = (text: string): boolean =>
  Option.exists(Schema.decodeOption(KeyFile)(text), ({ protection }) => protection !== "none")

/** A sealed text opens by the passphrase; a plain one opens whatever is given. */
export const parse = Effect.fnUntraced(function*(
  text: string,
  publicKey: string,
  passphrase: Redacted.Redacted | undefined
) {
  const file = yield* Effect.mapError(
    Schema.decodeEffect(KeyFile)(text),
    (): KeyFileIssue => "is damaged"
  )
  if (file.protection === "none") return file.privateKey
  if (passphrase === undefined) {
    return yield* Effect.fail<KeyFileIssue>("is encrypted and KIWI_PASSPHRASE is not set")
  }
  const key = yield* derive(passphrase, Buffer.from(file.salt, "base64url"), file)
  const opened = Result.try({
    try: () => {
      const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(file.iv, "base64url"), { authTagLength: 16 })
        .setAAD(Buffer.from(publicKey))
        .setAuthTag(Buffer.from(file.tag, "base64url"))
      return Buffer.concat([decipher.update(Buffer.from(file.sealed, "base64url")), decipher.final()]).toString("utf8")
    },
    catch: (): KeyFileIssue => "does not open by this passphrase"
  })
  return Redacted.make(yield* Effect.fromResult(opened), { label: "private key" })
})
