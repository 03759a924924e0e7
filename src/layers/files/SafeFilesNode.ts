// SafeFiles on a real disk. Every operation is synchronous: it takes few system calls, and the disk could change
// between asynchronous ones.
import { Array as Arr, Clock, Effect, Layer, Result } from "effect"
import { closeSync } from "node:fs"
import { dirname, join } from "node:path"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { type FileWrite, type ReadOptions, SafeFiles, type WriteRefused } from "../../services/files/SafeFiles.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { errorCode } from "../process/errorCode.ts"
import { components, defaultNaming, type Naming, syncFolder, withFolder } from "./folders.ts"
import { isInside } from "./isInside.ts"
import { openInFolder, readAll } from "./readRegular.ts"
import { asRead, asWrite, isAbsent } from "./refused.ts"
import { type NamedFile, removeEmptyIn, removeIn, replaceFiles, sweep, type WriteOptions } from "./replaceFiles.ts"
import * as Walk from "./walkFiles.ts"

/** How many files are open at once, and how many are flushed before other fibers may run. */
const mostAtOnce = 32

const unlessAbsent = <A>(use: () => A): A | undefined => {
  try {
    return use()
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined
    throw error
  }
}

/** Undefined for a path that ends at a file, too: there is nothing below one. */
const unlessGone = <A>(use: () => A): A | undefined => {
  try {
    return use()
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

export const make = Effect.fnUntraced(function*(layerOptions: { readonly naming?: Naming }) {
  const { home } = yield* KiwiHome
  const naming = layerOptions.naming ?? defaultNaming
  const swept = new BoundedMap<string, number>(10_000)

  const isPrivate = (root: string): boolean => isInside(home, root)

  /** The files of one folder. An error of the folder is the answer for all of them. */
  const writeFolder = (
    root: string,
    writes: ReadonlyArray<FileWrite>,
    options: WriteOptions,
    now: number
  ): ReadonlyArray<Result.Result<void, WriteRefused>> => {
    const secret = isPrivate(root)
    const found = Result.try(() => {
      const files = writes.map(({ data, path }): NamedFile => ({
        name: components(path).at(-1)!,
        data: typeof data === "string" ? new TextEncoder().encode(data) : data
      }))
      const folders = components(writes[0]!.path).slice(0, -1)
      return withFolder(naming, root, folders, secret ? 0o700 : 0o755, (folder) => {
        sweep(folder, swept, now)
        return replaceFiles(folder, files, options, secret)
      })
    })
    return writes.map(({ path }, index) =>
      Result.mapError(Result.flatMap(found, (written) => written[index]!), asWrite(path))
    )
  }

  const write = Effect.fn("SafeFiles.write")(function*(
    root: string,
    path: string,
    data: Uint8Array | string,
    options: WriteOptions = {}
  ) {
    const now = yield* Clock.currentTimeMillis
    yield* Effect.fromResult(writeFolder(root, [{ path, data }], options, now)[0]!)
  })

  const writeAll = Effect.fn("SafeFiles.writeAll")(function*(
    root: string,
    writes: ReadonlyArray<FileWrite>,
    options: { readonly mode?: number } = {}
  ) {
    const now = yield* Clock.currentTimeMillis
    const answers = writes.map(({ path }): Result.Result<void, WriteRefused> =>
      Result.try({ try: () => void components(path), catch: asWrite(path) })
    )
    const sound = [...answers.keys()].filter((index) => Result.isSuccess(answers[index]!))
    const byFolder = Map.groupBy(sound, (index) => dirname(writes[index]!.path))
    const batches = [...byFolder.values()].flatMap((indexes) => Arr.chunksOf(indexes, mostAtOnce))
    for (const [number, some] of batches.entries()) {
      if (number > 0) yield* Effect.yieldNow
      const written = writeFolder(root, some.map((index) => writes[index]!), options, now)
      for (const [at, index] of some.entries()) answers[index] = written[at]!
    }
    return answers
  })

  const makeDirectory = Effect.fn("SafeFiles.makeDirectory")((
    root: string,
    path: string,
    options: { readonly mode?: number } = {}
  ) =>
    Effect.try({
      try: () => {
        const mode = isPrivate(root) ? (options.mode ?? 0o700) & 0o700 : options.mode ?? 0o755
        withFolder(naming, root, components(path), mode, () => undefined)
      },
      catch: asWrite(path)
    })
  )

  const remove = Effect.fn("SafeFiles.remove")((root: string, path: string) =>
    Effect.try({
      try: () =>
        unlessAbsent(() => {
          const parts = components(path)
          withFolder(naming, root, parts.slice(0, -1), undefined, (folder) => {
            removeIn(folder, parts.at(-1)!, join(root, ...parts.slice(0, -1)), parts.length)
            syncFolder(folder)
          })
        }),
      catch: asWrite(path)
    })
  )

  const removeEmpty = Effect.fn("SafeFiles.removeEmpty")((root: string, path: string) =>
    Effect.try({
      try: () => {
        const parts = components(path)
        return unlessAbsent(() =>
          withFolder(
            naming,
            root,
            parts.slice(0, -1),
            undefined,
            (folder) => removeEmptyIn(folder, parts.at(-1)!)
          )
        ) ?? true
      },
      catch: asWrite(path)
    })
  )

  const read = Effect.fnUntraced(function*(root: string, path: string, options: ReadOptions) {
    return yield* Effect.try({
      try: () =>
        unlessAbsent(() => {
          const parts = components(path)
          return withFolder(naming, root, parts.slice(0, -1), undefined, (folder) => {
            const file = openInFolder(folder.at(parts.at(-1)!), options)
            try {
              // Without paths by descriptor, a folder may have been replaced before the file was opened.
              folder.at(parts.at(-1)!)
              const bytes = readAll(file)
              return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
            } finally {
              closeSync(file.descriptor)
            }
          })
        }),
      catch: asRead(path)
    })
  })

  const looking = <A>(path: string, use: () => A) => Effect.try({ try: () => unlessGone(use), catch: asRead(path) })

  return SafeFiles.of({
    write,
    writeAll,
    makeDirectory,
    remove,
    removeEmpty,
    read,
    realPath: (root, path, options = {}) =>
      Effect.try({ try: () => Walk.realPath(root, path, options.last === "kept"), catch: asRead(path) }),
    readRange: (root, path, range) => looking(path, () => Walk.readRange(naming, root, path, range)),
    stat: (root, path) => looking(path, () => Walk.look(naming, root, path)),
    list: (root, path, limit) => looking(path, () => Walk.list(naming, root, path, limit)),
    move: (root, from, to, options = {}) =>
      Effect.try({
        try: () => Walk.move(naming, root, from, to, options.replace === true, isPrivate(root) ? 0o700 : 0o755),
        catch: asWrite(to)
      })
  })
})

export const layerWith = (options: { readonly naming?: Naming }) => Layer.effect(SafeFiles, make(options))

export const layer = layerWith({})
