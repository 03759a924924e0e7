// What a shell command does, as data: the programs that it starts with their words, and the files that its redirections
// open. What cannot be told from the text is opaque, and is never covered by a rule on a program.

export interface Word {
  /** Quotes removed. If the word is not fixed, as it was written. */
  readonly text: string
  /** Whether the program gets exactly this text. Otherwise the shell makes any number of any words of it. */
  readonly fixed: boolean
  /** It is not fixed because of `*`, `?` and `[…]` alone, and has no quotes. */
  readonly pattern?: true
}

export interface Assignment {
  readonly name: string
  readonly value: string
}

/** A file that the shell opens for a command. `/dev/null` and copies of descriptors (`2>&1`) are not listed. */
export interface Redirection {
  readonly direction: "read" | "write" | "append"
  /** As written: relative to the folder in force. */
  readonly path: string
  readonly fd: number
}

export interface SimpleCommand {
  /** A plain name, or a path if it contains a slash. `:` for a redirection without a program. */
  readonly program: string
  /** The words after the program. */
  readonly words: ReadonlyArray<Word>
  /** Variables for this program alone. */
  readonly assignments: ReadonlyArray<Assignment>
  readonly redirections: ReadonlyArray<Redirection>
  /**
   * The folders in which it may run, because of `cd`: absolute, or relative to where the shell starts, which is `.`.
   * Several if a `cd` may have failed. They are not checked to be in the project, nor made real.
   */
  readonly folders: ReadonlyArray<string>
  /** The part of the text that it was read from, with what was taken off (`timeout 10`). */
  readonly text: string
}

/** A part of the text whose effect is not known. */
export interface OpaquePart {
  readonly text: string
  /** Completes "cannot be taken apart: …". */
  readonly reason: string
  /** What could be read of it. Rules that forbid look at it; rules that allow do not. */
  readonly command?: SimpleCommand
  /** A loop or a condition whose programs are all in the text, so that an answer for exactly the text says enough. */
  readonly written?: true
}

export interface CommandReading {
  /** Everything that the shell may run, if nothing is opaque. */
  readonly commands: ReadonlyArray<SimpleCommand>
  /** If there is one, only an answer for the whole text covers the text. */
  readonly opaque: ReadonlyArray<OpaquePart>
}

export interface OpenedFile {
  readonly direction: Redirection["direction"]
  /** Relative to where the shell starts, or absolute. May contain `..`, since a folder before it may be a link. */
  readonly path: string
}

/** The files that the redirections of a command open, in each folder in which it may run. */
export const openedFiles = (command: SimpleCommand): ReadonlyArray<OpenedFile> =>
  command.redirections.flatMap(({ direction, path }) =>
    path.startsWith("/")
      ? [{ direction, path }]
      : command.folders.map((folder) => ({ direction, path: folder === "." ? path : `${folder}/${path}` }))
  )
