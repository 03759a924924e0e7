// What `pyvenv.cfg` says of the Python that a virtual environment was made from.
import { Result } from "effect"
import { dirname, isAbsolute, resolve } from "node:path"
import { readRegular } from "../../files/readRegular.ts"

/** A file of a few lines. */
const maxBytes = 1024 * 1024

/**
 * The folders that `home` may mean: Python takes its library from there, and on some systems is started from there. A
 * relative one counts from the folder of the process, which is the project's for most tools. `undefined` where the file
 * is there and cannot be read.
 */
export const homesOf = (root: string, settings: string): ReadonlyArray<string> | undefined => {
  const read = readRegular(settings, { maxBytes, follow: true })
  if (Result.isFailure(read)) return read.failure === "absent" ? [] : undefined
  const home = /^\s*home[^\S\n]*=[^\S\n]*(.*?)\s*$/im.exec(read.success.toString("utf8"))?.[1] ?? ""
  if (home === "") return []
  return isAbsolute(home) ? [home] : [resolve(dirname(settings), home), resolve(root, home)]
}
