// The file that a session writes to: what is known of it, and how lines are appended.
import { Result, type Scope } from "effect"
import * as fs from "node:fs"
import { markLine } from "../../services/audit/entryLine.ts"
import { Refused } from "../files/refused.ts"
import { sha256 } from "../identity/sha256.ts"
import { appendWhole, type AuditFolder, cutBack } from "./auditFolders.ts"

export interface Session {
  readonly id: string
  readonly place: AuditFolder
  readonly file: string
  readonly fd: number
  readonly lock: Scope.Closeable
  /** Number of its first entry. */
  readonly first: number
  /** Number and hash of the newest entry. */
  n: number
  head: string
  size: number
  /** The length in bytes of a partly written line that may still be at the end of the file. */
  torn: number
  /** Number of the entry that the newest head names. */
  recorded: number
  newest: { readonly i: number; readonly hash: string }
  /** From this time on a new file is due, in milliseconds since 1970. */
  endOfDay: number
  /** Before this time no new file is tried, since the last attempt failed. */
  noNewBefore: number
}

/** Appends a line, and flushes it to the disk if `full`. Throws if it could not be written whole. */
export const writeLine = (current: Session, line: string, full: boolean): void => {
  const bytes = Buffer.from(`${line}\n`)
  if (current.torn > 0 && !cutBack(current.fd, current.size, current.torn)) {
    throw new Refused("io", "the previous line could not be completed, and something was written after it")
  }
  current.torn = bytes.length
  appendWhole(current.fd, current.size, bytes)
  current.torn = 0
  current.n++
  current.head = sha256(line)
  current.size += bytes.length
  if (full) fs.fsyncSync(current.fd)
}

/** Writes the last line of a session that ends. */
export const seal = (current: Session, now: number, full: boolean): void =>
  writeLine(
    current,
    markLine({ n: current.n + 1, now, prev: current.head }, { kind: "sealed", how: "closed" }),
    full
  )

/** Whether somebody deleted the file: anything more that is written to it is lost. The next session reports it. */
export const isGone = ({ fd }: Session): boolean =>
  Result.getOrElse(Result.try(() => fs.fstatSync(fd).nlink === 0), () => true)
