// The person of a test. `passphrase` opens their signing key, which `kiwi init` made with it: with it in the environment
// a command is theirs, wherever the tests run. `detached` starts what has a person in front of it: below nothing that
// runs the tests, which may be a coding agent's shell.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"

export const passphrase = "correct horse battery staple"

/** What a person has in the environment who types no answers. */
export const person = { KIWI_PASSPHRASE: passphrase }

/** Python that leaves the process tree and the session; what follows it runs there. */
export const leaveTree = `
import os, time
_above = os.getpid()
if os.fork(): os._exit(0)
os.setsid()
while os.getppid() == _above: time.sleep(0.002)
`

// What is started stays, for whoever counts on its life, hands signals on and holds none of the streams.
const script = `
import os, signal, sys, time
_read, _write = os.pipe()
if os.fork() == 0:
    _above = os.getpid()
    if os.fork(): os._exit(0)
    os.setsid()
    while os.getppid() == _above: time.sleep(0.002)
    os.write(_write, str(os.getpid()).encode())
    os.close(_write)
    os.close(_read)
    os.execvp(sys.argv[2], sys.argv[2:])
os.wait()
os.close(_write)
pid = int(os.read(_read, 32))
if sys.argv[1]:
    with open(sys.argv[1], "w") as file: file.write(str(pid))
null = os.open("/dev/null", os.O_RDWR)
for fd in (0, 1, 2): os.dup2(null, fd)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(pid, number))
try:
    while True:
        os.kill(pid, 0)
        time.sleep(0.01)
except OSError: pass
`

/** The program itself: a version manager's shim would look at variables and folders of the test. */
const python = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).stdout?.trim() ||
  "python3"

/** The same command below nothing. Its process's id is written to `pidFile`. */
export const detached = (command: string, args: ReadonlyArray<string>, pidFile = "") => ({
  command: python,
  args: ["-c", script, pidFile, command, ...args]
})

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits for what `detached` started: nobody else is told when it ends. */
export const ended = async (pidFile: string, turns = 1_000): Promise<void> => {
  if (turns === 0 || !existsSync(pidFile) || !isRunning(Number(readFileSync(pidFile, "utf8")))) return
  await new Promise((resolve) => setTimeout(resolve, 10))
  return ended(pidFile, turns - 1)
}
