// A bash script that goes through its options by a loop: refused while it declares none, and run as the hint says.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller } from "../../proxy/calls.ts"
import { checkFiles, invalid, parseTool } from "../parsing.ts"

const sh = (block: string, body: string) =>
  `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n${block}${body}\n`

const arms =
  `case "$1" in --tag) tag="$2"; shift 2;; -n|--dry-run) dry=1; shift;; --from=*) from="\${1#*=}"; shift;; -h|--help) exit 0;; *) echo "unknown $1" >&2; exit 2;; esac`
const print = `printf '"%s %s %s"' "\${tag-none}" "\${dry-0}" "\${from-none}"`

const loops: ReadonlyArray<string> = [
  `while [[ $# -gt 0 ]]; do ${arms}; done`,
  `while [ $# -gt 0 ]; do\n  ${arms}\ndone`,
  `while [ "$#" -gt 0 ]; do ${arms}; done`,
  `while (( $# )); do ${arms}; done`,
  `while (( $# > 0 )); do ${arms}; done`,
  `while [[ $# -ge 1 ]]\ndo\n${arms}\ndone`,
  `while [[ -n "\${1:-}" ]]; do ${arms}; done`,
  `while [[ -n "\${1-}" ]]; do ${arms}; done`,
  `while [ "\${1:-}" ]; do ${arms}; done`,
  `until [[ $# -eq 0 ]]; do ${arms}; done`,
  `while :; do [[ $# -gt 0 ]] || break; ${arms}; done`,
  `parse() { while [[ $# -gt 0 ]]; do ${arms}; done; }\nparse "$@"`
]

const hint =
  "parameters: [{name: tag, type: string}, {name: dry-run, type: boolean}, {name: from, type: string}], and config: {input: args, options: {tag: {as: words}}}"

/** Comments around the block, and the description that they make. */
const described: ReadonlyArray<readonly [text: string, description: string]> = [
  [
    `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n# Makes a tar.gz of a directory\n`,
    "Makes a tar.gz of a directory"
  ],
  [
    `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n#\n# Makes it.\n# All of it.\n#\n# More.\n`,
    "Makes it. All of it."
  ],
  [
    `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n\n# Makes it.\nset -e\n# Not this.\n`,
    "Makes it."
  ],
  [`#!/bin/bash\n# Above.\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n# Below.\n`, "Above."],
  [
    `#!/bin/bash\n# shellcheck disable=SC2086\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n# Below.\n`,
    "Below."
  ],
  [
    `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n#   description: Said.\n# Below.\n`,
    "Said."
  ],
  [`#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\nset -e\n# Not this.\n`, ""]
]

describe("a bash script", () => {
  it.live("with a loop over its options is refused, and the hint declares them", () =>
    Effect.gen(function*() {
      for (const loop of loops) {
        const error = yield* invalid(checkFiles({ "tools/x.sh": sh("", loop) }))
        assert.include(error.issue, "and the tool declares no parameters", loop)
        assert.include(error.hint, hint, loop)
        assert.isAbove(error.line, 4, loop)
      }
      yield* checkFiles({ "tools/x.sh": sh("#   parameters: []\n", loops[0]!) })
    }), 60_000)

  it.effect("is described by the comments above its block, or else by those below", () =>
    Effect.gen(function*() {
      for (const [text, description] of described) {
        const { description: found } = yield* parseTool("x.sh", text)
        assert.strictEqual(found, description, text)
      }
    }))
})

const calls: ReadonlyArray<readonly [given: Schema.JsonObject, got: string]> = [
  [{ tag: "v1" }, `"v1 0 none"`],
  [{ "dry-run": true }, `"none 1 none"`],
  [{ tag: "a b", "dry-run": false, from: "x=1" }, `"a b 0 x=1"`],
  [{}, `"none 0 none"`]
]

describeWith(["bash"], "a loop over options", () => {
  it.live("gets them as the hint declares them", () =>
    Effect.gen(function*() {
      const block = hint.replace(", and config", "\n#   config").replace(/^/, "#   ") + "\n"
      const project = yield* realProject({ ".ai/tools/release.sh": sh(block, `${loops[0]}\n${print}`) })
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        for (const [parameters, got] of calls) {
          const { data } = yield* proxy.call({ callId: "call", caller, item: "release", parameters, dryRun: false })
          assert.strictEqual(data, got)
        }
      }).pipe(Effect.provide(kernelOf(project)))
    }), 60_000)
})
