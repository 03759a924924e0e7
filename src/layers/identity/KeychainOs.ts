// The operating system's keychain: Secret Service, macOS Keychain, Windows Credential Manager. Each call is a child
// process, since the native library blocks its thread, forever if a session bus accepts but never answers; a person's
// act can afford the 60 ms. On Linux the Secret Service is required: the library's silent fallback, the kernel's
// keyring, loses everything at a restart.
import { Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { createRequire } from "node:module"
import { Keychain, KeychainUnavailable } from "../../services/identity/Keychain.ts"
import { makeRunOwnChild } from "../process/ownChild.ts"
import { thisNode } from "../process/ownPrograms.ts"
import { variable } from "../process/variable.ts"

const service = "kiwi-mcp"

/** Long enough for a person to type the password that unlocks the keychain. */
const patience = Duration.seconds(30)
/** A keychain that cannot store a secret within this time counts as absent. */
const probe = Duration.seconds(3)

const maxAnswer = 1_048_576

/** The secret travels through pipes, never in an argument or a variable. */
const script = `
const { AsyncEntry } = require(process.argv[1])
let input = ""
process.stdin.setEncoding("utf8").on("data", (text) => { input += text }).on("end", async () => {
  const answer = (value) => process.stdout.write(JSON.stringify(value), () => process.exit(0))
  try {
    const { operation, service, account, secret } = JSON.parse(input)
    const entry = new AsyncEntry(service, account, { linux: { store: "secret-service" } })
    if (operation === "set") {
      await entry.setPassword(secret)
      answer({ done: true, secret: null })
    } else if (operation === "remove") {
      answer({ done: await entry.deleteCredential(), secret: null })
    } else {
      answer({ done: true, secret: await entry.getPassword() })
    }
  } catch (error) {
    answer({ problem: String(error?.message ?? "unknown failure").split("\\n")[0].slice(0, 300) })
  }
})
`

const Answer = Schema.fromJsonString(Schema.Union([
  Schema.Struct({ problem: Schema.String }),
  Schema.Struct({ done: Schema.Boolean, secret: Schema.NullOr(Schema.RedactedFromValue(Schema.String)) })
]))

interface Request {
  readonly operation: "get" | "set" | "remove"
  readonly account: string
  readonly secret?: string
}

/** The variables by which the session bus is found. */
const ofSession = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "USER", "LOGNAME"]

/** Addresses other than sockets start a program. */
const isSocket = (address: string): boolean => address.split(";").every((part) => /^(?:unix|tcp):/.test(part))

const session = Effect.gen(function*() {
  const found: Record<string, string> = {}
  for (const name of ofSession) {
    const value = yield* variable(name)
    if (Option.isNone(value) || (name === "DBUS_SESSION_BUS_ADDRESS" && !isSocket(value.value))) continue
    found[name] = value.value
  }
  return found
})

export const make = Effect.fnUntraced(function*(options?: {
  /** Variables for the child, to use another session bus. */
  readonly environment?: Readonly<Record<string, string>> | undefined
}) {
  const runOwnChild = yield* makeRunOwnChild
  const wanted = yield* variable("KIWI_KEYCHAIN")
  const variables = { ...(yield* session), ...options?.environment }

  const ask = Effect.fnUntraced(function*(request: Request, within: Duration.Duration) {
    if (Option.contains(wanted, "off")) {
      return yield* new KeychainUnavailable({ detail: "KIWI_KEYCHAIN=off turns it off" })
    }
    const library = yield* Effect.try({
      try: () => createRequire(import.meta.url).resolve("@napi-rs/keyring"),
      catch: () => new KeychainUnavailable({ detail: "the package @napi-rs/keyring is not installed" })
    })
    const { stdout } = yield* runOwnChild({
      program: thisNode,
      args: ["--input-type=commonjs", "-e", script, library],
      variables,
      stdin: JSON.stringify({ service, ...request }),
      within,
      most: maxAnswer
    }).pipe(
      Effect.mapError(({ issue }) =>
        new KeychainUnavailable({
          detail: issue === "too-slow"
            ? `it did not answer within ${Duration.toSeconds(within)} s`
            : "the program that asks it could not be started"
        })
      )
    )
    const answer = yield* Effect.mapError(
      Schema.decodeEffect(Answer)(stdout.toString("utf8")),
      () => new KeychainUnavailable({ detail: "the library that asks it failed" })
    )
    if ("problem" in answer) {
      // The bus library's own message is about how it was built, so it is replaced.
      const detail = /autolaunch|DBUS_SESSION_BUS_ADDRESS/.test(answer.problem)
        ? "no Secret Service answers on the session bus"
        : answer.problem
      return yield* new KeychainUnavailable({ detail })
    }
    return answer
  })

  const get = Effect.fn("Keychain.get")(function*(account: string) {
    return (yield* ask({ operation: "get", account }, patience)).secret ?? undefined
  })

  const set = Effect.fn("Keychain.set")(function*(account: string, secret: Redacted.Redacted) {
    yield* ask({ operation: "set", account, secret: Redacted.value(secret) }, probe)
  })

  const remove = Effect.fn("Keychain.remove")(function*(account: string) {
    return (yield* ask({ operation: "remove", account }, patience)).done
  })

  return Keychain.of({ get, set, remove })
})

export const layerWith = (options: NonNullable<Parameters<typeof make>[0]>) => Layer.effect(Keychain, make(options))

export const layer = Layer.effect(Keychain, make())
