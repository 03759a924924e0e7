// Linux: /proc, a few small files for each ancestor. One that cannot be read hides what is above it, so then nothing is
// known.
import { Effect, Layer } from "effect"
import { closeSync, openSync, readFileSync, readlinkSync, readSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { scriptOf } from "../../services/presence/codingAgents.ts"
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
  const script = scriptOf(info)
  const real = script === undefined
    ? undefined
    : attempt(() => realpathSync(resolve(readlinkSync(`/proc/${pid}/cwd`), script)))
  return { parent: stat.parent, info: { ...info, script: real } }
}

const readLineage = (): ReadonlyArray<ProcessInfo> | undefined => {
  const lineage: Array<ProcessInfo> = []
  let pid = Number(attempt(() => readlinkSync("/proc/self")))
  while (pid > 0) {
    const found = lineage.length === mostAncestors ? undefined : readProcess(pid)
    if (found === undefined) return undefined
    lineage.push(found.info)
    pid = found.parent
  }
  return lineage.length === 0 ? undefined : lineage
}

export const make = Effect.succeed(Lineage.of({ read: Effect.sync(readLineage) }))

export const layer = Layer.effect(Lineage, make)
