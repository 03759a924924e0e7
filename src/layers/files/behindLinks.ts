// Where the path of a rule or of a grant leads over links, also if what it leads to is not there yet.
import { readlinkSync, realpathSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { isInside } from "./isInside.ts"

/** As many links as the system follows in one path. */
const mostLinks = 40

const linkAt = (path: string): string | undefined => {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

const leadsTo = (path: string, links = mostLinks): string => {
  try {
    return realpathSync.native(path)
  } catch {
    const folder = dirname(path)
    if (folder === path || links === 0) return path
    const real = leadsTo(folder, links - 1)
    const target = linkAt(join(real, basename(path)))
    return target === undefined ? join(real, basename(path)) : leadsTo(resolve(real, target), links - 1)
  }
}

/** Names of a path from the root folder of the disk, or from the project's. Names with wildcards come last. */
export interface Names {
  readonly absolute: boolean
  readonly segments: ReadonlyArray<string>
}

/** The same path behind the links in the names before its first wildcard. Undefined if there are none. */
export const behindLinks = ({ absolute, segments }: Names, root: string): Names | undefined => {
  const wild = segments.findIndex((segment) => /[*?]/.test(segment))
  const names = wild < 0 ? segments : segments.slice(0, wild)
  if (names.length === 0) return undefined
  const written = join(absolute ? "/" : root, ...names)
  const real = leadsTo(written)
  if (real === written) return undefined
  const inside = isInside(root, real)
  const found = (inside ? real.slice(root.length) : real).split("/").filter((name) => name !== "")
  return { absolute: !inside, segments: [...found, ...segments.slice(names.length)] }
}
