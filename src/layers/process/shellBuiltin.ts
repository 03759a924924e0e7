// Runs a command line, or one program with its arguments. Before, the command is taken apart: every program in it is an
// access, and so is every file that a redirection opens. What cannot be taken apart is one access without words.
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { existsSync } from "node:fs"
import type { Access, CommandAccess, CommandLine } from "../../services/capability/Access.ts"
import { meansOneProgram } from "../../services/capability/command/CommandPattern.ts"
import { isRememberable } from "../../services/capability/command/exactLine.ts"
import { isHarmless } from "../../services/capability/command/judgeCommand.ts"
import { readsArguments } from "../../services/capability/command/openedByArguments.ts"
import { isHarmlessAssignment } from "../../services/capability/command/programs.ts"
import { readCommand } from "../../services/capability/command/readCommand.ts"
import type { SimpleCommand } from "../../services/capability/command/SimpleCommand.ts"
import { openedFiles } from "../../services/capability/command/SimpleCommand.ts"
import { PathUnusable } from "../../services/filesystem/fileErrors.ts"
import type { Builtin } from "../../services/primitive/Builtins.ts"
import { decodeParameters } from "../../services/primitive/Builtins.ts"
import type { Outputs } from "../../services/primitive/Outputs.ts"
import type { PrimitiveInput } from "../../services/primitive/Primitive.ts"
import { ToolUnstartable } from "../../services/primitive/PrimitiveErrors.ts"
import type { ChildProcesses } from "../../services/process/ChildProcesses.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { shellWord } from "../../services/text/shellWord.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { change, type FileServices, joined, locate } from "../filesystem/places.ts"
import { runCaptured } from "./capturedChild.ts"
import { namedByCommand, openedByCommand } from "./openedByCommand.ts"
import { makeFindProgram } from "./programFile.ts"

const longest = 65_536
/** A longer line is shown by its parts. */
const longestShown = 2_000

const Command = Schema.Struct({
  command: Schema.Union([
    Schema.NonEmptyString.check(Schema.isMaxLength(longest)),
    Schema.NonEmptyArray(Schema.String.check(Schema.isMaxLength(longest))).check(Schema.isMaxLength(1_000))
  ]),
  cwd: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(4_096))),
  timeout: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(86_400)))
})
type Command = typeof Command.Type

/** Never found by name: what is read is what runs. */
const shell = existsSync("/bin/bash")
  ? { file: "/bin/bash", kind: "bash" as const }
  : { file: "/bin/sh", kind: "sh" as const }

/** The folder that the command starts in, relative to the project. */
const startFolder = Effect.fnUntraced(function*(cwd = ".") {
  const { project } = yield* Workspace
  // Without a project it runs in an empty folder of Kiwi's own.
  if (Option.isNone(project) && cwd === ".") return undefined
  const { access, stat } = yield* locate(cwd, "fs.read")
  if (access.path.startsWith("/")) {
    return yield* new PathUnusable({
      path: cwd,
      issue: "it is outside the project",
      hint: "Name a folder of the project"
    })
  }
  if (stat?.kind !== "folder") {
    return yield* new PathUnusable({
      path: cwd,
      issue: "it is not a folder",
      hint: "See the folders with filesystem.list"
    })
  }
  return access.path
})

interface Unclear {
  readonly reason: string
  /** All that it runs is in the text. */
  readonly isWritten?: true
  readonly isProgramKnown?: true
}

/** Why the words alone do not say what runs. */
const whyUnclear = (command: SimpleCommand): Unclear | undefined => {
  if (!meansOneProgram(command)) return { reason: "its program is found in another folder" }
  const variable = command.assignments.find(({ name, value }) => !isHarmlessAssignment(name, value))
  if (variable !== undefined) return { reason: `it sets ${variable.name}`, isWritten: true }
  return command.words.every(({ fixed }) => fixed)
    ? undefined
    : { reason: "the shell fills in some of its words", isWritten: true, isProgramKnown: true }
}

const opaque = (text: string, reason: string, partly?: SimpleCommand): CommandAccess => ({
  _tag: "Command",
  capability: "process.exec",
  words: undefined,
  text,
  opaque: reason,
  ...(partly === undefined
    ? {}
    : { partly: [partly.program, ...partly.words.map(({ fixed, text: word }) => fixed ? word : undefined)] })
})

const within = (start: string, path: string): string => path.startsWith("/") ? path : joined(start, path)

/** What is above a name depends on where it leads, which may change before the shell gets there. */
const goesUp = (folder: string): boolean => /(?:^|\/)(?!\.\.\/)[^/]+\/\.\.(?:\/|$)/.test(folder)

const accessesOf = Effect.fnUntraced(function*(start: string, command: SimpleCommand) {
  const { program, text, words } = command
  const folders = yield* Effect.forEach(
    command.folders,
    (folder) => Effect.option(locate(within(start, folder), "fs.read"))
  )
  const isOutside = folders.some((folder) => Option.isNone(folder) || folder.value.access.path.startsWith("/"))
  const unclear: Unclear | undefined = isOutside
    ? { reason: "it may run outside the project" }
    : start !== "." && /^[^/]+\//.test(program)
    ? { reason: "its program is found in another folder" }
    : whyUnclear(command)
  const isProgramKnown = unclear === undefined || unclear.isProgramKnown === true
  const own: CommandAccess = unclear === undefined
    ? { _tag: "Command", capability: "process.exec", words: [program, ...words.map((word) => word.text)], text }
    : { ...opaque(text, unclear.reason, command), ...(isProgramKnown ? { isProgramKnown } : {}) }
  const files = yield* Effect.forEach(openedFiles(command), ({ direction, path }) =>
    direction === "read"
      ? Effect.map(locate(within(start, path), "fs.read"), ({ access }): ReadonlyArray<Access> => [access])
      : Effect.flatMap(locate(within(start, path), "fs.write"), ({ access }) => change(access)))
  const isPlaced = isProgramKnown && !command.folders.some(goesUp)
  const opens = isPlaced
    ? yield* openedByCommand(command, command.folders.map((folder) => within(start, folder)))
    : undefined
  // What `test` looks at is decided, and it needs no question besides.
  const harmless = isPlaced && isHarmless(command) && (opens !== undefined || !readsArguments(command))
  const named = isProgramKnown && opens === undefined
    ? yield* namedByCommand(command, command.folders.map((folder) => within(start, folder)))
    : undefined
  return {
    program,
    own: named === undefined ? own : { ...own, unread: true as const },
    opens,
    files: [...(harmless ? opens : named) ?? [], ...files.flat()],
    harmless,
    isWritten: unclear === undefined || unclear.isWritten === true
  }
})

/** Exactly this word, for the shell; `shellWord` writes a word for a person, without what a terminal would not show. */
const quoted = (word: string): string =>
  /^(?![A-Za-z_]\w*\+?=)[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

type Accesses = Effect.Success<ReturnType<typeof accessesOf>>

const isWrite = (access: Access) => access._tag === "Path" && access.capability !== "fs.read"

/**
 * What a command opens was looked at before the line runs. So it is known only if nothing else in the line could change
 * what is there: another command that writes, or one that is not known. A program that opens nothing is known anyway.
 */
const whatIsKnown = (commands: ReadonlyArray<Accesses>, hasOpaque: boolean): ReadonlyArray<Access> => {
  const hasOthers = hasOpaque || commands.some(({ harmless, opens }) => !harmless && opens === undefined)
  const writes = commands.some(({ files, opens = [] }) => [...files, ...opens].some(isWrite))
  return commands.flatMap(({ files, harmless, opens, own, program }) => {
    // `cd`, `echo` and `pwd` need no question of their own; the files that they write do.
    if (harmless) return files
    if (opens === undefined) return [own, ...files]
    const isKnown = opens.length === 0 ||
      (!hasOthers && (!writes || (commands.length === 1 && program !== "git")))
    // Rules about files reach what it opens in either case.
    return isKnown ? [{ ...own, opens }, ...files] : [own, ...opens, ...files]
  })
}

const accesses = Effect.fnUntraced(function*({ command, cwd }: Command, tool: string) {
  const start = yield* startFolder(cwd)
  // A list is judged as what a shell would start for it: what it starts by its arguments counts too.
  const line = typeof command === "string" ? command : command.map(quoted).join(" ")
  const read = readCommand(line, shell.kind)
  const commands = yield* Effect.forEach(read.commands, (one) => accessesOf(start ?? ".", one))
  const known = whatIsKnown(commands, read.opaque.length > 0)
  // A part of a loop says nothing by itself.
  const shown = (part: string): string => line.length <= longestShown ? line : part
  const rest = yield* Effect.forEach(read.opaque, ({ command: partly, reason, text }) =>
    // The files that can be seen in it are asked about too.
    partly === undefined
      ? Effect.succeed([opaque(shown(text), reason)])
      : Effect.map(accessesOf(start ?? ".", partly), ({ files }) => [opaque(shown(text), reason, partly), ...files]))
  const { isolationTools } = yield* (yield* Settings).current
  const whole: CommandLine = { text: line, folder: start ?? "." }
  const isWhole = isRememberable(whole) && commands.every(({ isWritten }) => isWritten) &&
    read.opaque.every(({ written }) => written === true) &&
    (read.opaque.length > 0 || commands.some(({ own, opens }) => own.words === undefined && opens === undefined))
  const marks = {
    ...(isWhole ? { line: whole } : {}),
    ...(isolationTools.has(tool) ? { unconfined: true as const } : {})
  }
  return [...known, ...rest.flat()].map((access): Access =>
    access._tag === "Command" ? Object.assign({}, access, marks) : access
  )
})

const findProgram = makeFindProgram()

const argvOf = (command: Command["command"], folder: string, input: PrimitiveInput) => {
  if (typeof command === "string") return Effect.succeed([shell.file, "-c", command])
  const [program, ...rest] = command
  const searchPath = input.env.get("PATH")
  const found = findProgram({
    command: program,
    folder,
    project: input.cwd,
    searchPath: searchPath === undefined ? undefined : Redacted.value(searchPath.value)
  })
  return Result.isSuccess(found)
    ? Effect.succeed([found.success, ...rest])
    : Effect.fail(new ToolUnstartable({ tool: input.tool, command: program, issue: found.failure, field: "command" }))
}

const run = Effect.fnUntraced(function*(input: PrimitiveInput) {
  const { command, cwd, timeout } = yield* decodeParameters(Command, input)
  const start = yield* startFolder(cwd)
  const folder = start === undefined || start === "." ? input.cwd : `${input.cwd}/${start}`
  const argv = yield* argvOf(command, folder, input)
  const done = yield* runCaptured(input, {
    argv,
    cwd: folder,
    within: timeout === undefined ? undefined : Math.ceil(timeout * 1_000)
  })
  return {
    data: {
      exit_code: done.code,
      ...(done.signal === null ? {} : { signal: done.signal }),
      stdout: done.stdout.text,
      stderr: done.stderr.text
    },
    metadata: { ...(done.code === null ? {} : { exit_code: done.code }), stdout: done.stdout }
  }
})

const tool: Builtin<FileServices | ChildProcesses | Outputs | Settings> = {
  run,
  accesses: (input) => Effect.flatMap(decodeParameters(Command, input), (given) => accesses(given, input.tool)),
  preview: (input) =>
    Effect.flatMap(
      decodeParameters(Command, input),
      ({ command, cwd }) =>
        Effect.map(startFolder(cwd), (start = "a folder of Kiwi's own") =>
          [
            `in ${start === "." ? "the project's folder" : start}:`,
            typeof command === "string" ? command : command.map(shellWord).join(" ")
          ].join("\n"))
    ),
  needs: { level: "sandboxed", by: "engine" }
}

export const handlers = { shell_run: tool }
