// What a person's signature must not be put under: no version, code that cannot run, an endpoint that is none.
import { Effect, Result, Stream } from "effect"
import { ChildProcess } from "effect/process"
import type { ChildProcessSpawner } from "effect/process"
import { cut, isRecord, problem } from "../../services/format/Metadata.ts"
import type { Problem } from "../../services/format/Metadata.ts"
import type { Item, ItemSnapshot, Tool } from "../../services/item/Item.ts"
import { readJavascript } from "./readJavascript.ts"
import { firstError, readPython } from "./readPython.ts"

export type Spawner = typeof ChildProcessSpawner.ChildProcessSpawner.Service

const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

/** Nothing of the caller's environment: `-n` reads a script without running it, and must not source one either. */
const bashEnvironment = { PATH: "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin", LC_ALL: "C" }

const checkBash = Effect.fnUntraced(
  function*(bytes: Uint8Array, spawner: Spawner) {
    const handle = yield* spawner.spawn(
      ChildProcess.make("bash", ["--norc", "--noprofile", "-n"], {
        env: bashEnvironment,
        extendEnv: false,
        stdin: Stream.make(bytes),
        stdout: "ignore",
        stderr: "pipe"
      })
    )
    const said = yield* handle.stderr.pipe(
      Stream.decodeText(),
      Stream.runFold(() => "", (all, part) => all.length > 4096 ? all : all + part)
    )
    if ((yield* handle.exitCode) === 0) return undefined
    const match = /line (\d+): (.*)/.exec(said)
    return {
      ...problem("bash does not accept the script", "Correct it; `bash -n` shows what is wrong"),
      line: Number(match?.[1] ?? 0),
      column: match === null ? 0 : 1,
      found: cut(match?.[2] ?? said)
    }
  },
  Effect.scoped,
  Effect.timeout("10 seconds"),
  Effect.catch((error) =>
    Effect.succeed(
      error._tag === "TimeoutError"
        ? problem("bash took more than 10 seconds to read the script", "Make it simpler")
        : problem("bash could not be started to check the script", "Install bash")
    )
  )
)

const checkCode = Effect.fnUntraced(function*(path: string, bytes: Uint8Array, spawner: Spawner | undefined) {
  switch (path.slice(path.lastIndexOf("."))) {
    case ".sh":
      return spawner === undefined ? undefined : yield* checkBash(bytes, spawner)
    case ".py": {
      const text = decode(bytes)
      const module = yield* readPython(text)
      return Result.isFailure(module) ? module.failure : firstError(module.success.tree, text)
    }
    case ".js":
    case ".mjs":
    case ".cjs":
    case ".ts": {
      const text = decode(bytes)
      const module = yield* readJavascript(text, path.endsWith(".ts"))
      return Result.isFailure(module) ? module.failure : firstError(module.success.tree, text)
    }
    default:
      return undefined
  }
})

const authTypes = ["bearer", "api_key", "basic"]

/** Scheme and host as written; a whole address from the environment (`${API_BASE}/v1`) is checked when it is used. */
const endpoint = /^https?:\/\/(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:[/?#]|$)/
const fromEnvironment = /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/

const checkEndpoint = (tool: Tool): Problem | undefined => {
  const url = tool.config.url ?? tool.config.endpoint ?? tool.extra.endpoint
  if (typeof url !== "string" || !(endpoint.test(url) || fromEnvironment.test(url))) {
    return {
      ...problem("the tool has no http(s) address with a host", "Write config.url: https://api.example.com/v1/things"),
      found: cut(JSON.stringify(url) ?? "")
    }
  }
  const auth = tool.config.auth
  if (auth === undefined || (isRecord(auth) && typeof auth.type === "string" && authTypes.includes(auth.type))) {
    return undefined
  }
  return {
    ...problem("the tool's auth has an unknown type", "Write config.auth.type: bearer, api_key or basic"),
    found: cut(JSON.stringify(auth))
  }
}

export const checkForSigning = Effect.fnUntraced(function*(
  item: Item,
  snapshot: ItemSnapshot,
  spawner: Spawner | undefined
): Effect.fn.Return<Problem | undefined> {
  if (item.version === "0.0.0") {
    return problem("the item has no version", "Give it one that is not 0.0.0: version 1.0.0")
  }
  if (item._tag !== "tool") return undefined
  if (item.toolType === "http" || item.toolType === "api") {
    const wrong = checkEndpoint(item)
    if (wrong !== undefined) return wrong
  }
  if (snapshot.location.kind === "file") return yield* checkCode(snapshot.location.path, snapshot.bytes, spawner)
  for (const file of snapshot.files) {
    const wrong = yield* checkCode(file.path, file.bytes, spawner)
    if (wrong !== undefined) return { ...wrong, issue: `${file.path}: ${wrong.issue}` }
  }
  return undefined
})
