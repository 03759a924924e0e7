// `ENV_CONFIG`: how a runtime declares its interpreter and variables. The kernel applies it; no runtime is special.
import { Result, Schema, SchemaIssue } from "effect"
import { variableName } from "./variableNames.ts"

const Name = Schema.String.pipe(
  Schema.check(Schema.isPattern(variableName, { message: "expected the name of a variable" }))
)
const search = Schema.optionalKey(Schema.Array(Schema.Literals(["project", "kiwi", "user", "system"])))
const common = { var: Name, fallback: Schema.optionalKey(Schema.String) }

const interpreters = {
  venv_python: Schema.Struct({ type: Schema.Literal("venv_python"), ...common, search }),
  node_modules: Schema.Struct({ type: Schema.Literal("node_modules"), ...common, search }),
  system_binary: Schema.Struct({ type: Schema.Literal("system_binary"), ...common, binary: Schema.String }),
  version_manager: Schema.Struct({
    type: Schema.Literal("version_manager"),
    ...common,
    manager: Schema.Literals(["rbenv", "nvm", "asdf", "pyenv"]),
    version: Schema.optionalKey(Schema.String),
    plugin: Schema.optionalKey(Schema.String)
  })
}

export const Interpreter = Schema.Union([
  interpreters.venv_python,
  interpreters.node_modules,
  interpreters.system_binary,
  interpreters.version_manager
])
export type Interpreter = typeof Interpreter.Type

const env = Schema.optionalKey(Schema.Record(Name, Schema.String))

export const EnvConfig = Schema.Struct({
  interpreter: Schema.optionalKey(Interpreter),
  /** Values may contain `${VAR}` and `${VAR:-default}`. Later ones see earlier ones and the interpreter's variable. */
  env
})
export type EnvConfig = typeof EnvConfig.Type

export interface EnvConfigIssue {
  readonly field: string
  readonly error: string
}

const standard = SchemaIssue.makeFormatterStandardSchemaV1()

const issuesOf = (issue: SchemaIssue.Issue): ReadonlyArray<EnvConfigIssue> =>
  standard(issue).issues.map((i) => ({
    field: (i.path ?? []).map((p) => String(typeof p === "object" ? p.key : p)).join("."),
    error: i.message
  }))

const strictly = { errors: "all", onExcessProperty: "error" } as const
const withoutInterpreter = Schema.decodeUnknownResult(Schema.Struct({ env }), strictly)
const byType = {
  venv_python: Schema.decodeUnknownResult(Schema.Struct({ interpreter: interpreters.venv_python, env }), strictly),
  node_modules: Schema.decodeUnknownResult(Schema.Struct({ interpreter: interpreters.node_modules, env }), strictly),
  system_binary: Schema.decodeUnknownResult(Schema.Struct({ interpreter: interpreters.system_binary, env }), strictly),
  version_manager: Schema.decodeUnknownResult(
    Schema.Struct({ interpreter: interpreters.version_manager, env }),
    strictly
  )
}

const isType = (type: unknown): type is keyof typeof byType => typeof type === "string" && Object.hasOwn(byType, type)

/** Decodes a declaration. The interpreter's type is checked first, so that issues are only about that type. */
export const decodeEnvConfig = (
  config: Schema.JsonObject
): Result.Result<EnvConfig, ReadonlyArray<EnvConfigIssue>> => {
  const interpreter = Object.hasOwn(config, "interpreter") ? config["interpreter"] : undefined
  const type = typeof interpreter === "object" && interpreter !== null && "type" in interpreter
    ? interpreter["type"]
    : undefined
  if (interpreter !== undefined && !isType(type)) {
    return Result.fail([{
      field: "interpreter.type",
      error: `expected one of ${Object.keys(byType).join(", ")}, got ${JSON.stringify(type) ?? "nothing"}`
    }])
  }
  const decode: (u: unknown) => Result.Result<EnvConfig, Schema.SchemaError> = isType(type)
    ? byType[type]
    : withoutInterpreter
  return Result.mapError(decode(config), (e) => issuesOf(e.issue))
}
