// Which files of a folder belong to the tool. File managers, editors and interpreters leave their own files anywhere,
// and some file systems keep no mode bits: neither counts as a change of the tool. That is safe, since neither gets
// into the verified copy, which is all that a running tool has.

/**
 * Files and folders that programs leave in other people's folders, in lower case. A file that an interpreter loads by
 * itself (`.pth`, `sitecustomize.py`, `conftest.py`, `.pyc` beside a source, `node_modules`, `package.json`) must not
 * be listed: a tool signed without it is not the tool that a person tested with it.
 */
const leftBehind: ReadonlySet<string> = new Set([
  // File managers and disks.
  ".ds_store",
  ".appledouble",
  ".directory",
  ".fseventsd",
  ".spotlight-v100",
  ".trashes",
  "desktop.ini",
  "ehthumbs.db",
  "icon\r",
  "thumbs.db",
  // Version control, to keep an empty folder.
  ".gitkeep",
  ".keep",
  // Editors.
  ".fleet",
  ".idea",
  ".vs",
  ".vscode",
  ".zed",
  // Interpreters, linters and type checkers.
  ".hypothesis",
  ".ipynb_checkpoints",
  ".mypy_cache",
  ".pytest_cache",
  ".pytype",
  ".ruff_cache",
  "__pycache__"
])

/** Temporary files beside an edited file, and remains of a file deleted while open (NFS, FUSE). */
const besideOthers: ReadonlyArray<RegExp> = [
  /^\._/,
  /^\.#/,
  /^#.+#$/,
  /.~$/,
  /^\..+\.sw[a-p]$/,
  /.\.sw[nop]$/,
  /^\.nfs[0-9a-f]{8,}$/,
  /^\.fuse_hidden[0-9a-f]{8,}$/
]

/**
 * Whether files and folders of this name are neither signed nor copied. Ignores case: on many disks Python finds its
 * `__pycache__` in any case.
 */
export const isLeftOut = (name: string): boolean => {
  const lower = name.toLowerCase()
  return leftBehind.has(lower) || besideOthers.some((pattern) => pattern.test(lower))
}

const startsWith = (bytes: Uint8Array, start: ReadonlyArray<number>): boolean =>
  start.every((byte, index) => bytes[index] === byte)

/** `#!`, ELF, and Mach-O in both byte orders, 32 and 64 bits, and universal binaries. */
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
