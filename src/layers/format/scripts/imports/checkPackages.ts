// Checks packages that a Node tool imports: the copy that runs finds only the packages that the tool declares, wherever
// the original is. Not checked if a project's own runtime runs the tool, since that may differ.
import type { Tree } from "@lezer/common"
import type { Schema } from "effect"
import { isBuiltin } from "node:module"
import { splitNodeRequirement } from "../../../../services/dependency/requirements.ts"
import { cut, problemAt } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import type { Found } from "../arguments/checkArguments.ts"
import { declares } from "./moduleKind.ts"
import { everyImport } from "./readImports.ts"

const alias = /^(?:@\/|~|\$)/
const scheme = /^(?!node:|file:|data:)([a-z][a-z+.-]*):/i

const packageName = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier

const keysOf = (value: Schema.Json | undefined): ReadonlyArray<string> => isJsonObject(value) ? Object.keys(value) : []

/** `manifest`: the package.json that applies to the file. `has`: whether the tool has a folder with this name. */
export const checkPackages = (
  tool: Tool,
  tree: Tree,
  text: string,
  extension: string,
  manifest: Schema.JsonObject,
  has: (folder: string) => boolean
): Found => {
  const declared = new Set([
    ...tool.dependencies.map((one) => splitNodeRequirement(one).name),
    ...keysOf(manifest["dependencies"]),
    ...keysOf(manifest["optionalDependencies"])
  ])
  const missing = new Set<string>()
  const doubts = new Set<string>()
  let first: number | undefined
  for (const { at, optional, specifier } of everyImport(tree, text)) {
    if (specifier === "" || /^[./]/.test(specifier) || isBuiltin(specifier) || /^(?:node|file|data):/.test(specifier)) {
      continue
    }
    const name = packageName(specifier)
    const isOwn = name === manifest["name"] || has(`node_modules/${name}/`)
    if (declared.has(name) || isOwn || (specifier.startsWith("#") && keysOf(manifest["imports"]).length > 0)) continue
    const issue = specifier.startsWith("#")
      ? "a name for the imports of a package.json, which is not there"
      : alias.test(specifier)
      ? "an alias of tsconfig.json or of a bundler, which Node does not know"
      : scheme.test(specifier)
      ? `an address by ${scheme.exec(specifier)![1]}:, from which Node imports nothing`
      : undefined
    if (optional) doubts.add(name)
    else if (issue !== undefined) {
      return {
        problem: problemAt(
          text,
          at,
          `the file imports ${cut(specifier, 60)}: ${issue}`,
          scheme.test(specifier)
            ? "Declare the package of npm in its place, and import it by its name"
            : "Write the path of the file itself (./lib/x.ts), and make the tool a folder that has it"
        ),
        unsure: []
      }
    } else if (declared.size > 0) doubts.add(name)
    else {
      first ??= at
      missing.add(name)
    }
  }
  if (first !== undefined) {
    const names = [...missing].slice(0, 20)
    const [one] = names
    return {
      problem: problemAt(
        text,
        first,
        `the file imports the package ${
          cut(one!, 60)
        }, and the tool declares none: the copy that runs does not see the node_modules of a project`,
        tool.location.kind === "folder"
          ? `Write into tool.yaml dependencies: [${
            names.map((name) => JSON.stringify(name)).join(", ")
          }], with their ranges: "${one}@^1.0"`
          : `Write at the left margin ${declares(extension, text)} DEPENDENCIES = [${
            names.map((name) => `"${name}"`).join(", ")
          }], with their ranges: "${one}@^1.0"`
      ),
      unsure: []
    }
  }
  return {
    problem: undefined,
    unsure: doubts.size === 0
      ? []
      : [`imports ${cut([...doubts].join(", "), 80)}, which it does not declare: Node may not find it`]
  }
}
