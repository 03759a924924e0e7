// Which version an interpreter is, told without running it: by the settings of its virtual environment, the headers or
// the package that it came with, or its own name.
import { Option, Schema } from "effect"
import type { PathModule } from "./searchPath.ts"

export interface VersionHost {
  readonly path: PathModule
  readonly realPath: (path: string) => string | undefined
  readonly text: (path: string) => string | undefined
}

const shortest = /^\d+(?:\.\d+){0,3}/

/** `version = 3.12.1` of venv, `version_info = 3.12.1.final.0` of virtualenv and uv. */
export const venvVersion = (settings: string | undefined): string | undefined => {
  for (const line of (settings ?? "").split("\n")) {
    const at = line.indexOf("=")
    const key = line.slice(0, Math.max(at, 0)).trim()
    if (key !== "version" && key !== "version_info") continue
    const numbers = /^\d+(?:\.\d+){0,2}/.exec(line.slice(at + 1).trim())
    if (numbers !== null) return numbers[0]
  }
  return undefined
}

const headerVersion = (header: string): string | undefined => {
  const part = (name: string) => new RegExp(`^#define NODE_${name}_VERSION (\\d+)\\s*$`, "m").exec(header)?.[1]
  const [major, minor, patch] = [part("MAJOR"), part("MINOR"), part("PATCH")]
  return major === undefined || minor === undefined || patch === undefined ? undefined : `${major}.${minor}.${patch}`
}

const decodePackage = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ name: Schema.String, version: Schema.String }))
)

/** npm's own package of Node: the program lies in `bin` of it. */
const packageVersion = (text: string): string | undefined => {
  const found = Option.getOrUndefined(decodePackage(text))
  return found !== undefined && /^node(?:-|$)/.test(found.name) ? shortest.exec(found.version)?.[0] : undefined
}

/** `python3.11`, `ruby3.2`, `node-22`: what distributions call the file that the usual name is a link to. */
const nameVersion = (name: string): string | undefined => /^[a-z]+-?(\d+(?:\.\d+){0,3})(?:\.exe)?$/i.exec(name)?.[1]

export const programVersion = (program: string, host: VersionHost): string | undefined => {
  const { path } = host
  const real = host.realPath(program) ?? program
  const name = path.basename(real)
  const named = nameVersion(name)
  // `python3` is a name, and no version.
  if (named?.includes(".") === true) return named
  if (!/^node(?:\.exe)?$/i.test(name)) return undefined
  const home = path.dirname(path.dirname(real))
  const header = host.text(path.join(home, "include", "node", "node_version.h"))
  const fromHeader = header === undefined ? undefined : headerVersion(header)
  if (fromHeader !== undefined) return fromHeader
  const manifest = host.text(path.join(home, "package.json"))
  return manifest === undefined ? undefined : packageVersion(manifest)
}
