// What of a folder is the tool. File managers, editors and interpreters leave files of their own anywhere, and some file
// systems keep no mode bits: neither is a change of the tool. That is safe since neither reaches the verified copy, which
// is all that a running tool has.

/**
 * Files and folders that programs leave in folders of other people, in lower case. Whatever an interpreter reads by itself
 * (`.pth`, `sitecustomize.py`, `conftest.py`, `.pyc` beside a source, `node_modules`, `package.json`) has no place here:
 * a tool that was signed without it is not the tool that a person looked at with it.
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
  // Version control, to keep a folder that is empty.
  ".gitkeep",
  ".keep",
  // Editors.
  ".fleet",
  ".idea",
  ".vs",
  ".vscode",
  ".zed",
  // Interpreters, and what checks their code.
  ".hypothesis",
  ".ipynb_checkpoints",
  ".mypy_cache",
  ".pytest_cache",
  ".pytype",
  ".ruff_cache",
  "__pycache__"
])

/** Files beside the one that is edited, and what is left of one that was deleted while it was open (NFS, FUSE). */
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
 * Whether files and folders of this name are neither signed nor copied, whatever they are. In any case of letters: on
 * many disks Python would find its `__pycache__` in any.
 */
export const isLeftOut = (name: string): boolean => {
  const lower = name.toLowerCase()
  return leftBehind.has(lower) || besideOthers.some((pattern) => pattern.test(lower))
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
