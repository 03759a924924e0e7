// Shows a question on the person's terminal, all of it: a page at a time where it is longer than the screen, with the
// verdict once more at the end. Kiwi is its own pager, since another one would obey the environment and could run things.
import { Effect } from "effect"
import { displayWidth } from "effect/cli/CliOutput"
import type { HumanRequest } from "../../services/trust/HumanAct.ts"
import { fullText, verdictLines } from "../question.ts"
import type { OpenTerminal } from "./TerminalDevice.ts"
import type { colored } from "./text.ts"

/** Columns that a character takes. A tab is as wide as it can be; the library's own measure is slow. */
const widthOf = (character: string): number =>
  character === "\t" ? 8 : character >= " " && character <= "~" ? 1 : displayWidth(character)

/** Begins each row that goes on with a line, so that no text of an item's stands where Kiwi's own lines begin. */
const goesOn = "… "
/** Some terminals give the ellipsis two columns. */
const goesOnWidth = 3

/** Cuts a line where the terminal would wrap it. */
const rowsOf = (line: string, columns: number): ReadonlyArray<string> => {
  const rows: Array<string> = []
  let [row, width, isEmpty] = ["", 0, true]
  for (const character of line) {
    const wide = widthOf(character)
    if (width + wide > columns && !isEmpty) {
      rows.push(row)
      row = goesOn
      width = goesOnWidth
    }
    row += character
    width += wide
    isEmpty = false
  }
  return [...rows, row]
}

/** What the person wants to see; any other key is nothing. */
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

/** `false`: the person stopped before the end. */
export const showQuestion = Effect.fnUntraced(function*(
  request: HumanRequest,
  terminal: OpenTerminal,
  paint: typeof colored
) {
  const size = terminal.size?.()
  const columns = size?.columns ?? 0
  const height = (size?.rows ?? 0) - 1
  const wrapped = (line: string) => columns > 0 ? rowsOf(line, columns) : [line]
  const [title = "", ...rest] = verdictLines(request)
  const verdict = [...wrapped(title).map(paint.bold), ...rest.flatMap(wrapped)].join("\n")
  const rows = fullText(request).split("\n").flatMap(wrapped)
  if (columns === 0 || height <= 1 || rows.length + 8 <= height) {
    yield* terminal.write(`\n${verdict}\n\n${rows.join("\n")}\n`)
    return true
  }
  yield* terminal.write(`\n${verdict}\n\n`)
  let [at, most] = [0, Math.max(1, height - 6)]
  while (at < rows.length) {
    yield* terminal.write(`${rows.slice(at, at + most).join("\n")}\n`)
    at += most
    if (at >= rows.length) break
    yield* terminal.write(
      paint.dim(`– ${at} of ${rows.length} lines. Enter or space: the next, a: all the rest, q: stop – `)
    )
    const choice = yield* readChoice(terminal.readKey)
    yield* terminal.write("\n")
    if (choice === "stop") return false
    most = choice === "all" ? rows.length : height
  }
  yield* terminal.write(`\n${verdict}\n`)
  return true
})
