// The files of a project's interpreter: the file that its path resolves to, and the files beside it that decide what it
// loads before any code of a tool. A file in the project's checkout is identified by its bytes. One outside is
// identified only by its real path: it belongs to the machine, and changes with its updates. A script in the checkout
// is never used, since it could start anything; pnpm's is, together with the program that it names.
import { Effect } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import { basename, dirname, join, relative, sep } from "node:path"
import type { ProgramFile } from "../../../services/trust/ShownProgram.ts"
import { attempt } from "../../files/attempt.ts"
import { isSameState, Readings } from "../../files/believe.ts"
import { isInside } from "../../files/isInside.ts"
import { listFolder } from "../../files/listFolder.ts"
import { processPath } from "../../files/processPath.ts"
import { fill, openRegular } from "../../files/readRegular.ts"
import * as HostFiles from "../HostFiles.ts"
import { pnpmShimTarget } from "./pnpmShim.ts"
import { isSystemProgram } from "./systemProgram.ts"
import { homesOf } from "./virtualEnvironment.ts"

/** Larger than any interpreter. A larger file cannot be accepted. */
const maxBytes = 1024 * 1024 * 1024

/** Bytes to read before other fibers may run. */
const chunkBytes = 1024 * 1024

/** Longer than a program's header and than pnpm's script. */
const headBytes = 64 * 1024

/** Where a project is. Both are real paths. */
export interface ProjectPlace {
  readonly root: string
  /** The project itself, or the checkout that contains it. */
  readonly checkout: string
}

export interface FileContent {
  readonly digest: string
  /** Whether it is an executable of this system. */
  readonly isProgram: boolean
  /** If it is pnpm's script: the path that it starts, relative to its folder. */
  readonly shimTarget: string | undefined
}

/** Contents of regular files, cached while they do not change. Undefined for a file that cannot be read. */
export const makeFileContents = () => {
  const readings = new Readings<FileContent | undefined>()

  const read = (file: string) =>
    Effect.acquireUseRelease(
      Effect.sync(() => attempt(() => openRegular(file, { maxBytes, follow: false }))),
      Effect.fnUntraced(function*(opened): Effect.fn.Return<FileContent | undefined> {
        if (opened === undefined) return undefined
        const { descriptor, stat: before } = opened
        const hash = createHash("sha256")
        const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Number(before.size) + 1))
        let start: Buffer | undefined
        for (;;) {
          const part = attempt(() => fill(descriptor, buffer))
          if (part === undefined) return undefined
          start ??= Buffer.from(part.subarray(0, headBytes))
          if (part.length === 0) break
          hash.update(part)
          if (part.length === chunkBytes) yield* Effect.yieldNow
        }
        const after = attempt(() => Fs.fstatSync(descriptor, { bigint: true }))
        if (after === undefined || !isSameState(after, before)) return undefined
        return {
          digest: hash.digest("hex"),
          isProgram: isSystemProgram(start, after.size),
          shimTarget: after.size > BigInt(headBytes) ? undefined : pnpmShimTarget(start.toString("latin1"))
        }
      }),
      (opened) => Effect.sync(() => opened === undefined ? undefined : Fs.closeSync(opened.descriptor))
    )

  return (file: string) => readings.getEffect(file, read(file))
}

export type FileContents = ReturnType<typeof makeFileContents>

/**
 * The settings that Python reads first: of a virtual environment (a file beside the program takes precedence), and the
 * file that replaces its search path.
 */
const besides = (program: string): ReadonlyArray<string> => {
  const folder = dirname(program)
  return [join(folder, settingsName), join(dirname(folder), settingsName), `${program}._pth`]
}

const settingsName = "pyvenv.cfg"

/** The end of a sentence about a place with such a program. */
const noProgram = "is a script, or not a program of this system, and is never used"

const realPath = (file: string) => attempt(() => Fs.realpathSync.native(file))

/** The Python programs in a folder. No installation has more than a few. */
const pythonsIn = (folder: string): ReadonlyArray<string> =>
  listFolder(folder).map(({ name }) => name).filter((name) => /^python[0-9.]*w?(?:\.exe)?$/i.test(name))
    .toSorted().slice(0, 16).map((name) => join(folder, name))

/** What a place resolves to. */
export interface FoundProgram {
  /** The program first, then what it starts, or reads before any code of a tool. Empty if the place does not exist. */
  readonly files: ReadonlyArray<ProgramFile>
  /** Why no person can accept it, as the end of a sentence about the place. */
  readonly refused?: string
}

/**
 * The files that `place` of a project resolves to. `place` is relative to the project, with forward slashes. The digest
 * is "", which is never accepted, for a file of the checkout that cannot be read, and for a path that differs between
 * processes.
 */
export const programFiles = Effect.fnUntraced(function*(
  at: ProjectPlace,
  { kind, path: place }: { readonly kind: "Python" | "Node" | "version"; readonly path: string },
  contentOf: FileContents
): Effect.fn.Return<FoundProgram> {
  const { checkout, root } = at
  const named = join(root, place)
  const ofProcess = (path: string): ReadonlyArray<ProgramFile> => {
    const through = processPath(path, HostFiles.node.readLink)
    return through === undefined ? [] : [{ path: through, sha256: "" }]
  }
  const moving = ofProcess(named)
  if (moving.length > 0) return { files: moving }
  const program = realPath(named)
  if (program === undefined) return { files: [] }
  const isOurs = (path: string) => isInside(checkout, path)
  const fromProject = (path: string) => relative(root, path).split(sep).join("/")
  const fileOf = Effect.fnUntraced(function*(path: string): Effect.fn.Return<ProgramFile> {
    if (!isOurs(path)) return { path, sha256: null }
    return { path: fromProject(path), sha256: (yield* contentOf(path))?.digest ?? "" }
  })
  const settings = kind === "Python" ? [...besides(named), ...(isOurs(program) ? besides(program) : [])] : []
  const homes = settings.filter((file) => basename(file) === settingsName).flatMap((file) => homesOf(root, file) ?? [])
  const pythons = homes.filter((home) => isOurs(home) || isOurs(realPath(home) ?? home)).flatMap(pythonsIn)
  const contentIn = (path: string) => isOurs(path) ? contentOf(path) : Effect.undefined
  // The script treats a backslash in its own path as a slash.
  const mayBeShim = kind === "Node" && !named.includes("\\")
  const shimTarget = mayBeShim ? (yield* contentIn(program))?.shimTarget : undefined
  // Joined as the shell does: links on the path are followed before `..` is resolved.
  const started = shimTarget === undefined ? [] : [`${dirname(named)}/${shimTarget}`]
  const files: Array<ProgramFile> = [yield* fileOf(program), ...homes.flatMap(ofProcess)]
  for (const path of new Set([...settings, ...pythons, ...started])) {
    files.push(...ofProcess(path))
    const real = realPath(path)
    if (real !== undefined) files.push(yield* fileOf(real))
  }
  const runs = kind === "version" ? [] : shimTarget === undefined ? [named, ...pythons] : started
  const contents = yield* Effect.forEach(runs, (path) => contentIn(realPath(path) ?? path))
  return {
    files: [...new Map(files.map((file) => [file.path, file])).values()],
    ...(contents.some((content) => content?.isProgram === false) ? { refused: noProgram } : {})
  }
})
