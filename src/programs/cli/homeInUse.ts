// Whether Kiwi's own folder is in use already: it has a trust decision or a key.
import { Effect, FileSystem, Path } from "effect"

export const isHomeInUse = Effect.fnUntraced(function*(home: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // A file that cannot be read counts as present.
  const isThere = (...parts: ReadonlyArray<string>) =>
    Effect.orElseSucceed(files.exists(path.join(home, ...parts)), () => true)
  if ((yield* isThere("signers.json")) || (yield* isThere("keys"))) return true
  if (!(yield* isThere("projects"))) return false
  const ids = yield* Effect.orElseSucceed(files.readDirectory(path.join(home, "projects")), () => [""])
  const trusted = yield* Effect.forEach(ids, (id) => isThere("projects", id, "trust.json"))
  return trusted.includes(true)
})
