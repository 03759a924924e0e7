// Determines the language of a file, for every check of code.

const otherExtensions: Readonly<Record<string, string>> = {
  ".pyw": ".py",
  ".bash": ".sh",
  ".mts": ".ts",
  ".cts": ".ts"
}

const shebang = /^#![^\n]*?\b(?:(python)|(node)|(?:ba)?sh)[\d.]*(?:\s|$)/

/** The usual extension of the file's language: from its own, in any case, or from its `#!` line. */
export const usualExtension = (path: string, text: string): string => {
  const name = path.slice(path.lastIndexOf("/") + 1)
  const dot = name.lastIndexOf(".")
  if (dot > 0) {
    const extension = name.slice(dot).toLowerCase()
    return otherExtensions[extension] ?? extension
  }
  const match = shebang.exec(text)
  return match === null ? "" : match[1] !== undefined ? ".py" : match[2] !== undefined ? ".js" : ".sh"
}
