// Linux: /proc, a few small files for each ancestor. One that cannot be read hides what is above it, so then nothing is
// known.
import { Effect, Layer } from "effect"
import { closeSync, openSync, readFileSync, readlinkSync, readSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { scriptsOf } from "../../services/presence/codingAgents.ts"
import { Lineage, type ProcessInfo } from "../../services/presence/Lineage.ts"
import { readStat } from "../process/processTree.ts"

const mostAncestors = 256
const mostBytes = 4_096
const mostArguments = 12

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const readHead = (path: string): string => {
  const file = openSync(path, "r")
  try {
    const bytes = Buffer.alloc(mostBytes)
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, mostBytes, 0))
  } finally {
    closeSync(file)
  }
}

const readProcess = (pid: number): { readonly info: ProcessInfo; readonly parent: number } | undefined => {
  const stat = readStat(pid)
  if (stat === undefined) return undefined
  const text = attempt(() => readHead(`/proc/${pid}/cmdline`)) ?? ""
  const info: ProcessInfo = {
    pid,
    name: attempt(() => readFileSync(`/proc/${pid}/comm`, "utf8").trimEnd()) ?? "",
    program: attempt(() => readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "")),
    argv: text.replace(/\0+$/, "").split("\0").slice(0, mostArguments),
    session: stat.session,
    group: stat.group,
    stdio: attempt(() => [0, 1].map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)).join(" "))
  }
  const scripts = scriptsOf(info).flatMap((script) =>
    attempt(() => realpathSync(resolve(readlinkSync(`/proc/${pid}/cwd`), script))) ?? []
  )
  return { parent: stat.parent, info: { ...info, scripts } }
}

/** `start` and those above it, but for the ones that `seen` has. */
const readFrom = (start: number, seen: ReadonlySet<number>): ReadonlyArray<ProcessInfo> | undefined => {
  const lineage: Array<ProcessInfo> = []
  for (let pid = start; pid > 0 && !seen.has(pid);) {
    const found = lineage.length === mostAncestors ? undefined : readProcess(pid)
    if (found === undefined) return undefined
    lineage.push(found.info)
    pid = found.parent
  }
  return lineage
}

const readLineage = (): ReadonlyArray<ProcessInfo> | undefined => {
  const lineage = readFrom(Number(attempt(() => readlinkSync("/proc/self"))), new Set())
  const [self, ...above] = lineage ?? []
  if (self === undefined) return undefined
  const seen = new Set([self, ...above].map(({ pid }) => pid))
  // A process whose parent has ended is the system's child, and stays in its session and group.
  const ids = new Set([self, ...above].flatMap(({ group, session }) => [session ?? 0, group]))
  const leaders = [...ids].flatMap((pid) => readFrom(pid, seen) ?? [])
  return [{ ...self, leaders }, ...above]
}

export const make = Effect.succeed(Lineage.of({ read: Effect.sync(readLineage) }))

export const layer = Layer.effect(Lineage, make)
