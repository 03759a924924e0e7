// A request's body: text, JSON, a form, bytes, or several parts with files. Also decides, by name, which files a tool
// may send: a caller who may choose a file must not be able to send keys, or files that Kiwi's decisions depend on.
import { Result, Schema } from "effect"

const Scalar = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])

/** A field (`value`), or a file: bytes in base64, or the path of a project file. */
export const Part = Schema.Struct({
  name: Schema.NonEmptyString,
  value: Schema.optionalKey(Schema.Json),
  base64: Schema.optionalKey(Schema.String),
  path: Schema.optionalKey(Schema.String),
  filename: Schema.optionalKey(Schema.String),
  content_type: Schema.optionalKey(Schema.String)
})
export type Part = typeof Part.Type

/** The values of `query` and `form`. */
export const Fields = Schema.Record(Schema.String, Schema.Union([Scalar, Schema.Array(Scalar)]))
export type Fields = typeof Fields.Type

export type PartContent =
  | { readonly _tag: "Bytes"; readonly bytes: Uint8Array }
  /** Relative to the project's folder. */
  | { readonly _tag: "File"; readonly path: string; readonly field: string }

export interface PlannedPart {
  readonly name: string
  /** Undefined: a field. */
  readonly filename: string | undefined
  readonly type: string | undefined
  readonly content: PartContent
}

export type PlannedBody =
  | { readonly _tag: "Bytes"; readonly bytes: Uint8Array }
  | { readonly _tag: "Parts"; readonly parts: ReadonlyArray<PlannedPart> }

export interface BodyIssue {
  readonly field: string
  readonly error: string
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/
const urlAlphabet = /^[A-Za-z0-9_-]*={0,2}$/

/** Accepts either alphabet, and newlines, as tools write them. */
export const fromBase64 = (text: string): Result.Result<Uint8Array, string> => {
  const plain = text.replace(/[\r\n]/g, "")
  if (!alphabet.test(plain) && !urlAlphabet.test(plain)) return Result.fail("is not base64")
  return Result.mapError(
    Result.try(() => Uint8Array.from(atob(plain.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0))),
    () => "is not base64"
  )
}

/** Names of files and folders that contain keys, or that Kiwi's or git's decisions depend on. */
const withheld =
  /^(?:\.env(?:\..*)?|\.envrc|\.git|\.ai|\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.netrc|_netrc|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|\.pgpass|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|kiwi-sig))$/i

/** Why a tool may not send the file at this path. Undefined if it may. */
export const unsendable = (path: string): string | undefined => {
  if (path === "" || path.includes("\0") || /^[/\\~]|^[A-Za-z]:/.test(path)) {
    return "it is not a path inside the project"
  }
  const segments = path.split(/[/\\]/)
  if (segments.includes("..")) return "it leads out of its folder"
  const secret = segments.find((segment) => withheld.test(segment))
  return secret === undefined ? undefined : `${secret} is not a file that a tool may send`
}

const asText = (value: Schema.Json): string => typeof value === "string" ? value : JSON.stringify(value)

/** Escapes quotes and newlines in a name, as browsers do. */
const quoted = (text: string): string =>
  `"${text.toWellFormed().replaceAll("\"", "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")}"`

const isPlain = (text: string): boolean => /^[\t\x20-\x7e]+$/.test(text)

const lastSegment = (path: string): string => path.split(/[/\\]/).at(-1) ?? path

/** A part whose content is an absent optional parameter is omitted. A part without any content is an error. */
export const planParts = (
  parts: ReadonlyArray<Part>,
  signed: Schema.Json | undefined,
  issues: Array<BodyIssue>
): ReadonlyArray<PlannedPart> =>
  parts.flatMap((part, index): ReadonlyArray<PlannedPart> => {
    const field = `multipart/${index}`
    const given = (["value", "base64", "path"] as const).filter((key) => part[key] !== undefined)
    const [first] = given
    if (given.length > 1) {
      issues.push({ field: `${field}/${given[1]}`, error: `cannot be combined with ${first}: a part has one content` })
      return []
    }
    if (part.content_type !== undefined && !isPlain(part.content_type)) {
      issues.push({ field: `${field}/content_type`, error: "is not a media type" })
    }
    const { filename, name } = part
    const type = part.content_type
    if (first === undefined) {
      const before = Array.isArray(signed) ? signed[index] : undefined
      const had = typeof before === "object" && before !== null &&
        ["value", "base64", "path"].some((key) => Object.hasOwn(before, key))
      if (!had) issues.push({ field, error: "has neither value nor base64 nor path" })
      return []
    }
    if (first === "value") {
      const value = part.value ?? null
      if (value === null) return []
      const content: PartContent = { _tag: "Bytes", bytes: utf8(asText(value)) }
      return [{ name, filename, type, content }]
    }
    const file = { name, filename: filename ?? name, type: type ?? "application/octet-stream" }
    if (first === "base64") {
      const bytes = fromBase64(part.base64 ?? "")
      if (Result.isSuccess(bytes)) return [{ ...file, content: { _tag: "Bytes", bytes: bytes.success } }]
      issues.push({ field: `${field}/base64`, error: bytes.failure })
      return []
    }
    const path = part.path ?? ""
    return [{
      ...file,
      filename: filename ?? lastSegment(path),
      content: { _tag: "File", path, field: `${field}/path` }
    }]
  })

export interface FilledPart {
  readonly part: PlannedPart
  readonly bytes: Uint8Array
}

/** Writes multipart/form-data, as browsers do. `boundary` must be unguessable. */
export const writeParts = (parts: ReadonlyArray<FilledPart>, boundary: string): Uint8Array => {
  const chunks: Array<Uint8Array> = []
  for (const { bytes, part: { filename, name, type } } of parts) {
    const file = filename === undefined ? "" : `; filename=${quoted(filename)}`
    const head = `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(name)}${file}\r\n`
    chunks.push(utf8(`${head}${type === undefined ? "" : `Content-Type: ${type}\r\n`}\r\n`), bytes, utf8("\r\n"))
  }
  chunks.push(utf8(`--${boundary}--\r\n`))
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
