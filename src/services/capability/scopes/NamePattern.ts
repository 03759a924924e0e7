// Names of secrets, variables, tools of a server: the name itself, or its beginning with a `*` after it.
import { Result } from "effect"

export interface NamePattern {
  readonly text: string
  readonly start: string
  readonly open: boolean
}

/** Fails with what is wrong, as a sentence without a subject. */
export const parse = (written: string): Result.Result<NamePattern, string> => {
  if (!/^[\w.:/@-]{0,128}\*?$/.test(written) || written === "") {
    return Result.fail("is not a name: letters, digits and _ - . : / @, with at most one * at its end")
  }
  const open = written.endsWith("*")
  return Result.succeed({ text: written, start: open ? written.slice(0, -1) : written, open })
}

export const matches = ({ open, start }: NamePattern, name: string): boolean =>
  open ? name.startsWith(start) : name === start

const isOneWithin = (child: NamePattern, parent: NamePattern): boolean =>
  parent.open ? child.start.startsWith(parent.start) : !child.open && child.start === parent.start

export const isWithin = (patterns: ReadonlyArray<NamePattern>, parent: NamePattern): boolean =>
  patterns.some((child) => isOneWithin(child, parent))

/** Two have a name in common only if one contains the other. */
export const isEmpty = (patterns: ReadonlyArray<NamePattern>): boolean =>
  patterns.some((a, i) => patterns.slice(i + 1).some((b) => !isOneWithin(a, b) && !isOneWithin(b, a)))
