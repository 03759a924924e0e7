// How an MCP client starts this Kiwi: the command, and the forms in which four clients want it written down.
export interface Command {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

export interface Snippet {
  readonly client: string
  /** Where it goes. */
  readonly where: string
  readonly text: string
  /** The client's own command that writes it there. */
  readonly instead?: string
}

/**
 * The command that will still be there later. npx's cache is not: a program that was started from there is started by
 * npx again. A program in a project's node_modules is found by npx too; one in a checkout by its path.
 */
export const kiwiCommand = (
  started: { readonly node: string; readonly script: string },
  isOnPath: boolean
): Command => {
  const script = started.script.replaceAll("\\", "/")
  if (script.includes("/_npx/")) return { command: "npx", args: ["-y", "kiwi-mcp"] }
  if (isOnPath) return { command: "kiwi", args: [] }
  return script.includes("/node_modules/")
    ? { command: "npx", args: ["-y", "kiwi-mcp"] }
    : { command: started.node, args: [started.script] }
}

export const serveCommand = ({ args, command }: Command, project: string): Command => ({
  command,
  args: [...args, "serve", "--project", project]
})

/** For a POSIX shell. */
export const quote = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

export const commandLine = ({ args, command }: Command): string => [command, ...args].map(quote).join(" ")

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
      instead: `code --add-mcp ${quote(JSON.stringify({ name: "kiwi", command, args }))}`
    },
    {
      client: "Codex",
      where: "~/.codex/config.toml",
      text: `[mcp_servers.kiwi]\ncommand = ${tomlText(command)}\nargs = [${args.map(tomlText).join(", ")}]`,
      instead: `codex mcp add kiwi -- ${line}`
    }
  ]
}
