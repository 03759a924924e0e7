// Whether one path is inside another, by the paths alone: the disk is not read.
import * as Path from "node:path"

interface PathModule {
  readonly relative: (from: string, to: string) => string
  readonly isAbsolute: (path: string) => boolean
  readonly sep: string
}

/** Whether `candidate` is the folder or is below it. Both are absolute. `path`: the path rules of another system. */
export const isInside = (folder: string, candidate: string, path: PathModule = Path): boolean => {
  const relative = path.relative(folder, candidate)
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative)
}
