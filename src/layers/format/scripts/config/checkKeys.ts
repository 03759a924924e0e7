// Finds config that the primitive would refuse in every call: unknown keys, and a missing required key. Only for tools
// that name a primitive or runtime of Kiwi's; other links are checked when the chain is resolved.
import { cut, problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { HttpClientConfig } from "../../../../services/primitive/HttpClientConfig.ts"
import { SubprocessConfig, SubprocessLimits } from "../../../../services/primitive/SubprocessConfig.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import { nearest } from "../../../../services/schema/schemaIssues.ts"
import type { ValueProblem } from "./checkValues.ts"

const subprocess = Object.keys(SubprocessConfig.fields)
const httpClient = Object.keys(HttpClientConfig.fields)

/** By executor, with and without its category: system items, which no other item can hide. */
const readBy: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  [
    ["primitives/subprocess", subprocess] as const,
    ["primitives/http_client", httpClient] as const,
    ["runtimes/python_runtime", subprocess] as const,
    ["runtimes/node_runtime", subprocess] as const,
    ["runtimes/bash_runtime", subprocess] as const
  ].flatMap(([id, keys]) => [[id, keys] as const, [id.slice(id.indexOf("/") + 1), keys] as const])
)

/** Other programs' names for the same key. */
const otherNames: Readonly<Record<string, string>> = {
  endpoint: "url",
  uri: "url",
  base_url: "url",
  params: "query",
  data: "body",
  cmd: "command",
  arguments: "args",
  environment: "env",
  working_directory: "cwd"
}

const unknownKey = (config: Tool["config"], known: ReadonlyArray<string>, where: string): ValueProblem | undefined => {
  const key = Object.keys(config).find((one) => !known.includes(one))
  if (key === undefined) return undefined
  const other = Object.hasOwn(otherNames, key) ? otherNames[key]! : nearest(key, known)
  return {
    path: [...where.split(".").slice(1), key],
    problem: {
      ...problem(
        `nothing reads ${where}.${cut(key, 40)}`,
        other !== undefined && known.includes(other)
          ? `Write ${where}.${other} in its place`
          : `${where} may have ${known.join(", ")}`
      ),
      found: cut(JSON.stringify({ [key]: config[key] }))
    }
  }
}

export const checkKeys = ({ config, executorId = "", toolType }: Tool): ValueProblem | undefined => {
  const known = readBy.get(executorId)
  if (known === undefined) return undefined
  const wrong = unknownKey(config, known, "config") ??
    (known === subprocess && isJsonObject(config["limits"])
      ? unknownKey(config["limits"], Object.keys(SubprocessLimits.fields), "config.limits")
      : undefined)
  if (wrong !== undefined) return wrong
  return /(?:^|\/)subprocess$/.test(executorId) && toolType !== "runtime" && config["command"] === undefined
    ? { path: [], problem: problem("the tool names no program", "Write config.command: the program that runs") }
    : undefined
}
