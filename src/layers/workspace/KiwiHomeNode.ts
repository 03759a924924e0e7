// The folders of this process from its environment. A relative KIWI_HOME or USER_SPACE counts from the home folder,
// never from the working directory: that one may be a repository which brings such a folder along.
import { Effect, Layer, Option } from "effect"
import { readFileSync, realpathSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, isAbsolute, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { errorCode } from "../process/errorCode.ts"
import { variable } from "../process/variable.ts"

export interface KiwiHomeOptions {
  readonly home?: string | undefined
  readonly userSpace?: string | undefined
  readonly systemSpace?: string | undefined
  readonly userHome?: string | undefined
}

/** Real as far as it exists: the rest is appended as it stands. A loop or an unreadable parent is left as it stands. */
export const realOrPlanned = (path: string): string => {
  const absent: Array<string> = []
  let current = path
  while (true) {
    try {
      return join(realpathSync.native(current), ...absent)
    } catch (error) {
      if (errorCode(error) !== "ENOENT" || dirname(current) === current) return path
      absent.unshift(current.slice(dirname(current).length).replace(/^[/\\]/, ""))
      current = dirname(current)
    }
  }
}

const expand = (path: string, userHome: string): string =>
  path === "~" ? userHome : path.startsWith("~/") ? join(userHome, path.slice(2)) : resolve(userHome, path)

const isOurManifest = (file: string): boolean => {
  try {
    return JSON.parse(readFileSync(file, "utf8")).name === "kiwi-mcp"
  } catch {
    return false
  }
}

/** `.ai` of this package: seen from src, from dist, and from a bundle in dist/bin or deeper. */
const packageSpace = (): string => {
  const here = dirname(fileURLToPath(import.meta.url))
  for (let folder = here; dirname(folder) !== folder; folder = dirname(folder)) {
    if (isOurManifest(join(folder, "package.json"))) return join(folder, ".ai")
  }
  return join(here, "no-system-tier", ".ai")
}

const nonEmpty = (value: string | undefined): string | undefined => value === "" ? undefined : value

export const make = (options: KiwiHomeOptions) =>
  Effect.sync(() => {
    const given = nonEmpty(options.userHome)
    const userHome = realOrPlanned(given !== undefined && isAbsolute(given) ? given : homedir())
    const home = realOrPlanned(expand(nonEmpty(options.home) ?? ".kiwi", userHome))
    return KiwiHome.of({
      home,
      userSpace: realOrPlanned(expand(nonEmpty(options.userSpace) ?? ".ai", userHome)),
      systemSpace: realOrPlanned(nonEmpty(options.systemSpace) ?? packageSpace()),
      verified: join(home, "verified"),
      userHome
    })
  })

const set = (name: string) => Effect.map(variable(name), Option.getOrUndefined)

/** What is not given comes from `KIWI_HOME`, `USER_SPACE` and `HOME` of the current ConfigProvider. */
export const layerWith = (options: KiwiHomeOptions) =>
  Layer.effect(
    KiwiHome,
    Effect.gen(function*() {
      return yield* make({
        home: options.home ?? (yield* set("KIWI_HOME")),
        userSpace: options.userSpace ?? (yield* set("USER_SPACE")),
        userHome: options.userHome ?? (yield* set("HOME")),
        systemSpace: options.systemSpace
      })
    })
  )

export const layer = layerWith({})
