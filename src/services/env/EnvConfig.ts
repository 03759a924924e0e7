// `ENV_CONFIG`: how a runtime declares its interpreter and variables. The kernel applies it; no runtime is special.
import { Schema } from "effect"

const search = Schema.optionalKey(Schema.Array(Schema.Literals(["project", "kiwi", "user", "system"])))
const common = { var: Schema.String, fallback: Schema.optionalKey(Schema.String) }

export const Interpreter = Schema.Union([
  Schema.Struct({ type: Schema.Literal("venv_python"), ...common, search }),
  Schema.Struct({ type: Schema.Literal("node_modules"), ...common, search }),
  Schema.Struct({ type: Schema.Literal("system_binary"), ...common, binary: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("version_manager"),
    ...common,
    manager: Schema.Literals(["rbenv", "nvm", "asdf", "pyenv"]),
    version: Schema.optionalKey(Schema.String),
    plugin: Schema.optionalKey(Schema.String)
  })
])
export type Interpreter = typeof Interpreter.Type

export const EnvConfig = Schema.Struct({
  interpreter: Schema.optionalKey(Interpreter),
  /** Values may hold `${VAR}` and `${VAR:-default}`; later ones see earlier ones and the interpreter's variable. */
  env: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
export type EnvConfig = typeof EnvConfig.Type
