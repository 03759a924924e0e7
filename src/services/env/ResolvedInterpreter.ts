// The interpreter that a tool runs with. Its kind and version are determined from files alone and recorded in
// lockfiles. Its path is specific to this machine.
import { Schema } from "effect"
import { isSameFile, type ProgramFile } from "../trust/ShownProgram.ts"

/** Where an interpreter comes from. Lockfiles contain these words: their meaning never changes. */
export const InterpreterKind = Schema.Literals([
  /** `.venv`, `venv` or `env` in the project, whatever made it. */
  "project-venv",
  /** The same in the project's `.ai/scripts`. */
  "kiwi-venv",
  /** The same in the user space. */
  "user-venv",
  /** At the path in `UV_PROJECT_ENVIRONMENT`. */
  "uv",
  /** In poetry's own folder, by the project's name and path. */
  "poetry",
  /** `node_modules` of the project, of its `.ai/scripts`, of the user space. */
  "project-node",
  "kiwi-node",
  "user-node",
  "nvm",
  "pyenv",
  "rbenv",
  "asdf",
  /** A program on PATH, or the Node that runs Kiwi if the one on PATH is too old for TypeScript. */
  "system",
  /** The declaration's `fallback`. */
  "fallback"
])
export type InterpreterKind = typeof InterpreterKind.Type

export const outsideProject = "outside the project"

/** Identifies an interpreter's file. Also used in lockfiles. */
export const InterpreterFile = Schema.Union([
  Schema.Literal(outsideProject),
  Schema.Struct({
    /** With every link followed; relative to the project, forward slashes, with `..` for folders above it. */
    path: Schema.String.check(
      Schema.isMaxLength(256),
      Schema.isPattern(
        /^(?:\.\.\/){0,32}(?!\.{1,2}(?:\/|$))[A-Za-z0-9._@+-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._@+-]+)*$/,
        {
          message: "expected a path"
        }
      )
    ),
    sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/, { message: "expected 64 hex digits" }))
  })
])
export type InterpreterFile = typeof InterpreterFile.Type

export const isSameProgram = (a: InterpreterFile | undefined, b: InterpreterFile | undefined): boolean =>
  a === b || (typeof a === "object" && typeof b === "object" && isSameFile(a, b))

const isInterpreterFile = Schema.is(InterpreterFile)

/** Undefined if a lock cannot contain the path, because of blanks or words in it. */
export const toInterpreterFile = ({ path, sha256 }: ProgramFile): InterpreterFile | undefined => {
  const file = sha256 === null ? outsideProject : { path, sha256 }
  return isInterpreterFile(file) ? file : undefined
}

export interface ResolvedInterpreter {
  readonly variable: string
  /** Absolute. */
  readonly path: string
  readonly kind: InterpreterKind
  /** From its folder, its settings or its name. Undefined if only running it could tell. */
  readonly version: string | undefined
  /** Its place in the project, for `ProjectTrust.interpreter`. Absent outside of it. */
  readonly place?: string
  /** Absent if it is unknown. */
  readonly program?: InterpreterFile
}
