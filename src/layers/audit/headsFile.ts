// `audit-heads` in Kiwi's own folder: the authoritative record of how far every session came. Written only under the
// audit's lock. An unfinished line of a killed process does not count, and the next line replaces it.
import * as fs from "node:fs"
import { join } from "node:path"
import { type AuditHead, encodeHead, parseHead, zeros } from "../../services/audit/AuditEntry.ts"
import { openRegular } from "../files/readRegular.ts"
import { isAbsent } from "../files/refused.ts"
import { sha256 } from "../identity/sha256.ts"
import { appendWhole } from "./auditFolders.ts"
import { linesOf } from "./lines.ts"

const { O_APPEND, O_CREAT, O_RDWR } = fs.constants

/** The newest whole line: its number, its hash and its head. */
export interface Tail {
  readonly i: number
  readonly hash: string
  readonly head: AuditHead | undefined
  /** The length of all whole lines, in bytes. */
  readonly size: number
  /** The last line is complete except for its newline. */
  readonly unended: boolean
  /** Number of bytes after the last whole line. */
  readonly rest: number
}

const tailBytes = 4_096

const empty: Tail = { i: 0, hash: zeros, head: undefined, size: 0, unended: false, rest: 0 }

/** Reads the whole file, for when its last line is not a head: somebody wrote to it, and `verify` reports that. */
const scan = (fd: number): Tail => {
  let tail = empty
  for (const { hash, next, number, start, text, whole } of linesOf(fd)) {
    if (!whole) return { ...tail, rest: next - start }
    const head = text === undefined ? undefined : parseHead(text)
    tail = { ...empty, i: number, hash, head: head ?? tail.head, size: next }
  }
  return tail
}

const readTail = (fd: number): Tail => {
  const { size } = fs.fstatSync(fd)
  if (size === 0) return empty
  const bytes = Buffer.alloc(Math.min(size, tailBytes))
  fs.readSync(fd, bytes, 0, bytes.length, size - bytes.length)
  const end = bytes.lastIndexOf(10)
  const rest = bytes.subarray(end + 1)
  const unended = parseHead(rest.toString("utf8"))
  if (unended !== undefined) return { i: unended.i, hash: sha256(rest), head: unended, size, unended: true, rest: 0 }
  if (end <= 0) return scan(fd)
  const line = bytes.subarray(bytes.lastIndexOf(10, end - 1) + 1, end)
  const head = parseHead(line.toString("utf8"))
  if (head === undefined) return scan(fd)
  return { i: head.i, hash: sha256(line), head, size: size - rest.length, unended: false, rest: rest.length }
}

const bounds = { maxBytes: Infinity, follow: false }

const pathIn = (state: string): string => join(state, "audit-heads")

export const openHeads = (state: string): number | undefined => {
  try {
    return openRegular(pathIn(state), bounds).descriptor
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

export const newestHead = (state: string): Tail => {
  const fd = openHeads(state)
  if (fd === undefined) return empty
  try {
    return readTail(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** The newest head of one session's file. */
export const newestHeadOf = (state: string, file: string): AuditHead | undefined => {
  const fd = openHeads(state)
  if (fd === undefined) return undefined
  try {
    let newest: AuditHead | undefined
    for (const { text } of linesOf(fd)) {
      if (text?.includes(file) !== true) continue
      const head = parseHead(text)
      if (head?.file === file) newest = head
    }
    return newest
  } finally {
    fs.closeSync(fd)
  }
}

/** Adds the signature to a head, if there is a key. */
export type SignHead = (head: Omit<AuditHead, "v">) => Omit<AuditHead, "v">

/** Appends one head and returns its line's number and hash. The caller holds the lock. */
export const appendHead = (
  state: string,
  signHead: SignHead,
  head: Pick<AuditHead, "state" | "place" | "file" | "n" | "head">,
  durable: boolean
): { readonly i: number; readonly hash: string } => {
  const fd = openRegular(pathIn(state), bounds, O_RDWR | O_APPEND | O_CREAT).descriptor
  try {
    const tail = readTail(fd)
    if (!tail.unended) fs.ftruncateSync(fd, tail.size)
    const i = tail.i + 1
    const line = encodeHead(signHead({ ...head, i, prev: tail.hash }))
    appendWhole(fd, tail.size, Buffer.from(`${tail.unended ? "\n" : ""}${line}\n`))
    if (durable) fs.fsyncSync(fd)
    return { i, hash: sha256(line) }
  } finally {
    fs.closeSync(fd)
  }
}
