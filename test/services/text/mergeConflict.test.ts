import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { fileSnapshot } from "../../../src/layers/item/makeSnapshot.ts"
import { parseProposedSigners } from "../../../src/layers/trust/signers.ts"
import type { ItemLocation } from "../../../src/services/item/Item.ts"
import type { ItemId } from "../../../src/services/item/ItemId.ts"
import { mergeConflict } from "../../../src/services/text/mergeConflict.ts"

const conflict = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"
const bytes = (text: string) => new TextEncoder().encode(text)

const read = (path: string, text: string, type: ItemLocation["type"] = "tool") => {
  const id = "x" as ItemId
  const location: ItemLocation = {
    type,
    tier: "project",
    id,
    category: "",
    path,
    root: "/p/.ai",
    file: "",
    kind: "file"
  }
  const found = fileSnapshot(location, { bytes: bytes(text), executable: false, detached: undefined })
  return Result.isSuccess(found) ? "read" : `${found.failure._tag} ${found.failure.line}: ${found.failure.issue}`
}

describe("a merge that nobody has finished", () => {
  it("is found where it begins, and nothing else is one", () => {
    assert.strictEqual(mergeConflict(conflict), 1)
    assert.strictEqual(mergeConflict(`a\nb\n${conflict}`), 3)
    assert.strictEqual(mergeConflict(`a\r\n${conflict.replaceAll("\n", "\r\n")}`), 2)
    assert.strictEqual(mergeConflict(`\ufeff${conflict}`), 1)
    assert.strictEqual(mergeConflict("<<<<<<< HEAD\na\n||||||| base\nc\n=======\nb\n>>>>>>> other"), 1)
    for (
      const text of [
        "",
        "Title\n=======\ntext\n",
        "a <<<<<<< HEAD\n=======\n>>>>>>> b\n",
        "<<<<<<< HEAD\n",
        "=======\n<<<<<<< HEAD\n>>>>>>> b\n",
        ">>>>>>> b\n=======\n<<<<<<< HEAD\n",
        "  <<<<<<< HEAD\n  =======\n  >>>>>>> b\n"
      ]
    ) assert.isUndefined(mergeConflict(text), JSON.stringify(text))
    const fenced = `# How to merge\n\n\`\`\`text\n${conflict}\`\`\`\n`
    assert.isUndefined(mergeConflict(fenced, true))
    assert.strictEqual(mergeConflict(`${fenced}${conflict}`, true), 10)
  })

  it("is the first thing that is said of an item", () => {
    for (const path of ["x.py", "x.sh", "x.mjs", "x.ts", "x.yaml"]) {
      assert.strictEqual(read(path, `first\n${conflict}`), "ItemInvalid 2: has a merge conflict in line 2", path)
    }
    assert.strictEqual(read("x.md", `# a\n${conflict}`, "directive"), "ItemInvalid 2: has a merge conflict in line 2")
  })

  it.effect("proposes nobody, and says so", () =>
    Effect.gen(function*() {
      const { problems, signers } = yield* parseProposedSigners(bytes(`signers:\n${conflict}`))
      assert.deepStrictEqual([signers, problems], [[], [{ line: 2, issue: "it has a merge conflict in line 2" }]])
    }))

  it("leaves no second signature line among the first comments", () => {
    const line = `kiwi-mcp:signed:2:20261121T210900Z:p:${"a".repeat(64)}:${"b".repeat(16)}:${"A".repeat(86)}`
    for (
      const [path, text] of [
        ["x.py", `# ${line}\n# a comment\n# ${line}\n`],
        ["x.py", `#!/usr/bin/env python3\n# ${line}\n\n# ${line}\nprint()\n`],
        ["x.sh", `# kiwi:\n#   version: "1.0.0"\n# ${line}\n`],
        ["x.mjs", `// ${line}\n/** Text.\n * ${line}\n */\n`],
        ["x.ts", `// ${line}\n// Text.\n// ${line}\n`],
        ["x.yaml", `# ${line}\n#\n  # ${line}\na: 1\n`]
      ] as const
    ) assert.match(read(path, text), /^ItemInvalid \d: a signature line is among the comments/, text)
    for (
      const [path, text] of [
        ["x.py", `# ${line}\n# text\nprint("${line}")\n`],
        ["x.py", `# ${line}\nprint(1)\n# ${line}\n`],
        ["x.py", `# ${line}\n# Reads lines with kiwi-mcp:signed: in them\n`]
      ] as const
    ) assert.strictEqual(read(path, text), "read")
  })
})
