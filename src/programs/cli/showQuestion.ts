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

/** Cuts a line where the terminal would wrap it. */
const rowsOf = (line: string, columns: number): ReadonlyArray<string> => {
  const rows: Array<string> = []
  let [row, width] = ["", 0]
  for (const character of line) {
    const wide = widthOf(character)
    if (width + wide > columns && row !== "") {
      rows.push(row)
      row = ""
      width = 0
    }
    row += character
    width += wide
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
  const [title = "", ...rest] = verdictLines(request)
  const verdict = [paint.bold(title), ...rest].join("\n")
  const text = fullText(request)
  const size = terminal.size?.()
  const columns = size?.columns ?? 0
  const height = (size?.rows ?? 0) - 1
  const rows = columns > 0 && height > 1 ? text.split("\n").flatMap((line) => rowsOf(line, columns)) : []
  if (rows.length + 8 <= height || rows.length === 0) {
    yield* terminal.write(`\n${verdict}\n\n${text}\n`)
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
