// How a program gets its limits: Node cannot set them, so a fixed /bin/sh script sets them and then executes the
// program, whose argv it gets as positional parameters and never parses. Without limits there is no shell, since it
// costs a third of a small program's start. A stricter limit of the machine is kept.
import { Result } from "effect"
import * as Fs from "node:fs"
import type { ProcessLimits } from "../../services/primitive/SubprocessConfig.ts"

export interface LimitsHost {
  readonly platform: NodeJS.Platform
  /** Whether a program that crashes would leave a core file with its memory. */
  readonly leavesCores: () => boolean
}

export interface Limited {
  readonly argv: ReadonlyArray<string>
  /**
   * The beginning of the script's message for a limit that could not be set, followed by its name; "" without a script.
   */
  readonly refusal: string
}

/** The script's exit code, together with `refusal` on stderr, if it did not start the program. */
export const notStarted = 125

// $1 cpu, $2 memory, $3 open files, $4 file size, $5 processes; "-" is none. `-p` is the name in dash and ash for `-u`.
const prelude = `refuse() { echo "$0 $1" >&2; exit ${notStarted}; }
has() { [ "$1" != unlimited ] && [ "$1" -le "$2" ] 2>/dev/null; }
ulimit -c 0
[ "$1" = - ] || ulimit -t "$1" 2>/dev/null || has "$(ulimit -H -t)" "$1" || refuse cpu
[ "$2" = - ] || ulimit -v "$2" 2>/dev/null || has "$(ulimit -H -v)" "$2" || refuse memory
[ "$3" = - ] || ulimit -n "$3" 2>/dev/null || has "$(ulimit -H -n)" "$3" || refuse files
[ "$4" = - ] || ulimit -f "$4" 2>/dev/null || has "$(ulimit -H -f)" "$4" || refuse file_size
if [ "$5" != - ]; then
  if (ulimit -u) >/dev/null 2>&1
  then ulimit -u "$5" 2>/dev/null || has "$(ulimit -H -u)" "$5" || refuse processes
  else ulimit -p "$5" 2>/dev/null || has "$(ulimit -H -p)" "$5" || refuse processes
  fi
fi
shift 5`

const amount = (value: number | undefined, unit: number): string =>
  value === undefined ? "-" : String(Math.max(1, Math.floor(value / unit)))

export const limited = (
  argv: ReadonlyArray<string>,
  limits: ProcessLimits,
  env: Readonly<Record<string, string>>,
  makeToken: () => string,
  host: LimitsHost
): Result.Result<Limited, string> => {
  const asked = Object.values(limits).some((value) => value !== undefined)
  if (host.platform === "win32") {
    return asked ? Result.fail("Windows cannot limit what it uses") : Result.succeed({ argv, refusal: "" })
  }
  if (host.platform === "darwin" && limits.memory !== undefined) {
    return Result.fail("macOS cannot limit its memory")
  }
  if (!asked && !host.leavesCores()) return Result.succeed({ argv, refusal: "" })
  const token = makeToken()
  // Variables that a shell adds by itself and that the program must not get.
  const strange = ["PWD", "OLDPWD", "SHLVL"].filter((name) => !Object.hasOwn(env, name))
  return Result.succeed({
    argv: [
      "/bin/sh",
      "-c",
      `${prelude}\nunset ${strange.join(" ")}\nexec "$@"`,
      token,
      amount(limits.cpu, 1),
      amount(limits.memory, 1_024),
      amount(limits.files, 1),
      amount(limits.fileSize, 512),
      amount(limits.processes, 1),
      ...argv
    ],
    refusal: token
  })
}

const readsCores = (): boolean => {
  try {
    const line = /^Max core file size +(\S+)/m.exec(Fs.readFileSync("/proc/self/limits", "latin1"))
    return line !== null && line[1] !== "0"
  } catch {
    return false
  }
}

/** Children inherit Kiwi's own limits, so they are read once. */
export const makeHost = (platform: NodeJS.Platform): LimitsHost => {
  let cores: boolean | undefined
  return { platform, leavesCores: () => cores ??= readsCores() }
}
