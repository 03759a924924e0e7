// macOS: one list of all processes from ps. Arguments are joined by blanks, so a path with a blank loses its end. An
// agent installed at such a path is recognized only by its variables.
import { Effect, Layer } from "effect"
import { isAbsolute } from "node:path"
import { scriptsOf } from "../../services/presence/codingAgents.ts"
import { Lineage, type ProcessInfo } from "../../services/presence/Lineage.ts"
import { makeRunOwnChild, type RunOwnChild } from "../process/ownChild.ts"
import { realScript } from "./realScript.ts"

const mostBytes = 8 * 1_048_576

interface Row {
  readonly info: ProcessInfo
  readonly parent: number
}

const parseRow = (line: string): Row | undefined => {
  const [, pid, parent, group, args = ""] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
  if (pid === undefined) return undefined
  return {
    parent: Number(parent),
    info: {
      pid: Number(pid),
      name: "",
      program: undefined,
      argv: args.trim().split(/\s+/),
      session: undefined,
      group: Number(group)
    }
  }
}

/** The working directory of a process is unknown, so a relative path is kept as it is. */
const realPath = (path: string): string => isAbsolute(path) ? realScript(path) ?? path : path

/** Parses the output of `ps -o pid=,ppid=,pgid=,args=` for `pid` and its ancestors. Undefined if one is missing. */
export const parseList = (text: string, pid: number): ReadonlyArray<ProcessInfo> | undefined => {
  const rows = new Map<number, Row>()
  for (const line of text.split("\n")) {
    const row = parseRow(line)
    if (row !== undefined) rows.set(row.info.pid, row)
  }
  const readFrom = (start: number, seen: ReadonlySet<number>): ReadonlyArray<ProcessInfo> | undefined => {
    const lineage: Array<ProcessInfo> = []
    for (let at = start; at > 0 && !seen.has(at);) {
      const row = rows.get(at)
      if (row === undefined || lineage.length > rows.size) return undefined
      lineage.push({ ...row.info, scripts: scriptsOf(row.info).map(realPath) })
      at = row.parent
    }
    return lineage
  }
  const [self, ...above] = readFrom(pid, new Set()) ?? []
  if (self === undefined) return undefined
  const seen = new Set([self, ...above].map((info) => info.pid))
  const groups = new Set([self, ...above].map(({ group }) => group))
  const leaders = [...groups].flatMap((leader) => readFrom(leader, seen) ?? [])
  return [{ ...self, leaders }, ...above]
}

const listProcesses = (runOwnChild: RunOwnChild) =>
  runOwnChild({
    program: { file: "/bin/ps", as: "ps" },
    args: ["-axww", "-o", "pid=,ppid=,pgid=,args="],
    within: "5 seconds",
    most: mostBytes
  }).pipe(
    Effect.map(({ code, stdout }) => code === 0 ? stdout.toString("utf8") : undefined),
    Effect.orElseSucceed(() => undefined)
  )

export const make = (pid: number) =>
  Effect.map(makeRunOwnChild, (runOwnChild) =>
    Lineage.of({
      read: Effect.map(listProcesses(runOwnChild), (text) => text === undefined ? undefined : parseList(text, pid))
    }))

export const layer = Layer.effect(Lineage, Effect.suspend(() => make(process.pid)))
