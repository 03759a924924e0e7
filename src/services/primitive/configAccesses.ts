// What a tool touches by its signed config: the program that `subprocess` starts, and the server that `http_client`
// reaches. Rules may deny it or ask about it.
//
// Gotcha: a program that a variable names is an interpreter that runs the tool's own file. It is no access, since a rule
// about `python3` is about what callers start; what the file does is not known.
import { Redacted, Result } from "effect"
import type { Schema } from "effect"
import type { Access, HostAccess } from "../capability/Access.ts"
import * as Template from "../template/Template.ts"
import { parseTemplate } from "../template/templateText.ts"
import { authorityComplete } from "../template/urlText.ts"
import { shellWord } from "../text/shellWord.ts"
import { configFields } from "./configFields.ts"
import type { AccessInput } from "./Primitive.ts"
import { planSubprocess } from "./SubprocessConfig.ts"

/** The server as rules know it: without brackets, and without a dot at the end of its name. */
export const hostAccess = (host: string, port: number): HostAccess => ({
  _tag: "Host",
  capability: "net.http",
  host: host.replace(/^\[|\]$/g, "").replace(/\.$/, "").toLowerCase(),
  port
})

/** No parameter can be a part of the host. Undefined if a variable is. */
const hostOf = (url: Schema.Json | undefined): HostAccess | undefined => {
  const [start] = typeof url === "string" ? parseTemplate(url) : []
  const isWhole = typeof url === "string" && start === url
  if (typeof start !== "string" || !authorityComplete(isWhole ? `${start}/` : start)) return undefined
  const parsed = Result.getOrUndefined(Result.try(() => new URL(start)))
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) return undefined
  const { hostname, port, protocol } = parsed
  return hostAccess(hostname, port === "" ? (protocol === "https:" ? 443 : 80) : Number(port))
}

const templates = new WeakMap<Schema.JsonObject, Template.CompiledTemplate>()

const templateOf = (config: Schema.JsonObject): Template.CompiledTemplate => {
  const known = templates.get(config)
  if (known !== undefined) return known
  const compiled = Template.compile(config, configFields.get("subprocess") ?? [])
  templates.set(config, compiled)
  return compiled
}

const isPlain = (text: string): boolean => {
  const [part, ...more] = parseTemplate(text)
  return more.length === 0 && part === text
}

/** The words with the call's parameters. A variable stays as it is written: `${HOME}`. */
const wordsOf = ({ config, parameters, tool }: AccessInput): ReadonlyArray<string> | undefined => {
  const template = templateOf(config)
  const variables = new Map(
    Array.from(template.variables.keys(), (name) => [name, { value: Redacted.make(`\${${name}}`) }] as const)
  )
  const rendered = Template.render(template, { parameters, declared: template.parameters, variables })
  if (Result.isFailure(rendered)) return undefined
  const plan = planSubprocess({
    tool,
    config: rendered.success.config,
    parameters,
    placed: template.parameters,
    toolFile: undefined
  })
  return Result.isFailure(plan) ? undefined : plan.success.argv
}

const commandOf = (input: AccessInput): Access | undefined => {
  const { command } = input.config
  if (typeof command !== "string" || !isPlain(command)) return undefined
  const words = wordsOf(input)
  return {
    _tag: "Command",
    capability: "process.exec",
    words,
    text: (words ?? [command]).map(shellWord).join(" "),
    ...(words === undefined ? { opaque: "its arguments cannot be passed" } : {}),
    signed: true
  }
}

export const configAccesses = (primitive: "subprocess" | "http_client", input: AccessInput): ReadonlyArray<Access> => {
  if (primitive === "subprocess") {
    const command = commandOf(input)
    return command === undefined ? [] : [command]
  }
  const host = hostOf(input.config["url"])
  return host === undefined ? [] : [{ ...host, signed: true }]
}
