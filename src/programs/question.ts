// The text of a question to a person, the same on every surface: a summary of three lines, then everything. Text that
// Kiwi did not write is escaped here.
import { exactLine, exactText } from "../services/error/exactText.ts"
import type { HumanRequest } from "../services/trust/HumanAct.ts"

/** Keeps the end of a path, which says more than its start. */
const tail = (path: string): string => path.length <= 40 ? path : `…${path.slice(-39)}`

/** The summary: what is asked, what it may do, and what changed. */
export const verdictLines = ({ project, title, verdict = ["", ""] }: HumanRequest): ReadonlyArray<string> =>
  [`${exactLine(title, 300)}${project === undefined ? "" : ` in ${exactLine(tail(project))}`}`, ...verdict]
    .filter((line) => line !== "").map((line) => exactLine(line, 400))

/** Everything that the person agrees to. */
export const fullText = ({ details, project }: HumanRequest): string =>
  [
    ...(project === undefined ? [] : [`Project: ${exactLine(project, 4_096)}`, ""]),
    exactText(details).replace(/\n+$/, "")
  ].join("\n")
