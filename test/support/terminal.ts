// Runs a program on a real pseudo-terminal, and answers what it asks there, as a person would: below nothing else.
import { spawn } from "node:child_process"
import { leaveTree } from "./person.ts"

const script = `${leaveTree}
import json, pty, select, signal, sys
spec = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.chdir(spec["cwd"])
    os.execve(spec["argv"][0], spec["argv"], spec["env"])
out, seen, answers = b"", 0, [(a.encode(), b.encode()) for a, b in spec["answers"]]
end = time.time() + spec["seconds"]
while time.time() < end:
    if not select.select([fd], [], [], 0.2)[0]: continue
    try: chunk = os.read(fd, 65536)
    except OSError: break
    if not chunk: break
    out += chunk
    if answers:
        at = out.find(answers[0][0], seen)
        if at != -1:
            seen = at + len(answers[0][0])
            os.write(fd, answers.pop(0)[1])
else:
    os.kill(pid, signal.SIGKILL)
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(json.dumps({"code": os.waitstatus_to_exitcode(status), "unasked": len(answers)}).encode() + b"\\n" + out)
`

export interface TerminalRun {
  readonly code: number
  /** Everything that appeared, line ends as the terminal made them. */
  readonly shown: string
  /** Answers whose question never came. */
  readonly unasked: number
}

/** `answers`: what to wait for, and what to type then. */
export const runOnTerminal = (
  argv: ReadonlyArray<string>,
  options: {
    readonly env: Readonly<Record<string, string>>
    readonly cwd: string
    readonly answers?: ReadonlyArray<readonly [question: string, reply: string]>
  }
): Promise<TerminalRun> =>
  new Promise((resolve, reject) => {
    const spec = { argv, env: options.env, cwd: options.cwd, answers: options.answers ?? [], seconds: 45 }
    const child = spawn("python3", ["-c", script, JSON.stringify(spec)], { stdio: ["ignore", "pipe", "inherit"] })
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
    child.on("error", reject)
    child.on("close", () => {
      const end = text.indexOf("\n")
      resolve({ ...JSON.parse(text.slice(0, end)), shown: text.slice(end + 1) })
    })
  })
