// The MCP clients of this machine, the servers that they are configured with, and installed skills. Only names are
// taken: commands, arguments and variables of other servers may hold secrets.
import { Effect, FileSystem, Option, Path, Result } from "effect"
import * as Toml from "effect/encoding/Toml"
import { listFolder } from "../layers/files/listFolder.ts"
import { readRegular } from "../layers/files/readRegular.ts"

type Format = "json" | "toml"

interface ConfigPlace {
  readonly client: string
  /** Segments below the home folder, or below the project. */
  readonly below: "home" | "project"
  readonly path: ReadonlyArray<string>
  readonly format: Format
  /** The keys that lead to the servers, from the outermost object inwards. */
  readonly servers: ReadonlyArray<string>
}

const json = (
  client: string,
  below: ConfigPlace["below"],
  path: string,
  servers: ReadonlyArray<string> = ["mcpServers"]
): ConfigPlace => ({ client, below, path: path.split("/"), format: "json", servers })

const desktopFolder = (platform: string): string =>
  platform === "darwin" ? "Library/Application Support" : platform === "win32" ? "AppData/Roaming" : ".config"

const places = (platform: string): ReadonlyArray<ConfigPlace> => {
  const desktop = desktopFolder(platform)
  return [
    json("Claude Code", "home", ".claude.json"),
    json("Claude Code", "project", ".mcp.json"),
    json("Claude Desktop", "home", `${desktop}/Claude/claude_desktop_config.json`),
    json("Cursor", "home", ".cursor/mcp.json"),
    json("Cursor", "project", ".cursor/mcp.json"),
    json("VS Code", "home", `${desktop}/Code/User/mcp.json`, ["servers"]),
    json("VS Code", "project", ".vscode/mcp.json", ["servers"]),
    { client: "Codex", below: "home", path: [".codex", "config.toml"], format: "toml", servers: ["mcp_servers"] },
    { client: "Codex", below: "project", path: [".codex", "config.toml"], format: "toml", servers: ["mcp_servers"] },
    json("Windsurf", "home", ".codeium/windsurf/mcp_config.json"),
    json("Gemini CLI", "home", ".gemini/settings.json"),
    json("Gemini CLI", "project", ".gemini/settings.json")
  ]
}

/** Folders that show that a client is installed, even if it has no servers yet. */
const traces = (platform: string): ReadonlyArray<readonly [client: string, path: string]> => {
  const desktop = desktopFolder(platform)
  return [
    ["Claude Code", ".claude"],
    ["Claude Desktop", `${desktop}/Claude`],
    ["Cursor", ".cursor"],
    ["VS Code", `${desktop}/Code`],
    ["Codex", ".codex"],
    ["Windsurf", ".codeium/windsurf"],
    ["Gemini CLI", ".gemini"]
  ]
}

const skillFolders: ReadonlyArray<readonly [below: "home" | "project", path: string]> = [
  ["project", ".ai/skills"],
  ["project", ".claude/skills"],
  ["project", ".agents/skills"],
  ["home", ".claude/skills"],
  ["home", ".agents/skills"]
]

const largest = 32 * 1024 * 1024

/** Removes comments, and commas before a closing bracket, from JSON as editors write it. Takes linear time. */
export const stripJsonComments = (text: string): string => {
  const parts: Array<string> = []
  let comma = -1
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === "\"") {
      const start = at
      for (at++; at < text.length && text[at] !== "\""; at++) if (text[at] === "\\") at++
      parts.push(text.slice(start, at + 1))
      comma = -1
    } else if (character === "/" && text[at + 1] === "/") {
      const end = text.indexOf("\n", at)
      at = (end === -1 ? text.length : end) - 1
    } else if (character === "/" && text[at + 1] === "*") {
      const end = text.indexOf("*/", at + 2)
      at = end === -1 ? text.length : end + 1
    } else {
      if ((character === "}" || character === "]") && comma !== -1) parts[comma] = ""
      if (character === ",") comma = parts.length
      else if (character.trim() !== "") comma = -1
      parts.push(character)
    }
  }
  return parts.join("")
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const member = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined

const parse = (text: string, format: Format): Result.Result<unknown, unknown> =>
  format === "toml"
    ? Toml.parse(text)
    : Result.try((): unknown => JSON.parse(stripJsonComments(text.replace(/^\uFEFF/, ""))))

const serverNames = (config: unknown, place: ConfigPlace, project: string): ReadonlyArray<string> => {
  const named = (servers: unknown) => isRecord(servers) ? Object.keys(servers) : []
  const own = place.servers.reduce(member, config)
  // Claude Code keeps the servers of one project beside those of the user.
  const ofProject = place.client === "Claude Code" && place.below === "home"
    ? member(member(member(config, "projects"), project), "mcpServers")
    : undefined
  return [...named(own), ...named(ofProject)]
}

export interface FoundClient {
  readonly client: string
  /** Configuration files that were found; `~` stands for the home folder. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly readable: boolean }>
  readonly servers: ReadonlyArray<string>
  /** Whether one of the servers looks like Kiwi. */
  readonly connected: boolean
}

export interface FoundSkill {
  readonly name: string
  /** Its folder; `~` stands for the home folder. */
  readonly path: string
}

/** `project` is "" if there is none. */
export const findClients = Effect.fn("findClients")(function*(options: {
  readonly home: string
  readonly project: string
  readonly platform: string
}) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const found = new Map<string, { files: Array<FoundClient["files"][number]>; servers: Set<string> }>()
  const entry = (client: string) => {
    const known = found.get(client) ?? { files: [], servers: new Set<string>() }
    found.set(client, known)
    return known
  }
  for (const [client, folder] of traces(options.platform)) {
    if (yield* Effect.orElseSucceed(files.exists(path.join(options.home, folder)), () => false)) entry(client)
  }
  for (const place of places(options.platform)) {
    if (place.below === "project" && options.project === "") continue
    const base = place.below === "home" ? options.home : options.project
    const file = path.join(base, ...place.path)
    const read = yield* Effect.sync(() => readRegular(file, { maxBytes: largest, follow: true }))
    if (Result.isFailure(read) && (read.failure === "absent" || read.failure === "not-a-file")) continue
    const config = Result.getSuccess(Result.flatMap(read, (bytes) => parse(bytes.toString("utf8"), place.format)))
    const { files: seen, servers } = entry(place.client)
    seen.push({
      path: `${place.below === "home" ? "~/" : ""}${place.path.join("/")}`,
      readable: Option.isSome(config)
    })
    if (Option.isSome(config)) {
      for (const name of serverNames(config.value, place, options.project)) servers.add(name)
    }
  }
  return [...found].map(([client, { files: seen, servers }]): FoundClient => ({
    client,
    files: seen,
    servers: [...servers].toSorted(),
    connected: [...servers].some((name) => /^kiwi(?:$|[-_])/i.test(name))
  }))
})

export const findSkills = Effect.fn("findSkills")(
  function*(options: { readonly home: string; readonly project: string }) {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const skills: Array<FoundSkill> = []
    for (const [below, folder] of skillFolders) {
      const base = below === "home" ? options.home : options.project
      if (base === "") continue
      const names = yield* Effect.sync(() => listFolder(path.join(base, folder)).map(({ name }) => name).toSorted())
      for (const name of names.slice(0, 500)) {
        const is = yield* Effect.orElseSucceed(files.exists(path.join(base, folder, name, "SKILL.md")), () => false)
        if (is) skills.push({ name, path: `${below === "home" ? "~/" : ""}${folder}/${name}` })
      }
    }
    return skills
  }
)
