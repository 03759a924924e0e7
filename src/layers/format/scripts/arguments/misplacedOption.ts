// Options of a script with subcommands that are passed where the subcommand's parser does not accept them.
import { cut, problemAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import { compile } from "../../../../services/template/Template.ts"
import type { FindMisplaced } from "../argparse/subcommands.ts"
import { configAs } from "./checkPassed.ts"
import { propertiesOf } from "./declared.ts"

/** An option that is passed after a subcommand whose parser does not accept it. */
export const misplacedOption = (
  tool: Tool,
  misplaced: FindMisplaced | undefined,
  text: string
): Problem | undefined => {
  const { args, options } = tool.config
  if (misplaced === undefined || !Array.isArray(args)) return undefined
  const { properties, required } = tool.parameters
  const placed = compile(tool.config, []).parameters
  for (const name of propertiesOf(tool)) {
    const form = isJsonObject(options) && isJsonObject(options[name]) ? options[name] : {}
    if (placed.has(name) || form["as"] === "positional") continue
    const option = typeof form["option"] === "string" ? form["option"] : `--${name}`
    const found = misplaced(args.map(String), option)
    if (found === undefined) continue
    const { from, owner, subcommand } = found
    const property = isJsonObject(properties) && isJsonObject(properties[name]) ? properties[name] : {}
    const takesText = form["as"] === undefined && /^(?:string|integer|number)$/.test(String(property["type"]))
    const first = takesText ? `${option}${option.startsWith("--") ? "=" : ""}{${name}}` : option
    const before = configAs(tool, { entry: text, extension: ".py" }, { args: [first, ...args] })
    const isGiven = (Array.isArray(required) && required.includes(name)) || property["default"] !== undefined
    const orAdd = `add it to the parser of ${cut(subcommand, 40)} too`
    return problemAt(
      text,
      from,
      `the parameter ${cut(name, 40)} is passed as ${cut(option, 40)} behind the subcommand ${
        cut(subcommand, 40)
      }, and only ${owner === "" ? "the script's own parser" : `the subcommand ${cut(owner, 40)}`} takes it`,
      tool.undeclared === true
        ? `Write an INPUT_SCHEMA with what ${cut(subcommand, 40)} takes alone, or ${orAdd}`
        : owner !== ""
        ? `Leave the parameter out, or ${orAdd}`
        : takesText
        ? `Write ${before}${isGiven ? "" : `, with ${cut(name, 40)} required or with a default`}, or ${orAdd}`
        : `Leave the parameter out (${before} passes it always), or ${orAdd}`
    )
  }
  return undefined
}
