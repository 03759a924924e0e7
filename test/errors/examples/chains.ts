// Chains that are not one: a link is missing, broken, of the wrong kind, or one too many.
import type { Schema } from "effect"
import { call, tool } from "../../layers/proxy/calls.ts"
import { failing, failingCall } from "../Example.ts"
import type { Examples } from "../Example.ts"

const runtime = (executor_id: string, fields: Schema.JsonObject = {}) =>
  tool({ tool_type: "runtime", executor_id, ...fields })

export const examples: Examples = {
  ChainCycle: {
    when: "`report` runs on `shell`, which names `report` as its executor",
    produce: failingCall(
      { ".ai/tools/report.yaml": tool({ executor_id: "shell" }), ".ai/tools/shell.yaml": runtime("report") },
      "trusted",
      "report"
    )
  },
  ChainTooDeep: {
    when: "Eleven links stand between a tool and its primitive",
    produce: failingCall(
      Object.fromEntries(
        Array.from({ length: 11 }, (_, n) => [`.ai/tools/link${n}.yaml`, runtime(`link${n + 1}`)])
      ),
      "trusted",
      "link0"
    )
  },
  ChainLinkMissing: {
    when: "A tool misspells its runtime",
    produce: failingCall({ ".ai/tools/report.yaml": tool({ executor_id: "pyton_runtime" }) }, "trusted", "report")
  },
  ChainMalformed: {
    when: "A project has a primitive of its own",
    produce: failingCall(
      {
        ".ai/tools/report.yaml": tool({ executor_id: "raw" }),
        ".ai/tools/raw.yaml": JSON.stringify({ version: "1.0.0", tool_type: "primitive" })
      },
      "trusted",
      "report"
    )
  },
  ChainVersionMismatch: {
    when: "A tool asks for another major version of its runtime than there is",
    produce: failingCall(
      { ".ai/tools/report.yaml": tool({ executor_id: "shell@^2" }), ".ai/tools/shell.yaml": runtime("subprocess") },
      "trusted",
      "report"
    )
  },
  ChildRefused: {
    when: "A runtime runs Python tools, and a script names it as its executor",
    produce: failingCall(
      {
        ".ai/tools/report.yaml": tool({ executor_id: "snake", config: { args: [] } }),
        ".ai/tools/snake.yaml": runtime("subprocess", {
          config: { command: "true" },
          validation: { child_schemas: [{ match: { tool_type: "python" } }] }
        })
      },
      "signed",
      "report"
    )
  },
  ChildSchemasMissing: {
    when: "A tool runs in `strict` on a runtime that does not say which tools it runs",
    produce: failing(
      {
        ".ai/tools/report.yaml": tool({ executor_id: "shell", config: { args: [] } }),
        ".ai/tools/shell.yaml": runtime("subprocess", { config: { command: "true" } })
      },
      "signed",
      () => call("report", {}, { lockfileMode: "strict" })
    )
  },
  ChainLinkBroken: {
    when: "The runtime under a tool is no YAML",
    produce: failingCall(
      { ".ai/tools/report.yaml": tool({ executor_id: "shell" }), ".ai/tools/shell.yaml": "version: [" },
      "trusted",
      "report"
    )
  }
}
