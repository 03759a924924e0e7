import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { exactText } from "../../../src/services/error/exactText.ts"
import { nothing } from "../../../src/services/integrity/ItemPast.ts"
import { describeEffects, diffItem, verdictOf } from "../../../src/services/integrity/SigningPlan.ts"
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
      const { added, removed, text: diff } = diffItem(textOf(old), fileSnapshot(location, now)!)
      const changed = diff.split("\n").filter((line) => /^[+-]/.test(line) && !/^(?:\+\+\+|---) /.test(line))
      const count = (sign: string) => changed.filter((line) => line.startsWith(sign)).length
      assert.deepStrictEqual([added, removed], [count("+"), count("-")])
      assert.strictEqual(after.length - before.length, added - removed)
      assert.strictEqual(diff === "", old === now)
    }))

  it("shows a file that became a folder as new, and the other way round", () => {
    const files = [folderFile("tool.yaml", "a: 1\n")]
    const folder = folderSnapshot(locationOf("tools/web", { kind: "folder" }), files)
    assert.include(diffItem(textOf("a: 1\n"), folder).text, "+a: 1")
    assert.include(diffItem({ _tag: "Folder", files }, fileSnapshot(location, "text\n")!).text, "+text")
  })

  it("tells text from what is none", () => {
    const at = locationOf("tools/web", { kind: "folder" })
    const manifest = folderFile("tool.yaml", "a: 1\n")
    const diff = (before: Uint8Array, after: Uint8Array) =>
      diffItem(
        { _tag: "Folder", files: [manifest, folderFile("x", before)] },
        folderSnapshot(at, [manifest, folderFile("x", after)])
      )
    const data = diff(Buffer.from("a\n"), Buffer.from([0xff]))
    assert.match(
      data.text,
      /^binary file web\/x has changed, from 2 bytes to 1 byte that cannot be shown, sha256 a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89\n/
    )
    assert.include(data.text, "-a\n")
    assert.deepStrictEqual(data.unreadable, ["web/x"])
    assert.include(diff(Buffer.from("a\0"), Buffer.from("b\0")).text, "binary file")
    assert.include(diff(Buffer.from("a\0"), Buffer.from("b\n")).text, "web/x was a binary file of 2 bytes\n")
    assert.deepStrictEqual(diff(Buffer.from("a\0"), Buffer.from("b\n")).unreadable, [])
  })

  it("does not take for ever over two large texts that have nothing in common", () => {
    const text = (word: string) => Array.from({ length: 60_000 }, (_, n) => `${word}${n}`).join("\n")
    const started = performance.now()
    const { text: diff } = diffItem(textOf(text("a")), fileSnapshot(location, text("b"))!)
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
      forgotten: undefined,
      unreadable: [lie]
    })
    assert.lengthOf(effects, 5)
    for (const effect of effects) assert.include(effect, "x\\nNo difference")
    assert.isTrue(effects.every((effect) => !effect.includes("\n")))
  })
})

describe("a folder's files", () => {
  const at = locationOf("tools/web", { kind: "folder" })
  const manifest = folderFile("tool.yaml", "a: 1\n")
  const shown = (content: string, before?: string) =>
    diffItem(
      { _tag: "Folder", files: [manifest, ...(before === undefined ? [] : [folderFile("run.sh", before)])] },
      folderSnapshot(at, [manifest, folderFile("run.sh", content)])
    ).text

  it("are shown with their line ends, where these could make another program of them", () => {
    assert.notInclude(shown("a\nb\n"), "CRLF")
    assert.include(shown("a\r\nb\r\n"), "the lines of web/run.sh end in CRLF\n")
    assert.include(shown("a\nb\n", "a\r\nb\r\n"), "the lines of web/run.sh no longer end in CRLF\n")
    const mixed = shown("cat <<'E'\nE\r\nrm -rf x\nE\n")
    assert.include(mixed, "some lines of web/run.sh end in CRLF, shown as \r\n")
    assert.include(mixed, "+E\r\n+rm -rf x\n+E\n")
    assert.include(exactText(mixed), "shown as \\u{d}\n")
    assert.include(exactText(mixed), "+E\\u{d}\n+rm -rf x\n+E\n")
  })

  it("are named where they have no lines", () => {
    assert.include(shown(""), "web/run.sh is empty\n")
    assert.include(
      diffItem({ _tag: "Folder", files: [manifest, folderFile("a", "")] }, folderSnapshot(at, [manifest])).text,
      "web/a was removed\n"
    )
  })

  const Piece = Schema.Literals(["a", "é", "\r\n", "\n", "\u202e", "\u200b", "\t", "+", "-", "\\", "x".repeat(1200)])
  it.effect.prop("are shown character by character", [Schema.Array(Piece)], ([pieces]) =>
    Effect.sync(() => {
      const content = pieces.join("")
      const lines = shown(content).split("\n").filter((line) => /^\+(?!\+\+ )/.test(line)).map((line) => line.slice(1))
      const ends = (text: string) => text.replace(/\r$/, "")
      const wanted = content.split("\n")
      if (wanted.at(-1) === "") wanted.pop()
      assert.deepStrictEqual(lines.map(ends), wanted.map(ends))
    }))
})

describe("verdictOf", () => {
  const judged = {
    id: "add",
    digest: "d".repeat(64),
    change: "new" as const,
    warnings: [],
    effects: ["x"],
    added: 1,
    removed: 0
  }

  it("is two lines that a narrow terminal holds, whatever there is to say", () => {
    for (const length of [1, 60, 75, 76, 77, 5000]) {
      for (const count of [1, 2, 40]) {
        const effects = Array.from({ length: count }, () => "e".repeat(length))
        for (const items of [[{ ...judged, effects }], Array.from({ length: 30 }, () => ({ ...judged, effects }))]) {
          const lines = verdictOf(items, "f".repeat(64))
          for (const line of lines) {
            assert.isAtMost(line.length, 76)
            assert.notInclude(line, "\n")
          }
        }
      }
    }
  })

  it("names the item that a warning is about, and warns before it says anything else", () => {
    const [risk, change] = verdictOf(
      [judged, {
        ...judged,
        id: "sub",
        change: "changed",
        warnings: ["goes back"],
        effects: ["goes back", "y"],
        removed: 3
      }],
      "f".repeat(64)
    )
    assert.strictEqual(risk, "Sub goes back; add x; sub y")
    assert.strictEqual(change, `1 new, 1 changed: 2 lines added, 3 lines removed; sha256 ${"f".repeat(16)}`)
  })
})
