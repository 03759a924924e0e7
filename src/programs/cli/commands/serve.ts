// serve: the MCP server. It starts in any state, so that the server itself can tell an agent what is wrong.
import { Effect, Option, Redacted } from "effect"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { parseAllowedHost } from "../../mcp/transport/hosts.ts"
import { withNext } from "../help.ts"
import { plainServe, profileToServe, projectToServe, readPresence } from "../plainServe.ts"
import { root } from "../root.ts"
import { Shell, variable } from "../Shell.ts"

const onlyWithHttp = (given: boolean, flag: string) =>
  given ? Effect.fail(new CliError.ValidationError({ message: `${flag} needs --http` })) : Effect.void

export const serveCommand = Command.make("serve", {
  http: Flag.Boolean("http").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Listen for HTTP instead of talking on stdin and stdout"),
    Flag.withDefault(false)
  ),
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.filter((n) => n >= 0 && n <= 65_535, () => "a port from 0 to 65535"),
    Flag.withDescription("With --http: the port; 0, the default, takes any free one"),
    Flag.optional
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("ADDRESS"),
    Flag.withDescription("With --http: the address. Default: 127.0.0.1"),
    Flag.optional
  ),
  allowHost: Flag.String("allow-host").pipe(
    Flag.withMetavar("NAME"),
    Flag.filterMap(
      (given) => Option.fromUndefinedOr(parseAllowedHost(given)),
      () => "a host as clients call it: NAME, NAME:PORT or an IP address"
    ),
    Flag.withDescription(
      "With --http: a further host name that clients may use for this server, as NAME or NAME:PORT; may be given more than once"
    ),
    Flag.atLeast(0)
  ),
  noAuth: Flag.Boolean("no-auth").pipe(
    Flag.withoutNegation,
    Flag.withDescription("With --http: require no token. Only on this machine's own addresses"),
    Flag.withDefault(false)
  ),
  client: Flag.String("client").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription(
      "The name of this server's client in your rules, one that you added with kiwi client add. Default: your user"
    ),
    Flag.optional
  ),
  profile: Flag.String("profile").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("Serve only what this profile has, with its rules; list its tools by name: docs/profiles.md"),
    Flag.optional
  )
}, ({ allowHost, client, host, http, noAuth, port, profile }) =>
  Effect.gen(function*() {
    const plain = {
      project: Option.getOrUndefined((yield* root).project),
      client: Option.getOrUndefined(client),
      profile: Option.getOrUndefined(profile)
    }
    if (!http) return yield* plainServe(plain)
    const shell = yield* Shell
    const token = variable(shell.env, "KIWI_HTTP_TOKEN")
    const { serveHttp } = yield* Effect.promise(() => import("../../mcp/serve.ts"))
    const project = yield* projectToServe(plain.project)
    return yield* serveHttp({
      project,
      ...(yield* profileToServe(project, plain.profile)),
      client: plain.client ?? shell.user,
      host: Option.getOrElse(host, () => "127.0.0.1"),
      port: Option.getOrElse(port, () => 0),
      allowedHosts: allowHost,
      token: token === undefined ? undefined : Redacted.make(token),
      noAuth,
      user: shell.user,
      presence: yield* readPresence("http", plain.client)
    })
  })).pipe(
    Command.validate(({ allowHost, host, http, noAuth, port }) =>
      http ? Effect.void : onlyWithHttp(Option.isSome(port), "--port").pipe(
        Effect.andThen(onlyWithHttp(Option.isSome(host), "--host")),
        Effect.andThen(onlyWithHttp(allowHost.length > 0, "--allow-host")),
        Effect.andThen(onlyWithHttp(noAuth, "--no-auth"))
      )
    ),
    Command.withDescription(
      "Serve this project to an agent by the Model Context Protocol: on stdin and stdout, as clients start it, or over " +
        "HTTP at /mcp. Over HTTP a token is asked for: the one in KIWI_HTTP_TOKEN, or one that is made and printed on " +
        "stderr."
    ),
    Command.withShortDescription("Serve this project to an agent by MCP"),
    Command.withExamples([
      { command: "kiwi serve --project ~/work/site", description: "What a client's configuration holds" },
      { command: "kiwi serve --http --port 7337" },
      {
        command: "kiwi serve --http --port 7337 --host 0.0.0.0 --allow-host build.example.org",
        description: "In a container, or for other machines"
      },
      { command: "claude mcp add --transport stdio kiwi -- npx -y kiwi-mcp serve --project ~/work/site" }
    ]),
    withNext(["kiwi init", "prints the configuration for your clients"], ["kiwi logs --follow", "watch what it does"])
  )
