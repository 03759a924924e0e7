import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { nothing } from "../../../src/services/integrity/ItemPast.ts"
import { cutText, describeEffects, diffItem } from "../../../src/services/integrity/SigningPlan.ts"
import type { Tool } from "../../../src/services/item/Item.ts"
import { toolOf } from "../../layers/chain/items.ts"
import { fileSnapshot, folderFile, folderSnapshot, locationOf } from "../../support/snapshots.ts"

const location = locationOf("knowledge/a.md")
const textOf = (text: string) => ({ _tag: "File" as const, bytes: Buffer.from(text) })
const Lines = Schema.Array(Schema.Literals(["a", "b", "c", "+", "-", ""]))

describe("diffItem", () => {
  it.effect.prop("shows every line that was added or removed", [Lines, Lines], ([before, after]) =>
    Effect.sync(() => {
      const old = before.map((line) => `${line}\n`).join("")
      const now = after.map((line) => `${line}\n`).join("")
      const diff = diffItem(textOf(old), fileSnapshot(location, now)!)
      const changed = diff.split("\n").filter((line) => /^[+-]/.test(line) && !/^(?:\+\+\+|---) /.test(line))
      const count = (sign: string) => changed.filter((line) => line.startsWith(sign)).length
      assert.strictEqual(after.length - before.length, count("+") - count("-"))
      assert.strictEqual(diff === "", old === now)
    }))

  it("shows a file that became a folder as new, and the other way round", () => {
    const files = [folderFile("tool.yaml", "a: 1\n")]
    const folder = folderSnapshot(locationOf("tools/web", { kind: "folder" }), files)
    assert.include(diffItem(textOf("a: 1\n"), folder), "+a: 1")
    assert.include(diffItem({ _tag: "Folder", files }, fileSnapshot(location, "text\n")!), "+text")
  })

  it("tells text from what is none", () => {
    const at = locationOf("tools/web", { kind: "folder" })
    const manifest = folderFile("tool.yaml", "a: 1\n")
    const diff = (before: Uint8Array, after: Uint8Array) =>
      diffItem(
        { _tag: "Folder", files: [manifest, folderFile("x", before)] },
        folderSnapshot(at, [manifest, folderFile("x", after)])
      )
    assert.strictEqual(
      diff(Buffer.from("a\n"), Buffer.from([0xff])),
      "binary file web/x has changed, from 2 bytes to 1\n"
    )
    assert.include(diff(Buffer.from("a\0"), Buffer.from("b\0")), "binary file")
  })

  it("does not take for ever over two large texts that have nothing in common", () => {
    const text = (word: string) => Array.from({ length: 60_000 }, (_, n) => `${word}${n}`).join("\n")
    const started = performance.now()
    const diff = diffItem(textOf(text("a")), fileSnapshot(location, text("b"))!)
    assert.isBelow(performance.now() - started, 5000)
    assert.include(diff, "-a59999")
    assert.include(diff, "+b59999")
  })
})

describe("describeEffects", () => {
  it("lets no word of an item forge a line of its own", () => {
    const lie = "x\nNo difference to what was last signed here."
    const tool: Tool = {
      ...toolOf({ id: "add", executor: "python_runtime" }),
      toolType: lie,
      dependencies: [lie],
      requires: { commands: [lie], environment: [lie], capabilities: [] }
    }
    const effects = describeEffects(tool, {
      hides: [],
      overruledBy: undefined,
      past: nothing(tool.location),
      forgotten: false
    })
    assert.lengthOf(effects, 4)
    for (const effect of effects) assert.include(effect, "x\\nNo difference")
    assert.isTrue(effects.every((effect) => !effect.includes("\n")))
  })
})

describe("cutText", () => {
  it("leaves out nothing without saying how much", () => {
    const lines = Array.from({ length: 10 }, (_, n) => `line ${n}`)
    assert.strictEqual(cutText(lines.join("\n"), 10), lines.join("\n"))
    assert.strictEqual(cutText(lines.join("\n"), 9), lines.join("\n"))
    assert.strictEqual(
      cutText(lines.join("\n"), 3),
      "line 0\nline 1\nline 2\n… 7 more lines not shown: read the file before you sign it"
    )
    assert.match(cutText("x".repeat(1001), 3), /^x{1000} … 1 more character in this line not shown$/)
  })
})
