// A home and a project of their own, with the tools that the flows need. Nothing outside of it is written.
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { start } from "../conformance/suite.ts"
import { kiwi, processesWith, pythonTool, until } from "../support/mcp/project.ts"
import { oneLine, Wrong } from "./flows.ts"
import { nodeFolder } from "./parts.ts"
import { openTerminal, pause } from "./terminal.ts"

export interface Target {
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** What a client's configuration sets for the server. */
  readonly env: Readonly<Record<string, string>>
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** A tool that nobody has signed. */
export interface Fresh {
  readonly id: string
  readonly hasRun: () => boolean
}

const sleeper = `import subprocess, sys, time
mark = sys.argv[-1].split("=")[-1]
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)", "sleeps-" + mark])
print("sleeping", flush=True)
time.sleep(120)`

const slow = `import time
for n in range(8):
    print("step", n, flush=True)
    time.sleep(0.3)`

/** The same text with its input schema. */
const withMark = (text: string) =>
  text.replace(`{"n": {"type": "number"}}`, `{"mark": {"type": "string"}}, "required": ["mark"]`)

/** Everything that was started with this home or one below it, whatever session it has moved to. */
const processesOf = (home: string): ReadonlyArray<number> =>
  fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const variables = fs.readFileSync(join("/proc", name, "environ"), "utf8").split("\0")
      const inside = variables.some((line) => line === `HOME=${home}` || line.startsWith(`HOME=${home}/`))
      return inside ? [Number(name)] : []
    } catch {
      return []
    }
  })

export const killAll = async (home: string): Promise<void> => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    for (const pid of processesOf(home)) {
      try {
        process.kill(pid, signal)
      } catch {
        // It has ended.
      }
    }
    if (signal === "SIGTERM" && processesOf(home).length > 0) await pause(1000)
  }
}

export const makeWorld = async () => {
  const root = fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), "kiwi-clients-")))
  const project = join(root, "project")
  for (const name of ["home", "tmp", "bin", "project"]) fs.mkdirSync(join(root, name))
  const kiwiEnv = { KIWI_HOME: join(root, "kiwi"), USER_SPACE: join(root, "user"), KIWI_KEYCHAIN: "off" }
  const env = {
    PATH: [join(root, "bin"), nodeFolder, "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    HOME: join(root, "home"),
    TMPDIR: join(root, "tmp"),
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    SHELL: "/bin/bash",
    ...kiwiEnv
  }
  // As an installed Kiwi lies on PATH.
  const command = join(root, "bin", "kiwi")
  fs.writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${kiwi}' "$@"\n`, { mode: 0o755 })

  const write = (name: string, text: string) => fs.writeFileSync(join(project, ".ai", "tools", "test", name), text)
  const run = (args: ReadonlyArray<string>) =>
    new Promise<string>((resolve, reject) => {
      const child = spawn(command, args, { env, cwd: project, stdio: ["ignore", "pipe", "pipe"] })
      let said = ""
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => said += data.toString())
      child.on("error", reject)
      child.on("close", (code) => code === 0 ? resolve(said) : reject(new Wrong(oneLine(said, 500))))
    })

  await run(["init", project])
  fs.mkdirSync(join(project, ".ai", "tools", "test"))
  write("slow.py", pythonTool(slow))
  write("sleeper.py", withMark(pythonTool(sleeper)))
  // A person signs, at a terminal that is nobody's but theirs: tmux is a child of init.
  const signing = ["sh", "-c", "kiwi sign tool 'test/*' --yes; echo \"ended $?\"; exec cat"]
  const terminal = openTerminal(join(root, "signing"), signing, { env, cwd: project })
  try {
    await terminal.waitFor(/ended 0/, 30)
  } finally {
    terminal.close()
  }

  const token = randomBytes(32).toString("base64url")
  const http = ["serve", "--http", "--port", "0", "--project", project]
  const listening = await start(command, http, { ...env, KIWI_HTTP_TOKEN: token })
  const target: Target = {
    command,
    args: ["serve", "--project", project],
    env: kiwiEnv,
    url: listening.url,
    headers: { Authorization: `Bearer ${token}` }
  }
  let count = 0
  return {
    root,
    project,
    env,
    target,
    /** A new tool that nobody has signed, under a name of its own. */
    fresh: (): Fresh => {
      const id = `fresh_${++count}`
      const mark = join(root, `${id}.ran`)
      write(`${id}.py`, pythonTool(`open(${JSON.stringify(mark)}, "w").close()\nprint("fresh has run")`))
      return { id, hasRun: () => fs.existsSync(mark) }
    },
    /** A mark for one call of the sleeper, and what becomes of its process. */
    sleeper: () => {
      const mark = `${process.pid}-${++count}`
      const running = () => processesWith(`sleeps-${mark}`).length > 0
      return {
        mark,
        started: () => until(running, 60_000).catch(() => Promise.reject(new Wrong("the slow tool never started"))),
        gone: () =>
          until(() => !running(), 15_000).catch(() => Promise.reject(new Wrong("the slow tool still runs 15 s later")))
      }
    },
    /** A home for one run of one client. */
    home: (name: string) => {
      const home = fs.mkdtempSync(join(root, "home", `${name}-`))
      return {
        home,
        write: (path: string, text: unknown) => {
          const file = join(home, path)
          fs.mkdirSync(join(file, ".."), { recursive: true })
          fs.writeFileSync(file, typeof text === "string" ? text : JSON.stringify(text, null, 2))
          return file
        }
      }
    },
    close: async () => {
      await listening.stop()
      await killAll(root)
      fs.rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}

export type World = Awaited<ReturnType<typeof makeWorld>>
