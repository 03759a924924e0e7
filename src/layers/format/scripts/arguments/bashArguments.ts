// Where a bash script reads its positional parameters, and which KIWI_PARAM_ variables it reads. Scans words, quotes
// and functions without a grammar: `bash -n` decides about syntax.
import { guardedInBash, hasDefaultInBash } from "./optionalReads.ts"
import type { Reading } from "./pythonArguments.ts"

interface Use {
  readonly at: number
  readonly by: string
  /** The function around it; "" outside of functions. */
  readonly within: string
  /** The first word of the command that "$@" is passed to. */
  readonly command: string
}

export interface BashReading {
  readonly positional: Reading | undefined
  /** What is read outside of functions, and in functions that are passed it: `$1`, `$@`, `getopts`, `shift`. */
  readonly uses: ReadonlyArray<string>
  /** The option letters of getopts; "" if they are not literal, or getopts is not used. */
  readonly getopts: string
  /** Names of variables, and the offset of the first use of each. */
  readonly parameters: ReadonlyMap<string, number>
}

const functionStart = /(?:function[ \t]+([\w:.-]+)[ \t]*(?:\([ \t]*\))?|([\w:.-]+)[ \t]*\([ \t]*\))\s*\{/y
const commandStart = /(?:^|[\n;&|({]|\b(?:then|do|else))[ \t]*$/
const positional =
  /\$(?:([1-9@*#])|\{(?:!?(BASH_ARG[VC])\b|!(#)\})|\{[#!]?([1-9][0-9]*|[@*])(?=[}:\-+=?%#/^,@])|\{(#)\})/y
const parameter = /\$\{?[#!]?(KIWI_PARAM_[A-Za-z0-9_]+)/y
const hereDocument = /<<-?[ \t]*([\\'"]?)([A-Za-z_]\w*)['"]?/y

const plainVariable = /\$[\w@*#]*/y

type Context = "\"" | "(" | "`" | "${"

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/**
 * The same text with comments, single-quoted text and quoted here-documents blanked out. Also plain text in double
 * quotes, unless `keepsPlain`.
 */
export const withoutQuoted = (text: string, keepsPlain = false): string => {
  let out = ""
  let i = 0
  const within: Array<Context> = []
  const documents: Array<{ readonly end: RegExp; readonly quoted: boolean }> = []
  const skip = (end: number) => {
    out += text.slice(i, end).replace(/[^\n]/g, " ")
    i = Math.min(end, text.length)
  }
  const keep = (length: number) => {
    out += text.slice(i, i + length)
    i += length
  }
  while (i < text.length) {
    const c = text[i]!
    const top = within.at(-1)
    const isCode = top === undefined || top === "(" || top === "`"
    const isArithmetic = top === "(" && within.at(-2) === "("
    const document = c === "<" && isCode && !isArithmetic && text[i - 1] !== "<" ? matchAt(hereDocument, text, i) : null
    if (c === "\\") skip(i + 2)
    else if (c === "'" && (isCode || (top === "${" && within.at(-2) !== "\""))) {
      let end = i + 1
      const escapes = text[i - 1] === "$"
      while (end < text.length && text[end] !== "'") end += escapes && text[end] === "\\" ? 2 : 1
      skip(end + 1)
    } else if (c === "\"") {
      if (top === "\"") within.pop()
      else within.push("\"")
      keep(1)
    } else if (c === "`") {
      if (top === "`") within.pop()
      else within.push("`")
      keep(1)
    } else if (text.startsWith("${", i)) {
      within.push("${")
      keep(2)
    } else if (text.startsWith("$(", i) || (c === "(" && isCode)) {
      within.push("(")
      keep(c === "$" ? 2 : 1)
    } else if ((c === ")" && top === "(") || (c === "}" && top === "${")) {
      within.pop()
      keep(1)
    } else if (top === "\"" && c === "$") keep(matchAt(plainVariable, text, i)![0].length)
    else if (top === "\"" && !keepsPlain) skip(i + 1)
    else if (top === "\"") keep(1)
    else if (c === "#" && isCode && (i === 0 || /[\s;&|()]/.test(text[i - 1]!))) {
      const end = text.indexOf("\n", i)
      skip(end === -1 ? text.length : end)
    } else if (document !== null) {
      documents.push({ end: new RegExp(`^\\t*${document[2]}$`, "m"), quoted: document[1] !== "" })
      skip(i + document[0].length)
    } else if (c === "\n" && documents.length > 0) {
      for (const { end, quoted } of documents.splice(0)) {
        const found = end.exec(text.slice(i + 1))
        const last = found === null ? text.length : i + 1 + found.index + found[0].length
        if (quoted) skip(last)
        else {
          out += text.slice(i, last).replaceAll(/["'#()]/g, " ")
          i = last
        }
      }
    } else keep(1)
  }
  return out
}

/** The first word of the command around an offset. */
const commandAt = (code: string, offset: number): string => {
  const before = code.slice(Math.max(0, offset - 400), offset)
  const start = Math.max(...["\n", ";", "&", "|", "(", "{", "`"].map((mark) => before.lastIndexOf(mark)))
  return before.slice(start + 1).trim().split(/\s+/).find((word) =>
    !/^(?:\w+=.*|then|do|else|if|!|while)$/.test(word)
  ) ?? ""
}

/** `for x; do` iterates over the arguments. */
const bareWord =
  /^(?:getopts|shift)\b|^for[ \t]+\w+(?=[ \t]*(?:;|\n)\s*do\b|[ \t]+do\b)|^set[ \t]+--[ \t]+(?!["']?\$[@*])/

const readUses = (code: string) => {
  const uses: Array<Use> = []
  const parameters = new Map<string, number>()
  const open: Array<{ readonly name: string; readonly depth: number }> = []
  const functions = new Set<string>()
  let depth = 0
  let setAside = false
  for (let i = 0; i < code.length; i++) {
    const isWord = /[\s;&|({]/.test(code[i - 1] ?? "\n")
    const start = isWord && commandStart.test(code.slice(Math.max(0, i - 80), i))
      ? matchAt(functionStart, code, i)
      : null
    if (start !== null) {
      const name = start[1] ?? start[2] ?? ""
      functions.add(name)
      open.push({ name, depth })
      depth++
      i += start[0].length - 1
      continue
    }
    const c = code[i]
    const within = open.at(-1)?.name ?? ""
    if (c === "$") {
      const found = matchAt(positional, code, i)
      const by = found?.slice(1).find((one) => one !== undefined)
      if (by !== undefined && !(setAside && within === "")) {
        uses.push({ at: i, by: `$${by}`, within, command: by === "@" || by === "*" ? commandAt(code, i) : "" })
      }
      const variable = matchAt(parameter, code, i)?.[1]
      if (variable !== undefined && !parameters.has(variable)) parameters.set(variable, i)
      if (code[i + 1] === "{") {
        // A nested brace, with its own closing brace.
        depth++
        i++
      }
      continue
    }
    if (c === "{") depth++
    if (c === "}") {
      depth = Math.max(0, depth - 1)
      if (open.at(-1)?.depth === depth) open.pop()
    }
    const word = bareWord.exec(isWord ? code.slice(i, i + 60) : "")
    if (word !== null) {
      if (word[0].startsWith("set")) setAside ||= within === ""
      else if (!(setAside && within === "")) uses.push({ at: i, by: word[0], within, command: "" })
    }
  }
  return { uses, parameters, functions }
}

/** Where dynamically evaluated text may read arguments, or a computed name may refer to one. */
export const mayReadArguments = (text: string): string | undefined => {
  const code = withoutQuoted(text, true)
  for (const { 0: line, index } of text.matchAll(/^.*$/gm)) {
    const [, word] =
      /(?:^|[\n;&|({]|\b(?:then|do|else))[ \t]*(trap|eval)[ \t]/.exec(code.slice(index, index + line.length)) ?? []
    if (word !== undefined && /\$\{?[1-9@*#]/.test(line)) return word
  }
  return /\$\{![A-Za-z_]\w*\}/.exec(code)?.[0]
}

/** Whether stdin is read without a redirection: a guess by lines. */
export const readsBashStdin = (text: string): boolean => {
  const code = withoutQuoted(text)
  if (/\bexec\s+<|\bexec\s+0</.test(code)) return false
  const isFed = /\|\s*(?:while|until)\b|\bdone\s*(?:<|[^\n]*<)/.test(code)
  return [...code.matchAll(/^.*$/gm)].some(({ 0: line, index }) => {
    const [before, loop] =
      /^(?:|.*?(?:[;&({]|\b(?:then|do|else|if|(while|until)|!))\s*)(?:\w+=\S*\s+)*read(?=\s)(?!\s+-u)/.exec(line) ?? []
    if (before === undefined || line.includes("|") || /\|\s*$|\\\s*$/.test(code.slice(0, index).trimEnd())) return false
    // Here-documents are already blanked out of the code.
    return !text.slice(index + before.length, index + line.length).includes("<") && !(loop !== undefined && isFed)
  })
}

export interface LoopOption {
  readonly name: string
  /** `--name`, `--name VALUE` or `--name=VALUE`. */
  readonly form: "flag" | "words" | "value"
}

/** Long options that are labels of a `case "$1" in`, in the script's order. */
export const readLoopOptions = (text: string): ReadonlyArray<LoopOption> => {
  const code = withoutQuoted(text, true)
  const start = /\bcase[ \t]+"?\$\{?1\b[^\n]*?[ \t]in\b/.exec(code)
  if (start === null) return []
  const rest = code.slice(start.index + start[0].length)
  const arms = rest.slice(0, /\besac\b/.exec(rest)?.index).split(";;")
  const found = new Map<string, LoopOption>()
  for (const arm of arms) {
    const [, labels = "", body = ""] = /^\s*\(?([^()]*)\)([^]*)$/.exec(arm) ?? []
    for (const label of labels.split("|")) {
      const [, name, hasValue] = /^\s*["']?--([A-Za-z][A-Za-z0-9_-]*)(=["']?\*)?["']?\s*$/.exec(label) ?? []
      if (name === undefined || name === "help" || name === "version" || found.get(name)?.form === "value") continue
      const form = hasValue !== undefined ? "value" : /\$\{?2\b/.test(body) ? "words" : "flag"
      found.set(name, { name, form })
    }
  }
  return [...found.values()]
}

export const readBashArguments = (text: string): BashReading => {
  const code = withoutQuoted(text)
  const { functions, parameters, uses } = readUses(code)
  const guarded = guardedInBash(code, text)
  const isOptional = ({ at }: Use) => hasDefaultInBash(code, at) || guarded.some(([from, to]) => from <= at && at < to)
  // `main "$@"` reads what main's body reads.
  const isHandedOn = ({ by, command }: Use) => (by === "$@" || by === "$*") && functions.has(command)
  const handedTo = Map.groupBy(uses.filter(isHandedOn), ({ command }) => command)
  const reading = new Set(uses.filter((use) => !isHandedOn(use)).map(({ within }) => within))
  for (const name of reading) for (const { within } of handedTo.get(name) ?? []) reading.add(within)
  const isRead = (use: Use): boolean => !isHandedOn(use) || reading.has(use.command)
  const outside = uses.filter((use) => use.within === "" && isRead(use))
  // What `main "$@"` reads is not analysed further.
  const needed = outside.find((use) => isHandedOn(use) || !isOptional(use))
  const first = needed ?? outside[0]
  const entered = new Set(["", ...[...functions].filter((name) => handedTo.has(name))])
  return {
    positional: first === undefined ? undefined : { at: first.at, by: first.by, optional: needed === undefined },
    uses: uses.filter((use) => entered.has(use.within) && !isHandedOn(use)).map(({ by }) => by),
    getopts: /^[^#\n]*\bgetopts[ \t]+["']?([A-Za-z0-9:-]+)/m.exec(text)?.[1] ?? "",
    parameters
  }
}
