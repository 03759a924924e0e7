// Ed25519 keys with node:crypto: synchronous, since a verification takes 0.1 ms and is on the hot path.
import { Redacted } from "effect"
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign as signBytes, verify } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { sha256 } from "./sha256.ts"

export interface KeyPair {
  /** Raw public key, base64url. */
  readonly publicKey: string
  /** PKCS #8, base64url. */
  readonly privateKey: Redacted.Redacted
}

const rawPublicKey = (key: KeyObject): string => {
  const { x } = key.export({ format: "jwk" })
  return x ?? ""
}

export const keyIdOf = (publicKey: string): string => sha256(Buffer.from(publicKey, "base64url")).slice(0, 16)

/**
 * Makes a new pair. Its public key does not begin with "-": people pass it to commands, which would read it as a flag.
 */
export const generate = (): KeyPair => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const raw = rawPublicKey(publicKey)
  if (raw.startsWith("-")) return generate()
  return {
    publicKey: raw,
    privateKey: Redacted.make(privateKey.export({ format: "der", type: "pkcs8" }).toString("base64url"), {
      label: "private key"
    })
  }
}

const importPrivate = (privateKey: Redacted.Redacted): KeyObject =>
  createPrivateKey({ key: Buffer.from(Redacted.value(privateKey), "base64url"), format: "der", type: "pkcs8" })

/** Returns a function that signs. Undefined if the private key does not belong to `publicKey`. */
export const signer = (pair: KeyPair): ((message: string) => string) | undefined => {
  try {
    const key = importPrivate(pair.privateKey)
    if (rawPublicKey(createPublicKey(key)) !== pair.publicKey) return undefined
    return (message) => signBytes(null, Buffer.from(message), key).toString("base64url")
  } catch {
    return undefined
  }
}

/** Signs each message. Undefined if the private key does not belong to `publicKey`. */
export const sign = (pair: KeyPair, messages: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  const signOne = signer(pair)
  return signOne && messages.map(signOne)
}

/** Whether a signature is the canonical base64url text of its 64 bytes. */
export const isCanonicalSignature = (signature: string): boolean =>
  Buffer.from(signature, "base64url").toString("base64url") === signature

/** Returns a function that checks signatures of one raw public key. Undefined if the key is invalid. */
export const verifier = (publicKey: string): ((message: string, signature: string) => boolean) | undefined => {
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" })
    return (message, signature) => verify(null, Buffer.from(message), key, Buffer.from(signature, "base64url"))
  } catch {
    return undefined
  }
}
