// Which keys of a JSON value name a secret. Case and separators do not matter (`X-Api-Key`, `apiKey`, `APIKEY`). Keys
// that only count or describe a secret (`max_tokens`, `token_count`) do not match.
import { BoundedMap } from "../cache/BoundedMap.ts"

/** The endings of a secret's name. */
const endings = [
  "password",
  "passwd",
  "passphrase",
  "passcode",
  "pwd",
  "token",
  "secret",
  "secrets",
  "authorization",
  "apikey",
  "secretkey",
  "accesskey",
  "privatekey",
  "signingkey",
  "encryptionkey",
  "cookie",
  "cookies",
  "credential",
  "credentials",
  "bearer",
  "jwt",
  "accesstokens",
  "apitokens",
  "authtokens",
  "refreshtokens"
]

const whole: ReadonlySet<string> = new Set(
  ["auth", "basicauth", "pass", "passwords", "pat", "dsn", "sig", "xamzsignature", "xgoogsignature"]
)

/** Suffixes after the name proper: `password_confirmation`, `token_value`, `private_key_pem`, `password2`. */
const trailer = /(?:confirmation|confirm|again|repeat|value|text|plaintext|base64|b64|hex|pem|hash|[0-9]{1,4})$/

/** Tokens of text, of lists and of time. */
const harmless =
  /^(?:max|min|num|total|per|eos|bos|pad|unk|mask|stop|start|end|next|prev|previous|page|nextpage|continuation|cancellation)token$/

/** A fast filter: every name above contains one of these, and most keys contain none. */
const hint = /pass|pwd|token|secret|auth|key|cookie|credential|bearer|jwt|pat|dsn|sig/

const beyondAscii = /[\u0080-\uffff]/

const plain = (key: string): string =>
  (beyondAscii.test(key) ? key.normalize("NFKC") : key).toLowerCase().replace(/[^a-z0-9]/g, "")

const decide = (key: string): boolean => {
  let name = plain(key)
  if (!hint.test(name)) return false
  for (let rounds = 0; rounds < 4; rounds++) {
    if (harmless.test(name)) return false
    if (whole.has(name) || endings.some((ending) => name.endsWith(ending))) return true
    const shorter = name.replace(trailer, "")
    if (shorter === name) return false
    name = shorter
  }
  return false
}

/** What proves who asks in a query or a form, and is an ordinary word elsewhere. */
const inUrls: ReadonlySet<string> = new Set(
  ("accesskeyid assertion awsaccesskeyid code codeverifier devicecode googleaccessid hmac jsessionid key keypairid " +
    "ossaccesskeyid otp phpsessid pin samlrequest samlresponse securitycode session sessionid sessid sid sign " +
    "signature subscriptionkey ticket totp usercode verificationcode appkey authcode authkey clientkey functionkey " +
    "licensekey userkey").split(" ")
)

/** Fields of presigned URLs: all but what says when, how long and over what. */
const presigned = /^x(?:amz|goog|oss|cos|obs|ms)(?!algorithm|date|expires|signedheaders)/

/** Whether a field of a query, a fragment or a form names a secret. */
export const isSecretField = (name: string): boolean => {
  if (isSecretKey(name)) return true
  const field = plain(name)
  return inUrls.has(field) || presigned.test(field)
}

const known = new BoundedMap<string, boolean>(2_048)

/** Caches the answer for short keys: the same few come with every call. */
export const isSecretKey = (key: string): boolean => {
  const found = known.get(key)
  if (found !== undefined) return found
  const decided = decide(key.length > 256 ? key.slice(-256) : key)
  if (key.length > 64) return decided
  known.set(key, decided)
  return decided
}
