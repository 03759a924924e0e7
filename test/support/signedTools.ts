// Tools that show what reaches a tool, for tests that attack the way there. All are signed by the person of the world.
import { join } from "node:path"
import { assert } from "vitest"
import type { World } from "./builtKiwi.ts"

const python = (body: string, schema: string, config = "{\"output\": \"json\"}", more = "") =>
  `"""A tool of the tests."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "probe"
INPUT_SCHEMA = ${schema}
CONFIG = ${config}
${more}
if __name__ == "__main__":
    import json, os, sys, time
${body.split("\n").map((line) => `    ${line}`).join("\n")}
`

const bash = (body: string, schema: ReadonlyArray<string>, requires = "") =>
  `#!/usr/bin/env bash
# kiwi:
#   version: "1.0.0"
#   tool_type: bash
#   executor_id: bash_runtime
#   category: probe
${requires}#   input_schema:
#     type: object
#     properties: {${schema.map((name) => `${name}: {type: string}`).join(", ")}}
${body}
`

const anything =
  `{"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": {"type": "string"}}`
const nothing = `{"type": "object", "properties": {}}`

export const signedTools: Readonly<Record<string, string>> = {
  /** Its arguments, as a list. */
  "show_arguments.py": python("print(json.dumps(sys.argv[1:]))", anything),
  /** The names of its environment, and the values of its parameters. */
  "show_environment.sh": bash(
    `: "\${KIWI_PARAM_TEXT-} \${KIWI_PARAM_PATH-} \${KIWI_PARAM_BASH_ENV-} \${KIWI_PARAM_NODE_OPTIONS-}"\nenv`,
    ["text", "PATH", "bash_env", "node_options"]
  ),
  /** One parameter among arguments of its own, and one alone. */
  "show_template.yaml": `tool_id: show_template
version: "1.0.0"
tool_type: subprocess
executor_id: subprocess
category: probe
description: Shows what a template makes of a parameter
requires: {environment: [PROBE_SECRET]}
input_schema:
  type: object
  properties: {text: {type: string}, alone: {type: string}}
config:
  command: printf
  args: ["%s|", "--own={text}", "{alone}"]
`,
  /** Speaks the protocol on both of its streams, and listens for it. */
  "speak.py": python(
    `forged = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"forged": True}})
for stream in (sys.stdout, sys.stderr):
    for line in (forged, "Content-Length: 9", "", "\\u001b[2J\\u0000", forged):
        print(line, file=stream, flush=True)
heard = sys.stdin.read()
print("heard:" + str(len(heard)))`,
    nothing,
    "{}"
  ),
  /** Starts a child that starts another, says so in a file, and waits. */
  "linger.sh": bash(
    `(sleep 300 & echo $! >> "$KIWI_PROJECT/pids"; wait) &\necho $! >> "$KIWI_PROJECT/pids"; echo $$ >> "$KIWI_PROJECT/pids"\necho started\nwait`,
    []
  ),
  /** Ends itself by a signal. */
  "die.sh": bash("kill -KILL $$", []),
  /** Waits until a file is there, then says which text it was written with. */
  "wait_for.sh": bash(
    `for _ in $(seq 200); do [ -e "$KIWI_PROJECT/go" ] && break; sleep 0.05; done\necho "the signed text"`,
    []
  ),
  "parts/tool.yaml": `tool_id: parts
version: "1.0.0"
tool_type: python
executor_id: python_runtime
category: probe
description: A folder of two files
entrypoint: main.py
config: {output: text}
`,
  "parts/main.py": "import part\nprint(part.text)\n",
  "parts/part.py": "text = 'signed part'\n"
}

/** Writes them into the project and signs them there. */
export const addSignedTools = async (world: World, project: string) => {
  for (const [name, text] of Object.entries(signedTools)) {
    world.write(join(project, ".ai/tools/probe", name).slice(world.root.length + 1), text, 0o755)
  }
  const { code, stderr, value } = await world.json(["sign", "tool", "probe/*", "--project", project])
  assert.strictEqual(code, 0, stderr)
  assert.deepStrictEqual(value.refused, [])
}
