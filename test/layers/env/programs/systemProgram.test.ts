import { assert, describe, it } from "@effect/vitest"
import { isSystemProgram } from "../../../../src/layers/env/programs/systemProgram.ts"

/** An ELF header with these fields changed. */
const elf = (change: (head: Buffer) => void) => {
  const head = Buffer.alloc(256)
  head.write("\x7fELF\x02\x01\x01", "latin1")
  head.writeUInt16LE(3, 16)
  head.writeUInt16LE(process.arch === "arm64" ? 183 : 62, 18)
  head.writeUInt32LE(1, 20)
  head.writeBigUInt64LE(64n, 32)
  head.writeUInt16LE(56, 54)
  head.writeUInt16LE(1, 56)
  change(head)
  return head
}

describe.runIf(process.platform === "linux" && ["arm64", "x64"].includes(process.arch))("a program of Linux", () => {
  const large = 1_000_000n

  it("begins with a whole header, and table of segments", () => {
    assert.isTrue(isSystemProgram(elf(() => {}), large))
  })

  // The kernel answers ENOEXEC to each, and whoever starts it may hand it to a shell.
  const refused: Readonly<Record<string, (head: Buffer) => void>> = {
    "more segments than Linux takes": (head) => head.writeUInt16LE(2_000, 56),
    "no segments": (head) => head.writeUInt16LE(0, 56),
    "segments of another size": (head) => head.writeUInt16LE(32, 54),
    "a table before the header's end": (head) => head.writeBigUInt64LE(8n, 32),
    "a table beyond the file": (head) => head.writeBigUInt64LE(large, 32),
    "32 bits, and a machine of 64": (head) => {
      head[4] = 1
      head.writeUInt32LE(52, 28)
      head.writeUInt16LE(32, 42)
      head.writeUInt16LE(1, 44)
    },
    "64 bits, and a machine of 32": (head) => head.writeUInt16LE(process.arch === "arm64" ? 40 : 3, 18),
    "another machine": (head) => head.writeUInt16LE(243, 18),
    "an object file": (head) => head.writeUInt16LE(1, 16),
    "another version": (head) => head.writeUInt32LE(2, 20)
  }
  for (const [what, change] of Object.entries(refused)) {
    it(`does not have ${what}`, () => {
      assert.isFalse(isSystemProgram(elf(change), large))
    })
  }
})
