// Whether a file is an executable of this system. A file that only begins like one would be run by a shell instead.
import { arch, platform } from "node:os"

/** ELF's machine numbers. Those in `narrow` are 32 bits wide. */
const machines: Partial<Record<NodeJS.Architecture, ReadonlyArray<number>>> = {
  arm: [40],
  arm64: [183, 40],
  ia32: [3],
  loong64: [258],
  ppc64: [21],
  riscv64: [243],
  s390x: [22],
  x64: [62, 3]
}

const narrow: ReadonlySet<number> = new Set([3, 40])

/** The largest segment table that Linux accepts, in bytes. */
const mostSegmentBytes = 65_536

/** The header of an executable for this machine, with its segment table inside the file. */
const isElf = (start: Buffer, size: bigint): boolean => {
  if (start.length < 64 || start.toString("latin1", 0, 4) !== "\x7fELF" || start[6] !== 1) return false
  const [is64, isLittle] = [start[4] === 2, start[5] === 1]
  if ((!is64 && start[4] !== 1) || (!isLittle && start[5] !== 2)) return false
  const short = (at: number) => isLittle ? start.readUInt16LE(at) : start.readUInt16BE(at)
  const word = (at: number) => isLittle ? start.readUInt32LE(at) : start.readUInt32BE(at)
  const long = (at: number) => isLittle ? start.readBigUInt64LE(at) : start.readBigUInt64BE(at)
  const segments = is64 ? long(32) : BigInt(word(28))
  const [each, count] = is64 ? [short(54), short(56)] : [short(42), short(44)]
  return [2, 3].includes(short(16)) && (machines[arch() as NodeJS.Architecture]?.includes(short(18)) ?? true) &&
    word(20) === 1 && narrow.has(short(18)) !== is64 &&
    each === (is64 ? 56 : 32) && count > 0 && each * count <= mostSegmentBytes && segments >= (is64 ? 64n : 52n) &&
    segments + BigInt(each * count) <= size
}

/** A single architecture (32 or 64 bits, executable or library), or a list of a limited number. */
const isMachO = (start: Buffer): boolean => {
  if (start.length < 32) return false
  const magic = start.toString("hex", 0, 4)
  if (magic === "cafebabe") return start.readUInt32BE(4) > 0 && start.readUInt32BE(4) < 32
  const kind = /^c[ef]faedfe$/.test(magic) ? start.readUInt32LE(12) : start.readUInt32BE(12)
  return /^(?:c[ef]faedfe|feedfac[ef])$/.test(magic) && kind > 0 && kind < 16
}

const isPortable = (start: Buffer): boolean => {
  if (start.length < 64 || start.toString("latin1", 0, 2) !== "MZ") return false
  const header = start.readUInt32LE(60)
  return header <= start.length - 4 && start.toString("latin1", header, header + 4) === "PE\0\0"
}

/** `start`: the first bytes of a file of `size` bytes. */
export const isSystemProgram = (start: Buffer, size: bigint): boolean =>
  platform() === "win32" ? isPortable(start) : platform() === "darwin" ? isMachO(start) : isElf(start, size)
