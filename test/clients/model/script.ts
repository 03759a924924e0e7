// What the scripted model says. It decides by the conversation alone: how many of its calls were answered already.

/** Something that the model does in one turn. `tool` names a tool of Kiwi, `shell` a command for the agent's own shell. */
export type Step =
  | { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly shell: string; readonly pty?: boolean }

/** A request to the model, whatever its wire format. */
export interface Conversation {
  /** Names of the tools that were offered, with the namespace they are in where the format has one. */
  readonly offered: ReadonlyArray<Offered>
  /** What the agent's tools answered, as text, in order. */
  readonly results: ReadonlyArray<string>
}

export interface Offered {
  readonly name: string
  readonly namespace?: string
  readonly parameters: Readonly<Record<string, unknown>>
}

export type Reply =
  | { readonly say: string }
  | { readonly call: Offered; readonly input: Readonly<Record<string, unknown>> }

export const isOfKiwi = ({ name, namespace = "" }: Offered): boolean => /kiwi/.test(namespace + name)

const shells = new Set(["Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell"])

const shellInput = (offered: Offered, command: string, pty: boolean) => {
  const properties = Object(offered.parameters["properties"])
  const inputs: Record<string, unknown> = {}
  if (Object.hasOwn(properties, "cmd")) inputs["cmd"] = command
  else inputs["command"] = properties.command?.type === "array" ? ["bash", "-lc", command] : command
  if (Object.hasOwn(properties, "description")) inputs["description"] = "a step of a test"
  if (Object.hasOwn(properties, "is_background")) inputs["is_background"] = false
  if (Object.hasOwn(properties, "yield_time_ms")) inputs["yield_time_ms"] = 30_000
  if (pty && Object.hasOwn(properties, "tty")) inputs["tty"] = true
  return inputs
}

/** The model's next turn. A request that offers no tool, for a title say, and one after the last step get words. */
export const reply = (steps: ReadonlyArray<Step>, { offered, results }: Conversation): Reply => {
  const step = steps[results.length]
  if (step === undefined || offered.length === 0) return { say: "That is all." }
  if ("shell" in step) {
    const shell = offered.find(({ name }) => shells.has(name))
    if (shell === undefined) return { say: `There is no shell among ${offered.map(({ name }) => name).join(", ")}.` }
    return { call: shell, input: shellInput(shell, step.shell, step.pty ?? false) }
  }
  const found = offered.find((tool) =>
    isOfKiwi(tool) && (tool.name === step.tool || tool.name.endsWith(`_${step.tool}`))
  )
  if (found === undefined) {
    return { say: `There is no ${step.tool} among ${offered.map(({ name }) => name).join(", ")}.` }
  }
  return { call: found, input: step.input }
}
