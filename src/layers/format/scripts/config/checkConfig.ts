// Everything that is wrong with a tool's config before any call, with the line in the item's text.
import { positionAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { checkEndpoint } from "./checkEndpoint.ts"
import { checkKeys } from "./checkKeys.ts"
import { checkValues, checkVariables, type Primitive, type ValueProblem } from "./checkValues.ts"

/** By executor: system items, which no other item can hide. */
const primitiveOf: Readonly<Record<string, readonly [primitive: Primitive, isRuntime: boolean]>> = {
  subprocess: ["subprocess", false],
  http_client: ["http_client", false],
  python_runtime: ["subprocess", true],
  node_runtime: ["subprocess", true],
  bash_runtime: ["subprocess", true]
}

const escapeText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** Where a key is in the text, in any of the formats, searched below its parent keys. */
const findKey = (text: string, path: ReadonlyArray<string>): number | undefined => {
  let at = Math.max(
    0,
    text.search(/^(?:#\s+)?(?:export\s+const\s+|const\s+)?(?:CONFIG|config|ENV_CONFIG|env_config)\b/m)
  )
  let found: number | undefined
  for (const key of path) {
    if (/^\d+$/.test(key)) continue
    const match = new RegExp(`(?:^|[\\s{,#])["']?${escapeText(key)}["']?\\s*:`, "g")
    match.lastIndex = at
    const next = match.exec(text)
    if (next === null) break
    found = next.index + next[0].search(/[^\s{,#]/)
    at = next.index + next[0].length
  }
  return found
}

const located = (text: string, { path, problem }: ValueProblem): Problem => {
  const at = findKey(text, path)
  return at === undefined ? problem : { ...problem, ...positionAt(text, at) }
}

/** `text`: the item's own, which contains the config. */
export const checkConfig = (tool: Tool, text: string): Problem | undefined => {
  const known = primitiveOf[(tool.executorId ?? "").replace(/^(?:primitives|runtimes)\//, "")]
  const wrong = checkKeys(tool) ?? checkEndpoint(tool) ?? checkVariables(tool) ??
    (known === undefined ? undefined : checkValues(tool, ...known))
  return wrong === undefined ? undefined : located(text, wrong)
}
