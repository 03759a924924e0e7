// The folders of this process, from its environment by the rules of home/homeFolders.ts.
import { Effect, Layer, Option } from "effect"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { HomeRefused, KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { attempt } from "../files/attempt.ts"
import { readText } from "../files/readRegular.ts"
import { variable } from "../process/variable.ts"
import { homeFolders, realOrPlanned } from "./home/homeFolders.ts"

export interface KiwiHomeOptions {
  readonly home?: string | undefined
  readonly userSpace?: string | undefined
  readonly systemSpace?: string | undefined
  readonly userHome?: string | undefined
}

const isOurManifest = (file: string): boolean =>
  attempt(() => JSON.parse(readText(file, { maxBytes: 1_048_576, follow: true }) ?? "").name) === "kiwi-mcp"

/** This package's `.ai`: from src, from dist, or from a bundle in dist/bin or deeper. */
const packageSpace = (): string => {
  const here = dirname(fileURLToPath(import.meta.url))
  for (let folder = here; dirname(folder) !== folder; folder = dirname(folder)) {
    if (isOurManifest(join(folder, "package.json"))) return join(folder, ".ai")
  }
  return join(here, "no-system-tier", ".ai")
}

export const make = Effect.fnUntraced(function*(options: KiwiHomeOptions) {
  const found = homeFolders({ HOME: options.userHome, KIWI_HOME: options.home, USER_SPACE: options.userSpace })
  if (found._tag === "Refused") return yield* new HomeRefused({ variable: found.variable, issue: found.issue })
  const home = realOrPlanned(found.home)
  return KiwiHome.of({
    home,
    userSpace: realOrPlanned(found.userSpace),
    systemSpace: realOrPlanned(options.systemSpace ?? packageSpace()),
    verified: join(home, "verified"),
    userHome: realOrPlanned(found.userHome)
  })
})

const set = (name: string) => Effect.map(variable(name), Option.getOrUndefined)

/** Omitted options come from `KIWI_HOME`, `USER_SPACE` and `HOME` of the current ConfigProvider. */
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
