// What `pyvenv.cfg` says of the Python that a virtual environment was made from.
import { Result } from "effect"
import { dirname, isAbsolute, resolve } from "node:path"
import { readRegular } from "../../files/readRegular.ts"

/** A file of a few lines. */
const maxBytes = 1024 * 1024

/** Where a line may end. What Python starts with reads bytes up to `\n`; `site.py` reads text, and others more ends. */
const lineEnds = [/\n/, /\r\n|[\n\r]/, /\r\n|[\p{Cc}\u2028\u2029]/u]

/** Blanks of Python and of JavaScript, and more. */
const strip = (text: string): string => text.replace(/^[\s\p{Cc}]+/u, "").replace(/[\s\p{Cc}]+$/u, "")

/** Every value of `home` in any reading: one part of Python takes the first, another the last. */
const homeValues = (text: string): ReadonlyArray<string> =>
  lineEnds.flatMap((end) => text.split(end)).flatMap((line) => {
    const at = line.indexOf("=")
    const isHome = at >= 0 && strip(line.slice(0, at)).toLowerCase() === "home"
    return isHome ? [strip(line.slice(at + 1))] : []
  }).filter((value) => value !== "")

/**
 * The folders that `home` may mean: Python takes its library from there, and on some systems is started from there. A
 * relative one counts from the folder of the process, which is the project's for most tools. `undefined` where the file
 * is there and cannot be read.
 */
export const homesOf = (root: string, settings: string): ReadonlyArray<string> | undefined => {
  const read = readRegular(settings, { maxBytes, follow: true })
  if (Result.isFailure(read)) return read.failure === "absent" ? [] : undefined
  const homes = homeValues(read.success.toString("utf8")).flatMap((home) =>
    isAbsolute(home) ? [home] : [resolve(dirname(settings), home), resolve(root, home)]
  )
  return [...new Set(homes)]
}
