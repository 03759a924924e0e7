// Shims of version managers on PATH: programs that start another one, which files in their working directory choose. A
// clone's `.python-version` or `.tool-versions` could choose what runs a user's tool, even by a path inside the clone.
// So a folder of shims is replaced by the folders of its manager's global versions. It is recognized by its structure:
// `shims` beside `versions` (pyenv, rbenv and similar) or `installs` (asdf, mise), or volta's. rustup's folder also has
// other programs: the folders of the global versions precede it, and its shims are recognized one by one.
import { Option, Schema } from "effect"
import { isVersion, linesOf, pickVersion, tomlValue } from "../../../services/env/versionText.ts"
import { isInside } from "../../files/isInside.ts"
import type { HostFiles } from "../HostFiles.ts"
import type { PathModule } from "../searchPath.ts"

export interface ShimHost {
  readonly files: HostFiles
  readonly path: PathModule
  readonly userHome: string
  /** Text of a small file, cached until the file changes. */
  readonly text: (path: string) => string | undefined
  /** Names in a folder, cached until it changes. */
  readonly list: (path: string) => ReadonlyArray<string>
}

const decodeVolta = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({
  node: Schema.optionalKey(
    Schema.Struct({ runtime: Schema.String, npm: Schema.optionalKey(Schema.NullOr(Schema.String)) })
  ),
  yarn: Schema.optionalKey(Schema.NullOr(Schema.String))
})))

/** `PATH` with every folder of shims replaced. `replaced`: those folders. */
export const makeShims = ({ files, list, path, text, userHome }: ShimHost) => {
  const installed = (folder: string, wanted: ReadonlyArray<string>): ReadonlyArray<string> => {
    const there = list(folder)
    return wanted.flatMap((version) => {
      const chosen = isVersion(version) ? pickVersion(there, version) : undefined
      const place = chosen === undefined ? undefined : path.join(folder, ...chosen.split("/"))
      return place !== undefined && isInside(folder, place, path) ? [place] : []
    })
  }
  const words = (line: string) => line.split(/\s+/)
  const bins = (folders: ReadonlyArray<string>) => folders.map((folder) => path.join(folder, "bin"))

  const ofVersions = (root: string) =>
    bins(installed(path.join(root, "versions"), linesOf(text(path.join(root, "version"))).flatMap(words)))

  const ofInstalls = (root: string) => {
    const asked = linesOf(text(path.join(userHome, ".tool-versions"))).map(words)
    const settings = text(path.join(userHome, ".config", "mise", "config.toml"))
    const installs = path.join(root, "installs")
    return list(installs).flatMap((plugin) => {
      const ofMise = path.basename(root) === "mise" ? tomlValue(settings, "tools", plugin) : undefined
      const wanted = ofMise === undefined ? asked.find(([name]) => name === plugin)?.slice(1) ?? [] : [ofMise]
      return installed(path.join(installs, plugin), wanted).map((folder) =>
        path.join(folder, ...(plugin === "golang" ? ["go"] : []), "bin")
      )
    })
  }

  const ofVolta = (root: string) => {
    const tools = path.join(root, "tools")
    const chosen = Option.getOrUndefined(decodeVolta(text(path.join(tools, "user", "platform.json"))))
    const image = (kind: string, version: string | null | undefined) =>
      installed(path.join(tools, "image", kind), version === null || version === undefined ? [] : [version])
    return bins([
      ...image("npm", chosen?.node?.npm),
      ...image("yarn", chosen?.yarn),
      ...image("node", chosen?.node?.runtime)
    ])
  }

  const ofRustup = (entry: string) => {
    const root = path.join(userHome, ".rustup")
    const chosen = /^default_toolchain\s*=\s*"([A-Za-z0-9._-]+)"/m.exec(text(path.join(root, "settings.toml")) ?? "")
      ?.[1]
    const toolchain = chosen === undefined || /^\.+$/.test(chosen) ? [] : [path.join(root, "toolchains", chosen)]
    return [...bins(toolchain), entry]
  }

  type Targets = () => ReadonlyArray<string>
  const managerOf = (entry: string): Targets | undefined => {
    const folder = files.realPath(entry) ?? entry
    const root = path.dirname(folder)
    if (path.basename(folder) === "shims") {
      const beside = list(root)
      return beside.includes("versions")
        ? () => ofVersions(root)
        : beside.includes("installs")
        ? () => ofInstalls(root)
        : () => []
    }
    if (files.isFile(path.join(root, "tools", "user", "platform.json"))) return () => ofVolta(root)
    const isRustups = files.executable(path.join(folder, "rustup")) !== undefined
    return isRustups ? () => ofRustup(entry) : undefined
  }
  const known = new Map<string, Targets | undefined>()

  return (searchPath: string) => {
    const replaced: Array<string> = []
    const entries = searchPath.split(path.delimiter).flatMap((entry) => {
      if (!path.isAbsolute(entry)) return [entry]
      const targets = known.has(entry) ? known.get(entry) : managerOf(entry)
      known.set(entry, targets)
      if (targets === undefined) return [entry]
      const found = targets()
      if (!found.includes(entry)) replaced.push(entry)
      return found
    })
    return { searchPath: entries.join(path.delimiter), replaced }
  }
}
