// Reads versions of interpreters from the text of files. An unknown version is `undefined`.
import { Option, Schema } from "effect"

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

/** `include/node/node_version.h` of an installed Node. */
export const nodeHeaderVersion = (header: string | undefined): string | undefined => {
  const parts = ["MAJOR", "MINOR", "PATCH"].map((name) =>
    new RegExp(`^#define NODE_${name}_VERSION (\\d+)\\s*$`, "m").exec(header ?? "")?.[1]
  )
  return parts.includes(undefined) ? undefined : parts.join(".")
}

const decodePackage = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ name: Schema.String, version: Schema.String }))
)

/** The manifest of npm's own package of Node, in whose `bin` the program lies. */
export const nodePackageVersion = (manifest: string | undefined): string | undefined => {
  const found = manifest === undefined ? undefined : Option.getOrUndefined(decodePackage(manifest))
  return found !== undefined && /^node(?:-|$)/.test(found.name)
    ? /^\d+(?:\.\d+){0,3}/.exec(found.version)?.[0]
    : undefined
}

/** `python3.11`: the name in distributions of the file that `python3` links to. A single number is not a version. */
export const versionInName = (name: string): string | undefined =>
  /^[a-z]{1,32}-?(\d+(?:\.\d+){1,3})(?:\.exe)?$/i.exec(name)?.[1]

const tomlHeader = /^\[([^\]]*)\]\s*(?:#.*)?$/
const tomlString = /^([A-Za-z0-9_-]+)\s*=\s*(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?$/

/** One string of one table in a TOML file, written on a line of its own, as every tool does. */
export const tomlValue = (text: string | undefined, table: string, key: string): string | undefined => {
  let current = ""
  for (const raw of (text ?? "").split("\n")) {
    const line = raw.trim().slice(0, 1_000)
    const header = tomlHeader.exec(line)
    if (header !== null) current = (header[1] ?? "").trim().replace(/^"(.*)"$/, "$1")
    else if (current === table) {
      const entry = tomlString.exec(line)
      if (entry?.[1] === key) return entry[2] ?? entry[3]
    }
  }
  return undefined
}

const numbers = (version: string) => version.replace(/^v/, "").split(/[.-]/).map((n) => Number.parseInt(n, 10))

/** Newest first: numbers by size, everything else (pre-releases, names) below them. */
export const newestFirst = (a: string, b: string): number => {
  const left = numbers(a)
  const right = numbers(b)
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const l = left[i] ?? 0
    const r = right[i] ?? 0
    if (Number.isNaN(l) || Number.isNaN(r)) return Number(Number.isNaN(l)) - Number(Number.isNaN(r))
    if (l !== r) return r - l
  }
  return 0
}

const versionText = /^[0-9A-Za-z.+_/-]+$/

/** Whether the text may be part of a path. */
export const isVersion = (text: string) => text.length <= 64 && versionText.test(text) && !text.includes("..")

/** Lines of a version file, without comments. */
export const linesOf = (text: string | undefined): ReadonlyArray<string> =>
  (text ?? "").replace(/^\uFEFF/, "").split(/\r?\n/).map((l) => l.replace(/#.*$/, "").trim()).filter((l) => l !== "")

/** The installed version for `wanted`: itself, or the newest that begins with it. */
export const pickVersion = (installed: ReadonlyArray<string>, wanted: string): string | undefined =>
  installed.includes(wanted)
    ? wanted
    : installed.filter((v) => v.startsWith(`${wanted}.`) && /^v?\d+(?:\.\d+)*$/.test(v)).toSorted(newestFirst)[0]
