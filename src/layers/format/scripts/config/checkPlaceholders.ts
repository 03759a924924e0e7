// Finds placeholders that no call can fill, with which a tool would be signed but never run, and those that only some
// calls can fill.
import { Result } from "effect"
import { cut, positionAt, problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { addressKind } from "../../../../services/outbound/Address.ts"
import { optionalParameters } from "../../../../services/primitive/argumentPlaces.ts"
import { textsIn } from "../../../../services/schema/json.ts"
import { nearest } from "../../../../services/schema/schemaIssues.ts"
import { compile } from "../../../../services/template/Template.ts"
import { parseTemplate } from "../../../../services/template/templateText.ts"
import { type Found, isClosed, nothing } from "../arguments/checkArguments.ts"
import { propertiesOf } from "../arguments/declared.ts"

const refuse = (text: string, placeholder: string, hint: string): Found => {
  const at = text.indexOf(placeholder)
  const issue = `no call can fill ${placeholder} in the tool's config`
  return { ...nothing, problem: { ...problem(issue, hint), ...(at === -1 ? {} : positionAt(text, at)) } }
}

const hintFor = (name: string, known: ReadonlyArray<string>): string => {
  const near = nearest(name, known)
  return near === undefined
    ? `Declare the parameter ${cut(name, 40)}; if the braces are text, write {{${cut(name, 40)}}}`
    : `Write {${cut(near, 40)}}, or declare the parameter ${cut(name, 40)}`
}

/** Optional parameters that are part of a text: without them the text cannot be rendered. */
const partsOf = (tool: Tool): ReadonlyArray<string> => {
  const optional = optionalParameters(tool)
  return Object.entries(tool.config).flatMap(([key, value]) => {
    const names = textsIn(value).flatMap((text) => {
      const parts = parseTemplate(text)
      return parts.length < 2 ?
        [] :
        parts.flatMap((part) =>
          typeof part === "object" && part._tag === "Parameter" && optional.has(part.name) ? [part.name] : []
        )
    })
    return names.length === 0
      ? []
      : [
        `needs ${cut([...new Set(names)].join(", "), 80)} in its ${
          cut(key, 40)
        }, though not required: a call without fails`
      ]
  })
}

/** Literal addresses that are not public and not in the tool's `private_hosts`. */
const privateHost = ({ config, executorId }: Tool): ReadonlyArray<string> => {
  const { private_hosts: listed, url } = config
  if (!/^(?:primitives\/)?http_client$/.test(executorId ?? "") || typeof url !== "string") return []
  const [, origin = ""] = /^(https?:\/\/(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?)(?:[/?#]|$)/.exec(url) ?? []
  const read = Result.getOrUndefined(Result.try(() => new URL(origin)))
  if (read === undefined) return []
  const { hostname } = read
  const kind = addressKind(hostname.replace(/^\[|\]$/g, ""))
  const isPrivate = kind === "invalid" ? /^(?:.+\.)?localhost$/.test(hostname) : kind !== "public"
  const place = `${hostname}:${read.port || (read.protocol === "https:" ? "443" : "80")}`
  const isListed = Array.isArray(listed) && listed.some((one) => typeof one === "string" && one.toLowerCase() === place)
  return isPrivate && !isListed
    ? [`asks ${place}, which is not a public address: it is refused without private_hosts: ["${place}"]`]
    : []
}

/** `text`: the item's own. A runtime's placeholders are filled with the parameters of the tools that it runs. */
export const checkPlaceholders = (tool: Tool, text: string): Found => {
  if (/^(?:runtime|primitive)$/.test(tool.toolType) || tool.childSchemas !== undefined) return nothing
  const { parameters, variables } = compile(tool.config, [])
  const known = propertiesOf(tool)
  const unknown = isClosed(tool) ? [...parameters].find((name) => !known.includes(name)) : undefined
  if (unknown !== undefined) return refuse(text, `{${unknown}}`, hintFor(unknown, known))
  if (variables.get("TOOL_FILE") === true && tool.entrypoint === undefined) {
    return refuse(text, "${TOOL_FILE}", "Put the file into a folder with a tool.yaml, and name it there as entrypoint")
  }
  return { ...nothing, unsure: [...partsOf(tool), ...privateHost(tool)] }
}
