// Linux: /proc, a few small files for each ancestor. An unreadable one hides those above it, so the lineage is unknown
// then.
import { Effect, Layer } from "effect"
import { closeSync, openSync, readFileSync, readlinkSync, readSync } from "node:fs"
import { resolve } from "node:path"
import { scriptsOf } from "../../services/presence/codingAgents.ts"
import { Lineage, type ProcessInfo } from "../../services/presence/Lineage.ts"
import { attempt } from "../files/attempt.ts"
import { readStat } from "../process/processTree.ts"
import { realScript } from "./realScript.ts"

const mostAncestors = 256
/** Limit for arguments: a process whose arguments are cut may be anything, so the lineage is then unknown. */
const mostBytes = 131_072

/** Each read returns at most one page. */
const readArguments = (path: string): { readonly text: string; readonly isCut: boolean } => {
  const file = openSync(path, "r")
  try {
    const bytes = Buffer.alloc(mostBytes)
    let length = 0
    for (let more = 1; more > 0 && length < mostBytes; length += more) {
      more = readSync(file, bytes, length, mostBytes - length, length)
    }
    return { text: bytes.toString("utf8", 0, length), isCut: length === mostBytes }
  } finally {
    closeSync(file)
  }
}

interface Read {
  readonly info: ProcessInfo
  readonly parent: number
  readonly isCut: boolean
}

const readProcess = (pid: number): Read | undefined => {
  const stat = readStat(pid)
  if (stat === undefined) return undefined
  const { isCut, text } = attempt(() => readArguments(`/proc/${pid}/cmdline`)) ?? { text: "", isCut: false }
  const info: ProcessInfo = {
    pid,
    name: attempt(() => readFileSync(`/proc/${pid}/comm`, "utf8").trimEnd()) ?? "",
    program: attempt(() => readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "")),
    argv: text.replace(/\0+$/, "").split("\0"),
    session: stat.session,
    group: stat.group,
    stdio: attempt(() => [0, 1].map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)).join(" "))
  }
  const folder = attempt(() => readlinkSync(`/proc/${pid}/cwd`))
  const scripts = scriptsOf(info).map((script) =>
    folder === undefined ? script : realScript(resolve(folder, script)) ?? script
  )
  return { parent: stat.parent, info: { ...info, scripts }, isCut }
}

/** `start` and its ancestors, except those in `seen`. */
const readFrom = (start: number, seen: ReadonlySet<number>): ReadonlyArray<Read> | undefined => {
  const lineage: Array<Read> = []
  for (let pid = start; pid > 0 && !seen.has(pid);) {
    const found = lineage.length === mostAncestors ? undefined : readProcess(pid)
    if (found === undefined) return undefined
    lineage.push(found)
    pid = found.parent
  }
  return lineage
}

const readLineage = (): ReadonlyArray<ProcessInfo> | undefined => {
  const lineage = readFrom(Number(attempt(() => readlinkSync("/proc/self"))), new Set())
  const [self, ...above] = lineage ?? []
  if (self === undefined) return undefined
  const seen = new Set([self, ...above].map(({ info }) => info.pid))
  // When its parent has ended, a process becomes a child of init but stays in its session and group.
  const ids = new Set([self, ...above].flatMap(({ info: { group, session } }) => [session ?? 0, group]))
  const leaders = [...ids].flatMap((pid) => readFrom(pid, seen) ?? [])
  if ([...above, ...leaders].some(({ isCut }) => isCut)) return undefined
  return [{ ...self.info, leaders: leaders.map(({ info }) => info) }, ...above.map(({ info }) => info)]
}

export const make = Effect.succeed(Lineage.of({ read: Effect.sync(readLineage) }))

export const layer = Layer.effect(Lineage, make)
