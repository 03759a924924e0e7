// What an interpreter of a project is: the file that its path really leads to, and the files beside it that say what it
// loads before any code of a tool. A file of the checkout that the project lies in is told by its bytes. One outside is
// told by its real path alone: what lies there is the machine's, and changes with its updates.
import { Clock, Effect } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import { basename, dirname, join, relative, sep } from "node:path"
import type { ProgramFile } from "../../../services/trust/ShownProgram.ts"
import { attempt } from "../../files/attempt.ts"
import { isSameState, isSettled, statOf } from "../../files/believe.ts"
import { isInside } from "../../files/isInside.ts"
import { processPath } from "../../files/processPath.ts"
import { withoutFollowing } from "../../files/readRegular.ts"
import * as HostFiles from "../HostFiles.ts"
import { homesOf } from "./virtualEnvironment.ts"

/** No interpreter is larger. One that is cannot be accepted. */
const maxBytes = 1024 * 1024 * 1024

/** Read between two chances for other fibers. */
const chunkBytes = 1024 * 1024

/** Digests of regular files, read once for as long as they do not change. `undefined` for what cannot be read. */
export const makeFileDigests = () => {
  const known = new Map<string, { readonly stat: Fs.BigIntStats; readonly digest: string }>()

  const read = (file: string) =>
    Effect.acquireUseRelease(
      Effect.sync(() => attempt(() => Fs.openSync(file, withoutFollowing))),
      Effect.fnUntraced(function*(descriptor) {
        if (descriptor === undefined) return undefined
        const before = attempt(() => Fs.fstatSync(descriptor, { bigint: true }))
        if (before?.isFile() !== true || before.size > BigInt(maxBytes)) return undefined
        const hash = createHash("sha256")
        const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Number(before.size) + 1))
        for (;;) {
          const count = attempt(() => Fs.readSync(descriptor, buffer, 0, buffer.length, null))
          if (count === undefined) return undefined
          if (count === 0) break
          hash.update(buffer.subarray(0, count))
          if (count === chunkBytes) yield* Effect.yieldNow
        }
        const after = attempt(() => Fs.fstatSync(descriptor, { bigint: true }))
        return after === undefined || !isSameState(after, before)
          ? undefined
          : { stat: after, digest: hash.digest("hex") }
      }),
      (descriptor) => Effect.sync(() => descriptor === undefined ? undefined : Fs.closeSync(descriptor))
    )

  return Effect.fnUntraced(function*(file: string) {
    const stat = statOf(file)
    if (stat === undefined) return undefined
    const before = known.get(file)
    if (before !== undefined && isSameState(before.stat, stat)) return before.digest
    const found = yield* read(file)
    const now = yield* Clock.currentTimeMillis
    if (found !== undefined && isSettled(found.stat, now)) known.set(file, found)
    else known.delete(file)
    return found?.digest
  })
}

/**
 * The settings that Python reads before anything else: of a virtual environment, beside the program first, and the file
 * that replaces its search path.
 */
const besides = (program: string): ReadonlyArray<string> => {
  const folder = dirname(program)
  return [join(folder, settingsName), join(dirname(folder), settingsName), `${program}._pth`]
}

const settingsName = "pyvenv.cfg"

const realPath = (file: string) => attempt(() => Fs.realpathSync.native(file))

/** The Pythons in a folder; no installation has more than a few. */
const pythonsIn = (folder: string): ReadonlyArray<string> =>
  (attempt(() => Fs.readdirSync(folder)) ?? []).filter((name) => /^python[0-9.]*w?(?:\.exe)?$/i.test(name))
    .toSorted().slice(0, 16).map((name) => join(folder, name))

/** Whether a file says in its first line what runs it. */
export const isScript = (file: string): boolean => {
  const real = realPath(file)
  const descriptor = real === undefined ? undefined : attempt(() => Fs.openSync(real, withoutFollowing))
  if (descriptor === undefined) return false
  try {
    const start = Buffer.alloc(2)
    return Fs.fstatSync(descriptor).isFile() && Fs.readSync(descriptor, start, 0, 2, 0) === 2 && `${start}` === "#!"
  } catch {
    return false
  } finally {
    Fs.closeSync(descriptor)
  }
}

export type FileDigests = ReturnType<typeof makeFileDigests>

/** Where a project lies; both are real paths. */
export interface ProjectPlace {
  readonly root: string
  /** The project itself, or the checkout that it is a part of. */
  readonly checkout: string
}

/**
 * The files that `place` of a project comes down to, the program first; none where nothing is there. `place` is relative
 * to the project, with forward slashes. A file of the checkout that cannot be read has the digest "", which is never
 * accepted, and so has a place that is another one for each process.
 */
export const programFiles = Effect.fnUntraced(function*(
  { checkout, root }: ProjectPlace,
  place: string,
  isPython: boolean,
  digestOf: FileDigests
) {
  const named = join(root, place)
  const ofProcess = (path: string): ReadonlyArray<ProgramFile> => {
    const through = processPath(path, HostFiles.node.readLink)
    return through === undefined ? [] : [{ path: through, sha256: "" }]
  }
  const moving = ofProcess(named)
  if (moving.length > 0) return moving
  const program = realPath(named)
  if (program === undefined) return []
  const isOurs = (path: string) => isInside(checkout, path)
  const fileOf = Effect.fnUntraced(function*(path: string): Effect.fn.Return<ProgramFile> {
    if (!isOurs(path)) return { path, sha256: null }
    return { path: relative(root, path).split(sep).join("/"), sha256: (yield* digestOf(path)) ?? "" }
  })
  const settings = isPython ? [...besides(named), ...(isOurs(program) ? besides(program) : [])] : []
  const homes = settings.filter((file) => basename(file) === settingsName).flatMap((file) => homesOf(root, file) ?? [])
  const ours = homes.filter((home) => isOurs(home) || isOurs(realPath(home) ?? home))
  const files: Array<ProgramFile> = [yield* fileOf(program), ...homes.flatMap(ofProcess)]
  for (const path of new Set([...settings, ...ours.flatMap(pythonsIn)])) {
    files.push(...ofProcess(path))
    const real = realPath(path)
    if (real !== undefined) files.push(yield* fileOf(real))
  }
  return [...new Map(files.map((file) => [file.path, file])).values()]
})
