// Whether 32 bytes are an Ed25519 public key for which only its owner can sign. node:crypto imports any 32 bytes and,
// with an OpenSSL before 3.5, accepts points of small order, for which anybody can make signatures.
const p = 2n ** 255n - 19n
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

const order8 = 55188659117513257062467267217118295137698188065244968500265048394206261417927n

/** The y coordinates of the points of order 1, 2, 4 and 8, in their shortest encodings. */
const smallOrder = new Set([0n, 1n, p - 1n, order8, p - order8])

const power = (base: bigint, exponent: bigint): bigint => {
  let [result, square] = [1n, base % p]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = result * square % p
    square = square * square % p
  }
  return result
}

/** What is wrong with the key, or undefined. */
export const ed25519Issue = (bytes: Uint8Array): string | undefined => {
  if (bytes.length !== 32) return "it is not 32 bytes long"
  let encoded = 0n
  for (const byte of bytes.toReversed()) encoded = encoded << 8n | BigInt(byte)
  const y = encoded & ((1n << 255n) - 1n)
  if (y >= p) return "it is not in canonical form"
  if (smallOrder.has(y)) return "anybody could sign for it"
  // x² = (y² - 1) / (d y² + 1) must be a square. u/v is a square exactly if u·v is.
  const u = (y * y - 1n + p) % p
  const v = (d * y % p * y + 1n) % p
  return power(u * v, (p - 1n) / 2n) === 1n ? undefined : "it is not a point of the curve"
}
