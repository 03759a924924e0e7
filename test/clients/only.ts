// What `--only` takes.

/** The names that have one of the words in them, in any case; all where there are no words. Throws where there is none. */
export const only = (names: ReadonlyArray<string>, words: ReadonlyArray<string>): ReadonlySet<string> => {
  const chosen = names.filter((name) =>
    words.length === 0 || words.some((word) => name.toLowerCase().includes(word.toLowerCase()))
  )
  if (chosen.length > 0) return new Set(chosen)
  throw new Error(`--only ${words.join(" ")} takes no client. There are: ${names.join(", ")}`)
}
