// The environment of a child, from declarations. Pure: reads files and PATH, never writes, creates or spawns.
import { Context, type Effect, type Redacted, Schema } from "effect"
import type { Chain } from "../chain/Chain.ts"

/** Everything that is missing, reported at once, before anything runs. */
export class RequirementsMissing extends Schema.TaggedError<RequirementsMissing>()("RequirementsMissing", {
  tool: Schema.String,
  commands: Schema.Array(Schema.String),
  variables: Schema.Array(Schema.String),
  /** The interpreter's declaration and where it was looked for; "" when it was found or none is declared. */
  interpreter: Schema.String,
  /** Packages that are declared and not installed. */
  dependencies: Schema.optionalKey(Schema.Array(Schema.String))
}) {
  override get message() {
    const packages = this.dependencies ?? []
    const parts = [
      this.interpreter,
      this.commands.length === 0 ? "" : `commands not found on PATH: ${this.commands.join(", ")}`,
      this.variables.length === 0 ? "" : `variables not set: ${this.variables.join(", ")}`,
      packages.length === 0 ? "" : `packages not installed: ${packages.join(", ")}`
    ].filter((p) => p !== "")
    return `${this.tool} cannot run here: ${parts.join("; ")}`
  }
  get remediation() {
    return [
      ...this.commands.map((c) => `install ${c}`),
      ...this.variables.map((v) => `set ${v} in the environment or in .env`),
      ...(this.interpreter === "" ? [] : ["install the interpreter"]),
      ...((this.dependencies ?? []).length === 0 ? [] : [`kiwi env sync ${this.tool}`])
    ].join("; ")
  }
}

export class EnvConfigInvalid extends Schema.TaggedError<EnvConfigInvalid>()("EnvConfigInvalid", {
  link: Schema.String,
  issues: Schema.Array(Schema.Struct({ field: Schema.String, error: Schema.String }))
}) {
  override get message() {
    return `ENV_CONFIG of ${this.link} is not valid: ${this.issues.map((i) => `${i.field}: ${i.error}`).join("; ")}`
  }
  get remediation() {
    return "docs/environment.md shows the form of ENV_CONFIG"
  }
}

/** Where a variable's value came from, highest precedence first. */
export type EnvOrigin =
  | "override"
  | "process"
  | "project:.env.local"
  | "project:.env"
  | "project:.ai/.env"
  | "user:.env"
  | "declared"
  | "interpreter"
  | "default"

export interface EnvVariable {
  readonly name: string
  /** Values from the process and from `.env` files are secrets until proven otherwise. */
  readonly value: Redacted.Redacted<string>
  readonly origin: EnvOrigin
}

export interface EnvWarning {
  readonly file: string
  readonly line: number
  readonly issue: string
}

export interface ResolvedEnv {
  /** The complete environment of the child; nothing else is passed on. */
  readonly child: ReadonlyMap<string, EnvVariable>
  /** The variables that the chain declares: what `${VAR}` in its config may name. */
  readonly declared: ReadonlyMap<string, EnvVariable>
  readonly interpreter: { readonly variable: string; readonly path: string } | undefined
  readonly warnings: ReadonlyArray<EnvWarning>
}

export class EnvResolver extends Context.Service<EnvResolver, {
  readonly resolve: (
    chain: Chain,
    overrides?: ReadonlyMap<string, string>
  ) => Effect.Effect<ResolvedEnv, RequirementsMissing | EnvConfigInvalid>
}>()("kiwi/services/env/EnvResolver") {}
