// What a tool declares: its parameters, and how one of Kiwi's runtimes passes them.
import type { Tool } from "../../../../services/item/Item.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"

export type Input = "args" | "env" | "stdin" | "none"

/** How one of Kiwi's runtimes passes parameters if the tool itself does not say. */
const usualInput: Readonly<Record<string, Input>> = {
  python_runtime: "args",
  node_runtime: "args",
  bash_runtime: "env"
}

/** Undefined: the tool's runtime is not Kiwi's, and may pass parameters differently. */
export const runtimeInput = ({ config, executorId = "" }: Tool): Input | undefined => {
  const runtime = executorId.replace(/^runtimes\//, "")
  const usual = Object.hasOwn(usualInput, runtime) ? usualInput[runtime] : undefined
  return usual === undefined ? undefined : typeof config["input"] === "string" ? config["input"] as Input : usual
}

/** The same, also for a tool that names its program itself. */
export const inputOf = (tool: Tool): Input | undefined =>
  /^(?:primitives\/)?subprocess$/.test(tool.executorId ?? "") && tool.toolType !== "runtime"
    ? (tool.config["input"] ?? "args") as Input
    : runtimeInput(tool)

export const propertiesOf = ({ parameters }: Tool): ReadonlyArray<string> =>
  isJsonObject(parameters["properties"]) ? Object.keys(parameters["properties"]) : []

export const isFolder = ({ location }: Tool): boolean => location.kind === "folder"
