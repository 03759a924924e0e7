// Checks the list of heads – its chain and its signatures – and collects what it records of each session.
import { Effect, Result } from "effect"
import { type AuditHead, parseHead, signedText, zeros } from "../../../services/audit/AuditEntry.ts"
import type { AuditProblem } from "../../../services/audit/AuditLog.ts"
import { checkLines } from "../../../services/audit/checkLines.ts"
import * as Ed25519 from "../../identity/ed25519.ts"
import { openHeads } from "../headsFile.ts"
import { forEachLine, withFile } from "../lines.ts"

export const headsName = "audit-heads"
const keysName = "audit-keys.json"

export interface KnownSession {
  readonly place: AuditHead["place"]
  readonly file: string
  /** Its first head, and the hash of the line before that. Undefined if the first head is missing. */
  readonly opening: { readonly head: AuditHead; readonly parent: string } | undefined
  /** The recorded hashes of its entries, by number. */
  readonly points: Map<number, string>
  final: AuditHead | undefined
  isExpired: boolean
  /** Line of its newest head, and that head's entry number. */
  line: number
  recorded: number
}

export const problem = (
  file: string,
  line: number,
  what: AuditProblem["problem"],
  detail: string,
  entry?: number
): AuditProblem => ({ file, line, problem: what, detail, ...(entry === undefined ? {} : { entry }) })

type Unproved = "unsigned" | "foreign-key" | "wrong-signature"

const explain: Record<Unproved, (heads: string) => string> = {
  unsigned: (heads) =>
    `${heads} not signed: no key could be used when it was recorded, or somebody other than Kiwi wrote it`,
  "foreign-key": (heads) => `${heads} signed by a key that is not this installation's`,
  "wrong-signature": (heads) => `${heads} signed, but not with this content`
}

/** After so many signatures other fibers run: checking one takes 0.1 ms. */
const signatureBatch = 20

/** The maximum number of problems with signatures that are listed. */
const maxProblems = 100

/** `own`: the public keys of this installation, or undefined if they are unknown. */
const checkSignatures = (project: string, own: ReadonlySet<string> | undefined) => {
  const verifiers = new Map<string, ReturnType<typeof Ed25519.verifier>>()
  const keys = new Set<string>()
  const runs: Array<{ readonly what: Unproved; readonly from: number; to: number }> = []

  const unprovedBy = (head: AuditHead): Unproved | undefined => {
    if (head.key === undefined || head.sig === undefined) return "unsigned"
    if (own?.has(head.key) !== true) return own === undefined ? undefined : "foreign-key"
    if (!verifiers.has(head.key)) verifiers.set(head.key, Ed25519.verifier(head.key))
    keys.add(Ed25519.keyIdOf(head.key))
    return verifiers.get(head.key)?.(signedText(project, head), head.sig) === true ? undefined : "wrong-signature"
  }

  return {
    head: (head: AuditHead, line: number): void => {
      const what = unprovedBy(head)
      if (what === undefined) return
      const last = runs.at(-1)
      if (last?.what === what && last.to === line - 1) last.to = line
      else if (runs.length < maxProblems) runs.push({ what, from: line, to: line })
    },
    end: () => ({
      keys: [...keys],
      problems: [
        ...(own === undefined ? [problem(keysName, 0, "unreadable", "so no signature could be checked")] : []),
        ...runs.map(({ from, to, what }) =>
          problem(headsName, from, what, explain[what](from === to ? "it is" : `lines ${from} to ${to} are each`), from)
        )
      ]
    })
  }
}

export interface HeadsToRead {
  readonly state: string
  /** The project's id, or "". */
  readonly project: string
  readonly ownKeys: ReadonlySet<string> | undefined
  /** The length of what is to be read, in bytes. */
  readonly size: number
  /** Hashes that lines must have, by number. */
  readonly points: ReadonlyArray<{ readonly i: number; readonly hash: string }>
}

export const readHeads = Effect.fnUntraced(function*({ ownKeys, points, project, size, state }: HeadsToRead) {
  const sessions = new Map<string, KnownSession>()
  const conflicts = points.filter((one) => points.some(({ hash, i }) => i === one.i && hash !== one.hash))
  const check = checkLines({
    file: headsName,
    first: { n: 1, prev: zeros },
    points: new Map(points.map(({ hash, i }) => [i, hash])),
    final: undefined
  })
  const signatures = checkSignatures(project, ownKeys)
  const problems: Array<AuditProblem> = conflicts.slice(0, 1).map(({ i }) =>
    problem(headsName, i, "changed", "the anchor is of another line than the one that Kiwi recorded", i)
  )
  let before: AuditHead | undefined
  const take = (head: AuditHead, line: number): void => {
    let session = sessions.get(head.file)
    if (session === undefined) {
      const opening = head.state === "opened" ? { head, parent: before?.head ?? zeros } : undefined
      session = {
        place: head.place,
        file: head.file,
        opening,
        points: new Map(),
        final: undefined,
        isExpired: false,
        line,
        recorded: head.n
      }
      sessions.set(head.file, session)
      if (opening === undefined) {
        problems.push(problem(headsName, line, "removed", `the first head of ${head.file} is missing before it`))
      }
    }
    if (head.state === "expired") {
      if (session.final?.n === head.n && session.final.head === head.head) session.isExpired = true
      else problems.push(problem(headsName, line, "changed", `${head.file} did not end with that entry`, head.i))
    }
    session.points.set(head.n, head.head)
    session.line = line
    session.recorded = head.n
    if (head.state === "closed" || head.state === "recovered") session.final = head
    before = head
  }
  const read = withFile(() => openHeads(state), (fd) =>
    forEachLine(
      fd,
      ({ hash, number, text }) => {
        const head = text === undefined ? undefined : parseHead(text)
        check.line({ line: number, hash, entry: head && { n: head.i, prev: head.prev, last: false } })
        if (head === undefined) return
        signatures.head(head, number)
        take(head, number)
      },
      size,
      signatureBatch
    ))
  if (Result.isFailure(yield* Effect.result(read))) {
    problems.push(problem(headsName, 0, "unreadable", "it cannot be read to its end"))
  }
  const broken = check.end(true)
  const signed = signatures.end()
  return {
    sessions,
    keys: signed.keys,
    /** Whether every line follows from the one before. What is missing is missing at the end then. */
    isChain: broken.length === 0,
    problems: [...problems, ...broken, ...signed.problems]
  }
})
