// Checks an HTTP tool's URL, which needs a host, and its kind of authentication.
import type { Schema } from "effect"
import { cut, problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import type { ValueProblem } from "./checkValues.ts"

const authTypes: ReadonlySet<Schema.Json> = new Set(["bearer", "api_key", "basic"])

/** A literal scheme and host. A URL from the environment (`${API_BASE}/v1`) is checked when it is used. */
const endpoint = /^https?:\/\/(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:[/?#]|$)/
const fromEnvironment = /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/

export const checkEndpoint = (tool: Tool): ValueProblem | undefined => {
  if (tool.toolType !== "http" && tool.toolType !== "api" && tool.executorId !== "http_client") return undefined
  const { url } = tool.config
  if (typeof url !== "string" || !(endpoint.test(url) || fromEnvironment.test(url))) {
    return {
      path: ["url"],
      problem: {
        ...problem(
          "the tool has no http(s) address with a host",
          "Write config.url: https://api.example.com/v1/things"
        ),
        found: url === undefined ? "" : cut(JSON.stringify(url))
      }
    }
  }
  const auth = tool.config.auth
  if (auth === undefined || (isJsonObject(auth) && auth.type !== undefined && authTypes.has(auth.type))) {
    return undefined
  }
  return {
    path: ["auth"],
    problem: {
      ...problem("the tool's auth has an unknown type", "Write config.auth.type: bearer, api_key or basic"),
      found: cut(JSON.stringify(auth))
    }
  }
}
