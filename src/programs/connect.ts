// How an MCP client starts this Kiwi: the command, and its form in the configuration files of four clients.
import { Result } from "effect"
import { shellWord } from "../services/text/shellWord.ts"

export interface Command {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

export interface Snippet {
  readonly client: string
  /** The file that it belongs into. */
  readonly where: string
  readonly text: string
  /** The client's own command that writes it there. */
  readonly instead?: string
}

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

/** The cache folder from which npx runs this program, or `undefined` if npx did not start it. */
export const npxFolder = (script: string): string | undefined => /^.*[\\/]_npx[\\/][^\\/]+(?=[\\/])/.exec(script)?.[0]

const isLocal = (spec: string): boolean => /^(?:file:|[./~])|^[A-Za-z]:[\\/]|\.t(?:ar\.)?gz$/.test(spec)

/**
 * The packages that npx was started with, from the package.json in its cache folder. A file gets its absolute path,
 * since the next npx may start in another folder, and the prefix `file:`, since npx takes a bare path for a program.
 */
export const npxPackages = (
  packageJson: string,
  resolve: (path: string) => string
): ReadonlyArray<string> | undefined => {
  const read = Result.try((): unknown => JSON.parse(packageJson))
  const packages = member(member(Result.getOrUndefined(read), "_npx"), "packages")
  if (!Array.isArray(packages) || packages.length === 0 || !packages.every((spec) => typeof spec === "string")) {
    return undefined
  }
  const own = member(member(Result.getOrUndefined(read), "dependencies"), "kiwi-mcp")
  const file = typeof own === "string" && own.startsWith("file:") ? `file:${resolve(own.slice(5))}` : undefined
  return packages.map((spec: string) => file !== undefined && isLocal(spec) ? file : spec)
}

const npx = (packages: ReadonlyArray<string>): Command => ({
  command: "npx",
  args: packages.length === 1
    ? ["-y", ...packages]
    : ["-y", ...packages.flatMap((spec) => ["-p", spec]), "kiwi"]
})

/**
 * A command that still works later. A path into npx's cache may not: such a program is started by npx again, with the
 * same packages. A program in a project's node_modules is started by npx too, and one in a checkout by its path.
 */
export const kiwiCommand = (
  started: { readonly node: string; readonly script: string },
  isOnPath: boolean,
  packages: ReadonlyArray<string> = ["kiwi-mcp"]
): Command => {
  const script = started.script.replaceAll("\\", "/")
  if (npxFolder(script) !== undefined) return npx(packages)
  if (isOnPath) return { command: "kiwi", args: [] }
  return script.includes("/node_modules/")
    ? npx(["kiwi-mcp"])
    : { command: started.node, args: [started.script] }
}

export const serveCommand = ({ args, command }: Command, project: string, profile?: string): Command => ({
  command,
  args: [...args, "serve", "--project", project, ...(profile === undefined ? [] : ["--profile", profile])]
})

export const commandLine = ({ args, command }: Command): string => [command, ...args].map(shellWord).join(" ")

/** One server in the form of a client's file, its arguments on one line. */
const printServer = (servers: string, server: object): string => {
  const members = Object.entries(server).map(([name, value]) =>
    `      ${JSON.stringify(name)}: ${JSON.stringify(value)}`
  )
  return `{\n  ${JSON.stringify(servers)}: {\n    "kiwi": {\n${members.join(",\n")}\n    }\n  }\n}`
}

/** A TOML basic string is a JSON string; only DEL differs, and JSON leaves it as it is. */
const tomlText = (text: string): string => JSON.stringify(text).replaceAll("\u007f", "\\u007f")

export const snippets = (serve: Command): ReadonlyArray<Snippet> => {
  const { args, command } = serve
  const line = commandLine(serve)
  return [
    {
      client: "Claude Code",
      where: ".mcp.json in the project",
      text: printServer("mcpServers", { type: "stdio", command, args }),
      instead: `claude mcp add --transport stdio kiwi -- ${line}`
    },
    {
      client: "Cursor",
      where: ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
      text: printServer("mcpServers", { command, args })
    },
    {
      client: "VS Code",
      where: ".vscode/mcp.json in the project",
      text: printServer("servers", { type: "stdio", command, args }),
      instead: `code --add-mcp ${shellWord(JSON.stringify({ name: "kiwi", command, args }))}`
    },
    {
      client: "Codex",
      where: "~/.codex/config.toml",
      text: `[mcp_servers.kiwi]\ncommand = ${tomlText(command)}\nargs = [${args.map(tomlText).join(", ")}]`,
      instead: `codex mcp add kiwi -- ${line}`
    }
  ]
}
