// Makes a child's environment from declarations. Reads files and PATH, but never writes, creates or spawns.
import { Context, type Effect, type Redacted, Schema } from "effect"
import type { Chain } from "../chain/Chain.ts"
import type { ValidationIssue } from "../error/KiwiError.ts"
import type { ResolvedInterpreter } from "./ResolvedInterpreter.ts"

/**
 * The machine lacks something that the chain requires. Everything missing is reported at once, before anything runs.
 */
export class RequirementsMissing extends Schema.TaggedError<RequirementsMissing>()("RequirementsMissing", {
  tool: Schema.String,
  commands: Schema.Array(Schema.String),
  variables: Schema.Array(Schema.String),
  /** The interpreter's declaration and where it was looked for; "" if it was found or none is declared. */
  interpreter: Schema.String,
  /** What to do about the interpreter, if that is one command. */
  interpreterRemedy: Schema.optionalKey(Schema.String),
  /** `.env` files that may contain the variables, but that nobody has accepted as they are. */
  unseenFiles: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Packages that are declared but not installed. */
  dependencies: Schema.optionalKey(Schema.Array(Schema.String))
}) {
  override get message() {
    const packages = this.dependencies ?? []
    const unseen = this.unseenFiles ?? []
    const parts = [
      this.interpreter,
      this.commands.length === 0 ? "" : `commands not found on PATH: ${this.commands.join(", ")}`,
      this.variables.length === 0 ? "" : `variables not set: ${this.variables.join(", ")}`,
      unseen.length === 0 ? "" : `not read, since nobody has accepted it as it is: ${unseen.join(", ")}`,
      packages.length === 0 ? "" : `packages not installed: ${packages.join(", ")}`
    ].filter((p) => p !== "")
    return `${this.tool} cannot run here: ${parts.join("; ")}`
  }
  get remediation() {
    return [
      ...this.commands.map((c) => `install ${c}`),
      ...((this.unseenFiles ?? []).length === 0
        ? this.variables.map((v) => `set ${v} in the environment or in .env`)
        : [`kiwi trust project, if ${this.unseenFiles?.join(" and ")} should count`]),
      ...(this.interpreter === "" ? [] : [this.interpreterRemedy ?? "install the interpreter"]),
      ...((this.dependencies ?? []).length === 0 ? [] : [`kiwi env sync ${this.tool}`])
    ].join("; ")
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return [
      ...this.commands.map((value) => ({ field: "requires.commands", error: "is not on PATH", value })),
      ...this.variables.map((value) => ({ field: "environment", error: "is not set", value })),
      ...(this.interpreter === "" ? [] : [{ field: "env_config.interpreter", error: this.interpreter }])
    ]
  }
  get itemState() {
    return "missing_command" as const
  }
}

/** A link's `ENV_CONFIG` is not valid. */
export class EnvConfigInvalid extends Schema.TaggedError<EnvConfigInvalid>()("EnvConfigInvalid", {
  link: Schema.String,
  issues: Schema.Array(Schema.Struct({ field: Schema.String, error: Schema.String }))
}) {
  override get message() {
    return `ENV_CONFIG of ${this.link} is not valid: ${this.issues.map((i) => `${i.field}: ${i.error}`).join("; ")}`
  }
  get remediation() {
    return `Correct ENV_CONFIG in ${this.link} (docs/environment.md shows its form) and sign it again: kiwi sign tool ${this.link}`
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return this.issues
  }
}

/** The source of a variable's value, highest precedence first. */
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
  /** Values from the process and from `.env` files are secrets unless proven otherwise. */
  readonly value: Redacted.Redacted<string>
  readonly origin: EnvOrigin
  /** The name in `keychain:NAME`, if the value is such a reference or comes from one. */
  readonly secret?: string
}

/** A place where an interpreter was looked for, and the outcome. */
export interface LookedAt {
  readonly where: string
  readonly path?: string
  readonly outcome: string
}

/** A value that a variable would have if no source with higher precedence had set it. */
export interface EnvCandidate {
  readonly origin: EnvOrigin
  readonly value: Redacted.Redacted<string>
  /** Only for a `.env` file. */
  readonly line?: number
  /** Why it is never used, whatever else is set. */
  readonly refused?: string
  /** Whether it must not be shown: everything but the item's own text, and what every child gets anyway. */
  readonly isSecret: boolean
}

export interface ExplainedVariable {
  readonly variable: EnvVariable
  /** `child`: the child gets it under its name. `config`: only the config that names it does. */
  readonly reaches: "child" | "config"
  /** Whether its value must not be shown, because of its kind or of the values that it was made from. */
  readonly isSecret: boolean
  readonly beat: ReadonlyArray<EnvCandidate>
}

/** Everything about an environment that a person may want to know, also of one that cannot be made. */
export interface ExplainedEnv {
  readonly variables: ReadonlyArray<ExplainedVariable>
  readonly unset: ReadonlyArray<{
    readonly name: string
    readonly required: boolean
    /** Values that exist but do not apply. */
    readonly refused: ReadonlyArray<EnvCandidate>
  }>
  readonly interpreter: ResolvedInterpreter | undefined
  /** Where the interpreter was looked for before it was found, in order. */
  readonly looked: ReadonlyArray<LookedAt>
  /** Entries of PATH that do not count: relative, in the project, or a manager's shims, which are resolved. */
  readonly skippedPath: ReadonlyArray<string>
  readonly problem: RequirementsMissing | undefined
  readonly warnings: ReadonlyArray<EnvWarning>
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
  readonly interpreter: ResolvedInterpreter | undefined
  readonly warnings: ReadonlyArray<EnvWarning>
  /** Secrets that variables refer to by `keychain:NAME`. `fillSecrets` inserts their values. */
  readonly references?: ReadonlySet<string>
}

/** The interpreter for a chain's runtime. `None` if the runtime declares none. */
export type InterpreterAnswer =
  | { readonly _tag: "None" }
  | { readonly _tag: "Found"; readonly interpreter: ResolvedInterpreter }
  | { readonly _tag: "Missing"; readonly why: string; readonly remedy: string | undefined }

export class EnvResolver extends Context.Service<EnvResolver, {
  /** The first step: the interpreter, which packages are installed for. */
  readonly interpreter: (
    chain: Chain,
    overrides?: ReadonlyMap<string, string>
  ) => Effect.Effect<InterpreterAnswer, EnvConfigInvalid>
  /** The second step: everything else, for the interpreter that will run. Default: the first step's. */
  readonly resolve: (
    chain: Chain,
    options?: {
      readonly overrides?: ReadonlyMap<string, string> | undefined
      readonly interpreter?: InterpreterAnswer | undefined
    }
  ) => Effect.Effect<ResolvedEnv, RequirementsMissing | EnvConfigInvalid>
  /** The same in full, for a person. Never used in a call. */
  readonly explain: (
    chain: Chain,
    overrides?: ReadonlyMap<string, string>
  ) => Effect.Effect<ExplainedEnv, EnvConfigInvalid>
}>()("kiwi/services/env/EnvResolver") {}
