// The syntax tree of a program. The grammars' own error recovery takes quadratic time on hostile text, so they parse
// strictly, and a top-level statement that they do not know is blanked out: they are a little behind their languages. A
// statement that touches metadata is never skipped.
import type { Tree } from "@lezer/common"
import { Effect, Result } from "effect"
import { metadataNames, problemAt } from "./Metadata.ts"
import type { Problem } from "./Metadata.ts"

/** A grammar of lezer's, configured to be strict. */
export interface StrictParser {
  readonly startParse: (text: string) => { readonly advance: () => Tree | null }
}

export interface Program {
  readonly tree: Tree
  /** The first place that the grammar does not know. */
  readonly firstError: Problem | undefined
}

/** The limit of skipped statements; lower in a large file, so that all parses together stay linear. */
const maxRepairs = 20
const maxParsed = 2 * 1024 * 1024

/** Parser steps after which other fibers may run. */
const batch = 5000

const noParse = /^No parse at (\d+)/

/** Continues parsing for a batch of steps: returns a tree, the offset of an error, or nothing yet. */
const advance = (parse: ReturnType<StrictParser["startParse"]>): Tree | number | undefined => {
  try {
    for (let i = 0; i < batch; i++) {
      const tree = parse.advance()
      if (tree !== null) return tree
    }
    return undefined
  } catch (cause) {
    const match = cause instanceof SyntaxError ? noParse.exec(cause.message) : null
    if (match === null) throw cause
    return Number(match[1])
  }
}

const parseOnce = Effect.fnUntraced(function*(parser: StrictParser, text: string) {
  const parse = parser.startParse(text)
  while (true) {
    const step = advance(parse)
    if (step !== undefined) return step
    yield* Effect.yieldNow
  }
})

/** Lines at the left margin that continue the statement before them, or belong to the next one. */
const continuation = /^(?:[ \t)\]}*@]|$|(?:else|elif|except|finally|case|default)\b)/

/** The top-level statement around an offset, by indentation. */
const statementAround = (text: string, offset: number): readonly [from: number, to: number] => {
  let from = text.lastIndexOf("\n", offset - 1) + 1
  let to = from
  const lineAt = (at: number): string => text.slice(at, Math.min(at + 80, endOf(text, at)))
  while (
    from > 0 && (continuation.test(lineAt(from)) || lineAt(text.lastIndexOf("\n", from - 2) + 1).startsWith("@"))
  ) {
    from = text.lastIndexOf("\n", from - 2) + 1
  }
  do to = endOf(text, to) + 1
  while (to < text.length && continuation.test(lineAt(to)))
  return [from, Math.min(to, text.length)]
}

const endOf = (text: string, from: number): number => {
  const end = text.indexOf("\n", from)
  return end === -1 ? text.length : end
}

const anyName = new RegExp(
  `^(?:export[ \\t]+)?(?:(?:const|let|var)[ \\t]+)?(?:${Array.from(metadataNames.keys()).join("|")})\\b`,
  "m"
)

export const parseProgram = Effect.fnUntraced(function*(
  parser: StrictParser,
  text: string
): Effect.fn.Return<Result.Result<Program, Problem>> {
  const repairs = Math.min(maxRepairs, Math.floor(maxParsed / (text.length + 1)))
  let current = text
  let firstError: Problem | undefined
  for (let repair = 0;; repair++) {
    const found = yield* parseOnce(parser, current)
    if (typeof found !== "number") return Result.succeed({ tree: found, firstError })
    const problem = problemAt(
      text,
      found,
      "there is a syntax error, or syntax that Kiwi does not know",
      "Correct it; if it is right, write the metadata above it and without newer syntax"
    )
    firstError ??= problem
    const [from, to] = statementAround(current, found)
    const statement = current.slice(from, to)
    if (repair >= repairs || anyName.test(statement)) return Result.fail(problem)
    // The statement blanked out before was not the cause: nothing is left at the error.
    if (statement.trim() === "") return Result.fail(firstError)
    current = current.slice(0, from) + statement.replace(/[^\n]/g, " ") + current.slice(to)
  }
})
