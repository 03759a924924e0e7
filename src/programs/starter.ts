// The files that `kiwi init` writes into a new project: three tools in three languages, a directive and a knowledge
// entry, each short enough to read and a model for a person's own.

export interface StarterFile {
  /** Relative to the project. */
  readonly path: string
  readonly text: string
  readonly executable?: boolean
}

const ignore = `# What Kiwi writes here. Everything else in .ai is yours to commit.
/cache/
/lockfiles/.index.json
/logs/
/outputs/
/threads/
.env*
.kiwi-*.tmp
`

const add = `"""Add two numbers.

The constants below are all that Kiwi reads; it never runs this file to learn about it. Parameters are checked against
INPUT_SCHEMA, then arrive as --a=1 --b=2.
"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "math"
INPUT_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}
CONFIG = {"output": "json"}

if __name__ == "__main__":
    import argparse
    import json

    parser = argparse.ArgumentParser()
    parser.add_argument("--a", type=float)
    parser.add_argument("--b", type=float)
    given = parser.parse_args()
    print(json.dumps({"sum": given.a + given.b}))
`

const findText = `#!/usr/bin/env bash
# Find the lines of the project's files that contain a text.
# kiwi:
#   version: "1.0.0"
#   tool_type: bash
#   executor_id: bash_runtime
#   category: files
#   requires:
#     commands: [grep]
#   input_schema:
#     type: object
#     properties:
#       text: {type: string, minLength: 1, description: What to find. It is not a pattern.}
#       limit: {type: integer, minimum: 1, maximum: 200, default: 20}
#     required: [text]
set -euo pipefail

# Parameters arrive as KIWI_PARAM_<NAME>: in quotes they stay data. The project's folder is in KIWI_PROJECT.
cd "$KIWI_PROJECT"
grep -rnIF --exclude-dir=.git --exclude-dir=.ai --exclude-dir=node_modules -- "$KIWI_PARAM_TEXT" . |
  head -n "$KIWI_PARAM_LIMIT" || true
`

const slug = `// Turn a title into a name for a file or an address.
import { parseArgs } from "node:util"

export const __version__ = "1.0.0"
export const __tool_type__ = "node"
export const __executor_id__ = "node_runtime"
export const __category__ = "text"
export const INPUT_SCHEMA = {
  type: "object",
  properties: { title: { type: "string", description: "Any text" } },
  required: ["title"]
}
export const CONFIG = { output: "json" }

const { values } = parseArgs({ options: { title: { type: "string" } } })
const slug = values.title
  .normalize("NFKD")
  .replace(/\\p{Mark}/gu, "")
  .toLowerCase()
  .replace(/[^a-z0-9]+/g, "-")
  .replace(/^-|-$/g, "")
console.log(JSON.stringify({ slug }))
`

const writeTool = `# Write a tool

Steps for an agent: how a new tool comes into this project. Ask your agent to follow the directive \`write_tool\`.

\`\`\`xml
<directive name="write_tool" version="1.0.0">
  <metadata>
    <description>Write a new tool for this project, try it, and ask for its signature</description>
    <category>authoring</category>
    <model tier="general"/>
    <permissions>
      <read resource="filesystem" path="**"/>
      <write resource="filesystem" path=".ai/tools/**"/>
    </permissions>
  </metadata>
  <inputs>
    <input name="name" type="string" required="true">Id of the tool: lower case words, such as count_words</input>
    <input name="purpose" type="string" required="true">What the tool is for, in a sentence</input>
  </inputs>
  <process>
    <step name="look">
      <action>Search for "{{purpose}}". If a tool does this already, say so and stop.</action>
    </step>
    <step name="learn">
      <action>Load the knowledge entry how-tools-run and the tool add, and keep to their form.</action>
    </step>
    <step name="write">
      <action>Write .ai/tools/custom/{{name}}.py: {{purpose}}. One purpose, a schema for every parameter, JSON on stdout.</action>
    </step>
    <step name="sign">
      <action>Ask for a signature of the tool {{name}}. A person reads it and agrees; do not go around that.</action>
    </step>
    <step name="try">
      <action>Run {{name}} once with small parameters, and show the person what came of it.</action>
    </step>
  </process>
</directive>
\`\`\`
`

const howToolsRun = `---
id: how-tools-run
title: How tools run in this project
version: "1.0.0"
entry_type: reference
category: authoring
tags: [tools, signing]
---
A tool is a file in \`.ai/tools/<category>/\`; its file's name is its id. It runs only when a person has signed exactly
these bytes. Changing, moving or renaming it undoes the signature.

- Parameters are checked against the tool's own schema before anything starts. Nothing is converted.
- Python and Node tools get \`--name=value\`, bash tools \`KIWI_PARAM_NAME\`. The project's folder is in \`KIWI_PROJECT\`.
- A tool sees only the variables that it declares.
- With \`output: json\`, exactly one JSON value on stdout; everything else goes to stderr.
- Every call is recorded in \`.ai/logs/audit\`: \`kiwi logs\`.

When something does not run, \`kiwi explain <id>\` names the first thing in the way and the command that removes it.
The tools \`add\`, \`find_text\` and \`slug\` are examples in Python, bash and Node. Delete them when they have served.
`

export const starterFiles: ReadonlyArray<StarterFile> = [
  { path: ".ai/.gitattributes", text: "# What is signed is bytes: git converts no line ends here.\n* -text\n" },
  { path: ".ai/.gitignore", text: ignore },
  { path: ".ai/tools/math/add.py", text: add },
  { path: ".ai/tools/files/find_text.sh", text: findText, executable: true },
  { path: ".ai/tools/text/slug.mjs", text: slug },
  { path: ".ai/directives/authoring/write_tool.md", text: writeTool },
  { path: ".ai/knowledge/authoring/how-tools-run.md", text: howToolsRun }
]
