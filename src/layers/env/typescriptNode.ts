// Node runs TypeScript itself since 22.18, and in the 23 line since 23.6. An older one fails with only a stack trace,
// so the version is checked first.
import type { Chain } from "../../services/chain/Chain.ts"

/** A Node by its absolute path, with its version as in `process.versions.node`. */
export interface NodeProgram {
  readonly path: string
  readonly version: string
}

const isNode = (program: string): boolean => /(?:^|[/\\])node(?:js)?(?:\.exe)?$/i.test(program)

/** Options that may load a translator, or that enable Node's own, which exists since 22.6. */
const translates = /^(?:-r|--(?:require|import|(?:experimental-)?loader|experimental-(?:strip|transform)-types))(?:=|$)/

const runsAsItIs = ({ config, envConfig, leaf }: Chain): boolean => {
  if (!/\.[cm]?ts$/.test(leaf.tool.entrypoint ?? "")) return false
  const given = config["runtime_args"]
  const options = Array.isArray(given) ? given.slice(0, given.indexOf("${TOOL_FILE}")) : []
  return Array.isArray(given) && given.includes("${TOOL_FILE}") &&
    options.every((option) => typeof option === "string" && option.startsWith("-") && !translates.test(option)) &&
    !JSON.stringify(envConfig ?? {}).includes(`"NODE_OPTIONS"`)
}

/** The version required instead of `version`. Undefined if `version` suffices or is unknown. */
const neededInstead = (version: string | undefined): string | undefined => {
  const [, major, minor] = (/^v?(\d+)(?:\.(\d+))?/.exec(version ?? "") ?? []).map(Number)
  if (major === undefined || minor === undefined) return undefined
  if (major < 22 || (major === 22 && minor < 18)) return "22.18"
  return major === 23 && minor < 6 ? "23.6" : undefined
}

/** The oldest Node that suffices, if `found` is one that cannot run the chain's TypeScript. */
export const neededNode = (
  chain: Chain,
  found: { readonly path: string; readonly version: string | undefined }
): string | undefined => isNode(found.path) && runsAsItIs(chain) ? neededInstead(found.version) : undefined

/** Whether `own` is a Node that runs TypeScript. A program that embeds Kiwi may run on something else. */
export const runsTypescript = (own: NodeProgram): boolean =>
  isNode(own.path) && neededInstead(own.version) === undefined
