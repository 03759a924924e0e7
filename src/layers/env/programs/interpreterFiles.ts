// What an interpreter of a project is: the file that its path really leads to, and the files beside it that say what it
// loads before any code of a tool. A file of the checkout that the project lies in is told by its bytes. One outside is
// told by its real path alone: what lies there is the machine's, and changes with its updates. Of a script of the
// checkout the files that it names belong to it: it is by them that a tool runs.
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
import { namedFiles, type ProjectPlace, type ScriptWords, scriptWords } from "./namedFiles.ts"
import { isSystemProgram } from "./systemProgram.ts"
import { homesOf } from "./virtualEnvironment.ts"

/** No interpreter is larger. One that is cannot be accepted. */
const maxBytes = 1024 * 1024 * 1024

/** Read between two chances for other fibers. */
const chunkBytes = 1024 * 1024

/** More than this, and what a script starts cannot be told. */
const maxScriptBytes = 256 * 1024
const maxStarted = 64

/** Whether it may start something: any text does where a shell sources it, or Node or Python load it. */
const startsPrograms = (file: string, text: Buffer, { mode }: Fs.BigIntStats): boolean =>
  (mode & 0o111n) !== 0n || text.toString("latin1", 0, 2) === "#!" || !text.includes(0) ||
  /(?:^[^.]+|\.(?:ba|da|k|z)?sh)$/.test(basename(file))

export interface FileContent {
  readonly digest: string
  /** What a script says; null where it is too long. Absent for any other file. */
  readonly words?: ScriptWords | null
}

/** What regular files hold, read once for as long as they do not change. `undefined` for what cannot be read. */
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
          start ??= Buffer.from(part.subarray(0, maxScriptBytes))
          if (part.length === 0) break
          hash.update(part)
          if (part.length === chunkBytes) yield* Effect.yieldNow
        }
        const after = attempt(() => Fs.fstatSync(descriptor, { bigint: true }))
        if (after === undefined || !isSameState(after, before)) return undefined
        const digest = hash.digest("hex")
        if (isSystemProgram(start, after.size) || !startsPrograms(file, start, after)) {
          return { digest }
        }
        const words = after.size > BigInt(maxScriptBytes) ? undefined : scriptWords(start.toString("utf8"))
        return { digest, words: words ?? null }
      }),
      (opened) => Effect.sync(() => opened === undefined ? undefined : Fs.closeSync(opened.descriptor))
    )

  return (file: string) => readings.getEffect(file, read(file))
}

export type FileContents = ReturnType<typeof makeFileContents>

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
  listFolder(folder).map(({ name }) => name).filter((name) => /^python[0-9.]*w?(?:\.exe)?$/i.test(name))
    .toSorted().slice(0, 16).map((name) => join(folder, name))

/** What a place comes down to. */
export interface FoundProgram {
  /** The program first, then what it reads before any code of a tool, then what it starts; none where nothing is there. */
  readonly files: ReadonlyArray<ProgramFile>
  /** Of a script: those of the files that it, or another one among them, names. */
  readonly starts?: ReadonlyArray<string>
  /** Why no person can accept it, as the end of a sentence about the place. */
  readonly refused?: string
}

const unreadableScript =
  "is or starts a script that is too long to tell what it starts, or runs whatever lies in a folder, and is never used"

/** The files that scripts of the checkout name, those that these name, and so on; `undefined` where that has no end. */
const startedBy = Effect.fnUntraced(function*(
  at: ProjectPlace,
  programs: ReadonlyArray<string>,
  contentOf: FileContents
) {
  const seen = new Set(programs.map(realPath))
  const started: Array<string> = []
  const waiting = [...programs]
  for (const script of waiting) {
    const real = realPath(script)
    const content = real === undefined || !isInside(at.checkout, real) ? undefined : yield* contentOf(real)
    if (content?.words === undefined) continue
    const named = content.words === null ? undefined : namedFiles(content.words, script, at)
    if (named === undefined) return undefined
    for (const file of named) {
      const target = realPath(file)
      if (target === undefined || seen.has(target)) continue
      seen.add(target)
      started.push(file)
      waiting.push(file)
    }
    if (started.length > maxStarted) return undefined
    yield* Effect.yieldNow
  }
  return started
})

/**
 * The files that `place` of a project comes down to. `place` is relative to the project, with forward slashes. A file of
 * the checkout that cannot be read has the digest "", which is never accepted, and so has a place that is another one
 * for each process.
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
  const started = kind === "version" ? [] : yield* startedBy(at, [named, ...pythons], contentOf)
  const files: Array<ProgramFile> = [yield* fileOf(program), ...homes.flatMap(ofProcess)]
  for (const path of new Set([...settings, ...pythons, ...(started ?? [])])) {
    files.push(...ofProcess(path))
    const real = realPath(path)
    if (real !== undefined) files.push(yield* fileOf(real))
  }
  const isScript = kind !== "version" && isOurs(program) && (yield* contentOf(program))?.words !== undefined
  return {
    files: [...new Map(files.map((file) => [file.path, file])).values()],
    ...(isScript ? { starts: (started ?? []).map(fromProject) } : {}),
    ...(started === undefined ? { refused: unreadableScript } : {})
  }
})
