// The variables of Kiwi's own process, by their names. Empty counts as unset.
import { type ConfigProvider, Effect } from "effect"

/** `known`: those that `read` has read. Each is read once: nobody changes the environment of a running process. */
export const makeProcessVariables = (provider: ConfigProvider.ConfigProvider, windows: boolean) => {
  const load = (at: ReadonlyArray<string>) => Effect.orElseSucceed(provider.load([...at]), () => undefined)

  /** Windows ignores the case of variables' names; a ConfigProvider has them split at `_`. */
  const loadAnyCase = Effect.fnUntraced(function*(name: string) {
    let spellings: ReadonlyArray<ReadonlyArray<string>> = [[]]
    for (const part of name.split("_")) {
      const next: Array<ReadonlyArray<string>> = []
      for (const prefix of spellings) {
        const node = yield* load(prefix)
        const keys = node?._tag === "Record" ? [...node.keys] : []
        for (const key of keys) if (key.toUpperCase() === part.toUpperCase()) next.push([...prefix, key])
      }
      spellings = next
    }
    for (const spelling of spellings) {
      const value = (yield* load([spelling.join("_")]))?.value
      if (value !== undefined) return value
    }
    return undefined
  })

  const known = new Map<string, string | undefined>()
  const read = Effect.fnUntraced(function*(names: ReadonlyArray<string>) {
    for (const name of names) {
      if (known.has(name)) continue
      const value = (yield* load([name]))?.value ?? (windows ? yield* loadAnyCase(name) : undefined)
      known.set(name, value === "" ? undefined : value)
    }
  })

  return { known: known as ReadonlyMap<string, string | undefined>, read }
}
