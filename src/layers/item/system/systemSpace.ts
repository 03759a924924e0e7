// The folder of the system tier: the package's own if it exists, otherwise one in $KIWI_HOME that is written from the
// program itself, since a bundle has no package around it.
import { Effect, Layer, Order } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { SafeFiles } from "../../../services/files/SafeFiles.ts"
import { SystemItemRefused } from "../../../services/item/ItemErrors.ts"
import { KiwiHome } from "../../../services/workspace/KiwiHome.ts"
import { sha256 } from "../../identity/sha256.ts"

const maxItem = 1024 * 1024

/** Kiwi's own files, by path below the tier. */
export const systemFiles = Effect.map(
  Effect.promise(() => import("./systemTier.generated.ts")),
  ({ systemTier }) => {
    const encoder = new TextEncoder()
    return new Map([...systemTier].map(([path, text]) => [path, encoder.encode(text)]))
  }
)

const write = Effect.fnUntraced(function*(home: string) {
  const files = yield* SafeFiles
  const all = yield* systemFiles
  const digests = [...all].map(([path, bytes]) => [path, sha256(bytes)]).toSorted(
    Order.mapInput(Order.String, ([path = ""]) => path)
  )
  const folder = `system/items-${sha256(JSON.stringify(digests)).slice(0, 16)}`
  yield* Effect.forEach(all, ([path, bytes]) =>
    Effect.gen(function*() {
      const place = `${folder}/${path}`
      const known = yield* Effect.orElseSucceed(files.read(home, place, { maxBytes: maxItem }), () => undefined)
      if (known === undefined || !Buffer.from(known).equals(bytes)) yield* files.write(home, place, bytes)
    }).pipe(
      Effect.mapError((cause) =>
        new SystemItemRefused({ item: path, issue: "it cannot be written to $KIWI_HOME", cause })
      )
    ), { discard: true })
  return join(home, folder)
})

/** KiwiHome with a folder of Kiwi's items. If it cannot be written there are no system items, which is logged. */
export const layer = Layer.effect(
  KiwiHome,
  Effect.gen(function*() {
    const home = yield* KiwiHome
    if (existsSync(home.systemSpace)) return home
    return yield* write(home.home).pipe(
      Effect.map((systemSpace) => KiwiHome.of({ ...home, systemSpace })),
      Effect.catchTag(
        "SystemItemRefused",
        (error) => Effect.as(Effect.logWarning(`There are no system items: ${error.message}`), home)
      )
    )
  })
)
