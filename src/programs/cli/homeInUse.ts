// Whether Kiwi's folder is somebody's already: a project or a signer was trusted there, or a key was kept.
import { Effect, FileSystem, Path } from "effect"

export const isHomeInUse = Effect.fnUntraced(function*(home: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // What cannot be read counts as there.
  const isThere = (...parts: ReadonlyArray<string>) =>
    Effect.orElseSucceed(files.exists(path.join(home, ...parts)), () => true)
  if ((yield* isThere("signers.json")) || (yield* isThere("keys"))) return true
  if (!(yield* isThere("projects"))) return false
  const ids = yield* Effect.orElseSucceed(files.readDirectory(path.join(home, "projects")), () => [""])
  const trusted = yield* Effect.forEach(ids, (id) => isThere("projects", id, "trust.json"))
  return trusted.includes(true)
})
