// Ends everything that a process has started. The group alone is not enough: a grandchild may have left it by setpgid
// or setsid. On Linux /proc shows ancestry, sessions, and which processes were started with a call's mark in their
// environment, such as a daemon with no other connection to the call. Elsewhere only the group is ended. Zombies count
// as ended, since in a container nobody may reap them. A process that also changed its environment cannot be recognized
// and is not touched.
//
// A sandbox ends what runs in it: its PID namespace dies with its first process. So none of this is called for levels
// that have one, and once `trusted` and `standard` can have such a namespace too, all but the group can be removed.
import { Clock, Effect } from "effect"
import * as Fs from "node:fs"

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly state: string
  /** Start time in ticks: distinguishes a process from a later one with the same id. */
  readonly started: string
}

const linux = process.platform === "linux"

export const readStat = (pid: number): ProcessStat | undefined => {
  let text: string
  try {
    text = Fs.readFileSync(`/proc/${pid}/stat`, "latin1")
  } catch {
    return undefined
  }
  // The command's name is in parentheses and may contain anything, so fields are counted from the last one.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return {
    pid,
    state: fields[0] ?? "",
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    started: fields[19] ?? ""
  }
}

const readAll = (): ReadonlyArray<ProcessStat> => {
  let names: ReadonlyArray<string>
  try {
    names = Fs.readdirSync("/proc")
  } catch {
    return []
  }
  const all: Array<ProcessStat> = []
  for (const name of names) {
    if (!/^[0-9]+$/.test(name)) continue
    const stat = readStat(Number(name))
    if (stat !== undefined) all.push(stat)
  }
  return all
}

/** Whether a process, or one that it was forked from, was started with the mark. */
const carries = (pid: number, mark: string): boolean => {
  try {
    return Fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes(mark)
  } catch {
    return false
  }
}

const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

/** A child: its process, which leads its own group and session, and its mark. */
export interface Root {
  readonly pid: number
  /** `NAME=value`, as in the child's environment. */
  readonly mark: string
}

interface Tree {
  /** Members by id, with their start times. Kept from scan to scan, so that orphans are not lost. */
  readonly members: Map<number, string>
  /** Other processes that were checked, in the same form: a process gets its mark only at its start. */
  readonly strangers: Map<number, string>
}

const makeTree = (): Tree => ({ members: new Map(), strangers: new Map() })

const scanProcesses = (root: Root, { members, strangers }: Tree): void => {
  const all = readAll()
  const byPid = new Map(all.map((p) => [p.pid, p]))
  const known = (pid: number) => members.has(pid) && byPid.get(pid)?.started === members.get(pid)
  const belongs = (p: ProcessStat): boolean => {
    if (p.pid === root.pid || p.group === root.pid || p.session === root.pid || known(p.parent)) return true
    if (strangers.get(p.pid) === p.started) return false
    if (carries(p.pid, root.mark)) return true
    strangers.set(p.pid, p.started)
    return false
  }
  let grew = true
  while (grew) {
    grew = false
    for (const p of all) {
      if (p.pid === process.pid || known(p.pid)) continue
      if (!belongs(p)) continue
      members.set(p.pid, p.started)
      grew = true
    }
  }
}

const alive = ({ members }: Tree): ReadonlyArray<number> => {
  const pids: Array<number> = []
  for (const [pid, started] of members) {
    const stat = readStat(pid)
    if (stat !== undefined && stat.started === started && stat.state !== "Z" && stat.state !== "X") pids.push(pid)
  }
  return pids
}

const groupAlive = (root: Root) => signal(-root.pid, 0)

/** With more ids than this, they are not checked one by one. */
const fewIds = 256

/** The last id that was assigned; 0 if unknown. */
const latestId = (): number => {
  try {
    return Number(/ (\d+)\s*$/.exec(Fs.readFileSync("/proc/loadavg", "utf8"))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Whether a process that left group and session still runs: it can only have started after the child. */
const escaped = (root: Root, latest: number): boolean => {
  if (latest > root.pid && latest - root.pid <= fewIds) {
    for (let pid = root.pid + 1; pid <= latest; pid++) {
      if (Fs.existsSync(`/proc/${pid}`) && carries(pid, root.mark)) return true
    }
    return false
  }
  return readAll().some(({ pid }) => pid !== root.pid && carries(pid, root.mark))
}

/** Whether any process of an exited child remains. Reads one small file if no process has started since. */
export const isLeft = (root: Root): boolean => {
  if (!linux) return groupAlive(root)
  const latest = latestId()
  if (latest === root.pid) return false
  if (groupAlive(root)) {
    const tree = makeTree()
    scanProcesses(root, tree)
    if (alive(tree).length > 0) return true
  }
  return escaped(root, latest)
}

/** Immediate, without waiting: for the exit of this process. */
export const killNow = (root: Root): void => {
  const tree = makeTree()
  if (linux) scanProcesses(root, tree)
  signal(-root.pid, "SIGKILL")
  for (const pid of alive(tree)) signal(pid, "SIGKILL")
}

/** TERM, a grace period in milliseconds, then KILL until nothing is left. */
export const endTree = Effect.fnUntraced(function*(root: Root, grace: number) {
  const tree = makeTree()
  const remaining = (): boolean => {
    if (!linux) return groupAlive(root)
    scanProcesses(root, tree)
    return alive(tree).length > 0
  }
  const send = (name: NodeJS.Signals) => {
    signal(-root.pid, name)
    for (const pid of alive(tree)) if (readStat(pid)?.group !== root.pid) signal(pid, name)
  }
  if (!remaining()) return
  send("SIGTERM")
  const deadline = (yield* Clock.currentTimeMillis) + grace
  let pause = 5
  while (remaining()) {
    if ((yield* Clock.currentTimeMillis) >= deadline) break
    yield* Effect.sleep(pause)
    pause = Math.min(pause * 2, 100)
  }
  // A process that forks during a scan is found by the next one.
  for (let round = 0; round < 20 && remaining(); round++) {
    send("SIGKILL")
    yield* Effect.sleep(10)
  }
})
