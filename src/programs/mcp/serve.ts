// What `kiwi serve` runs: the server over stdio until its client disconnects, or over HTTP until a signal stops it.
import { Console, Effect, Layer, Logger, Redacted, References, Scope } from "effect"
import * as McpServer from "effect/ai/McpServer"
import { Outbound } from "../../services/outbound/Outbound.ts"
import * as Server from "./server.ts"
import { isEveryAddress } from "./transport/hosts.ts"
import { httpProtocols, stdioProtocols } from "./transport/protocols.ts"
import * as Stdio from "./transport/stdio.ts"

/** A server logs to stderr. It records no spans: nothing would read them, and each call would have two. */
const asServer = <A, E, R>(server: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  server.pipe(
    Effect.provideService(Logger.LogToStderr, true),
    Effect.provideService(References.TracerEnabled, false)
  )

/**
 * Nothing else may read stdin or write to stdout: both belong to the protocol. Succeeds when the client has
 * disconnected.
 */
export const serveStdio = Effect.fn("serveStdio")(
  function*(options: Server.ServerOptions & Pick<Stdio.StdioOptions, "input" | "output">) {
    const { gate, registrations } = yield* Server.make(options)
    const server = McpServer.layer({ ...Server.serverInfo, protocols: stdioProtocols, registrations })
    yield* Stdio.serve(server, { input: options.input, output: options.output, before: gate })
  },
  asServer
)

export interface ServeHttpOptions extends Server.ServerOptions {
  readonly host: string
  readonly port: number
  readonly allowedHosts: ReadonlyArray<string>
  /** From `KIWI_HTTP_TOKEN`; without it a token is made and shown once. */
  readonly token: Redacted.Redacted<string> | undefined
  readonly noAuth: boolean
  /** The user that the server acts for, named in the warning. */
  readonly user: string
}

/** Prints its URL and its token on stderr, one each a line, so that programs can read them. Runs until interrupted. */
export const serveHttp = Effect.fn("serveHttp")(
  function*(options: ServeHttpOptions) {
    // Loaded here and not at the top: every client starts its own server on stdio, which does not need it.
    const Http = yield* Effect.promise(() => import("./transport/http.ts"))
    const made = options.noAuth || options.token !== undefined ? undefined : yield* Http.makeToken
    const token = options.noAuth ? undefined : made ?? options.token
    if (token !== undefined) yield* Http.checkToken(token)
    const { endSession, gate, notices, registrations } = yield* Server.make(options)
    const { makeAnswer } = yield* Effect.promise(() => import("./approvalRoute.ts"))
    const answer = yield* makeAnswer(options.project)
    const outbound = yield* Outbound
    const scope = yield* Effect.scope
    const listening = (url: string) =>
      Effect.gen(function*() {
        // A tool that may connect to this machine must not connect to Kiwi itself, where it would act as the server's
        // user.
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
      { info: Server.serverInfo, protocols: httpProtocols, registrations, gate, notices, endSession, answer },
      { host: options.host, port: options.port, allowedHosts: options.allowedHosts, token, listening }
    )
    return yield* Layer.launch(server)
  },
  Effect.scoped,
  asServer
)
