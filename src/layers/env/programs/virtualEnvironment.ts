// Reads from `pyvenv.cfg` which Python a virtual environment was made from.
import { Result } from "effect"
import { dirname, isAbsolute, resolve } from "node:path"
import { readRegular } from "../../files/readRegular.ts"

/** A file of a few lines. */
const maxBytes = 1024 * 1024

/**
 * The possible line ends. Python's startup code splits bytes at `\n`; `site.py` reads text, which has further line
 * ends.
 */
const lineEnds = [/\n/, /\r\n|[\n\r]/, /\r\n|[\p{Cc}\u2028\u2029]/u]

/** Strips the whitespace of Python and of JavaScript, and control characters. */
const strip = (text: string): string => text.replace(/^[\s\p{Cc}]+/u, "").replace(/[\s\p{Cc}]+$/u, "")

/** The values of `home` in every interpretation: one part of Python uses the first, another the last. */
const homeValues = (text: string): ReadonlyArray<string> =>
  lineEnds.flatMap((end) => text.split(end)).flatMap((line) => {
    const at = line.indexOf("=")
    const isHome = at >= 0 && strip(line.slice(0, at)).toLowerCase() === "home"
    return isHome ? [strip(line.slice(at + 1))] : []
  }).filter((value) => value !== "")

/**
 * The folders that `home` may mean. Python takes its library from there, and on some systems is started from there. A
 * relative one is relative to the working directory, which is the project's for most tools. Undefined if the file
 * exists but cannot be read.
 */
export const homesOf = (root: string, settings: string): ReadonlyArray<string> | undefined => {
  const read = readRegular(settings, { maxBytes, follow: true })
  if (Result.isFailure(read)) return read.failure === "absent" ? [] : undefined
  const homes = homeValues(read.success.toString("utf8")).flatMap((home) =>
    isAbsolute(home) ? [home] : [resolve(dirname(settings), home), resolve(root, home)]
  )
  return [...new Set(homes)]
}
