// Names that others chose, in sentences of Kiwi's own: a name can be a whole sentence.
import { safeLine } from "../../services/error/safeText.ts"
import { shellWord } from "../../services/text/shellWord.ts"
import { sha256 } from "./sha256.ts"

/** The name's start and digest. `start`: what of it may be shown. */
export const cutName = (name: string, start = name): string =>
  `${safeLine(start.slice(0, 12))}…${sha256(name).slice(0, 8)}`

/** A signer's name, cut where it is more than a name: at most 32 letters and digits, in at most four words. */
export const shownName = (name: string): string =>
  /^[\p{L}\p{M}\p{N} .'_-]{1,32}$/u.test(name) && name.split(" ").length <= 4
    ? name
    : cutName(name, name.replaceAll(/[^\p{L}\p{M}\p{N} .'_-]/gu, ""))

/** `--name Ann`; `--name=-x` for what would be read as a flag. */
export const nameFlag = (name: string): string => `--name${name.startsWith("-") ? "=" : " "}${shellWord(name)}`
