// A small audit of several sessions, and what may be done to one of its files.
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import type { AuditLog, AuditReport } from "../../../src/services/audit/AuditLog.ts"
import { open, request, result, session, sessionFiles, stateOf, type World, world } from "./auditWorld.ts"

export interface Found {
  readonly made: World
  readonly audit: AuditLog["Service"]
  /** The list of heads, then sessions' files. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly bytes: Buffer }>
}

/** Three sessions, two of them side by side, all closed; with heads in between. */
export const evidence: Effect.Effect<Found, unknown, Scope.Scope> = Effect.gen(function*() {
  const made = yield* world
  yield* session(made, (audit) =>
    Effect.gen(function*() {
      for (let i = 0; i < 6; i++) {
        yield* audit.append(request(`a${i}`))
        yield* audit.append(result(`a${i}`))
        if (i === 2) yield* audit.anchor
      }
    }))
  const first = yield* open(made)
  const second = yield* open(made)
  for (let i = 0; i < 4; i++) {
    yield* first.audit.append(request(`b${i}`))
    yield* second.audit.append(request(`c${i}`))
  }
  yield* first.audit.anchor
  yield* first.end
  yield* second.end
  const { audit } = yield* open(made, { timeless: true })
  const paths = [join(stateOf(made), "audit-heads"), ...sessionFiles(made.audit)]
  return { made, audit, files: paths.map((path) => ({ path, bytes: fs.readFileSync(path) })) }
})

export const linesOf = (bytes: Buffer): ReadonlyArray<string> => bytes.toString("latin1").split(/(?<=\n)/)

export const joined = (lines: ReadonlyArray<string>): Buffer => Buffer.from(lines.join(""), "latin1")

/** In place: a file that is truncated first is flushed to the disk when it is closed, which takes 10 ms on ext4. */
const overwrite = (path: string, bytes: Buffer): void => {
  const fd = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT)
  fs.writeSync(fd, bytes, 0, bytes.length, 0)
  fs.ftruncateSync(fd, bytes.length)
  fs.closeSync(fd)
}

/** Writes a file of the evidence (undefined: deletes it), asks `verify`, and puts the file back. */
export const harm = Effect.fnUntraced(function*(
  { audit, files }: Found,
  path: string,
  bytes: Buffer | undefined
): Effect.fn.Return<AuditReport> {
  const original = files.find((file) => file.path === path)!.bytes
  if (bytes === undefined) fs.rmSync(path)
  else overwrite(path, bytes)
  const report = yield* audit.verify
  overwrite(path, original)
  return report
})

/** One change of a file, and the lines (of what is then there) at which a person would look for it. */
export interface Mutation {
  readonly what: string
  /** Undefined: the file is deleted. */
  readonly bytes: Buffer | undefined
  readonly from: number
  readonly to: number
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** Lines with a right chain from line `from` (0-based) on, as somebody without the key would write them. */
const rechained = (lines: ReadonlyArray<string>, from: number): ReadonlyArray<string> => {
  let before = from === 0 ? undefined : lines[from - 1]!.trimEnd()
  return lines.map((line, index) => {
    if (index < from) return line
    const entry = JSON.parse(line)
    if (before !== undefined) entry.prev = sha256(before)
    if ("i" in entry) {
      entry.i = index + 1
      delete entry.key
      delete entry.sig
    } else if (before !== undefined) entry.n = JSON.parse(before).n + 1
    before = JSON.stringify(entry)
    return `${before}\n`
  })
}

const flip = (bytes: Buffer, at: number, mask: number): Buffer => {
  const changed = Buffer.from(bytes)
  changed[at]! ^= mask
  return changed
}

/** Every single mutation of the file, with one way to change each byte. */
export function* mutations(bytes: Buffer, isHeads: boolean, mask: (at: number) => number): Generator<Mutation> {
  const lines = linesOf(bytes)
  const count = lines.length
  yield { what: "the file is deleted", bytes: undefined, from: 0, to: 0 }
  let line = 1
  for (let at = 0; at < bytes.length; at++) {
    yield { what: `byte ${at} is changed`, bytes: flip(bytes, at, mask(at)), from: line, to: line }
    yield { what: `cut at byte ${at}`, bytes: bytes.subarray(0, at), from: line, to: line }
    if (bytes[at] === 10) line++
  }
  for (let k = 0; k < count; k++) {
    yield { what: `line ${k + 1} is deleted`, bytes: joined(lines.toSpliced(k, 1)), from: k + 1, to: k + 1 }
    yield {
      what: `line ${k + 1} is there twice`,
      bytes: joined(lines.toSpliced(k, 0, lines[k]!)),
      from: k + 1,
      to: k + 2
    }
    const made = JSON.parse(lines[k]!)
    const inserted = lines.toSpliced(k + 1, 0, `${JSON.stringify({ ...made, at: "2026-01-01T00:00:00.000Z" })}\n`)
    yield {
      what: `a line is inserted after line ${k + 1}, and the hashes after it are right`,
      bytes: joined(rechained(inserted, k + 1)),
      from: k + 1,
      to: count + 1
    }
    yield {
      what: `line ${k + 1} is deleted, and the hashes after it are right`,
      bytes: joined(rechained(lines.toSpliced(k, 1), k)),
      from: k + 1,
      to: count + 1
    }
    if (isHeads) {
      yield {
        what: `the heads from line ${k + 1} on are written anew without signatures`,
        bytes: joined(rechained(lines, k)),
        from: k + 1,
        to: k + 1
      }
    }
    for (let other = k + 1; other < count; other++) {
      yield {
        what: `lines ${k + 1} and ${other + 1} are swapped`,
        bytes: joined(lines.with(k, lines[other]!).with(other, lines[k]!)),
        from: k + 1,
        to: other + 1
      }
    }
    yield { what: `the last ${count - k} lines are removed`, bytes: joined(lines.slice(0, k)), from: k + 1, to: k + 1 }
  }
}

/** Why `verify` did not name the mutation where it is. Undefined if it did. */
export const missed = (
  { problems }: AuditReport,
  file: string,
  { bytes, from, to, what }: Mutation
): string | undefined => {
  const near = problems.filter((one) =>
    one.file === file && (bytes === undefined || bytes.length === 0
      ? one.line <= 1
      : one.line >= from && one.line <= to + 1)
  )
  if (near.length > 0) return undefined
  return `${file}: ${what}: ${JSON.stringify(problems.map((one) => [one.file, one.line, one.problem]))}`
}
