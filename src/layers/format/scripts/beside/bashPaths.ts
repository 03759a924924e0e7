// Paths that a bash script makes from `$0` and `BASH_SOURCE`, and files that it sources from its working directory.
//
// Expressions for the script's own location are replaced by one private character with a level, padded to keep offsets:
// `${0%/*}` by `place(0)`, the folder above it by `place(1)`.
import { withoutQuoted } from "../arguments/bashArguments.ts"
import { below, type OwnPath, parentOf, type Use } from "./ownPath.ts"

const pad = "\uE0FF"
const file = "\uE0FE"
/** The limit of parent folders, and of passes over the text. */
const most = 8
/** The limit of variables that one pass follows. */
const mostVariables = 50

const place = (up: number): string => String.fromCharCode(0xe000 + up)

const aPlace = `[${place(0)}-${place(most)}]${pad}*`
const aFile = `${file}${pad}*`
const quote = `["']?`
const silent = String.raw`(?:[ \t]*[12&]?>[ \t]*(?:/dev/null|&1))*`

const substituted = (command: string) => String.raw`(?:\$\([ \t]*${command}[ \t]*\)|${"`"}${command}${"`"})`

/** Each rule turns an expression into the script's file or folder. */
const rules: ReadonlyArray<readonly [pattern: RegExp, made: (match: string) => string]> = [
  [/\$\{(?:0|BASH_SOURCE(?:\[0\])?)%\/\*\}/g, () => place(0)],
  [/\$(?:0(?![\w])|\{0\}|BASH_SOURCE\b|\{BASH_SOURCE(?:\[0\])?(?::-\$0|:-\$\{0\})?\})/g, () => file],
  [
    new RegExp(
      substituted(`(?:readlink(?:[ \\t]+-[a-z]+)*|realpath)[ \\t]+(?:--[ \\t]+)?${quote}${aFile}${quote}`),
      "g"
    ),
    () => file
  ],
  [new RegExp(substituted(`dirname[ \\t]+(?:--[ \\t]+)?${quote}${aFile}${quote}`), "g"), () => place(0)],
  [
    new RegExp(
      substituted(
        `(?:builtin[ \\t]+)?cd[ \\t]+(?:-P[ \\t]+)?(?:--[ \\t]+)?${quote}${aPlace}${quote}(?:/\\.\\.)*/?${quote}${silent}[ \\t]*(?:&&|;)[ \\t]*pwd(?:[ \\t]+-P)?${silent}`
      ),
      "g"
    ),
    (match) => place(upOf(match) + (match.match(/\/\.\./g)?.length ?? 0))
  ],
  [
    new RegExp(
      substituted(`(?:dirname|realpath|readlink[ \\t]+-f)[ \\t]+(?:--[ \\t]+)?${quote}${aPlace}${quote}`),
      "g"
    ),
    (match) => place(upOf(match) + (match.includes("dirname") ? 1 : 0))
  ]
]

const upOf = (text: string): number => {
  const found = new RegExp(aPlace).exec(text)
  return found === null ? 0 : found[0].charCodeAt(0) - 0xe000
}

const over = (match: string, mark: string): string => match.length === 0 ? "" : mark + pad.repeat(match.length - 1)

const assignment = new RegExp(
  `^[ \\t]*(?:(?:readonly|declare|local|export|typeset)[ \\t]+(?:-[a-z]+[ \\t]+)?)?(\\w+)=${quote}(${aPlace}|${aFile})${quote}[ \\t]*(?:;|$)`,
  "gm"
)

const withPlaces = (code: string): string => {
  let text = code
  for (let pass = 0; pass < most; pass++) {
    const before = text
    for (const [pattern, made] of rules) text = text.replace(pattern, (match) => over(match, made(match)))
    for (const [, name, mark] of text.matchAll(assignment).take(mostVariables)) {
      const isOnce = [...text.matchAll(new RegExp(`(?:^|[\\s;&|])${name}\\+?=`, "g"))].length === 1
      if (!isOnce) continue
      text = text.replace(new RegExp(`\\$(?:${name}\\b|\\{${name}\\})`, "g"), (match) => over(match, mark![0]!))
    }
    if (text === before) break
  }
  return text
}

const start = String.raw`(?:^|[\n;&|({!]|\b(?:then|do|else|if))[ \t]*`
const tail = String.raw`((?:/[^\s"';&|()<>$*?${"`"}]*)?)`

const aUse = new RegExp(`(${aPlace})${quote}${tail}`, "g")
const sources = new RegExp(
  `${start}(?:source|\\.)[ \\t]+(?:--[ \\t]+)?${quote}([\\w.][\\w./-]*)${quote}(?=[\\s;&|)]|$)`,
  "g"
)
const changesTo = new RegExp(
  `${start}(?:cd|pushd)[ \\t]+(?:-P[ \\t]+)?(?:--[ \\t]+)?${quote}(${aPlace})${quote}((?:/[\\w.-]+)*)`,
  "g"
)

/** Commands that fail if the file they are given is missing. */
const needing =
  /(?:^|[\n;&|({]|\b(?:then|do|else|if|exec))[ \t]*(?:source|\.|cat|(?:ba)?sh|python3?|node|exec)[ \t]+(?:--[ \t]+)?["']?$/
const asCommand = /(?:^|[\n;&|({]|\b(?:then|do|else|exec))[ \t]*["']?$/
const testing = /(?:\[\[?|\btest)[ \t]+(?:!?[ \t]*)-[a-zA-Z][ \t]+["']?$/
const writing = /(?:>>?\|?[ \t]*|\b(?:mkdir|touch|tee|rm|cp|mv)\b[^\n;|&]*)["']?$/
const mayFail = /^["']?[^\n;|]*(?:\|\||[ \t]2>[ \t]*\/dev\/null)/

export interface BashUses {
  readonly uses: ReadonlyArray<Use>
  /** Files that it sources by a path relative to its working directory. */
  readonly sourced: ReadonlyArray<{ readonly at: number; readonly path: string }>
}

export const bashUses = (text: string): BashUses => {
  const code = withPlaces(withoutQuoted(text, true))
  const uses: Array<Use> = []
  const moves: Array<{ readonly at: number; readonly path: OwnPath }> = []
  const pathOf = (mark: string, rest: string): OwnPath | undefined => {
    let path: OwnPath = []
    for (let up = 0; up < mark.charCodeAt(0) - 0xe000; up++) path = parentOf(path)
    return below(path, rest.replace(/^\//, ""))
  }
  for (const { 1: mark = "", 2: rest = "", index } of code.matchAll(changesTo)) {
    const path = pathOf(mark, rest)
    if (path !== undefined) moves.push({ at: index, path })
  }
  for (const { 0: whole, 1: mark = "", 2: rest = "", index } of code.matchAll(aUse)) {
    const path = pathOf(mark, rest)
    const before = code.slice(Math.max(0, index - 200), index)
    const after = code.slice(index + whole.length, index + whole.length + 200)
    const isAssigned = /\w=["']?$/.test(before) && rest === ""
    if (path === undefined || isAssigned) continue
    const isComputed = /^[$*?`]/.test(after) || (rest.endsWith("/") && /^["']?[$*?`]/.test(after))
    const how = testing.test(before)
      ? "tests"
      : writing.test(before)
      ? "writes"
      : !isComputed && rest !== "" && !mayFail.test(after) &&
          (needing.test(before) || asCommand.test(before) || /<[ \t]*["']?$/.test(before))
      ? "needs"
      : "mentions"
    uses.push({ at: index, path, how })
  }
  const sourced: Array<{ readonly at: number; readonly path: string }> = []
  for (const { 0: whole, 1: path = "", index } of code.matchAll(sources)) {
    const at = index + whole.length - whole.trimStart().length
    if (mayFail.test(code.slice(index + whole.length, index + whole.length + 200))) continue
    const moved = moves.findLast((move) => move.at < index)
    const own = moved === undefined ? undefined : below(moved.path, path)
    if (own !== undefined) uses.push({ at, path: own, how: "needs" })
    else sourced.push({ at, path })
  }
  return { uses, sourced }
}
