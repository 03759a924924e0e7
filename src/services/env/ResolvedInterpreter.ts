// The interpreter that a tool runs with. What it is (kind and version) is told from files alone and recorded in
// lockfiles; where it lies is this machine's business.
import { Schema } from "effect"
import { isSameFile, type ProgramFile } from "../trust/ShownProgram.ts"

/** Where an interpreter came from. Words of lockfiles: none of them ever changes its meaning. */
export const InterpreterKind = Schema.Literals([
  /** `.venv`, `venv` or `env` of the project, whatever made it. */
  "project-venv",
  /** The same in `.ai/scripts` of the project. */
  "kiwi-venv",
  /** The same in the user space. */
  "user-venv",
  /** Where `UV_PROJECT_ENVIRONMENT` says. */
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
  /** A program on PATH; the Node that runs Kiwi, where the one on PATH is too old for TypeScript. */
  "system",
  /** The declaration's `fallback`. */
  "fallback"
])
export type InterpreterKind = typeof InterpreterKind.Type

export const outsideProject = "outside the project"

/** Which file an interpreter is. Words of lockfiles too. */
export const InterpreterFile = Schema.Union([
  Schema.Literal(outsideProject),
  Schema.Struct({
    /** Every link followed; relative to the project, forward slashes, beginning with `..` where it lies above it. */
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

/** `undefined` where a lock could not name it: a path with blanks or words in it. */
export const toInterpreterFile = ({ path, sha256 }: ProgramFile): InterpreterFile | undefined => {
  const file = sha256 === null ? outsideProject : { path, sha256 }
  return isInterpreterFile(file) ? file : undefined
}

export interface ResolvedInterpreter {
  readonly variable: string
  /** Absolute. */
  readonly path: string
  readonly kind: InterpreterKind
  /** As its folder, its settings or its name say; `undefined` where nothing but running it could tell. */
  readonly version: string | undefined
  /** Where it lies in the project, for `ProjectTrust.interpreter`; absent outside of it. */
  readonly place?: string
  /** Absent where that cannot be told. */
  readonly program?: InterpreterFile
}
