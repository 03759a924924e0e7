// The built program, in a home and a project of its own, with nothing of the environment that the tests run in.
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { compiled } from "./compiled.ts"
import { person } from "./person.ts"
import { giveKey } from "./personKey.ts"
import { runOnTerminal } from "./terminal.ts"
import type { TerminalRun } from "./terminal.ts"

/** Milliseconds; no command of a test takes as long. */
const hanging = 120_000

const built = new URL("../../bin/kiwi.cjs", import.meta.url).pathname

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Options {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string
}

/**
 * A machine of one user: a home, and a folder `site` to work in. The user's key has a passphrase, which is in the
 * environment, so that commands are theirs without a terminal; `plain`: neither is there. `bin`: another program.
 */
export const makeMachine = (
  { bin = built, plain = false }: { readonly bin?: string; readonly plain?: boolean } = {}
) => {
  const folder = mkdtempSync(join(tmpdir(), "kiwi-cli-"))
  const site = join(folder, "site")
  const home = join(folder, "home")
  mkdirSync(site)
  mkdirSync(home)
  if (!plain) giveKey(join(folder, "kiwi"))
  const env = {
    HOME: home,
    PATH: process.env["PATH"] ?? "",
    KIWI_HOME: join(folder, "kiwi"),
    USER_SPACE: join(folder, "user"),
    KIWI_KEYCHAIN: "off",
    ...compiled,
    ...(plain ? {} : person),
    TERM: "xterm",
    LANG: "C.UTF-8"
  }
  /** In a session of its own, so that there is no terminal to ask on, wherever the tests run. */
  const run = (command: string, args: ReadonlyArray<string>, options: Options = {}): Promise<Ran> =>
    new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        cwd: options.cwd ?? site,
        env: { ...env, ...options.env },
        detached: true,
        stdio: "pipe"
      })
      const said = { stdout: "", stderr: "" }
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (chunk: string) => {
          said[name] += chunk
        })
      }
      // What hangs is named, with everything of its session that still runs.
      const limit = setTimeout(() => {
        const { stdout } = spawnSync("ps", ["-s", String(child.pid), "-o", "pid,ppid,etimes,stat,args"])
        try {
          process.kill(-child.pid!, "SIGKILL")
        } catch {
          // It has just ended.
        }
        reject(new Error(`still runs: ${[command, ...args].join(" ")}\n${said.stdout}\n${said.stderr}\n${stdout}`))
      }, hanging)
      child.stdin.on("error", () => {})
      child.stdin.end(options.input ?? "")
      child.on("error", reject)
      child.on("close", (code) => {
        clearTimeout(limit)
        resolve({ code, ...said })
      })
    })
  return {
    folder,
    site,
    home,
    env,
    bin,
    run,
    kiwi: (args: ReadonlyArray<string>, options?: Options) => run(process.execPath, [bin, ...args], options),
    onTerminal: (
      args: ReadonlyArray<string>,
      options: Options & { readonly answers?: ReadonlyArray<readonly [string, string]> } = {}
    ): Promise<TerminalRun> =>
      runOnTerminal([process.execPath, bin, ...args], {
        env: { ...env, ...options.env },
        cwd: options.cwd ?? site,
        ...(options.answers === undefined ? {} : { answers: options.answers })
      }),
    write: (path: string, text: string, mode = 0o644) => {
      const file = join(site, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text, { mode })
      return file
    },
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}

export type Machine = ReturnType<typeof makeMachine>
