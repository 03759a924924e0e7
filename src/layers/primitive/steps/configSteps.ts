// The config with parameters and variables inserted, validated by the links' schemas.
import type { Schema } from "effect"
import { Effect, Redacted, Result } from "effect"
import type { Chain, ChainLink } from "../../../services/chain/Chain.ts"
import { mergeConfig } from "../../../services/chain/Chain.ts"
import { namesSecret } from "../../../services/env/secretVariables.ts"
import type { Tool } from "../../../services/item/Item.ts"
import { configFields } from "../../../services/primitive/configFields.ts"
import type { ToolCallError } from "../../../services/proxy/ToolProxy.ts"
import { ConfigInvalid } from "../../../services/proxy/ToolProxy.ts"
import { isJsonObject, propertiesIn } from "../../../services/schema/json.ts"
import { SchemaValidator } from "../../../services/schema/SchemaValidator.ts"
import * as Template from "../../../services/template/Template.ts"
import { blame, setterOf } from "../../call/blame.ts"
import type { Facts } from "../../call/Step.ts"

/** The variables that `${VAR}` in the config may name: those that the chain declares, and the verified file. */
const variablesOf = (
  { env, toolFile }: Facts<"env" | "toolFile">
): ReadonlyMap<string, { readonly value: Redacted.Redacted<string> }> =>
  toolFile === undefined
    ? env.declared
    : new Map<string, { readonly value: Redacted.Redacted<string> }>(env.declared)
      .set("TOOL_FILE", { value: Redacted.make(toolFile) })

/** Whether a tool without an input_schema validates its call parameters with its config_schema. */
const isForParameters = ({ configSchema, parameters }: Tool): boolean =>
  configSchema === parameters || JSON.stringify({ type: "object", ...configSchema }) === JSON.stringify(parameters)

const inputOf = (facts: Facts<"chain" | "env" | "parameters" | "toolFile">): Template.TemplateInput => ({
  parameters: facts.parameters,
  declared: new Set(Object.keys(propertiesIn(facts.chain.leaf.tool.parameters))),
  variables: variablesOf(facts)
})

export const renderConfig = Effect.sync(() => {
  const templates = new WeakMap<Chain, Template.CompiledTemplate>()
  const templateOf = (chain: Chain): Template.CompiledTemplate => {
    const known = templates.get(chain)
    if (known !== undefined) return known
    const compiled = Template.compile(chain.config, configFields.get(chain.primitive.tool.location.id) ?? [])
    templates.set(chain, compiled)
    return compiled
  }

  return (
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
})

export const validateConfig = Effect.gen(function*() {
  const schemas = yield* SchemaValidator

  /** Links above the primitive with a config schema, each with the config from it down to the leaf. */
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

  /** Validates a config with a link's own schema, and adds the schema's defaults. */
  const validateAgainst = Effect.fnUntracedEager(
    function*(facts: Facts<"chain">, link: ChainLink, config: Schema.JsonObject) {
      const { tool } = link
      const { id } = tool.location
      const { issues, value } = yield* schemas.validate({
        schema: tool.configSchema ?? {},
        what: `config of ${id}`,
        value: config,
        closed: false,
        origin: { _tag: "verified", digest: tool.digest }
      }).pipe(Effect.mapErrorEager((reason) => blame(facts.chain, reason, link)))
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

  return Effect.fnUntracedEager(
    function*(facts: Facts<"chain" | "config" | "env" | "parameters" | "shownConfig" | "toolFile">) {
      const { chain, config, env: { references }, shownConfig } = facts
      // The values of secrets, which a schema would check, are not there before a person has agreed.
      if (references !== undefined && references.size > 0) return { config: shownConfig ?? config }
      for (const { link, template } of askingIn(chain)) {
        const rendered = Template.render(template, inputOf(facts))
        if (Result.isFailure(rendered)) return yield* blame(chain, rendered.failure, link)
        yield* validateAgainst(facts, link, rendered.success.config)
      }
      if (chain.primitive.tool.configSchema === undefined) return
      return { config: yield* validateAgainst(facts, chain.primitive, config) }
    }
  )
})
