// The terminal that a person sits at, whatever stdin and stdout are: a pipe can be fed by anybody, the controlling
// terminal only by whoever types there.
import { Context, Effect, Layer, Scope } from "effect"
import { closeSync, constants, openSync, readlinkSync, readSync } from "node:fs"
import { ReadStream, WriteStream } from "node:tty"

export interface OpenTerminal {
  /** Its size now; absent or 0 where that is not known. */
  readonly size?: () => { readonly columns: number; readonly rows: number }
  /** For the record: "/dev/pts/3". */
  readonly name: string
  readonly write: (text: string) => Effect.Effect<void>
  /**
   * One line without its end, after a prompt; `undefined` when the terminal is gone. What was typed before the prompt is
   * shown is dropped: it answers something else.
   */
  readonly readLine: (prompt: string) => Effect.Effect<string | undefined>
  /** One key, without Enter and not shown; `undefined` when the terminal is gone, and for Ctrl-C and Ctrl-D. */
  readonly readKey: Effect.Effect<string | undefined>
  /**
   * One line after a prompt, and what is typed is shown nowhere; `undefined` also for Ctrl-C and Ctrl-D. What was typed
   * before is dropped here too: a passphrase is a yes.
   */
  readonly readSecret: (prompt: string) => Effect.Effect<string | undefined>
}

export class TerminalDevice extends Context.Service<TerminalDevice, {
  /** The controlling terminal, until the scope closes; `undefined` where there is none. */
  readonly open: Effect.Effect<OpenTerminal | undefined, never, Scope.Scope>
}>()("kiwi/programs/cli/TerminalDevice") {}

const longestLine = 4096

/** Takes what lies in the terminal's buffer, unfinished lines too, and what was read from it while nobody asked. */
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

/** Key by key, until `take` has an answer. The terminal is as it was before, whatever ends this. */
const readRaw = (input: ReadStream, take: (character: string) => string | undefined, start = () => {}) =>
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
      for (const character of chunk.toString("utf8")) {
        if (character === "\u0003" || character === "\u0004") return done(undefined)
        const answer = take(character)
        if (answer !== undefined) return done(answer)
      }
    }
    // Before the prompt: who is fast would be seen otherwise.
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
    return readRaw(input, (character) => {
      if (character === "\r" || character === "\n") return line
      if (character === "\u007f" || character === "\b") line = Array.from(line).slice(0, -1).join("")
      else if (line.length < longestLine) line += character
      return undefined
    }, () => output.write(prompt))
  })

/** The terminal that stdin is, since the device's own name is the same for everybody. */
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
    readKey: readRaw(input, (character) => character),
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

/** Where there is no such device, as on Windows, there is no terminal to ask on. */
export const layer = Layer.succeed(TerminalDevice, make("/dev/tty"))
