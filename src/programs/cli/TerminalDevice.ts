// The controlling terminal, whatever stdin and stdout are: any program can write into a pipe, but only the person types
// at the controlling terminal.
import { Context, Effect, Layer, Scope } from "effect"
import { closeSync, constants, openSync, readlinkSync, readSync } from "node:fs"
import { ReadStream, WriteStream } from "node:tty"

export interface OpenTerminal {
  /** Its size now; absent or 0 if unknown. */
  readonly size?: () => { readonly columns: number; readonly rows: number }
  /** For the audit: "/dev/pts/3". */
  readonly name: string
  readonly write: (text: string) => Effect.Effect<void>
  /**
   * Shows a prompt and reads one line, without its line end; `undefined` if the terminal is gone. Input from before the
   * prompt is dropped: it does not answer this question.
   */
  readonly readLine: (prompt: string) => Effect.Effect<string | undefined>
  /** Reads one key, without Enter and without echo; `undefined` if the terminal is gone, and for Ctrl-C and Ctrl-D. */
  readonly readKey: Effect.Effect<string | undefined>
  /**
   * The same for a key as the terminal sends it: "\u001b[A" for the arrow up. What arrives at once is one key, so pasted
   * text is none that means anything.
   */
  readonly readPress: Effect.Effect<string | undefined>
  /** Drops what was typed until now: it does not answer what is shown next. Not while something is read. */
  readonly drop: Effect.Effect<void>
  /**
   * Shows a prompt and reads one line without echo; `undefined` also for Ctrl-C and Ctrl-D. Earlier input is dropped
   * here too: typing a passphrase is a yes.
   */
  readonly readSecret: (prompt: string) => Effect.Effect<string | undefined>
}

export class TerminalDevice extends Context.Service<TerminalDevice, {
  /** Opens the controlling terminal until the scope closes; `undefined` if there is none. */
  readonly open: Effect.Effect<OpenTerminal | undefined, never, Scope.Scope>
}>()("kiwi/programs/cli/TerminalDevice") {}

const longestLine = 4096

/** Drops pending input: the terminal's buffer, unfinished lines too, and what was read before a prompt. */
const dropTyped = (device: string, input: ReadStream): void => {
  while (input.read() !== null);
  let typed: number
  try {
    typed = openSync(device, constants.O_RDONLY | constants.O_NOCTTY | constants.O_NONBLOCK)
  } catch {
    return
  }
  try {
    input.setRawMode(true)
    const buffer = Buffer.alloc(longestLine)
    while (readSync(typed, buffer) > 0);
  } catch {
    // EAGAIN: the buffer is empty.
  } finally {
    input.setRawMode(false)
    closeSync(typed)
  }
}

const readUntilEnd = (input: ReadStream) =>
  Effect.callback<string | undefined>((resume) => {
    let line = ""
    const done = (answer: string | undefined) => {
      input.off("data", onData)
      input.off("end", onEnd)
      input.pause()
      resume(Effect.succeed(answer))
    }
    const onEnd = () => done(undefined)
    const onData = (chunk: Buffer) => {
      line += chunk.toString("utf8")
      const end = line.indexOf("\n")
      if (end !== -1) done(line.slice(0, end).replace(/\r$/, ""))
      else if (line.length > longestLine) done(undefined)
    }
    input.on("data", onData)
    input.on("end", onEnd)
    input.resume()
    return Effect.sync(() => done(undefined))
  })

/** Reads what arrives until `take` returns an answer. The terminal's mode is always restored. */
const readRaw = (input: ReadStream, take: (arrived: string) => string | undefined, start = () => {}) =>
  Effect.callback<string | undefined>((resume) => {
    const done = (answer: string | undefined) => {
      input.off("data", onData)
      input.off("end", onEnd)
      input.setRawMode(false)
      input.pause()
      resume(Effect.succeed(answer))
    }
    const onEnd = () => done(undefined)
    const onData = (chunk: Buffer) => {
      const arrived = chunk.toString("utf8")
      const end = Array.from(arrived).findIndex((one) => one === "\u0003" || one === "\u0004")
      const answer = take(end === -1 ? arrived : Array.from(arrived).slice(0, end).join(""))
      if (answer !== undefined || end !== -1) done(answer)
    }
    // Before the prompt: otherwise keys that are typed early would be shown.
    input.setRawMode(true)
    input.on("data", onData)
    input.on("end", onEnd)
    input.resume()
    start()
    return Effect.sync(() => done(undefined))
  })

const readHidden = (device: string, input: ReadStream, output: WriteStream, prompt: string) =>
  Effect.suspend(() => {
    dropTyped(device, input)
    let line = ""
    return readRaw(input, (arrived) => {
      for (const character of arrived) {
        if (character === "\r" || character === "\n") return line
        if (character === "\u007f" || character === "\b") line = Array.from(line).slice(0, -1).join("")
        else if (line.length < longestLine) line += character
      }
      return undefined
    }, () => output.write(prompt))
  })

const firstOf = (arrived: string): string | undefined => Array.from(arrived)[0]

/** The name of stdin's terminal, since /dev/tty has the same name in every session. */
const nameOf = (device: string): string => {
  try {
    const name = readlinkSync("/proc/self/fd/0")
    return name.startsWith("/dev/pts/") || name.startsWith("/dev/tty") ? name : device
  } catch {
    return device
  }
}

const openDevice = (device: string): OpenTerminal & { readonly close: () => void } => {
  const reading = openSync(device, constants.O_RDONLY | constants.O_NOCTTY)
  let writing: number
  try {
    writing = openSync(device, constants.O_WRONLY | constants.O_NOCTTY)
  } catch (error) {
    closeSync(reading)
    throw error
  }
  const input = new ReadStream(reading)
  const output = new WriteStream(writing)
  const ignore = () => {}
  input.on("error", ignore)
  output.on("error", ignore)
  return {
    size: () => ({ columns: output.columns ?? 0, rows: output.rows ?? 0 }),
    name: nameOf(device),
    write: (text) =>
      Effect.callback((resume) => {
        output.write(text, () => resume(Effect.void))
      }),
    readLine: (prompt) =>
      Effect.suspend(() => {
        dropTyped(device, input)
        output.write(prompt)
        return readUntilEnd(input)
      }),
    readKey: readRaw(input, firstOf),
    readPress: readRaw(input, (arrived) => arrived === "" ? undefined : arrived),
    drop: Effect.sync(() => dropTyped(device, input)),
    readSecret: (prompt) => readHidden(device, input, output, prompt),
    close: () => {
      input.destroy()
      output.destroy()
    }
  }
}

export const make = (device: string) =>
  TerminalDevice.of({
    open: Effect.acquireRelease(
      Effect.try({ try: () => openDevice(device), catch: () => "no terminal" as const }).pipe(
        Effect.orElseSucceed(() => undefined)
      ),
      (terminal) => Effect.sync(() => terminal?.close())
    )
  })

/** Without such a device, as on Windows, there is no terminal to ask on. */
export const layer = Layer.succeed(TerminalDevice, make("/dev/tty"))
