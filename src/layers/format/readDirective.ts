// Parses a directive: the elements of its XML, with their positions in the file. Strict: Effect's decoder accepts only
// the five predefined entities and character references, and loads nothing external.
import { Effect, Result, Stream } from "effect"
import { toDirective } from "../../services/format/DirectiveElements.ts"
import type { PlacedElement } from "../../services/format/DirectiveElements.ts"
import { findDirective } from "../../services/format/DirectiveText.ts"
import type { DirectiveText } from "../../services/format/DirectiveText.ts"
import { maxDepth, problemAt } from "../../services/format/Metadata.ts"
import type { Problem } from "../../services/format/Metadata.ts"
import type { ItemSnapshot } from "../../services/item/Item.ts"

interface OpenElement {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  readonly offset: number
  readonly children: Array<PlacedElement>
  readonly own: Array<string>
  readonly full: Array<string>
}

const library = Effect.promise(() => import("effect/encoding/Xml"))

/** Removes the indentation that all lines of a block share. */
const dedent = (text: string): string => {
  const lines = text.split("\n")
  const depths = lines.slice(1).filter((line) => line.trim() !== "").map((line) =>
    line.length - line.trimStart().length
  )
  const shared = depths.reduce((least, depth) => Math.min(least, depth), Number.POSITIVE_INFINITY)
  return Number.isFinite(shared)
    ? lines.map((line, index) => index === 0 ? line : line.slice(shared)).join("\n").trim()
    : text.trim()
}

const patterns: ReadonlyArray<readonly [pattern: RegExp, hint: string]> = [
  [/&(?!(?:lt|gt|amp|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)/, "Write & as &amp;, or put the text into <![CDATA[ … ]]>"],
  [/<-|<=/, "Write < as &lt;, or put the text into <![CDATA[ … ]]>"],
  [/[A-Za-z]<[A-Za-z]/, "Write < as &lt; (List&lt;String&gt;), or put the text into <![CDATA[ … ]]>"],
  [/<[ 0-9]/, "Write < as &lt;; only inside <process> may it precede a digit or a blank"]
]

const hintFor = (line: string): string =>
  patterns.find(([pattern]) => pattern.test(line))?.[1] ??
    "Close every element with its own name, put attribute values in quotes, and write < as &lt; and & as &amp;"

/** Turns a decoder error into a problem at its position: the decoder's lines are the file's. */
const invalid = (
  text: string,
  error: { readonly message: string; readonly line?: number | undefined; readonly column?: number | undefined }
): Problem => {
  const line = error.line ?? 1
  const found = text.split("\n", line)[line - 1] ?? ""
  const said = error.message.replace(/ ?(?:at|\() ?line \d+.*$/i, "")
  return {
    line,
    column: error.column ?? 1,
    issue: `Invalid directive XML: ${said}`,
    found: found.trim().slice(0, 200),
    hint: hintFor(found)
  }
}

const readXml = Effect.fnUntraced(function*(
  text: string,
  { elements, lessThan, opaque, xml }: DirectiveText
): Effect.fn.Return<Result.Result<PlacedElement, Problem>> {
  const Xml = yield* library
  const decoded = yield* Stream.make(xml.trimEnd()).pipe(
    Stream.pipeThroughChannel(Xml.decodeString({ maxDepth })),
    Stream.runCollect,
    Effect.result
  )
  if (Result.isFailure(decoded)) return Result.fail(invalid(text, decoded.failure))
  const restore = (value: string): string => value.replaceAll(lessThan, "<")
  const open: Array<OpenElement> = []
  let index = 0
  let root: PlacedElement | undefined
  for (const event of decoded.success) {
    if (event._tag === "StartElement") {
      open.push({
        tag: event.name,
        attributes: Object.fromEntries(Object.entries(event.attributes).map(([name, value]) => [name, restore(value)])),
        offset: elements[index++] ?? 0,
        children: [],
        own: [],
        full: []
      })
    } else if (event._tag === "Text") {
      open.at(-1)?.own.push(restore(event.text))
      open.at(-1)?.full.push(restore(event.text))
    } else if (event._tag === "EndElement") {
      const { full, own, ...element } = open.pop()!
      const hidden = opaque.get(element.offset)
      const closed: PlacedElement = {
        ...element,
        text: dedent(hidden ?? own.join("")),
        fullText: dedent(hidden ?? full.join(""))
      }
      const parent = open.at(-1)
      if (parent === undefined) root = closed
      else {
        parent.children.push(closed)
        parent.full.push(closed.fullText)
      }
    } else if (event._tag === "Doctype" || event._tag === "ProcessingInstruction") {
      return Result.fail(
        problemAt(text, elements[0] ?? 0, "Invalid directive XML: only elements are read", "Remove the declaration")
      )
    }
  }
  return root === undefined || root.tag !== "directive"
    ? Result.fail(
      problemAt(text, elements[0] ?? 0, "Invalid directive XML: the root is not <directive>", "Write one <directive>")
    )
    : Result.succeed(root)
})

export const readDirective = Effect.fnUntraced(function*(snapshot: ItemSnapshot, text: string) {
  const found = findDirective(text)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  return Result.flatMap(yield* readXml(text, found.success), (root) => toDirective(snapshot, text, found.success, root))
})
