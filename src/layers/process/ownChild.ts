// How Kiwi starts its own child processes: the keychain's helper, git, installers, a version check. Kiwi's surroundings
// (working directory, variables, PATH) belong to a person, who may be in somebody else's repository. So a child gets a
// fixed folder and environment, and limits for time and output.
import { Data, Duration, Effect, Option } from "effect"
import { platform } from "node:os"
import * as Path from "node:path"
import { type ChildExit, ChildProcesses } from "../../services/process/ChildProcesses.ts"
import { homeFolders } from "../workspace/home/homeFolders.ts"
import { type Program, systemPath, thisNode } from "./ownPrograms.ts"
import { variable } from "./variable.ts"

export interface OwnChild {
  readonly program: Program
  readonly args: ReadonlyArray<string>
  /** PATH of the child. Default: the system's. */
  readonly searchPath?: string
  /** In addition to PATH, HOME and the locale. Nothing else of this process's environment reaches the child. */
  readonly variables?: Readonly<Record<string, string>>
  /** A folder of Kiwi's own. Default: the root of the disk. */
  readonly cwd?: string
  readonly stdin?: string | Uint8Array
  readonly within: Duration.Input
  /** The limit of each stream, in bytes. */
  readonly most: number
  /** What happens with a longer stdout: the child fails, or only the end is kept. Of stderr the end is kept. */
  readonly longer?: "fails" | "is cut"
}

/** How one of Kiwi's own children exited by itself. */
export interface OwnChildExit extends ChildExit {
  readonly stdout: Buffer
  readonly stderr: Buffer
}

export class OwnChildFailed extends Data.TaggedError("OwnChildFailed")<{
  readonly issue: "not-started" | "too-slow" | "too-long"
  /** The operating system's code if it was not started, or that there is no engine; otherwise "". */
  readonly code: string
}> {}

/** Milliseconds between TERM and KILL. */
const grace = 1_000

const windows = platform() === "win32"

/** Windows cannot start programs without them. */
const ofWindows = ["SYSTEMROOT", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"]

/** The base environment of Kiwi's own children. */
const environment = Effect.gen(function*() {
  const env: Record<string, string> = { LC_ALL: windows ? "C" : "C.UTF-8" }
  const folders = homeFolders({ HOME: Option.getOrUndefined(yield* variable("HOME")) })
  if (folders._tag === "Found") env["HOME"] = folders.userHome
  for (const name of windows ? ofWindows : []) {
    const value = yield* variable(name)
    if (Option.isSome(value)) env[name] = value.value
  }
  return env
})

const rootFolder = Path.parse(thisNode.file).root

const collector = (most: number, keepsAll: boolean) => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  return {
    take: (chunk: Uint8Array) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (keepsAll && bytes > most) return Effect.fail(new OwnChildFailed({ issue: "too-long", code: "" }))
      while (chunks.length > 1 && bytes - chunks[0]!.length >= most) bytes -= chunks.shift()!.length
      return undefined
    },
    bytes: () => Buffer.concat(chunks).subarray(-most)
  }
}

/** Runs the child until it exits, and ends everything that it started. Interruption ends it too. */
export type RunOwnChild = (child: OwnChild) => Effect.Effect<OwnChildExit, OwnChildFailed>

export const makeRunOwnChild = Effect.map(
  ChildProcesses,
  (children): RunOwnChild =>
    Effect.fnUntraced(function*(child) {
      const stdout = collector(child.most, child.longer !== "is cut")
      const stderr = collector(child.most, false)
      const exit = yield* children.run({
        name: child.program.as,
        isolation: "trusted",
        argv: [child.program.file, ...child.args],
        as: child.program.as,
        mark: "KIWI_CHILD",
        cwd: child.cwd ?? rootFolder,
        env: { ...(yield* environment), ...child.variables, PATH: child.searchPath ?? systemPath },
        stdin: child.stdin,
        stdout: stdout.take,
        stderr: stderr.take,
        within: {
          millis: Duration.toMillis(Duration.fromInputUnsafe(child.within)),
          expired: () => new OwnChildFailed({ issue: "too-slow", code: "" })
        },
        grace
      }).pipe(Effect.catchTags({
        SandboxUnavailable: ({ _tag: code }) => Effect.fail(new OwnChildFailed({ issue: "not-started", code })),
        SpawnFailure: ({ code }) => Effect.fail(new OwnChildFailed({ issue: "not-started", code }))
      }))
      return { ...exit, stdout: stdout.bytes(), stderr: stderr.bytes() }
    })
)
