// The live inbox as a screen: a list, the whole text of what is chosen, and the keys. Pure functions. What is shown
// changes only by the person's own keys: a key never answers a request that took another's place on the screen.
import { exactLine, exactText } from "../../../services/error/exactText.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import type { HumanRequest } from "../../../services/trust/HumanAct.ts"
import type { Inbox } from "../../inbox.ts"
import { fullText, verdictLines } from "../../question.ts"
import { rowsOf } from "../showQuestion.ts"
import { plural } from "../text.ts"
import type { Paint } from "../text.ts"

/** One row of the list. */
export interface Row {
  readonly kind: keyof Inbox
  /** Of the request; of a refusal, its call's. */
  readonly id: string
  readonly line: string
  /** It does not wait any more. It stays until the person goes on. */
  readonly over?: true
}

export interface Live {
  readonly rows: ReadonlyArray<Row>
  readonly chosen: string | undefined
  /** What the chosen row shows. A request's is its question. */
  readonly shown: Shown | undefined
  /** The first line of it that is on the screen. */
  readonly top: number
  /** Whether its end has been on the screen. */
  readonly read: boolean
  /** What the last key did. */
  readonly said: string
}

export interface Shown {
  readonly text: string
  /** Of a request that waits. */
  readonly question?: HumanRequest
  readonly keys: ReadonlyArray<readonly [key: string, does: string]>
}

export const empty: Live = { rows: [], chosen: undefined, shown: undefined, top: 0, read: false, said: "" }

/** In characters. */
const touchesShown = 60

/** The key of each answer, where the request can get it. */
export const answerKeys: Readonly<Record<string, string>> = {
  o: "once",
  s: "session",
  a: "always",
  n: "no",
  v: "never"
}

const rowsFrom = ({ help, refused, waiting }: Inbox): ReadonlyArray<Row> => [
  ...waiting.map(({ caller, id, settles = [], touches, what }): Row => ({
    kind: "waiting",
    id,
    // A row shows as much as fits: what the call would touch says more than the name of its tool.
    line: `${id}  ${safeLine(touches.join(", "), touchesShown)}${
      settles.length === 0 ? "" : ` and ${settles.length} more`
    }  ${what}  ${caller}`
  })),
  ...help.map(({ caller, id, kind }): Row => ({
    kind: "help",
    id,
    line: `${id}  ${kind === "stuck" ? "is stuck" : "leaves a decision to you"}  ${caller}`
  })),
  ...refused.map(({ at, call, item, operation }): Row => ({
    kind: "refused",
    id: call,
    line: `refused ${at.slice(11, 19)}  ${operation} ${item}`
  }))
]

/** What is there now. The chosen row stays where it is, even if it does not wait any more. */
export const refreshed = (live: Live, inbox: Inbox): Live => {
  const rows = rowsFrom(inbox)
  const at = live.rows.findIndex(({ id }) => id === live.chosen)
  const chosen = live.rows[at]
  if (chosen === undefined || rows.some(({ id }) => id === chosen.id)) return { ...live, rows }
  const shown = live.shown === undefined ? undefined : { text: live.shown.text, keys: [] }
  return { ...live, shown, rows: rows.toSpliced(at, 0, { ...chosen, over: true }) }
}

/** The row that is `by` rows from the chosen one is chosen, the first without one. A row that is over goes. */
export const moved = (live: Live, by: number): Live => {
  const at = live.rows.findIndex(({ id }) => id === live.chosen)
  const left = live.rows[Math.min(live.rows.length - 1, Math.max(0, at + by))]
  const rows = live.rows.filter((row) => row.over !== true)
  const next = left === undefined || left.over === true ? rows[Math.min(rows.length - 1, Math.max(0, at))] : left
  return { ...live, rows, chosen: next?.id }
}

/** A request as it is asked, with the keys of its answers. */
export const showRequest = (question: HumanRequest): Shown => ({
  text: [...verdictLines(question), "", fullText(question)].join("\n"),
  question,
  keys: Object.entries(answerKeys).filter(([, answer]) => question.choices?.some(({ value }) => value === answer))
})

export const showText = (lines: ReadonlyArray<string>, keys: Shown["keys"] = []): Shown => ({
  text: lines.map((line) => exactText(line)).join("\n"),
  keys
})

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** How many rows the list and the text have. */
const heights = ({ rows }: Live, size: Size) => {
  const list = Math.max(1, Math.min(rows.length, Math.floor(size.rows / 4)))
  return { list, text: Math.max(1, size.rows - list - 4) }
}

const textRows = ({ shown }: Live, { columns }: Size): ReadonlyArray<string> =>
  (shown?.text ?? "Nothing waits for you.").split("\n").flatMap((line) => rowsOf(line, columns))

/** Moves the text by pages, and notes whether its end is on the screen. */
export const paged = (live: Live, size: Size, pages = 0): Live => {
  const { text } = heights(live, size)
  const most = Math.max(0, textRows(live, size).length - text)
  // The last row of a page is the first of the next one.
  const top = Math.min(most, Math.max(0, live.top + pages * Math.max(1, text - 1)))
  return { ...live, top, read: live.read || top === most }
}

/** The rows of the list that fit, around the chosen one. */
const listRows = ({ chosen, rows }: Live, { columns }: Size, height: number, paint: Paint): ReadonlyArray<string> => {
  const at = Math.max(0, rows.findIndex(({ id }) => id === chosen))
  const from = Math.max(0, Math.min(at - Math.floor(height / 2), rows.length - height))
  return rows.slice(from, from + height).map(({ id, line, over }) => {
    const [first = ""] = rowsOf(`${id === chosen ? "> " : "  "}${over ? "(over) " : ""}${safeLine(line)}`, columns)
    return id === chosen ? paint.bold(first) : over ? paint.dim(first) : first
  })
}

const footer = ({ shown }: Live, rest: number): string =>
  [
    ...(shown?.keys ?? []).map(([key, does]) => `${key} ${does}`),
    ...(rest > 0 ? [`space ${plural(rest, "more line")}`] : []),
    "up down",
    "q quit"
  ].join(" | ")

/** The whole screen, a string for each row. */
export const screen = (live: Live, size: Size, paint: Paint, title: string): ReadonlyArray<string> => {
  const height = heights(live, size)
  const text = textRows(live, size)
  const count = (kind: keyof Inbox) => live.rows.filter((row) => row.kind === kind && row.over !== true).length
  const counts = `${count("waiting")} waiting, ${count("help")} asking for help, ${count("refused")} refused`
  const one = (line: string): string => rowsOf(line, size.columns)[0] ?? ""
  return [
    paint.bold(one(`Inbox of ${safeLine(title)}: ${counts}`)),
    ...listRows(live, size, height.list, paint),
    paint.dim("-".repeat(size.columns)),
    ...Array.from({ length: height.text }, (_, at) => text[live.top + at] ?? ""),
    paint.yellow(one(exactLine(live.said, 400))),
    paint.dim(one(footer(live, Math.max(0, text.length - live.top - height.text))))
  ]
}
