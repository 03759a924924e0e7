// Takes a shell command apart into the commands that it runs. Whatever is not certain is opaque: the remaining text too
// where the shell's grammar is left.
import { judgeCommand } from "./judgeCommand.ts"
import { joinContinuedLines, type ReadWord, readWord, type Shell } from "./shellWords.ts"
import type { Assignment, CommandReading, OpaquePart, Redirection, SimpleCommand, Word } from "./SimpleCommand.ts"

const longestText = 65_536
const deepest = 20
const mostCommands = 500
const mostFolders = 8

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const unreadable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

/**
 * Reads a command as this shell would.
 *
 * **Gotchas**: the shell must be started without the variables that change what it reads or where it is (`BASH_ENV`,
 * `ENV`, `CDPATH`, `IFS`, `PWD`, `SHELLOPTS`, exported functions) and without aliases. A rule for a program says nothing
 * about `folders`: whether they are in the project is for the caller to decide.
 */
export const readCommand = (text: string, shell: Shell = "sh"): CommandReading => {
  const refuse = (reason: string): CommandReading => ({ commands: [], opaque: [{ text, reason }] })
  if (text.length > longestText) return refuse("it is too long")
  if (unreadable.test(text) || !text.isWellFormed()) return refuse("it contains control characters")
  const source = joinContinuedLines(text)
  return source === undefined ? refuse("shells read $'…' differently") : new Reader(source, shell).read()
}

class Reader {
  readonly commands: Array<SimpleCommand> = []
  readonly opaque: Array<OpaquePart> = []
  at = 0
  depth = 0
  halted = false
  /** Where the next command may run, and where any later command of the same list of `&&` and `||` may. */
  folders: ReadonlyArray<string> = ["."]
  listFolders: ReadonlyArray<string> = this.folders

  readonly source: string
  readonly shell: Shell

  constructor(source: string, shell: Shell) {
    this.source = source
    this.shell = shell
  }

  read(): CommandReading {
    this.list(undefined)
    return { commands: this.commands, opaque: this.opaque }
  }

  /** The rest of the text is opaque. */
  stop(from: number, reason: string, command?: SimpleCommand) {
    this.refuse(this.source.slice(from).trim(), reason, command)
    this.at = this.source.length
    this.halted = true
  }

  refuse(text: string, reason: string, command?: SimpleCommand, written?: true) {
    this.opaque.push({
      text,
      reason,
      ...(command === undefined ? {} : { command }),
      ...(written === undefined ? {} : { written })
    })
  }

  skip(lines: boolean) {
    for (;;) {
      const character = this.source[this.at]
      if (character === " " || character === "\t" || (lines && character === "\n")) this.at++
      else if (character === "#") {
        const end = this.source.indexOf("\n", this.at)
        this.at = end === -1 ? this.source.length : end
      } else return
    }
  }

  /** Commands up to the end of the text, or up to and with the closing bracket. */
  list(close: ")" | "}" | undefined) {
    const start = this.at
    for (let empty = true;; empty = false) {
      this.skip(true)
      const character = this.source[this.at]
      if (character === undefined) {
        if (close !== undefined && !this.halted) this.stop(start, "a bracket is not closed")
        return
      }
      if (character === close && (close === ")" || this.endsKeyword(this.at + 1))) {
        if (empty) return this.stop(start, "a command is missing")
        this.at++
        return
      }
      if (this.commands.length + this.opaque.length >= mostCommands) {
        return this.stop(this.at, "it has too many commands")
      }
      this.andOr()
      this.skip(false)
      const next = this.source[this.at]
      if (next === ";" && !/[;&]/.test(this.source[this.at + 1] ?? "")) this.at++
      else if (next === "&") {
        this.at++
        this.refuse("&", "a command goes on in the background")
      } else if (next !== "\n" && next !== undefined && next !== close) {
        return this.stop(this.at, "an operator is not expected here")
      }
    }
  }

  endsKeyword(at: number) {
    return at >= this.source.length || " \t\n;&|()<>".includes(this.source[at]!)
  }

  andOr() {
    const outer = this.listFolders
    this.listFolders = this.folders
    let mayHaveFailed = false
    for (;;) {
      if (this.source[this.at] === "!" && /[ \t]/.test(this.source[this.at + 1] ?? "")) {
        mayHaveFailed = true
        this.at++
        this.skip(false)
      }
      this.pipeline()
      this.skip(false)
      const operator = this.source.slice(this.at, this.at + 2)
      if (operator !== "&&" && operator !== "||") break
      if (operator === "||") mayHaveFailed = true
      if (mayHaveFailed) this.folders = this.listFolders
      this.at += 2
      this.skip(true)
    }
    this.folders = this.listFolders
    this.listFolders = union(outer, this.folders)
  }

  pipeline() {
    const start = this.at
    const { folders } = this
    this.command()
    this.skip(false)
    if (this.source[this.at] !== "|" || this.source[this.at + 1] === "|") return
    while (this.source[this.at] === "|" && this.source[this.at + 1] !== "|") {
      this.at += this.source[this.at + 1] === "&" ? 2 : 1
      this.skip(true)
      this.command()
      this.skip(false)
    }
    if (this.folders !== folders) this.refuse(this.source.slice(start, this.at), "cd is a part of a pipe")
  }

  command() {
    const start = this.at
    const character = this.source[start]
    if (character === "(") {
      if (this.source[start + 1] === "(") return this.stop(start, "it may be arithmetic")
      return this.group(")")
    }
    if (character === "{" && /[ \t\n]/.test(this.source[start + 1] ?? "")) return this.group("}")
    this.simple()
  }

  group(close: ")" | "}") {
    const start = this.at
    if (++this.depth > deepest) return this.stop(start, "its brackets are nested too deeply")
    const { folders, listFolders } = this
    this.at++
    this.list(close)
    if (close === ")") {
      this.folders = folders
      this.listFolders = listFolders
    }
    this.depth--
    const redirections: Array<Redirection> = []
    for (;;) {
      this.skip(false)
      const found = this.redirection(redirections)
      if (typeof found === "string") return this.stop(start, found)
      if (!found) break
    }
    if (redirections.length > 0) {
      const text = this.source.slice(start, this.at)
      this.commands.push({ program: ":", words: [], assignments: [], redirections, folders, text })
    }
  }

  simple() {
    const start = this.at
    const words: Array<ReadWord> = []
    const assignments: Array<Assignment> = []
    const redirections: Array<Redirection> = []
    for (;;) {
      this.skip(false)
      const { at, source } = this
      const character = source[at]
      if (
        character === undefined || character === "\n" || character === ";" || character === "|" || character === ")"
      ) {
        break
      }
      const redirected = this.redirection(redirections)
      if (redirected === true) continue
      if (redirected === false && character === "&") break
      const word = redirected !== false
        ? redirected
        : character === "("
        ? "a bracket follows a word"
        : readWord(source, at, this.shell)
      if (typeof word === "string") return this.stop(start, word, partOf(words, source.slice(start)))
      this.at = word.end
      if (words.length > 0) words.push(word)
      else {
        const found = readAssignment(source.slice(at, word.end), word)
        if (found === undefined) words.push(word)
        else if (typeof found === "string") return this.stop(start, found)
        else assignments.push(found)
      }
    }
    const text = this.source.slice(start, this.at).trim()
    const [first, ...rest] = words
    if (first === undefined) {
      if (assignments.length > 0) return this.refuse(text, "it sets variables of the shell")
      if (redirections.length === 0) return this.halted ? undefined : this.stop(start, "a command is missing")
    } else if (!first.fixed) return this.refuse(text, "a variable or file name decides which program runs")
    this.start({
      program: first?.text ?? ":",
      words: rest.map(wordOf),
      assignments,
      redirections,
      folders: this.folders,
      text
    })
  }

  start(command: SimpleCommand) {
    const { program, words, assignments, redirections, folders, text } = command
    if (program !== "cd" || words.length !== 1 || assignments.length > 0) {
      const judged = judgeCommand(command)
      if ("reason" in judged) this.refuse(text, judged.reason, command, judged.written)
      else this.commands.push(judged)
      return
    }
    const [to] = words
    if (!to!.fixed || to!.text === "" || /^[-+]/.test(to!.text)) {
      return this.refuse(text, "the folder that it changes to is not known", command)
    }
    if (redirections.length > 0) this.commands.push({ ...command, program: ":", words: [] })
    this.folders = union([], folders.flatMap((folder) => enter(folder, to!.text)))
    this.listFolders = union(this.listFolders, this.folders)
    if (this.listFolders.length > mostFolders) this.stop(this.at - text.length, "too many folders are possible")
  }

  /** Reads one redirection; false if there is none here, a text if it is opaque. */
  redirection(redirections: Array<Redirection>): boolean | string {
    const { source, at } = this
    if (!mayRedirect.has(source[at]!)) return false
    const found = redirection.exec(source.slice(at, at + 24))
    if (found === null) return false
    const [whole, descriptor, copied, operator] = found
    this.at = at + whole.length
    if (copied !== undefined) return this.endsKeyword(this.at) || "a descriptor is not a number"
    if (operator === undefined) return "a descriptor is not one digit"
    if (operator.startsWith("<<")) return "it contains a here-document"
    if (operator.startsWith("&") && descriptor !== undefined) return "a number stands before an operator"
    if (operator.startsWith("&") && this.shell === "sh") return `shells read ${operator} differently`
    if (operator.endsWith("&") || source[this.at] === "(") return "it opens more than a file"
    while (source[this.at] === " " || source[this.at] === "\t") this.at++
    const path = this.endsKeyword(this.at) ? "a file name is missing" : readWord(source, this.at, this.shell)
    if (typeof path === "string") return path
    if (!path.fixed || path.text === "") return "a variable or pattern decides which file is opened"
    this.at = path.end
    if (/^\d+$/.test(path.text) && /[<>]/.test(source[path.end] ?? "")) return "a file name may be a descriptor"
    if (isNothing.test(path.text)) return true
    if (/^\/+dev(?:\/|$)/.test(path.text)) return "it opens a device or a connection"
    const input = operator.startsWith("<")
    const fd = descriptor === undefined ? (input ? 0 : 1) : Number(descriptor)
    if (input) redirections.push({ direction: "read", path: path.text, fd })
    if (operator !== "<") {
      redirections.push({ direction: operator.endsWith(">>") ? "append" : "write", path: path.text, fd })
    }
    return true
  }
}

const mayRedirect = new Set("<>&{0123456789")

/** Descriptor and the one that it copies; or descriptor and operator; or what bash alone takes for a descriptor. */
const redirection =
  /^(?:([0-9])?(?:(?:[<>]&([0-9]|-))(?![<>])|(&>>|&>|<<<|<<-|<<|<>|<&|<|>>|>&|>\||>))|(?:\d{2,}|\{\w*\})[<>])/

const isNothing = /^\/dev\/(?:null|stdin|stdout|stderr)$/

const union = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> =>
  a === b ? a : [...new Set([...a, ...b])]

/**
 * `cd` keeps the path by which it came, so that `..` takes the last name off. If there is no such folder, bash goes where
 * the path as written leads, which is elsewhere behind a link.
 */
const enter = (folder: string, to: string): ReadonlyArray<string> => {
  const absolute = to.startsWith("/") || folder.startsWith("/")
  const written = (to.startsWith("/") ? to : `${folder}/${to}`).split("/").filter((name) => name !== "" && name !== ".")
  const names: Array<string> = []
  for (const name of written) {
    if (name !== "..") names.push(name)
    else if (names.length > 0 && names.at(-1) !== "..") names.pop()
    else if (!absolute) names.push("..")
  }
  return [...new Set([names, written].map((path) => absolute ? `/${path.join("/")}` : path.join("/") || "."))]
}

const readAssignment = (written: string, word: ReadWord): Assignment | undefined | string => {
  const found = /^([A-Za-z_]\w*)(\+?=|\[)/.exec(written)
  if (found === null) return undefined
  if (found[2] !== "=") return found[2] === "+=" ? "it extends a variable" : undefined
  if (!word.fixed || /[{}]/.test(written)) return "the value of a variable is not known"
  return { name: found[1]!, value: word.text.slice(found[0].length) }
}

const wordOf = ({ text, fixed, pattern }: ReadWord): Word => pattern ? { text, fixed, pattern } : { text, fixed }

/** What stands before the opaque part of a command. */
const partOf = (words: ReadonlyArray<ReadWord>, text: string): SimpleCommand | undefined => {
  const [program, ...rest] = words
  if (program?.fixed !== true) return undefined
  const unknown: Word = { text: "…", fixed: false }
  return {
    program: program.text,
    words: [...rest.map(wordOf), unknown],
    assignments: [],
    redirections: [],
    folders: ["."],
    text
  }
}
