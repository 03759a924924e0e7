/** Characters that are drawn as nothing, and that some file systems ignore in names. */
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu

/**
 * A name as the most tolerant file system would read it: any case, any form of the same letter, without characters that
 * are drawn as nothing, and without what Windows drops at the end.
 */
export const foldName = (name: string): string => {
  // Most names need nothing of this.
  if (/^[a-z0-9_.*?-]*[a-z0-9_*?-]$/.test(name)) return name
  const folded = name.normalize("NFKC").replace(ignorable, "").toLowerCase().normalize("NFKC")
  const bare = folded.replace(/:.*$/su, "").replace(/[. ]+$/u, "")
  return bare === "" ? folded : bare
}
