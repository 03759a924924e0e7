// Finds a directive in its markdown before any XML is parsed. The fence is found first, so that prose may mention
// `<directive>`. The text of <template> and <example> is opaque, including fences and tags in it. Masked text keeps its
// length, so that every position is one in the file.
import { Result } from "effect"
import { problem, problemAt } from "./Metadata.ts"
import type { Problem } from "./Metadata.ts"

export interface DirectiveText {
  /** The file's text up to the fence's end, blank before the block to keep positions. */
  readonly xml: string
  /** Replaces a `<` that is meant as text. It does not occur otherwise. */
  readonly lessThan: string
  /** Offsets of the elements' start tags, in order. */
  readonly elements: ReadonlyArray<number>
  /** The text of an opaque element, by the offset of its start tag. */
  readonly opaque: ReadonlyMap<number, string>
  /** The markdown before and after the block. */
  readonly body: string
}

/** A directive with more elements is refused. */
const maxElements = 10_000

const opaqueTags: ReadonlyArray<string> = ["template", "example"]

const example = "Write one block that starts with ```xml, contains a <directive> and ends with ```"

const opening = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`\n]*$/

const isClosing = (line: string, fence: string): boolean => {
  const trimmed = line.trim()
  return trimmed.length >= fence.length && line.length - line.trimStart().length <= 3 &&
    trimmed === fence[0]!.repeat(trimmed.length)
}

const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf("\n", from)
  return end === -1 ? text.length : end
}

/** Finds the next occurrence of a character. Offsets only increase, so the text is searched once. */
const makeNext = (text: string, character: string) => {
  let known = -1
  return (from: number): number => {
    if (known < from) {
      const found = text.indexOf(character, from)
      known = found === -1 ? text.length : found
    }
    return known
  }
}

interface Scan {
  /** Offset of the line with the closing fence. */
  readonly end: number
  readonly elements: ReadonlyArray<number>
  readonly opaque: ReadonlyMap<number, string>
  /** Ranges to blank out, and offsets of `<` that are text. */
  readonly blanks: ReadonlyArray<readonly [from: number, to: number]>
  readonly texts: ReadonlyArray<number>
}

const isNameEnd = (character: string | undefined): boolean =>
  character === undefined || character === ">" || character === "/" || /\s/.test(character)

/** The maximum length of an opaque element's start tag. */
const maxTag = 2000

/** The index of the `>` that ends the tag at `at`, or -1. Skips a `>` inside quotes. */
const findTagEnd = (text: string, at: number): number => {
  let quote: string | undefined
  for (let i = at; i < text.length && i < at + maxTag; i++) {
    const character = text[i]!
    if (quote === undefined && character === ">") return i
    if (character === quote) quote = undefined
    else if (quote === undefined && (character === "\"" || character === "'")) quote = character
  }
  return -1
}

/** The end of an opaque element's text: the matching close tag, with tags of the same name nested. */
const findClose = (text: string, tag: string, from: number): number => {
  let depth = 1
  for (let at = text.indexOf("<", from); at !== -1; at = text.indexOf("<", at + 1)) {
    if (text.startsWith(`</${tag}`, at) && isNameEnd(text[at + tag.length + 2])) {
      if (--depth === 0) return at
    } else if (text.startsWith(`<${tag}`, at) && isNameEnd(text[at + tag.length + 1])) {
      const end = findTagEnd(text, at)
      if (end !== -1 && text[end - 1] !== "/") depth++
    }
  }
  return -1
}

/** Scans a block from its first line to its closing fence. */
const scanBlock = (text: string, start: number, fence: string): Result.Result<Scan, Problem> => {
  const elements: Array<number> = []
  const opaque = new Map<number, string>()
  const blanks: Array<readonly [number, number]> = []
  const texts: Array<number> = []
  let inProcess = 0
  let at = start
  let lineStart = true
  const refuse = (offset: number, issue: string, hint: string) => Result.fail(problemAt(text, offset, issue, hint))
  const nextTag = makeNext(text, "<")
  const nextLine = makeNext(text, "\n")
  while (at < text.length) {
    if (lineStart) {
      const end = endOfLine(text, at)
      if (isClosing(text.slice(at, Math.min(end, at + 200)), fence)) {
        return Result.succeed({ end: at, elements, opaque, blanks, texts })
      }
      lineStart = false
    }
    const character = text[at]
    if (character === "\n") {
      lineStart = true
      at++
      continue
    }
    if (character !== "<") {
      // The next place where something can begin.
      at = Math.min(nextTag(at), nextLine(at))
      continue
    }
    if (text.startsWith("<!--", at) || text.startsWith("<![CDATA[", at)) {
      const isComment = text.startsWith("<!--", at)
      const close = isComment ? "-->" : "]]>"
      const end = text.indexOf(close, at + 4)
      if (end === -1) return refuse(at, `it has no end: ${close}`, `Close it with ${close}`)
      if (isComment) blanks.push([at + 4, end])
      at = end + 3
      continue
    }
    if (text.startsWith("<!", at)) {
      return refuse(
        at,
        "document types and entities are not read",
        "Remove the declaration; &lt; &gt; &amp; &quot; &apos; are known"
      )
    }
    if (text.startsWith("<?", at)) {
      const end = text.slice(at, at + 200).indexOf("?>")
      if (!text.startsWith("<?xml ", at) || end === -1 || elements.length > 0) {
        return refuse(at, "processing instructions are not read", "Remove it")
      }
      blanks.push([at, at + end + 2])
      at += end + 2
      continue
    }
    const next = text[at + 1]
    if (inProcess > 0 && (next === undefined || /[0-9\s]/.test(next))) {
      texts.push(at)
      at++
      continue
    }
    if (text.startsWith("</process", at) && isNameEnd(text[at + 9])) inProcess--
    if (next !== undefined && next !== "/") {
      if (elements.length >= maxElements) {
        return refuse(at, `the directive has more than ${maxElements} elements`, "Split it into several directives")
      }
      elements.push(at)
      if (text.startsWith("<process", at) && isNameEnd(text[at + 8])) inProcess++
      const tag = opaqueTags.find((name) => text.startsWith(`<${name}`, at) && isNameEnd(text[at + name.length + 1]))
      const tagEnd = tag === undefined ? -1 : findTagEnd(text, at)
      if (tag !== undefined && tagEnd !== -1 && text[tagEnd - 1] !== "/") {
        const close = findClose(text, tag, tagEnd + 1)
        if (close === -1) {
          return refuse(
            at,
            `<${tag}> has no matching </${tag}>`,
            "Close it, or put its text into <![CDATA[ … ]]> outside of it"
          )
        }
        opaque.set(at, text.slice(tagEnd + 1, close))
        blanks.push([tagEnd + 1, close])
        at = close
        continue
      }
    }
    at++
  }
  return refuse(start === 0 ? 0 : start - 1, "the fenced block has no end", `Close it with a line ${fence}`)
}

const blank = (text: string): string => text.replace(/[^\n]/g, " ")

/** A character that does not occur in the text. */
const unused = (text: string): string => {
  for (let point = 0xe000; point < 0xe100; point++) {
    const character = String.fromCharCode(point)
    if (!text.includes(character)) return character
  }
  return "\uf8ff"
}

/**
 * Whether a block's text begins with a directive, after a declaration and comments. Checks at most 4,000 characters.
 */
const startsDirective = (text: string, start: number): boolean => {
  let head = text.slice(start, start + 4000).trimStart()
  while (head.startsWith("<?xml ") || head.startsWith("<!--")) {
    const close = head.startsWith("<!--") ? "-->" : "?>"
    const end = head.indexOf(close, 4)
    if (end === -1) return false
    head = head.slice(end + close.length).trimStart()
  }
  return head.startsWith("<directive") && isNameEnd(head[10])
}

export const findDirective = (text: string): Result.Result<DirectiveText, Problem> =>
  Result.gen(function*() {
    let found: { readonly start: number; readonly fenceStart: number; readonly scan: Scan } | undefined
    let sawXml: number | undefined
    let at = 0
    while (at < text.length) {
      const end = endOfLine(text, at)
      const match = end - at > 400 ? null : opening.exec(text.slice(at, end))
      if (match === null) {
        at = end + 1
        continue
      }
      const fence = match[1]!
      const start = end + 1
      const isXml = match[2]!.toLowerCase() === "xml"
      if (isXml && startsDirective(text, start)) {
        if (found !== undefined) {
          return yield* Result.fail(
            problemAt(
              text,
              at,
              "there is a second block with a <directive>",
              "Keep one; show others in a block without `xml`"
            )
          )
        }
        const scan = yield* scanBlock(text, start, fence)
        found = { start, fenceStart: at, scan }
        at = endOfLine(text, scan.end) + 1
        continue
      }
      if (isXml) sawXml ??= at
      // Skips any other block, up to its own closing fence.
      at = start
      while (at < text.length) {
        const lineEnd = endOfLine(text, at)
        const closed = isClosing(text.slice(at, Math.min(lineEnd, at + 200)), fence)
        at = lineEnd + 1
        if (closed) break
      }
    }
    if (found === undefined) {
      return yield* Result.fail(
        sawXml === undefined
          ? problem("the file has no fenced xml block with a <directive>", example)
          : problemAt(text, sawXml, "the xml block does not contain a <directive>", example)
      )
    }
    const { fenceStart, scan, start } = found
    const lessThan = unused(text)
    const parts: Array<string> = [blank(text.slice(0, start))]
    const edits = [
      ...scan.blanks.map(([from, to]) => ({ from, to, put: blank(text.slice(from, to)) })),
      ...scan.texts.map((from) => ({ from, to: from + 1, put: lessThan }))
    ].toSorted((a, b) => a.from - b.from)
    let from = start
    for (const edit of edits) {
      parts.push(text.slice(from, edit.from), edit.put)
      from = edit.to
    }
    parts.push(text.slice(from, scan.end))
    const after = text.slice(Math.min(endOfLine(text, scan.end) + 1, text.length))
    return {
      xml: parts.join(""),
      lessThan,
      elements: scan.elements,
      opaque: scan.opaque,
      body: `${text.slice(0, fenceStart).trim()}\n\n${after.trim()}`.trim()
    }
  })
