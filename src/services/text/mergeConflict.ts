// Finds unresolved merge conflicts in a text.

/** Replaces Markdown's fenced code, which may show a conflict, by its newlines. */
const withoutFences = (text: string): string =>
  text.replaceAll(/^ {0,3}(```|~~~)[^\n]*\n[^]*?^ {0,3}\1/gm, (fence) => fence.replaceAll(/[^\n]/g, ""))

/**
 * The line, 1-based, at which a conflict begins: `<<<<<<< `, below it `=======`, below that `>>>>>>> `, each at the
 * start of a line. One of them alone is ordinary text.
 */
export const mergeConflict = (text: string, isMarkdown = false): number | undefined => {
  if (!text.includes("<<<<<<< ")) return undefined
  const lines = (isMarkdown ? withoutFences(text) : text).split(/\r\n|\n|\r/)
  const from = (start: number, is: (line: string) => boolean) => {
    const at = lines.slice(start).findIndex(is)
    return at === -1 ? undefined : start + at
  }
  const begin = from(0, (line) => line.replace(/^\ufeff/, "").startsWith("<<<<<<< "))
  const middle = begin === undefined ? undefined : from(begin + 1, (line) => line === "=======")
  const end = middle === undefined ? undefined : from(middle + 1, (line) => line.startsWith(">>>>>>> "))
  return begin === undefined || end === undefined ? undefined : begin + 1
}
