// Layout of text for people: wrapped paragraphs, aligned columns, colour. Nothing here escapes text: text that Kiwi did
// not write has to pass safeText or safeLine first.
import { displayWidth } from "effect/cli/CliOutput"

export interface Paint {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const escape = (code: number) => (text: string): string => text === "" ? "" : `\u001b[${code}m${text}\u001b[0m`
const plain = (text: string): string => text

export const colored: Paint = {
  bold: escape(1),
  dim: escape(2),
  red: escape(31),
  green: escape(32),
  yellow: escape(33),
  cyan: escape(36)
}

export const uncolored: Paint = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain }

/** Wraps at blanks so that no line is wider than `width`, unless a single word is. Keeps the text's own line breaks. */
export const wrap = (text: string, width: number): ReadonlyArray<string> =>
  text.split("\n").flatMap((line) => {
    const indent = /^ */.exec(line)?.[0] ?? ""
    const lines: Array<string> = []
    let current = indent
    for (const word of line.slice(indent.length).split(" ")) {
      const longer = current === indent ? `${indent}${word}` : `${current} ${word}`
      if (current !== indent && displayWidth(longer) > width) {
        lines.push(current)
        current = `${indent}${word}`
      } else current = longer
    }
    lines.push(current)
    return lines
  })

export const indented = (lines: ReadonlyArray<string>, by = 2): string =>
  lines.map((line) => line === "" ? "" : `${" ".repeat(by)}${line}`).join("\n")

export const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - displayWidth(text)))

/** Two columns, the right one wrapped. A left side wider than `most` gets a line of its own. */
export const definitions = (
  rows: ReadonlyArray<readonly [left: string, right: string]>,
  width: number,
  most = 26
): string => {
  const column = Math.min(most, Math.max(0, ...rows.map(([left]) => displayWidth(left)))) + 2
  return rows.flatMap(([left, right]) => {
    const lines = wrap(right, Math.max(24, width - column - 2))
    const [first = "", ...rest] = lines
    const under = rest.map((line) => `${" ".repeat(column)}${line}`)
    return displayWidth(left) + 2 > column
      ? [left, ...lines.map((line) => `${" ".repeat(column)}${line}`)]
      : [`${pad(left, column)}${first}`.trimEnd(), ...under]
  }).map((line) => line.trimEnd() === "" ? "" : `  ${line}`).join("\n")
}

/** Columns as wide as their widest cell; the last one is not padded. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths: Array<number> = []
  for (const row of rows) {
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, displayWidth(cell))
    })
  }
  return rows.map((row) =>
    row.map((cell, at) => at === row.length - 1 ? cell : pad(cell, widths[at] ?? 0)).join("  ").trimEnd()
  ).join("\n")
}

/** A table in which a row may have indented lines below it. */
export const tableWithNotes = (
  rows: ReadonlyArray<{ readonly cells: ReadonlyArray<string>; readonly notes: ReadonlyArray<string> }>,
  width: number
): string => {
  const heads = table(rows.map(({ cells }) => cells)).split("\n")
  return rows.flatMap(({ notes }, at) => [
    heads[at] ?? "",
    ...notes.flatMap((note) => wrap(note, width - 4)).map((line) => `    ${line}`)
  ]).join("\n")
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** `840 ms`, `3.2 s`, `4 min`. */
export const duration = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
