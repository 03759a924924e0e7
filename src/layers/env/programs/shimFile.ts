// Whether one program is a shim of a version manager; a whole folder of them on PATH is told by `shims.ts`.
import type { posix } from "node:path"

/** Programs that are every shim of their manager by links. */
const sharedPrograms: ReadonlySet<string> = new Set(["mise", "asdf", "volta-shim", "proto-shim"])

/** Whether a program, links followed, is a shim, under whatever name it was found. */
export const isShim = (path: Pick<typeof posix, "basename" | "dirname">, name: string, real: string): boolean =>
  path.basename(path.dirname(real)) === "shims" ||
  (sharedPrograms.has(path.basename(real)) && path.basename(name) !== path.basename(real))
