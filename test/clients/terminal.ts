// A terminal in tmux, as a person has one: something runs in it, its screen can be read, and keys can be typed.
import { spawnSync } from "node:child_process"
import { Wrong } from "./flows.ts"

export interface Terminal {
  readonly screen: () => string
  /** Waits until the screen shows it; says with what the wait ended otherwise. */
  readonly waitFor: (wanted: RegExp, seconds: number) => Promise<string>
  readonly type: (text: string) => void
  /** A key by tmux' name: Enter, Down, Escape. */
  readonly press: (key: string) => void
  readonly close: () => void
}

export const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

export const openTerminal = (
  socket: string,
  argv: ReadonlyArray<string>,
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd: string }
): Terminal => {
  const tmux = (...args: ReadonlyArray<string>) => {
    const run = spawnSync("tmux", ["-f", "/dev/null", "-S", socket, ...args], { env: options.env, encoding: "utf8" })
    if (run.error !== undefined) throw new Wrong("tmux is not installed (Debian: apt-get install tmux)")
    return run.stdout
  }
  tmux("new-session", "-d", "-x", "150", "-y", "60", "-c", options.cwd, "--", ...argv)
  const screen = () => tmux("capture-pane", "-p", "-S", "-500")
  return {
    screen,
    waitFor: async (wanted, seconds) => {
      for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
        const shown = screen()
        if (wanted.test(shown)) return shown
        await pause(200)
      }
      throw new Wrong(`the terminal never showed ${wanted}, but: ${screen().trim().slice(-600)}`)
    },
    type: (text) => void tmux("send-keys", "-l", "--", text),
    press: (key) => void tmux("send-keys", key),
    close: () => void tmux("kill-server")
  }
}
