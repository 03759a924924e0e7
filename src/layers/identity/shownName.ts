// Names that others chose, shortened for Kiwi's messages: a name can be a whole sentence.
import { safeLine } from "../../services/error/safeText.ts"
import { shellWord } from "../../services/text/shellWord.ts"
import { sha256 } from "./sha256.ts"

/** The start of a name and its digest. `start`: the part that may be shown. */
export const cutName = (name: string, start = name): string =>
  `${safeLine(start.slice(0, 12))}…${sha256(name).slice(0, 8)}`

/** A signer's name, shortened if it is more than a name: at most 32 letters and digits, in at most four words. */
export const shownName = (name: string): string =>
  /^[\p{L}\p{M}\p{N} .'_-]{1,32}$/u.test(name) && name.split(" ").length <= 4
    ? name
    : cutName(name, name.replaceAll(/[^\p{L}\p{M}\p{N} .'_-]/gu, ""))

/** `--name Ann`; `--name=-x` for a name that would be read as a flag. */
export const nameFlag = (name: string): string => `--name${name.startsWith("-") ? "=" : " "}${shellWord(name)}`
