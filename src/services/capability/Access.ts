// What an action would touch, exactly: rules and grants are matched against accesses, never against parameters. Paths
// are real, commands are taken apart, and hosts are those of the URL, so that no spelling gets around a rule.
import type { Schema } from "effect"

/** `fs.write` includes `fs.read` of the same path. */
export type PathCapability = "fs.read" | "fs.write" | "fs.delete"

/** A file or folder. */
export interface PathAccess {
  readonly _tag: "Path"
  readonly capability: PathCapability
  /**
   * The real path with `/` between names: relative to the project's root if it is inside ("src/a.ts", "." for the
   * root), otherwise absolute. Of a file that does not exist yet: the real path of its folder, and its name.
   */
  readonly path: string
  /** It is about everything below the folder too. Rules that ask or deny for something below then ask. */
  readonly below?: true
  /** A command names it that may open anything: rules and grants may deny it or ask about it, and none has to allow it. */
  readonly named?: true
}

/** What a tool's signed config names, and not its caller: a rule may deny it or ask about it, and none has to allow it. */
interface BySigner {
  readonly signed?: true
}

/** A text for the shell, and the folder in which it runs: relative to the project, "." for its root. */
export interface CommandLine {
  readonly text: string
  readonly folder: string
}

/** One program with its arguments. A shell command needs one for each program that it runs. */
export interface CommandAccess extends BySigner {
  readonly _tag: "Command"
  readonly capability: "process.exec"
  /** The program and its arguments, without quotes. Undefined if they cannot be known before it runs. */
  readonly words: ReadonlyArray<string> | undefined
  /** As written, for a person. */
  readonly text: string
  /** Why the words are not known: "it has a command substitution". */
  readonly opaque?: string
  /** If it is opaque: the program and arguments as far as they can be read. Only rules that restrict look at it. */
  readonly partly?: ReadonlyArray<string | undefined>
  /** If it is opaque: only words behind the program, and behind its subcommand, are not known. */
  readonly isProgramKnown?: true
  /**
   * The whole line that it is a part of, if that is what an answer may be remembered for: something in it is opaque, and
   * all that it runs is in its text.
   */
  readonly line?: CommandLine
  /** What it opens because of its arguments, if that is all that it does. A call has these accesses beside it. */
  readonly opens?: ReadonlyArray<Access>
  /** It is known for most arguments of the program what they open, and not for these: only a grant of these words covers it. */
  readonly unread?: true
  /** A person has let the tool run it without a sandbox, whether or not there is one. */
  readonly unconfined?: true
}

/** A server. */
export interface HostAccess extends BySigner {
  readonly _tag: "Host"
  readonly capability: "net.http"
  /** In lower case, without brackets: "api.github.com", "::1". */
  readonly host: string
  readonly port: number
}

export interface SecretAccess {
  readonly _tag: "Secret"
  readonly capability: "secret.use"
  readonly name: string
}

/** Running a tool with these parameters. */
export interface ToolAccess {
  readonly _tag: "Tool"
  /** "tool.deploy" */
  readonly capability: `tool.${string}`
  /** `server/tool` for a tool of an upstream server. */
  readonly id: string
  /** "python", "http": for grants by the kind of tool. */
  readonly toolType?: string
  /** With the defaults of its schema. Undefined where only the tool is asked about, as in a search. */
  readonly parameters: Schema.JsonObject | undefined
}

/** Of Kiwi's own actions. */
const plainCapabilities = [
  "kiwi.search",
  "kiwi.load",
  "kiwi.output",
  "kiwi.help",
  "kiwi.follow",
  "kiwi.sign",
  "kiwi.write",
  "kiwi.sync",
  "kiwi.lock"
] as const
export type PlainCapability = typeof plainCapabilities[number]

/** Every capability that an access of a call or an action has, but for `tool.*`. No rule can be about another. */
export const accessCapabilities = [
  "fs.read",
  "fs.write",
  "fs.delete",
  "process.exec",
  "net.http",
  "secret.use",
  ...plainCapabilities
] as const

/** One of Kiwi's own actions: `kiwi.search`, `kiwi.sign`. */
export interface PlainAccess {
  readonly _tag: "Plain"
  readonly capability: string
  /** What it is about, if one thing: `directive/ops/deploy`. Absent: only a grant without a scope covers it. */
  readonly about?: string
}

export type Access = PathAccess | CommandAccess | HostAccess | SecretAccess | ToolAccess | PlainAccess

export const isSigned = (access: Access): boolean => "signed" in access && access.signed === true

/** Whether rules and grants only have to leave it: it was decided on with what it belongs to. */
export const isBeside = (access: Access): boolean =>
  isSigned(access) || (access._tag === "Path" && access.named === true)

/** Whether a further access of a running call is allowed: `asked` is what a person would have to agree to. */
export type Standing = "allowed" | "asked" | "denied"

/** "fs.write(src/a.ts)": the access as rules write it. */
export const showAccess = (access: Access): string => {
  switch (access._tag) {
    case "Path":
      return `${access.capability}(${access.path})`
    case "Command":
      return `process.exec(${access.text})`
    case "Host":
      return `net.http(${access.host}:${access.port})`
    case "Secret":
      return `secret.use(${access.name})`
    case "Tool":
    case "Plain":
      return access.capability
  }
}
