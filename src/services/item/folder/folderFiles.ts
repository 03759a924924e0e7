// What of a folder is the tool. File managers, editors and interpreters leave files of their own anywhere, and some file
// systems keep no mode bits: neither is a change of the tool. That is safe since neither reaches the verified copy, which
// is all that a running tool has.

const names: ReadonlySet<string> = new Set([".ds_store", ".directory", "desktop.ini", "thumbs.db", "__pycache__"])

/**
 * Whether files and folders of this name are neither signed nor copied, whatever they are. In any case of letters: on
 * many disks Python would find its `__pycache__` in any.
 */
export const isLeftOut = (name: string): boolean => {
  const lower = name.toLowerCase()
  return names.has(lower) || lower.startsWith("._") || lower.startsWith(".#") || name.endsWith("~") ||
    /^\..+\.sw[a-p]$/.test(lower) || /^#.+#$/.test(name)
}

const startsWith = (bytes: Uint8Array, start: ReadonlyArray<number>): boolean =>
  start.every((byte, index) => bytes[index] === byte)

/** `#!`, ELF, and Mach-O in both orders, of 32 and 64 bits and for several processors. */
const programStarts: ReadonlyArray<ReadonlyArray<number>> = [
  [0x23, 0x21],
  [0x7f, 0x45, 0x4c, 0x46],
  [0xfe, 0xed, 0xfa, 0xce],
  [0xfe, 0xed, 0xfa, 0xcf],
  [0xce, 0xfa, 0xed, 0xfe],
  [0xcf, 0xfa, 0xed, 0xfe],
  [0xca, 0xfe, 0xba, 0xbe]
]

/** Whether a file of a folder is executable: by its bytes, which are signed, and never by its mode. */
export const isProgram = (bytes: Uint8Array): boolean => programStarts.some((start) => startsWith(bytes, start))
