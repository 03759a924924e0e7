// What `kiwi serve` runs: the server over stdio until its client is gone, or over HTTP until it is told to stop.
import { Console, Effect, Layer, Logger, Redacted, Scope } from "effect"
import * as McpServer from "effect/ai/McpServer"
import { Outbound } from "../../services/outbound/Outbound.ts"
import * as Server from "./server.ts"
import { isEveryAddress } from "./transport/hosts.ts"
import { httpProtocols, stdioProtocols } from "./transport/protocols.ts"
import * as Stdio from "./transport/stdio.ts"

/** Needs the projects, and nothing that reads or writes stdio: that is the protocol's. Succeeds when the client left. */
export const serveStdio = Effect.fn("serveStdio")(
  function*(options: Server.ServerOptions & Pick<Stdio.StdioOptions, "input" | "output">) {
    const { gate, registrations } = yield* Server.make(options)
    const server = McpServer.layer({ ...Server.serverInfo, protocols: stdioProtocols, registrations })
    yield* Stdio.serve(server, { input: options.input, output: options.output, before: gate })
  },
  Effect.provideService(Logger.LogToStderr, true)
)

export interface ServeHttpOptions extends Server.ServerOptions {
  readonly host: string
  readonly port: number
  readonly allowedHosts: ReadonlyArray<string>
  /** From `KIWI_HTTP_TOKEN`; else one is made and shown once. */
  readonly token: Redacted.Redacted<string> | undefined
  readonly noAuth: boolean
  /** Whom the server acts for, for the warning. */
  readonly user: string
}

/** Says on stderr, in lines that programs can read, where it listens and with which token. Runs until interrupted. */
export const serveHttp = Effect.fn("serveHttp")(
  function*(options: ServeHttpOptions) {
    // What listens is not loaded by a server on stdio, which every client starts anew.
    const Http = yield* Effect.promise(() => import("./transport/http.ts"))
    const made = options.noAuth || options.token !== undefined ? undefined : yield* Http.makeToken
    const token = options.noAuth ? undefined : made ?? options.token
    if (token !== undefined) yield* Http.checkToken(token)
    const { gate, notices, registrations } = yield* Server.make(options)
    const outbound = yield* Outbound
    const scope = yield* Effect.scope
    const listening = (url: string) =>
      Effect.gen(function*() {
        // A tool that may reach this machine still does not reach Kiwi, and act there as whoever serves.
        yield* Scope.provide(outbound.reserve(Number(new URL(url).port || 80)), scope)
        if (options.noAuth) {
          yield* Console.error(
            `No token is asked for: every user and every program of this machine can now act as ${options.user}.`
          )
        }
        if (isEveryAddress(options.host) && options.allowedHosts.length === 0) {
          yield* Console.error(
            "Clients on other machines are refused until you name the host that they call: --allow-host NAME"
          )
        }
        if (made !== undefined) yield* Console.error(`KIWI_HTTP_TOKEN=${Redacted.value(made)}`)
        yield* Console.error(`KIWI_MCP_URL=${url}`)
      })
    const server = Http.layer(
      { info: Server.serverInfo, protocols: httpProtocols, registrations, gate, notices },
      { host: options.host, port: options.port, allowedHosts: options.allowedHosts, token, listening }
    )
    return yield* Layer.launch(server)
  },
  Effect.scoped,
  Effect.provideService(Logger.LogToStderr, true)
)
