// Ends everything that a process has started. The group alone is not enough: a grandchild may have left it by setpgid
// or setsid. On Linux /proc tells who descends from whom and who shares the session; elsewhere it is the group.
// Zombies count as ended: in a container nobody may reap them. A process that was adopted by init and left group and
// session cannot be told from a stranger, and is not touched.
import { Clock, Effect } from "effect"
import * as Fs from "node:fs"

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly state: string
  /** Start time in ticks: tells a process from a later one with the same id. */
  readonly started: string
}

const linux = process.platform === "linux"

const readStat = (pid: number): ProcessStat | undefined => {
  let text: string
  try {
    text = Fs.readFileSync(`/proc/${pid}/stat`, "latin1")
  } catch {
    return undefined
  }
  // The command's name stands in parentheses and may hold anything: fields count from the last one.
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

const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

/** Members of the tree by id, with their start times; grown by every look, so that orphans are not lost. */
type Tree = Map<number, string>

const look = (root: number, tree: Tree): void => {
  const all = readAll()
  const byPid = new Map(all.map((p) => [p.pid, p]))
  const known = (pid: number) => tree.has(pid) && byPid.get(pid)?.started === tree.get(pid)
  let grew = true
  while (grew) {
    grew = false
    for (const p of all) {
      if (p.pid === process.pid || known(p.pid)) continue
      if (p.pid === root || p.group === root || p.session === root || known(p.parent)) {
        tree.set(p.pid, p.started)
        grew = true
      }
    }
  }
}

const alive = (tree: Tree): ReadonlyArray<number> => {
  const pids: Array<number> = []
  for (const [pid, started] of tree) {
    const stat = readStat(pid)
    if (stat !== undefined && stat.started === started && stat.state !== "Z" && stat.state !== "X") pids.push(pid)
  }
  return pids
}

const groupAlive = (root: number) => signal(-root, 0)

/** Whether anything of the group is left once its leader has exited: one system call when nothing is. */
export const groupLeft = (root: number): boolean => {
  if (!groupAlive(root)) return false
  if (!linux) return true
  const tree: Tree = new Map()
  look(root, tree)
  return alive(tree).length > 0
}

/** At once and without waiting: for the exit of this process. */
export const killNow = (root: number): void => {
  const tree: Tree = new Map()
  if (linux) look(root, tree)
  signal(-root, "SIGKILL")
  for (const pid of alive(tree)) signal(pid, "SIGKILL")
}

/** TERM, a grace in milliseconds, KILL until nothing is left. `root` leads its own group. */
export const endTree = Effect.fnUntraced(function*(root: number, grace: number) {
  const tree: Tree = new Map()
  const remaining = (): boolean => {
    if (!linux) return groupAlive(root)
    look(root, tree)
    return alive(tree).length > 0
  }
  const send = (name: NodeJS.Signals) => {
    signal(-root, name)
    for (const pid of alive(tree)) if (readStat(pid)?.group !== root) signal(pid, name)
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
  // A process that forks while it is looked at is caught by the next look.
  for (let round = 0; round < 20 && remaining(); round++) {
    send("SIGKILL")
    yield* Effect.sleep(10)
  }
})
