// What a tool declares: its parameters, and how they are handed over to a runtime of Kiwi's.
import type { Tool } from "../../../../services/item/Item.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"

export type Input = "args" | "env" | "stdin" | "none"

/** How a runtime of Kiwi's hands parameters over, where the tool itself does not say. */
const usualInput: Readonly<Record<string, Input>> = {
  python_runtime: "args",
  node_runtime: "args",
  bash_runtime: "env"
}

/** `undefined`: what runs the tool is not Kiwi's own, and passes what it likes. */
export const runtimeInput = ({ config, executorId = "" }: Tool): Input | undefined => {
  const runtime = executorId.replace(/^runtimes\//, "")
  const usual = Object.hasOwn(usualInput, runtime) ? usualInput[runtime] : undefined
  return usual === undefined ? undefined : typeof config["input"] === "string" ? config["input"] as Input : usual
}

/** The same, and for a tool that names its program itself. */
export const inputOf = (tool: Tool): Input | undefined =>
  /^(?:primitives\/)?subprocess$/.test(tool.executorId ?? "") && tool.toolType !== "runtime"
    ? (tool.config["input"] ?? "args") as Input
    : runtimeInput(tool)

export const propertiesOf = ({ parameters }: Tool): ReadonlyArray<string> =>
  isJsonObject(parameters["properties"]) ? Object.keys(parameters["properties"]) : []

export const isFolder = ({ location }: Tool): boolean => location.kind === "folder"
