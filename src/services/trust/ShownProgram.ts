// An interpreter of a project, or a file that chooses its version, as a person was shown it.
import { Schema } from "effect"

export const ProgramFile = Schema.Struct({
  /**
   * With every link followed. In the checkout around the project: relative to the project, forward slashes, with `..`
   * for folders above it. Outside: absolute.
   */
  path: Schema.String,
  /**
   * SHA-256, in hex, of its bytes; null outside the checkout. "" if it could not be read; with an absolute path if a
   * link leads through that path: "/proc", "/dev/fd".
   */
  sha256: Schema.NullOr(Schema.String)
})
export type ProgramFile = typeof ProgramFile.Type

export const ShownProgram = Schema.Struct({
  /** The path where it is looked for, relative to the project: ".venv/bin/python", "../../.nvmrc". */
  path: Schema.String,
  /**
   * The files that the path resolves to: the program first, then what it starts, or reads before any code of a tool.
   */
  files: Schema.Array(ProgramFile)
})
export type ShownProgram = typeof ShownProgram.Type

export const isSameFile = (a: ProgramFile | undefined, b: ProgramFile | undefined): boolean =>
  a?.path === b?.path && a?.sha256 === b?.sha256

/** Whether a place was read completely both times, with the same content. */
export const isAsShown = (a: ShownProgram["files"], b: ShownProgram["files"]): boolean =>
  a.length === b.length && a.every((file, i) => isSameFile(file, b[i]) && file.sha256 !== "")

/** Whether it stands for a path that differs between processes, and not for a file. */
export const isProcessPath = ({ path, sha256 }: ProgramFile): boolean => sha256 === "" && path.startsWith("/")

/** The end of a sentence about the place whose link leads through `path`. */
export const throughProcess = (path: string): string =>
  `leads through ${path}, where each process finds something else, and is never used`
export const makeItALink = "make it a link to the interpreter itself"

export const newProgram = "is there, but nobody has been shown it since the project was trusted"
export const goneProgram = "was there when the project was trusted, and is gone"
export const changedProgram = "is not what a person was shown when the project was trusted"
