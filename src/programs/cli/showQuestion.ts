// Shows the whole question on the person's terminal, page by page if it is longer than the screen, and repeats the
// summary at the end. Kiwi has a pager of its own: the environment could choose another pager, which could run
// programs.
import { Effect } from "effect"
import { mostColumns } from "../../services/error/exactText.ts"
import type { HumanRequest } from "../../services/trust/HumanAct.ts"
import { fullText, verdictLines } from "../question.ts"
import type { OpenTerminal } from "./TerminalDevice.ts"
import type { colored } from "./text.ts"

/** Marks each row that continues a line, so that no text of an item stands where Kiwi's own lines begin. */
const goesOn = "… "

/** Splits a line into rows before any terminal would wrap it. */
export const rowsOf = (line: string, columns: number): ReadonlyArray<string> => {
  const rows: Array<string> = []
  let [row, width, isEmpty] = ["", 0, true]
  for (const character of line) {
    const wide = mostColumns(character)
    if (width + wide > columns && !isEmpty) {
      rows.push(row)
      row = goesOn
      width = mostColumns(goesOn)
    }
    row += character
    width += wide
    isEmpty = false
  }
  return [...rows, row]
}

/** The person's choice in the pager. Other keys are ignored. */
const readChoice = (readKey: OpenTerminal["readKey"]): Effect.Effect<"next" | "all" | "stop"> =>
  Effect.flatMap(readKey, (key) => {
    switch (key) {
      case undefined:
      case "q":
      case "Q":
        return Effect.succeed("stop")
      case "a":
      case "A":
        return Effect.succeed("all")
      case "\r":
      case "\n":
      case " ":
        return Effect.succeed("next")
      default:
        return readChoice(readKey)
    }
  })

/** Splits a question's title or another line into rows. */
export const wrapLine = (line: string, { size }: OpenTerminal): ReadonlyArray<string> => {
  const columns = size?.().columns ?? 0
  return columns > 0 ? rowsOf(line, columns) : [line]
}

/** `false`: the person stopped before the end. */
export const showQuestion = Effect.fnUntraced(function*(
  request: HumanRequest,
  terminal: OpenTerminal,
  paint: typeof colored
) {
  const screen = terminal.size?.().rows ?? 0
  const wrapped = (line: string) => wrapLine(line, terminal)
  const [title = "", ...rest] = verdictLines(request)
  const verdictRows = [...wrapped(title).map(paint.bold), ...rest.flatMap(wrapped)]
  const verdict = verdictRows.join("\n")
  const rows = fullText(request).split("\n").flatMap(wrapped)
  const prompt = (at: number) =>
    `– ${at} of ${rows.length} lines. Enter or space: the next, a: all the rest, q: stop – `
  /** The rows above the answer's row, with the empty rows between. */
  const besides = verdictRows.length + 4
  const height = Math.max(1, screen - wrapped(prompt(rows.length)).length)
  if (screen <= 2 || rows.length + besides + 2 <= screen) {
    yield* terminal.write(`\n${verdict}\n\n${rows.join("\n")}\n`)
    return true
  }
  yield* terminal.write(`\n${verdict}\n\n`)
  let [at, most] = [0, Math.max(1, height - verdictRows.length - 3)]
  while (at < rows.length) {
    const page = rows.slice(at, at + most)
    yield* terminal.write(`${page.join("\n")}\n`)
    at += page.length
    // The summary would scroll the text off the screen.
    const isLast = at >= rows.length && (most > height || page.length + besides <= screen)
    if (isLast) break
    yield* terminal.write(paint.dim(prompt(at)))
    const choice = yield* readChoice(terminal.readKey)
    yield* terminal.write("\n")
    if (choice === "stop") return false
    most = choice === "all" ? Infinity : height
  }
  yield* terminal.write(`\n${verdict}\n`)
  return true
})
