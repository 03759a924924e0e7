// What the tool is run with: parameters, environment, the verified file, and the config with all of that put in.
import { Effect, Redacted, Result } from "effect"
import type { Schema } from "effect"
import { mergeConfig } from "../../services/chain/Chain.ts"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import type { EnvVariable } from "../../services/env/EnvResolver.ts"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import { namesSecret, secretsOf } from "../../services/env/secretVariables.ts"
import { isDeniedVariable } from "../../services/env/variableNames.ts"
import { SecretMissing, SecretStore } from "../../services/identity/SecretStore.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import type { Tool } from "../../services/item/Item.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { places } from "../../services/primitive/places.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ConfigInvalid, ParametersInvalid } from "../../services/proxy/ToolProxy.ts"
import { SchemaValidator } from "../../services/schema/SchemaValidator.ts"
import * as Template from "../../services/template/Template.ts"
import { blame, linkNaming, setterOf } from "./blame.ts"
import * as DependencySteps from "./dependencySteps.ts"
import { copiesBelow, withInterpreter } from "./dependencySteps.ts"
import { chainOf, isRecord } from "./Run.ts"
import type { Run } from "./Run.ts"

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

/** Whether a tool's config_schema is what its call parameters are validated against, for want of an input_schema. */
const isForParameters = ({ configSchema, parameters }: Tool): boolean =>
  configSchema === parameters || JSON.stringify({ type: "object", ...configSchema }) === JSON.stringify(parameters)

export const make = Effect.gen(function*() {
  const copies = yield* VerifiedCopies
  const environments = yield* EnvResolver
  const gate = yield* PermissionGate
  const schemas = yield* SchemaValidator
  const secrets = yield* SecretStore
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
    }).pipe(Effect.mapError((reason) => blame(chainOf(run), reason)))
    if (issues.length > 0 || !isRecord(value)) {
      return yield* blame(chainOf(run), new ParametersInvalid({ tool: id, issues: [...issues] }))
    }
    run.parameters = value
  })

  const resolveEnvironment = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    for (const link of chain.links) {
      const denied = deniedIn(link)
      if (denied !== undefined) return yield* blame(chain, denied, link)
    }
    const env = yield* environments.resolve(chain).pipe(
      Effect.catchTag("RequirementsMissing", (reason) => Effect.flatMap(withDependencies(run, reason), Effect.fail)),
      Effect.mapError((reason) => reason._tag === "ToolChainError" ? reason : blame(chain, reason))
    )
    run.env = env
    run.secrets = secretsOf(env)
    if (env.warnings.length === 0) return
    run.warnings = [
      ...run.warnings,
      ...env.warnings.map((w) => ({ code: "DOTENV_LINE", message: `${w.file}:${w.line}: ${w.issue}` }))
    ]
  })

  /** What `keychain:NAME` stands for, once it is certain that this tool may have it. Costs nothing where none is named. */
  const resolveSecrets = Effect.fnUntraced(function*(run: Run) {
    const { env } = run
    if (env?.references === undefined) return
    const chain = chainOf(run)
    for (const name of env.references) yield* gate.useSecret(run.call.caller, chain, run.verified, name)
    const opened = new Map<string, Redacted.Redacted>()
    for (const name of env.references) {
      const variables = [...new Set([...env.declared.values(), ...env.child.values()])]
        .filter(({ secret }) => secret === name).map((one) => one.name)
      const link = linkNaming(chain, variables)
      const value = yield* Effect.mapError(secrets.get(name), (reason) => blame(chain, reason, link))
      if (value === undefined) {
        return yield* blame(chain, new SecretMissing({ name, variables: [...new Set(variables)] }), link)
      }
      opened.set(name, value)
    }
    const resolved = yield* Effect.mapError(
      environments.resolve(chain, undefined, opened),
      (reason) => blame(chain, reason)
    )
    // What packages and lock were judged by is what runs, whatever has changed on disk since.
    run.env = env.interpreter === undefined ? resolved : {
      ...withInterpreter(resolved, env.interpreter.path),
      interpreter: env.interpreter
    }
    run.secrets = secretsOf(resolved)
  })

  /** The verified bytes that will run are put where nothing else can write, before any config names them. */
  const pinCopies = Effect.fnUntraced(function*(run: Run) {
    for (const [index, link] of chainOf(run).links.entries()) {
      const verified = run.verified[index]
      if (link.tool.entrypoint === undefined || verified === undefined) continue
      const copy = yield* Effect.mapError(
        copies.materialize(verified, link.tool.entrypoint, copiesBelow(run.dependencies)),
        (reason) => blame(chainOf(run), reason, link)
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

  const inputOf = (run: Run): Template.TemplateInput => ({
    parameters: run.parameters,
    declared: new Set(Object.keys(propertiesOf(chainOf(run).leaf.tool.parameters))),
    variables: variablesOf(run)
  })

  const renderConfig = (run: Run): Effect.Effect<void, ToolCallError> => {
    const chain = chainOf(run)
    const template = templateOf(chain)
    const input = inputOf(run)
    const rendered = Template.render(template, input)
    if (Result.isFailure(rendered)) {
      return Effect.fail(blame(chain, rendered.failure))
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

  /** Links before the primitive that say what config they take, each with the config from it down to the leaf. */
  const asking = new WeakMap<
    Chain,
    ReadonlyArray<{ readonly link: ChainLink; readonly template: Template.CompiledTemplate }>
  >()
  const askingIn = (chain: Chain) => {
    const known = asking.get(chain)
    if (known !== undefined) return known
    const found = chain.links.slice(0, -1).flatMap((link, index) => {
      if (link.tool.configSchema === undefined || (index === 0 && isForParameters(link.tool))) return []
      const below = chain.links.slice(0, index + 1).reduceRight<Schema.JsonObject>(
        (config, { tool }) => mergeConfig(config, tool.config),
        {}
      )
      return [{ link, template: Template.compile(below, places.get(chain.primitive.tool.location.id) ?? []) }]
    })
    asking.set(chain, found)
    return found
  }

  /** What a link's own schema says of a config, and the config with the schema's defaults. */
  const validateAgainst = Effect.fnUntraced(function*(run: Run, link: ChainLink, config: Schema.JsonObject) {
    const { tool } = link
    const { id } = tool.location
    const { issues, value } = yield* schemas.validate({
      schema: tool.configSchema ?? {},
      what: `config of ${id}`,
      value: config,
      closed: false,
      origin: { _tag: "verified", digest: tool.digest }
    }).pipe(Effect.mapError((reason) => blame(chainOf(run), reason, link)))
    if (issues.length === 0 && isRecord(value)) return value
    const chain = chainOf(run)
    const setter = setterOf(chain, issues[0]?.field ?? "", link)
    const own = issues.filter(({ field }) => setterOf(chain, field, link) === setter)
    return yield* blame(chain, new ConfigInvalid({ link: setter.tool.location.id, refusedBy: id, issues: own }), setter)
  })

  const validateConfig = Effect.fnUntraced(function*(run: Run) {
    const chain = chainOf(run)
    for (const { link, template } of askingIn(chain)) {
      const rendered = Template.render(template, inputOf(run))
      if (Result.isFailure(rendered)) return yield* blame(chain, rendered.failure, link)
      yield* validateAgainst(run, link, rendered.success.config)
    }
    if (chain.primitive.tool.configSchema === undefined) return
    run.config = yield* validateAgainst(run, chain.primitive, run.config)
  })

  return {
    validateParameters,
    resolveEnvironment,
    requireDependencies,
    resolveSecrets,
    pinCopies,
    renderConfig,
    validateConfig
  }
})
