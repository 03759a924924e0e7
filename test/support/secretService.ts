// A gnome-keyring on a session bus of its own, in a home of its own: the person's keyrings stay untouched.
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { temporary } from "./temporary.ts"

/** Prints the bus's address and stays until its input ends. */
const script = `
printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
echo "address=$DBUS_SESSION_BUS_ADDRESS"
cat >/dev/null
`

const address = (child: ChildProcess) =>
  Effect.callback<string>((resume) => {
    let output = ""
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      const found = /address=(.+)\n/.exec(output)?.[1]
      if (found !== undefined) resume(Effect.succeed(found))
    })
    child.on("exit", () => resume(Effect.die("the session bus ended")))
  })

/** The variables by which a program finds it, unlocked. It ends with the scope. */
export const secretService = Effect.gen(function*() {
  const folder = yield* temporary
  const environment = {
    HOME: folder,
    XDG_DATA_HOME: join(folder, "data"),
    XDG_CACHE_HOME: join(folder, "cache"),
    XDG_RUNTIME_DIR: join(folder, "run"),
    DISPLAY: "",
    WAYLAND_DISPLAY: ""
  }
  mkdirSync(environment.XDG_RUNTIME_DIR, { mode: 0o700 })
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn("dbus-run-session", ["--", "sh", "-c", script], {
        env: { PATH: process.env["PATH"], ...environment },
        stdio: ["pipe", "pipe", "ignore"]
      })
    ),
    (running) =>
      Effect.callback<void>((resume) => {
        if (running.exitCode !== null) return resume(Effect.void)
        running.on("exit", () => resume(Effect.void))
        running.stdin.end()
      })
  )
  return { ...environment, DBUS_SESSION_BUS_ADDRESS: yield* address(child) }
})

/** As the person does when they leave their desk. Nobody is there to type the password afterwards. */
export const lockSecretService = (environment: Record<string, string>) =>
  Effect.sync(() => {
    const { status } = spawnSync("dbus-send", [
      "--session",
      "--print-reply",
      "--dest=org.freedesktop.secrets",
      "/org/freedesktop/secrets",
      "org.freedesktop.Secret.Service.Lock",
      "array:objpath:/org/freedesktop/secrets/collection/login"
    ], { env: { PATH: process.env["PATH"], ...environment }, stdio: "ignore" })
    if (status !== 0) throw new Error("the keyring could not be locked")
  })
