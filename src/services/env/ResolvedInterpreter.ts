// The interpreter that a tool runs with. What it is (kind and version) is told from files alone and recorded in
// lockfiles; where it lies is this machine's business.
import { Schema } from "effect"

/** Where an interpreter came from. Words of lockfiles: none of them ever changes its meaning. */
export const InterpreterKind = Schema.Literals([
  /** `.venv` of the project, whatever made it. */
  "project-venv",
  /** `.ai/scripts/.venv` of the project. */
  "kiwi-venv",
  /** `.venv` of the user space. */
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
  /** A program on PATH. */
  "system",
  /** The declaration's `fallback`. */
  "fallback"
])
export type InterpreterKind = typeof InterpreterKind.Type

export interface ResolvedInterpreter {
  readonly variable: string
  /** Absolute. */
  readonly path: string
  readonly kind: InterpreterKind
  /** As its folder, its settings or its name say; `undefined` where nothing but running it could tell. */
  readonly version: string | undefined
}
