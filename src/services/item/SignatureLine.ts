// The signature line and canonical bytes: pure text functions, shared by reading, signing and verifying. One anchored
// ASCII pattern decides. A line that only resembles a signature is malformed, never "unsigned". Signers and readers
// remove the signature with the same function, so that a text cannot mean two things.
import { Result } from "effect"
import type { SignatureClaim } from "./Item.ts"

const pattern =
  /^kiwi-mcp:signed:2:([0-9]{8}T[0-9]{6}Z):([pa]):([0-9a-f]{64}):([0-9a-f]{16}):([A-Za-z0-9_-]{85}[AQgw])$/
const marker = "kiwi-mcp:signed:"

export interface CommentSyntax {
  readonly open: string
  readonly close: string
}

const hash: CommentSyntax = { open: "# ", close: "" }
const slashes: CommentSyntax = { open: "// ", close: "" }
const html: CommentSyntax = { open: "<!-- ", close: " -->" }

/** How to write a comment in a file of this name. Undefined if its signature is detached. */
export const commentSyntax = (fileName: string): CommentSyntax | undefined => {
  if (fileName === "SKILL.md") return undefined
  const extension = fileName.slice(fileName.lastIndexOf(".") + 1)
  switch (extension) {
    case "py":
    case "sh":
    case "yaml":
    case "yml":
      return hash
    case "js":
    case "mjs":
    case "cjs":
    case "ts":
      return slashes
    case "md":
      return html
    default:
      return undefined
  }
}

/** Parses a claim, without comment marks. The last character of a signature must be canonical. */
export const parseClaim = (text: string): SignatureClaim | undefined => {
  const match = pattern.exec(text)
  if (match === null) return undefined
  return {
    time: match[1]!,
    kind: match[2] === "p" ? "person" : "agent",
    digest: match[3]!,
    keyId: match[4]!,
    signature: match[5]!
  }
}

export const printClaim = (claim: SignatureClaim): string =>
  `${marker}2:${claim.time}:${claim.kind === "person" ? "p" : "a"}:${claim.digest}:${claim.keyId}:${claim.signature}`

/** What an item's key signs: an RFC 8785 array (all members are strings, so JSON.stringify is canonical). */
export const signedMessage = (claim: Omit<SignatureClaim, "signature" | "keyId">, item: {
  readonly type: string
  readonly id: string
  readonly path: string
}): string =>
  JSON.stringify([
    "kiwi-sig-2",
    claim.kind === "person" ? "p" : "a",
    item.type,
    item.id,
    item.path,
    claim.digest,
    claim.time
  ])

export interface TextIssue {
  readonly line: number
  readonly column: number
  readonly issue: string
  readonly hint: string
}

const forbidden: ReadonlyArray<readonly [string, string, string]> = [
  ["\0", "a NUL character", "Items are text: keep binary data in a file that the tool reads"],
  ["\u2028", "a line separator character (U+2028)", "Replace it by an ordinary line break"],
  ["\u2029", "a paragraph separator character (U+2029)", "Replace it by an ordinary line break"]
]

const position = (text: string, index: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, index)
  return { line: before.split("\n").length, column: index - before.lastIndexOf("\n") }
}

/** Decodes and normalises: BOM dropped, CRLF → LF; refuses invalid UTF-8, NUL, a lone CR and U+2028/2029. */
export const normalize = (bytes: Uint8Array): Result.Result<string, TextIssue> => {
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return Result.fail({ line: 0, column: 0, issue: "the file is not valid UTF-8", hint: "Save it as UTF-8 text" })
  }
  text = text.replaceAll("\r\n", "\n")
  const lone = text.indexOf("\r")
  if (lone !== -1) {
    return Result.fail({
      ...position(text, lone),
      issue: "a carriage return without a line feed",
      hint: "Save the file with LF or CRLF line ends"
    })
  }
  for (const [character, name, hint] of forbidden) {
    const index = text.indexOf(character)
    if (index !== -1) return Result.fail({ ...position(text, index), issue: name, hint })
  }
  return Result.succeed(text)
}

export interface SplitText {
  /** The text without its signature line. */
  readonly canonical: string
  readonly claim:
    | { readonly _tag: "None" }
    | { readonly _tag: "Claim"; readonly claim: SignatureClaim }
    | { readonly _tag: "Malformed"; readonly issue: string }
}

const byteOrderMark = 0xfeff

/** The index after the line that starts at `from`. */
const nextLine = (text: string, from: number): number => {
  const end = text.indexOf("\n", from)
  return end === -1 ? text.length : end + 1
}

interface Head {
  /** The `#!` line to keep, or "". */
  readonly shebang: string
  /** The text to keep after it. */
  readonly rest: string
  /** Lines that resemble a signature, without newlines, in order. */
  readonly before: ReadonlyArray<string>
  readonly after: ReadonlyArray<string>
}

/** Splits a text's head. Byte order marks and lines that resemble a signature are not content there. */
const readHead = (text: string): Head => {
  let at = 0
  const take = (): ReadonlyArray<string> => {
    const lines: Array<string> = []
    while (at < text.length) {
      const next = nextLine(text, at)
      const line = text.slice(at, next)
      if (!line.includes(marker)) break
      lines.push(line.replace(/\r?\n$/, ""))
      at = next
    }
    return lines
  }
  const before: Array<string> = []
  while (true) {
    const start = at
    while (text.charCodeAt(at) === byteOrderMark) at++
    for (const line of take()) before.push(line)
    if (at === start) break
  }
  if (!text.startsWith("#!", at)) return { shebang: "", rest: text.slice(at), before, after: [] }
  const start = at
  at = nextLine(text, at)
  const shebang = text.slice(start, at)
  const after = take()
  // A text that is only `#!…` has no newline of its own: the newline before a last, unended signature line is the
  // signer's.
  const unended = after.length > 0 && at === text.length && !text.endsWith("\n")
  return { shebang: unended ? shebang.replace(/\r?\n$/, "") : shebang, rest: text.slice(at), before, after }
}

/** Removes the signature line from a normalised text. `syntax`: from `commentSyntax`. */
export const splitSignature = (text: string, syntax: CommentSyntax | undefined): SplitText => {
  if (syntax === undefined) return { canonical: text, claim: { _tag: "None" } }
  const head = readHead(text)
  const canonical = head.shebang + head.rest
  const lines = [...head.before, ...head.after]
  const line = lines[0]
  if (line === undefined) return { canonical, claim: { _tag: "None" } }
  const malformed = (issue: string): SplitText => ({ canonical, claim: { _tag: "Malformed", issue } })
  if (lines.length > 1) return malformed("there is a second signature line")
  if (head.before.length > 0 && head.shebang !== "") return malformed("the signature line is before the #! line")
  if (!line.startsWith(syntax.open) || !line.endsWith(syntax.close)) {
    return malformed("the signature line has something before or after it")
  }
  const claim = parseClaim(line.slice(syntax.open.length, line.length - syntax.close.length))
  return claim === undefined
    ? malformed("the signature line does not have the form that Kiwi writes")
    : { canonical, claim: { _tag: "Claim", claim } }
}

const commentLine: ReadonlyMap<CommentSyntax, RegExp> = new Map([
  [hash, /^\s*(?:#|$)/],
  [slashes, /^\s*(?:\/\/|\/\*|\*|$)/],
  [html, /^\s*(?:<!--|$)/]
])

/**
 * Finds a signature line that is not at the head of a normalised text but among its first comments, as after a merge.
 */
export const strayClaim = (text: string, syntax: CommentSyntax | undefined): TextIssue | undefined => {
  const comment = syntax === undefined ? undefined : commentLine.get(syntax)
  if (comment === undefined) return undefined
  let at = text.length - readHead(text).rest.length
  while (at < text.length) {
    const next = nextLine(text, at)
    const line = text.slice(at, next).trimEnd()
    if (!comment.test(line)) return undefined
    if (/kiwi-mcp:signed:2:[0-9]{8}T[0-9]{6}Z:/.test(line)) {
      return {
        ...position(text, at),
        issue: "a signature line is among the comments and not at the head",
        hint: "Delete it, and sign the file again"
      }
    }
    at = next
  }
  return undefined
}

/**
 * Returns a file's own text (not normalised) with `claim` as its only signature line, with the file's own line ends.
 */
export const withSignature = (raw: string, syntax: CommentSyntax, claim: SignatureClaim): string => {
  const eol = raw.includes("\r\n") ? "\r\n" : "\n"
  const { rest, shebang } = readHead(raw)
  const line = `${syntax.open}${printClaim(claim)}${syntax.close}`
  return shebang === "" || shebang.endsWith("\n")
    ? `${shebang}${line}${eol}${rest}`
    : `${shebang}${eol}${line}`
}

/** Parses a detached signature (`<name>.kiwi-sig`): only the claim, with at most one newline after it. */
export const parseDetached = (text: string): SignatureClaim | undefined =>
  parseClaim(text.endsWith("\n") ? text.slice(0, -1) : text)
