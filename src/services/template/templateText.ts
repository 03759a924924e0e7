// The grammar of placeholders: `{name}` is a call parameter, `${VAR}` and `${VAR:-default}` are variables. One more
// brace pair, or one more `$`, escapes a placeholder: `{{name}}` is the text `{name}`. Any other text in braces (JSON,
// shell, Go templates) is plain text.

export type Part =
  | string
  | { readonly _tag: "Parameter"; readonly name: string }
  | { readonly _tag: "Variable"; readonly name: string; readonly fallback: string | undefined }
  | { readonly _tag: "Malformed"; readonly text: string; readonly hint: string }

const parameterName = /[A-Za-z_][A-Za-z0-9_-]*/y
const variable = /([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^{}]*))?(\})?/y

const matchAt = (pattern: RegExp, text: string, index: number): RegExpExecArray | null => {
  pattern.lastIndex = index
  return pattern.exec(text)
}

const runLength = (text: string, index: number, character: string): number => {
  let end = index
  while (text[end] === character) end++
  return end - index
}

/** Splits a text into plain text and placeholders. Linear in its length. */
export const parseTemplate = (
  text: string,
  options: { readonly parameters: boolean } = { parameters: true }
): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  let plain = ""
  let i = 0
  const push = (part: Exclude<Part, string>) => {
    if (plain !== "") parts.push(plain)
    plain = ""
    parts.push(part)
  }
  while (i < text.length) {
    const character = text[i]
    if (character === "$") {
      const dollars = runLength(text, i, "$")
      const brace = i + dollars
      const braces = runLength(text, brace, "{")
      const match = braces === 1 ? matchAt(variable, text, brace + 1) : null
      const closed = match?.[4] !== undefined
      if (match === null || (!closed && match[2] === undefined)) {
        plain += text.slice(i, braces === 1 ? brace + 1 : brace)
        i = braces === 1 ? brace + 1 : brace
        continue
      }
      const end = brace + 1 + match[0].length
      if (dollars > 1) plain += text.slice(i + 1, end)
      else if (closed) push({ _tag: "Variable", name: match[1]!, fallback: match[3] })
      else {
        push({
          _tag: "Malformed",
          text: `\${${match[1]}:-`,
          hint: "A default is plain text without braces, and ends at }; a literal ${ is written $${"
        })
      }
      i = end
      continue
    }
    if (character === "{" && options.parameters) {
      const open = runLength(text, i, "{")
      const match = matchAt(parameterName, text, i + open)
      const after = match === null ? 0 : i + open + match[0].length
      const close = match === null ? 0 : runLength(text, after, "}")
      const pairs = Math.min(open, close)
      if (match === null || pairs === 0) {
        plain += text.slice(i, i + open)
        i += open
        continue
      }
      plain += "{".repeat(open - pairs)
      if (pairs === 1) push({ _tag: "Parameter", name: match[0] })
      else plain += "{".repeat(pairs - 1) + match[0] + "}".repeat(pairs - 1)
      i = after + pairs
      continue
    }
    plain += character
    i++
  }
  if (plain !== "" || parts.length === 0) parts.push(plain)
  return parts
}
