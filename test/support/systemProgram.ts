// The head of a program that this system runs, as far as Kiwi looks at it; as latin1.
import { isSystemProgram } from "../../src/layers/env/programs/systemProgram.ts"

const elf = (machine: number): string => {
  const head = Buffer.alloc(120)
  head.write("\x7fELF\x02\x01\x01", "latin1")
  head.writeUInt16LE(3, 16)
  head.writeUInt16LE(machine, 18)
  head.writeUInt32LE(1, 20)
  head.writeBigUInt64LE(64n, 32)
  head.writeUInt16LE(56, 54)
  head.writeUInt16LE(1, 56)
  return head.toString("latin1")
}

const machO = (): string => {
  const head = Buffer.alloc(64)
  head.write("\xcf\xfa\xed\xfe", "latin1")
  head.writeUInt32LE(2, 12)
  return head.toString("latin1")
}

const portable = (): string => {
  const head = Buffer.alloc(128)
  head.write("MZ", "latin1")
  head.writeUInt32LE(64, 60)
  head.write("PE\0\0", 64, "latin1")
  return head.toString("latin1")
}

const all = [elf(62), elf(183), machO(), portable()]
const isOurs = (text: string): boolean => isSystemProgram(Buffer.from(text, "latin1"), BigInt(text.length))

export const systemProgram: string = all.find(isOurs) ?? elf(62)
/** Of other systems. */
export const foreignPrograms: ReadonlyArray<string> = all.filter((text) => !isOurs(text))
