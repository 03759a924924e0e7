// Chains that are not one: a link is missing, broken, of the wrong kind, or one too many.
import type { Schema } from "effect"
import { tool } from "../../layers/proxy/calls.ts"
import { failingCall } from "../Example.ts"
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
  ChainLinkBroken: {
    when: "The runtime under a tool is no YAML",
    produce: failingCall(
      { ".ai/tools/report.yaml": tool({ executor_id: "shell" }), ".ai/tools/shell.yaml": "version: [" },
      "trusted",
      "report"
    )
  }
}
