// Whether one path leads into another, told by the paths alone: nothing is looked up on disk.
import * as Path from "node:path"

interface PathModule {
  readonly relative: (from: string, to: string) => string
  readonly isAbsolute: (path: string) => boolean
  readonly sep: string
}

/** Whether `candidate` is the folder or lies below it. Both are absolute; `path` for the rules of another system. */
export const isInside = (folder: string, candidate: string, path: PathModule = Path): boolean => {
  const relative = path.relative(folder, candidate)
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative)
}
