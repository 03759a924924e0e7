// An anchor: a line of `audit-heads`, by number and hash. Kept where nobody who can change the audit can change it, it
// proves everything that was recorded up to there.

export interface AuditAnchor {
  /** Hash of the line: SHA-256, in hex. */
  readonly head: string
  /** Number of the line. */
  readonly n: number
}

/** `kiwi-audit:41:…`: one word, for a mail, a commit or a note. */
export const printAnchor = ({ head, n }: AuditAnchor): string => `kiwi-audit:${n}:${head}`

const form = /^(?:kiwi-audit:)?(\d{1,15}):([0-9a-f]{64})$/

/** Undefined if the text is not an anchor. */
export const parseAnchor = (text: string): AuditAnchor | undefined => {
  const [, n, head] = form.exec(text.trim()) ?? []
  return n === undefined || head === undefined ? undefined : { head, n: Number(n) }
}
