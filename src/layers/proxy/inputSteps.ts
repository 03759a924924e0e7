// What the tool is run with: parameters, environment, the verified file, and the config with all of that put in.
import { Effect, Redacted, Result } from "effect"
import type { Schema } from "effect"
import { mergeConfig } from "../../services/chain/Chain.ts"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import type { InterpreterAnswer } from "../../services/env/EnvResolver.ts"
import { EnvResolver, RequirementsMissing } from "../../services/env/EnvResolver.ts"
import { fillSecrets } from "../../services/env/fillSecrets.ts"
import { namesSecret, secretsOf } from "../../services/env/secretVariables.ts"
import { isDeniedVariable } from "../../services/env/variableNames.ts"
import { SecretMissing, SecretStore } from "../../services/identity/SecretStore.ts"
import { VerifiedCopies } from "../../services/integrity/VerifiedCopies.ts"
import type { Tool } from "../../services/item/Item.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { type ArgumentPlace, argumentPlaces, type Shift, shiftsOf } from "../../services/primitive/argumentPlaces.ts"
import { configFields } from "../../services/primitive/configFields.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ConfigInvalid, ParametersInvalid } from "../../services/proxy/ToolProxy.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import { SchemaValidator } from "../../services/schema/SchemaValidator.ts"
import * as Template from "../../services/template/Template.ts"
import { blame, linkNaming, setterOf } from "./blame.ts"
import { copiesBelow } from "./dependencySteps.ts"
import type { Facts } from "./Step.ts"

const propertiesOf = (schema: Schema.JsonObject): Schema.JsonObject => {
  const properties = schema["properties"]
  return isJsonObject(properties) ? properties : {}
}

/** What `${VAR}` in config may name: what the chain declares, and the verified file. */
const variablesOf = (
  { env, toolFile }: Facts<"env" | "toolFile">
): ReadonlyMap<string, { readonly value: Redacted.Redacted<string> }> =>
  toolFile === undefined
    ? env.declared
    : new Map<string, { readonly value: Redacted.Redacted<string> }>(env.declared)
      .set("TOOL_FILE", { value: Redacted.make(toolFile) })

/** Variables that decide what a program loads are set by system items alone, in config as in ENV_CONFIG. */
const deniedIn = ({ tool }: ChainLink): ConfigInvalid | undefined => {
  const env = tool.config["env"]
  if (tool.location.tier === "system" || !isJsonObject(env)) return undefined
  const denied = Object.keys(env).filter(isDeniedVariable)
  return denied.length === 0 ? undefined : new ConfigInvalid({
    link: tool.location.id,
    issues: denied.map((name) => ({ field: `env.${name}`, error: `only system items set ${name}` }))
  })
}

const shiftIssue = ({ next, option, parameter }: Shift) => ({
  field: parameter,
  error: option === undefined
    ? `is missing, and ${shownPlace(next)} would take its place`
    : `is missing, and ${option.text} before it would take ${shownPlace(next)} for its value`
})

const shownPlace = (place: ArgumentPlace | undefined): string =>
  place === undefined ? "what follows" : JSON.stringify(place.parameter ?? place.text)

/** Whether a tool's config_schema is what its call parameters are validated against, for want of an input_schema. */
const isForParameters = ({ configSchema, parameters }: Tool): boolean =>
  configSchema === parameters || JSON.stringify({ type: "object", ...configSchema }) === JSON.stringify(parameters)

/** Packages come with an interpreter of their own, where that is Python. */
const withPackages = (answer: InterpreterAnswer, set: InstalledSet | undefined): InterpreterAnswer =>
  answer._tag === "Found" && set?.interpreter !== undefined
    ? { ...answer, interpreter: { ...answer.interpreter, path: set.interpreter } }
    : answer

export const make = Effect.gen(function*() {
  const copies = yield* VerifiedCopies
  const environments = yield* EnvResolver
  const gate = yield* PermissionGate
  const schemas = yield* SchemaValidator
  const secrets = yield* SecretStore

  const argumentLists = new WeakMap<Chain, ReadonlyArray<ArgumentPlace>>()
  const argumentsOf = (chain: Chain): ReadonlyArray<ArgumentPlace> => {
    const isList = chain.primitive.tool.location.id === "subprocess"
    const found = argumentLists.get(chain) ?? (isList ? argumentPlaces(chain.config) : [])
    argumentLists.set(chain, found)
    return found
  }

  const validateParameters = Effect.fnUntraced(function*(facts: Facts<"call" | "chain">) {
    const { leaf } = facts.chain
    const { id } = leaf.tool.location
    const { issues, value } = yield* schemas.validate({
      schema: leaf.tool.parameters,
      what: `parameters of ${id}`,
      value: facts.call.parameters,
      closed: true,
      origin: { _tag: "verified", digest: leaf.tool.digest }
    }).pipe(Effect.mapError((reason) => blame(facts.chain, reason)))
    if (issues.length > 0 || !isJsonObject(value)) {
      return yield* blame(facts.chain, new ParametersInvalid({ tool: id, issues: [...issues] }))
    }
    const shifts = shiftsOf(argumentsOf(facts.chain), leaf.tool, value)
    if (shifts.length > 0) {
      return yield* blame(facts.chain, new ParametersInvalid({ tool: id, issues: shifts.map(shiftIssue) }))
    }
    return { parameters: value }
  })

  const findInterpreter = (facts: Facts<"chain">) =>
    environments.interpreter(facts.chain).pipe(
      Effect.mapBoth({
        onFailure: (reason) => blame(facts.chain, reason),
        onSuccess: (interpreter) => ({ interpreter })
      })
    )

  /** Everything that is missing, at once. What is found is for the interpreter that runs: that of the packages. */
  const resolveEnvironment = Effect.fnUntraced(function*(
    facts: Facts<"chain" | "interpreter" | "packages" | "warnings">
  ) {
    const { chain, interpreter, packages, warnings } = facts
    for (const link of chain.links) {
      const denied = deniedIn(link)
      if (denied !== undefined) return yield* blame(chain, denied)
    }
    const dependencies = packages?._tag === "Installed" ? packages.set : undefined
    const missing = packages?._tag === "Missing" ? packages : undefined
    const env = yield* environments.resolve(chain, { interpreter: withPackages(interpreter, dependencies) }).pipe(
      Effect.mapError((reason) => {
        return blame(
          chain,
          missing === undefined || reason._tag !== "RequirementsMissing"
            ? reason
            : new RequirementsMissing({ ...reason, dependencies: missing.reason.requirements })
        )
      })
    )
    if (missing !== undefined) return yield* blame(chain, missing.reason)
    return {
      env,
      dependencies,
      secrets: secretsOf(env),
      warnings: [
        ...warnings,
        ...env.warnings.map((w) => ({ code: "DOTENV_LINE", message: `${w.file}:${w.line}: ${w.issue}` }))
      ]
    }
  })

  /** What `keychain:NAME` stands for, once it is certain that this tool may have it. Costs nothing where none is named. */
  const resolveSecrets = Effect.fnUntraced(function*(
    facts: Facts<"call" | "chain" | "env" | "verified">
  ) {
    const { call, chain, env, verified } = facts
    if (env.references === undefined) return
    for (const name of env.references) {
      yield* gate.allow(call.caller, { _tag: "UseSecret", chain, verified, name })
    }
    const opened = new Map<string, Redacted.Redacted>()
    for (const name of env.references) {
      const variables = [...new Set([...env.declared.values(), ...env.child.values()])]
        .filter(({ secret }) => secret === name).map((one) => one.name)
      const link = linkNaming(chain, variables)
      const value = yield* Effect.mapError(secrets.get(name), (reason) => blame(facts.chain, reason, link))
      if (value === undefined) {
        return yield* blame(chain, new SecretMissing({ name, variables: [...new Set(variables)] }))
      }
      opened.set(name, value)
    }
    const filled = fillSecrets(env, opened)
    return { env: filled, secrets: secretsOf(filled) }
  })

  /** The verified bytes that will run are put where nothing else can write, before any config names them. */
  const pinCopies = Effect.fnUntraced(function*(facts: Facts<"chain" | "dependencies" | "verified">) {
    for (const [index, link] of facts.chain.links.entries()) {
      const verified = facts.verified[index]
      if (link.tool.entrypoint === undefined || verified === undefined) continue
      const copy = yield* Effect.mapError(
        copies.materialize(verified, link.tool.entrypoint, copiesBelow(facts.dependencies)),
        (reason) => blame(facts.chain, reason, link)
      )
      return { toolFile: copy.file }
    }
    return { toolFile: undefined }
  })

  const templates = new WeakMap<Chain, Template.CompiledTemplate>()
  const templateOf = (chain: Chain): Template.CompiledTemplate => {
    const known = templates.get(chain)
    if (known !== undefined) return known
    const compiled = Template.compile(chain.config, configFields.get(chain.primitive.tool.location.id) ?? [])
    templates.set(chain, compiled)
    return compiled
  }

  const inputOf = (facts: Facts<"chain" | "env" | "parameters" | "toolFile">): Template.TemplateInput => ({
    parameters: facts.parameters,
    declared: new Set(Object.keys(propertiesOf(facts.chain.leaf.tool.parameters))),
    variables: variablesOf(facts)
  })

  const renderConfig = (
    facts: Facts<"call" | "chain" | "env" | "parameters" | "secrets" | "toolFile">
  ): Effect.Effect<Facts<"config" | "placed" | "secrets" | "shownConfig">, ToolCallError> => {
    const { call, chain, env } = facts
    const template = templateOf(chain)
    const input = inputOf(facts)
    const rendered = Template.render(template, input)
    if (Result.isFailure(rendered)) {
      return Effect.fail(blame(chain, rendered.failure))
    }
    const { config, substituted } = rendered.success
    const isSecret = (name: string) => namesSecret(env, name)
    const masked = call.dryRun ? Template.render(template, { ...input, mask: isSecret }) : undefined
    return Effect.succeed({
      config,
      placed: template.parameters,
      shownConfig: masked !== undefined && Result.isSuccess(masked) ? masked.success.config : undefined,
      secrets: [...facts.secrets, ...substituted.filter(({ name }) => isSecret(name)).map(({ text }) => text)]
    })
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
      return [{ link, template: Template.compile(below, configFields.get(chain.primitive.tool.location.id) ?? []) }]
    })
    asking.set(chain, found)
    return found
  }

  /** What a link's own schema says of a config, and the config with the schema's defaults. */
  const validateAgainst = Effect.fnUntraced(
    function*(facts: Facts<"chain">, link: ChainLink, config: Schema.JsonObject) {
      const { tool } = link
      const { id } = tool.location
      const { issues, value } = yield* schemas.validate({
        schema: tool.configSchema ?? {},
        what: `config of ${id}`,
        value: config,
        closed: false,
        origin: { _tag: "verified", digest: tool.digest }
      }).pipe(Effect.mapError((reason) => blame(facts.chain, reason, link)))
      if (issues.length === 0 && isJsonObject(value)) return value
      const { chain } = facts
      const setter = setterOf(chain, issues[0]?.field ?? "", link)
      const own = issues.filter(({ field }) => setterOf(chain, field, link) === setter)
      return yield* blame(
        chain,
        new ConfigInvalid({ link: setter.tool.location.id, refusedBy: id, issues: own }),
        setter
      )
    }
  )

  const validateConfig = Effect.fnUntraced(
    function*(facts: Facts<"chain" | "config" | "env" | "parameters" | "toolFile">) {
      const { chain, config } = facts
      for (const { link, template } of askingIn(chain)) {
        const rendered = Template.render(template, inputOf(facts))
        if (Result.isFailure(rendered)) return yield* blame(chain, rendered.failure, link)
        yield* validateAgainst(facts, link, rendered.success.config)
      }
      if (chain.primitive.tool.configSchema === undefined) return
      return { config: yield* validateAgainst(facts, chain.primitive, config) }
    }
  )

  return {
    validateParameters,
    findInterpreter,
    resolveEnvironment,
    resolveSecrets,
    pinCopies,
    renderConfig,
    validateConfig
  }
})
