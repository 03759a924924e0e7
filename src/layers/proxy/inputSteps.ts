// What the tool is run with: parameters, environment, the verified file, and the config with all of that put in.
import { Effect, Redacted, Result } from "effect"
import type { Schema } from "effect"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import type { EnvConfigInvalid, EnvVariable, RequirementsMissing } from "../../services/env/EnvResolver.ts"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import { isDeniedVariable } from "../../services/env/variableNames.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import { places } from "../../services/primitive/places.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ConfigInvalid, ParametersInvalid } from "../../services/proxy/ToolProxy.ts"
import { SchemaValidator } from "../../services/schema/SchemaValidator.ts"
import * as Template from "../../services/template/Template.ts"
import * as DependencySteps from "./dependencySteps.ts"
import { copiesBelow } from "./dependencySteps.ts"
import { chainOf, failedIn, isRecord, setterOf } from "./Run.ts"
import type { Run } from "./Run.ts"
import { namesSecret, secretsOf } from "./secrets.ts"

const propertiesOf = (schema: Schema.JsonObject): Schema.JsonObject => {
  const properties = schema["properties"]
  return isRecord(properties) ? properties : {}
}

/** What `${VAR}` in config may name: what the chain declares, and the verified file. */
const variablesOf = (run: Run): ReadonlyMap<string, { readonly value: Redacted.Redacted<string> }> => {
  const declared = run.env?.declared ?? new Map<string, EnvVariable>()
  return run.toolFile === undefined
    ? declared
    : new Map<string, { readonly value: Redacted.Redacted<string> }>(declared)
      .set("TOOL_FILE", { value: Redacted.make(run.toolFile) })
}

/** Variables that decide what a program loads are set by system items alone, in config as in ENV_CONFIG. */
const deniedIn = ({ tool }: ChainLink): ConfigInvalid | undefined => {
  const env = tool.config["env"]
  if (tool.location.tier === "system" || !isRecord(env)) return undefined
  const denied = Object.keys(env).filter(isDeniedVariable)
  return denied.length === 0 ? undefined : new ConfigInvalid({
    link: tool.location.id,
    issues: denied.map((name) => ({ field: `env.${name}`, error: `only system items set ${name}` }))
  })
}

/** The link that asks for what is not there. */
const linkOf = (chain: Chain, reason: EnvConfigInvalid | RequirementsMissing): ChainLink => {
  const declaring = chain.links.find((link) => link.tool.envConfig !== undefined) ?? chain.leaf
  if (reason._tag === "EnvConfigInvalid") {
    return chain.links.find((link) => link.tool.location.id === reason.link) ?? declaring
  }
  if (reason.interpreter !== "") return declaring
  return chain.links.find(({ tool }) =>
    tool.requires.commands.some((name) => reason.commands.includes(name)) ||
    tool.requires.environment.some((name) => reason.variables.includes(name))
  ) ?? chain.leaf
}

export const make = Effect.gen(function*() {
  const copies = yield* VerifiedCopies
  const environments = yield* EnvResolver
  const schemas = yield* SchemaValidator
  const { requireDependencies, withDependencies } = yield* DependencySteps.make

  const validateParameters = Effect.fnUntraced(function*(run: Run) {
    const { leaf } = chainOf(run)
    const { id } = leaf.tool.location
    const { issues, value } = yield* schemas.validate({
      schema: leaf.tool.parameters,
      what: `parameters of ${id}`,
      value: run.call.parameters,
      closed: true,
      origin: { _tag: "verified", digest: leaf.tool.digest }
    }).pipe(Effect.mapError((reason) => failedIn(run, leaf, reason)))
    if (issues.length > 0 || !isRecord(value)) {
      return yield* failedIn(run, leaf, new ParametersInvalid({ tool: id, issues: [...issues] }))
    }
    run.parameters = value
  })

  const resolveEnvironment = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    for (const link of chain.links) {
      const denied = deniedIn(link)
      if (denied !== undefined) return yield* failedIn(run, link, denied)
    }
    const env = yield* environments.resolve(chain).pipe(
      Effect.catchTag("RequirementsMissing", (reason) => Effect.flatMap(withDependencies(run, reason), Effect.fail)),
      Effect.mapError((reason) =>
        reason._tag === "ToolChainError" ? reason : failedIn(run, linkOf(chain, reason), reason)
      )
    )
    run.env = env
    run.secrets = secretsOf(env)
    if (env.warnings.length === 0) return
    run.warnings = [
      ...run.warnings,
      ...env.warnings.map((w) => ({ code: "DOTENV_LINE", message: `${w.file}:${w.line}: ${w.issue}` }))
    ]
  })

  /** The verified bytes that will run are put where nothing else can write, before any config names them. */
  const pinCopies = Effect.fnUntraced(function*(run: Run) {
    for (const [index, link] of chainOf(run).links.entries()) {
      const verified = run.verified[index]
      if (link.tool.entrypoint === undefined || verified === undefined) continue
      const copy = yield* Effect.mapError(
        copies.materialize(verified, link.tool.entrypoint, copiesBelow(run.dependencies)),
        (reason) => failedIn(run, link, reason)
      )
      run.toolFile = copy.file
      return
    }
  })

  const templates = new WeakMap<Chain, Template.CompiledTemplate>()
  const templateOf = (chain: Chain): Template.CompiledTemplate => {
    const known = templates.get(chain)
    if (known !== undefined) return known
    const compiled = Template.compile(chain.config, places.get(chain.primitive.tool.location.id) ?? [])
    templates.set(chain, compiled)
    return compiled
  }

  const renderConfig = (run: Run): Effect.Effect<void, ToolCallError> => {
    const chain = chainOf(run)
    const template = templateOf(chain)
    const input: Template.TemplateInput = {
      parameters: run.parameters,
      declared: new Set(Object.keys(propertiesOf(chain.leaf.tool.parameters))),
      variables: variablesOf(run)
    }
    const rendered = Template.render(template, input)
    if (Result.isFailure(rendered)) {
      return Effect.fail(failedIn(run, setterOf(chain, rendered.failure.at), rendered.failure))
    }
    const { config, substituted } = rendered.success
    const isSecret = (name: string) => namesSecret(run.env, name)
    run.config = config
    run.placed = template.parameters
    if (run.call.dryRun) {
      const masked = Template.render(template, { ...input, mask: isSecret })
      run.shownConfig = Result.isSuccess(masked) ? masked.success.config : undefined
    }
    const secret = substituted.filter(({ name }) => isSecret(name))
    if (secret.length > 0) run.secrets = [...run.secrets, ...secret.map(({ text }) => text)]
    return Effect.void
  }

  const validateConfig = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    const { primitive } = chain
    if (primitive.tool.configSchema === undefined) return
    const { issues, value } = yield* schemas.validate({
      schema: primitive.tool.configSchema,
      what: `config of ${primitive.tool.location.id}`,
      value: run.config,
      closed: false,
      origin: { _tag: "verified", digest: primitive.tool.digest }
    }).pipe(Effect.mapError((reason) => failedIn(run, primitive, reason)))
    if (issues.length > 0 || !isRecord(value)) {
      const link = setterOf(chain, issues[0]?.field ?? "")
      return yield* failedIn(run, link, new ConfigInvalid({ link: link.tool.location.id, issues: [...issues] }))
    }
    run.config = value
  })

  return { validateParameters, resolveEnvironment, requireDependencies, pinCopies, renderConfig, validateConfig }
})
