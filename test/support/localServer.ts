// Real HTTP servers on loopback, closed with their scope.
import { Effect } from "effect"
import * as Http from "node:http"
import * as Net from "node:net"

export interface LocalServer {
  readonly port: number
  /** `127.0.0.1:port`. */
  readonly host: string
  readonly url: string
  readonly seen: Array<
    { readonly method: string; readonly url: string; readonly headers: Http.IncomingHttpHeaders; readonly body: string }
  >
}

const listen = (server: Net.Server) =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () => Effect.sync(() => server.close())
  )

export const localServer = (
  handler: (request: Http.IncomingMessage, response: Http.ServerResponse, body: string) => void
): Effect.Effect<LocalServer, never, import("effect").Scope.Scope> =>
  Effect.suspend(() => {
    const seen: LocalServer["seen"] = []
    const server = Http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8")
        seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body })
        handler(request, response, body)
      })
    })
    return listen(server).pipe(
      Effect.tap(() => Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))),
      Effect.map((port) => ({ port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}`, seen }))
    )
  })

/** Speaks bytes instead of HTTP. */
export const rawServer = (onConnection: (socket: Net.Socket) => void) =>
  Effect.suspend(() => {
    const sockets = new Set<Net.Socket>()
    const server = Net.createServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      onConnection(socket)
    })
    return listen(server).pipe(
      Effect.tap(() => Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))),
      Effect.map((port) => ({ port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` }))
    )
  })
