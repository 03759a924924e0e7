// The one function that text which Kiwi did not write passes before a person sees it. What a terminal or a dialog
// would act on or hide – controls, bidirectional and invisible characters, tags, halves of a pair – is shown escaped.

const isHidden = (code: number): boolean =>
  code < 0x20 && code !== 0x0a && code !== 0x09 ||
  code >= 0x7f && code <= 0x9f ||
  code === 0xad || code === 0x34f || code === 0x61c || code === 0x115f || code === 0x1160 || code === 0x180e ||
  code >= 0x17b4 && code <= 0x17b5 ||
  code >= 0x200b && code <= 0x200f ||
  code >= 0x2028 && code <= 0x202e ||
  code >= 0x2060 && code <= 0x206f ||
  code === 0x3164 || code === 0xfeff || code === 0xffa0 ||
  code >= 0xd800 && code <= 0xdfff ||
  code >= 0xfe00 && code <= 0xfe0f ||
  code >= 0xfff0 && code <= 0xfffb ||
  code >= 0x1d173 && code <= 0x1d17a ||
  code >= 0xe0000 && code <= 0xe0fff

/** Line breaks and tabs stay; everything hidden becomes `\u{…}`. */
export const safeText = (text: string): string => {
  let safe = ""
  for (const character of text) {
    const code = character.codePointAt(0)!
    safe += isHidden(code) ? `\\u{${code.toString(16)}}` : character
  }
  return safe
}

/** The same on one line, at most `length` characters long. */
export const safeLine = (text: string, length = 200): string => {
  const line = safeText(text.length > length * 2 ? text.slice(0, length * 2) : text).replace(/[\n\t]+/g, " ").trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}
