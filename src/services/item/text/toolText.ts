// Which files of a tool must be text, and what counts as text: UTF-8 that every program reads as a person sees it. The
// same for a one-file tool and for each file of a folder. Other files may be data, which nobody is shown. So an
// interpreter must not read such a file as code because of its name, its first line or its encoding declaration.
import { Result } from "effect"
import { mergeConflict } from "../../text/mergeConflict.ts"
import { normalize } from "../SignatureLine.ts"
import type { TextIssue } from "../SignatureLine.ts"

/** Extensions of files that interpreters, installers and Kiwi read as text, in lower case. */
const textExtensions: ReadonlySet<string> = new Set(
  ("py pyw pyi pyx pth js mjs cjs jsx ts mts cts tsx sh bash zsh ksh dash fish rb pl pm php lua tcl awk sed r jl " +
    "groovy ps1 psm1 bat cmd vbs yaml yml json jsonc json5 toml ini cfg conf env properties txt lock in md")
    .split(" ")
)

const textNames: ReadonlySet<string> = new Set([
  "makefile",
  "dockerfile",
  "gemfile",
  "rakefile",
  "justfile",
  "procfile"
])

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1).toLowerCase()

const extensionOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

/** A NUL, as git decides, or more than 30 % bytes that ASCII text does not have, as Perl does. */
const looksBinary = (bytes: Uint8Array): boolean => {
  const head = bytes.subarray(0, 8_000)
  const odd = head.reduce(
    (count, byte) => byte > 0x7e || (byte < 0x20 && !(byte > 7 && byte < 14)) ? count + 1 : count,
    0
  )
  return head.includes(0) || odd > head.length * 0.3
}

/** Valid UTF-8 without any ASCII letter is text too. */
const isText = (bytes: Uint8Array): boolean => Result.isSuccess(normalize(bytes))

/** Every byte as one character, so that text that is not UTF-8 can be searched too. */
const headOf = (bytes: Uint8Array): string => new TextDecoder("latin1").decode(bytes.subarray(0, 8_000))

/** The encoding declaration of Python (PEP 263), Ruby and pip in the first two lines, as Emacs and Vim write it. */
const coding = /^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)/

const harmless: ReadonlySet<string> = new Set(["utf-8", "utf8", "ascii", "us-ascii"])

/** The line, 1-based, by which a program would read the text in another encoding than UTF-8. */
const foreignCoding = (text: string, counts: (name: string) => boolean = () => true): number | undefined => {
  const lines = text.replace(/^(?:\ufeff|\u00ef\u00bb\u00bf)/, "").split(/\r\n|\r|\n/, 2)
  const at = lines.findIndex((line) => {
    const name = coding.exec(line)?.[1]?.toLowerCase().replaceAll("_", "-")
    return name !== undefined && !harmless.has(name) && counts(name)
  })
  return at === -1 ? undefined : at + 1
}

/** Names of Python's codecs without a digit, without their separators. */
const wordyCodecs: ReadonlySet<string> = new Set(
  ("ansi arabic charmap chinese cpgr cpis csisolatinarabic csisolatincyrillic csisolatingreek " +
    "csisolatinhebrew csshiftjis cyrillic cyrillicasian dbcs ebcdiccpbe ebcdiccpca ebcdiccpch ebcdiccphe " +
    "ebcdiccpnl ebcdiccpus ebcdiccpwt euccn eucjp euckr gbk greek hebrew hex hexcodec hkscs hz hzgb idna " +
    "isoceltic johab korean kzt latin macarabic maccenteuro maccentraleurope maccroatian maccyrillic macfarsi " +
    "macgreek maciceland macintosh macroman macromanian macturkish mbcs mskanji oem palmos punycode quopri " +
    "quopricodec quotedprintable rawunicodeescape rot ruscii shiftjis sjis thai uhc ujis undefined " +
    "unicodebigunmarked unicodeescape unicodelittleunmarked utf uu uucodec xmacjapanese xmackorean " +
    "xmacsimpchinese xmactradchinese zip zlib zlibcodec")
    .split(" ")
)

/** Excludes prose such as "coding: a guide". */
const isCodec = (name: string): boolean => /\d/.test(name) || wordyCodecs.has(name.replaceAll(/[-_.]/g, ""))

const codingIssue = (text: string, isProse: boolean): TextIssue | undefined => {
  const line = foreignCoding(text, isProse ? isCodec : undefined)
  return line === undefined ? undefined : {
    line,
    column: 1,
    issue: "the file says that it is not UTF-8",
    hint: "Save it as UTF-8 and remove the coding line"
  }
}

const startsScript = /^(?:\u00ef\u00bb\u00bf)?#!/

/** Whether an interpreter, an installer or Kiwi would read these bytes as text. */
const mustBeText = (path: string, bytes: Uint8Array): boolean => {
  const name = nameOf(path)
  return textExtensions.has(extensionOf(name)) || textNames.has(name) || startsScript.test(headOf(bytes)) ||
    foreignCoding(headOf(bytes)) !== undefined || isText(bytes) || !looksBinary(bytes)
}

/** In Markdown, headings start with a comment character. */
const isMarkdown = (path: string): boolean => /\.(?:md|markdown)$/i.test(path)

export const conflictIssue = (text: string, path: string): TextIssue | undefined => {
  const line = mergeConflict(text, isMarkdown(path))
  return line === undefined ? undefined : {
    line,
    column: 1,
    issue: `has a merge conflict in line ${line}`,
    hint: "Finish the merge: keep what should stay, and delete the lines that begin with <<<<<<<, ======= and >>>>>>>"
  }
}

/**
 * Why a file of a tool may not be what a person is shown of it. Data has no issue. `runs`: it is the tool's entrypoint.
 */
export const toolFileIssue = (path: string, bytes: Uint8Array, runs = false): TextIssue | undefined => {
  if (!runs && !mustBeText(path, bytes)) return undefined
  const text = normalize(bytes)
  if (Result.isFailure(text)) return text.failure
  // Prose may show a conflict in many ways. A file that declares an encoding can be passed to Python, whatever its
  // name.
  const isProse = !runs && isMarkdown(path)
  return (isProse ? undefined : conflictIssue(text.success, path)) ?? codingIssue(text.success, isProse)
}

/** Whether the file is data, which nobody is shown. */
export const isData = (path: string, bytes: Uint8Array): boolean => !mustBeText(path, bytes)
