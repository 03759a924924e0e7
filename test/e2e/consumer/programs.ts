// The programs in docs/embedding.md, each with what it prints.
export interface Documented {
  readonly title: string
  readonly program: string
  readonly prints: string
}

const section = /^## (.+)$/
const fence = /^```(\w*)$/

/** A block of `ts` is a whole program; the block of `text` that follows is what it prints. */
export const programsOf = (markdown: string): ReadonlyArray<Documented> => {
  const found: Array<{ title: string; program: string; prints: string | undefined }> = []
  let title = ""
  let language: string | undefined
  let block: Array<string> = []
  for (const line of markdown.split("\n")) {
    const opened = fence.exec(line)
    if (language === undefined) {
      title = section.exec(line)?.[1] ?? title
      if (opened !== null) [language, block] = [opened[1] ?? "", []]
    } else if (line === "```") {
      const text = `${block.join("\n")}\n`
      const last = found.at(-1)
      if (language === "ts") found.push({ title, program: text, prints: undefined })
      else if (language === "text" && last !== undefined) last.prints = text
      language = undefined
    } else block.push(line)
  }
  return found.map(({ prints, program, title: heading }) => {
    if (prints === undefined) throw new Error(`"${heading}" has a program without what it prints`)
    return { title: heading, program, prints }
  })
}
