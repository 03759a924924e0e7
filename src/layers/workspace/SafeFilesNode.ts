// Safe file access on a real disk. Folders are opened one by one without following links, and what lies in them is
// named through the open descriptor (/proc/self/fd/N/name), so a component that is swapped between check and use
// changes nothing. Where there is no /proc, paths are used and each folder is compared with its descriptor around every
// use, which leaves a window of microseconds.
import { Array as Arr, Clock, Effect, Layer, Result } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { dirname, isAbsolute, join } from "node:path"
import { getuid, kill, pid } from "node:process"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { type FileWrite, type ReadOptions, SafeFiles, type WriteRefused } from "../../services/workspace/SafeFiles.ts"
import { isInside } from "../files/isInside.ts"
import { errorCode } from "../process/errorCode.ts"
import { asRead, asWrite, Refused } from "./refused.ts"

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants

/** What a process that was killed while it wrote leaves behind: its id in 8 hex digits, then 16 at random. */
export const leftover = /^\.kiwi-[0-9a-f]{24}\.tmp$/
/** Milliseconds. The writer of a file may be on another machine that shares the disk. */
const leftoverAge = 60_000
/** After that, its id is somebody else's. */
const writerAge = 3_600_000

const nameTemporary = (): string => `.kiwi-${pid.toString(16).padStart(8, "0")}${randomBytes(8).toString("hex")}.tmp`

const isWriterGone = (name: string): boolean =>
  Result.match(Result.try(() => kill(Number.parseInt(name.slice(6, 14), 16), 0)), {
    onSuccess: () => false,
    onFailure: (error) => errorCode(error) !== "EPERM"
  })
const maxDepth = 64

/** Files that are open at once, and that the disk is waited for without a chance for other fibers. */
const mostAtOnce = 32

/** An open folder. `at(name)` names what lies directly in it, and throws if the folder was replaced meanwhile. */
interface Folder {
  readonly fd: number
  readonly naming: Naming
  readonly at: (name: string) => string
}

const components = (path: string): ReadonlyArray<string> => {
  const parts = path.split("/")
  if (
    path === "" || isAbsolute(path) || path.includes("\0") || parts.some((p) => p === "" || p === "." || p === "..")
  ) {
    throw new Refused("outside", "it is not a path below the folder")
  }
  if (parts.length > maxDepth) throw new Refused("outside", "it is nested too deeply")
  return parts
}

const unlessAbsent = <A>(use: () => A): A | undefined => {
  try {
    return use()
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined
    throw error
  }
}

const lstat = (path: string): fs.BigIntStats | undefined => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })

/** How the inside of an open folder is named: through its descriptor, or by its path. */
type Naming = "descriptor" | "path"

const openFolder = (path: string, real: string, naming: Naming): Folder => {
  let fd: number
  try {
    fd = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch (error) {
    const found = errorCode(error) === "ENOENT" ? undefined : lstat(path)
    throw found?.isSymbolicLink() === true ? new Refused("symlink", "a folder on the way is a link") : error
  }
  if (naming === "descriptor") return { fd, naming, at: (name) => `/proc/self/fd/${fd}/${name}` }
  const opened = fs.fstatSync(fd, { bigint: true })
  const at = (name: string): string => {
    const now = lstat(real)
    if (now?.ino !== opened.ino || now.dev !== opened.dev || fs.realpathSync.native(real) !== real) {
      throw new Refused("symlink", "a folder on the way was replaced")
    }
    return join(real, name)
  }
  return { fd, naming, at }
}

const sync = (folder: Folder): void => {
  try {
    fs.fsyncSync(folder.fd)
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "EBADF"].includes(errorCode(error))) throw error
  }
}

/** Opens `root` and the folders below it in turn; `create` is the mode for those that are missing. */
const withFolder = <A>(
  naming: Naming,
  root: string,
  folders: ReadonlyArray<string>,
  create: number | undefined,
  use: (folder: Folder) => A
): A => {
  if (create !== undefined && lstat(root) === undefined) fs.mkdirSync(root, { recursive: true, mode: create })
  let current = openFolder(root, root, naming)
  try {
    let real = root
    for (const name of folders) {
      const path = current.at(name)
      real = join(real, name)
      if (create !== undefined && lstat(path) === undefined) {
        try {
          fs.mkdirSync(path, { mode: create })
          sync(current)
        } catch (error) {
          if (errorCode(error) !== "EEXIST") throw error
        }
      }
      const next = openFolder(path, real, naming)
      fs.closeSync(current.fd)
      current = next
    }
    return use(current)
  } finally {
    fs.closeSync(current.fd)
  }
}

/** Removes what a crashed process left in this folder; looked at once per folder and process. */
const sweep = (folder: Folder, swept: Set<string>, now: number): void => {
  const { dev, ino } = fs.fstatSync(folder.fd, { bigint: true })
  const key = `${dev}:${ino}`
  if (swept.has(key)) return
  swept.add(key)
  for (const name of fs.readdirSync(folder.at("."))) {
    if (!leftover.test(name)) continue
    const found = lstat(folder.at(name))
    const age = found === undefined ? 0 : now - Number(found.mtimeMs)
    if (age > writerAge || (age > leftoverAge && isWriterGone(name))) fs.rmSync(folder.at(name), { force: true })
  }
}

/** The mode of the new file, and whether umask may still narrow it. */
const modeFor = (asked: number | undefined, old: fs.BigIntStats | undefined, secret: boolean) => {
  const allowed = secret ? 0o700 : 0o777
  if (old === undefined) return { mode: (asked ?? (secret ? 0o600 : 0o644)) & allowed, exact: asked !== undefined }
  const had = Number(old.mode) & 0o777
  if (asked === undefined) return { mode: had & allowed, exact: true }
  return { mode: (asked | (had & 0o111 & (asked >> 2))) & allowed, exact: true }
}

const fill = (fd: number, data: Uint8Array): void => {
  for (let at = 0; at < data.length;) at += fs.writeSync(fd, data, at)
}

interface WriteOptions {
  readonly mode?: number
  readonly exclusive?: boolean
}

interface NamedFile {
  readonly name: string
  readonly data: Uint8Array
}

const keepOwner = (fd: number, old: fs.BigIntStats | undefined): void => {
  const made = fs.fstatSync(fd, { bigint: true })
  if (old === undefined || (old.uid === made.uid && old.gid === made.gid)) return
  try {
    fs.fchownSync(fd, Number(old.uid), Number(old.gid))
  } catch (error) {
    if (errorCode(error) !== "EPERM") throw error
  }
}

const place = (folder: Folder, temporary: string, name: string, exclusive: boolean): void => {
  if (!exclusive) return fs.renameSync(folder.at(temporary), folder.at(name))
  try {
    fs.linkSync(folder.at(temporary), folder.at(name))
    fs.unlinkSync(folder.at(temporary))
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(errorCode(error))) throw error
    // A disk without hard links: claim the name, then replace the empty file.
    fs.closeSync(fs.openSync(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
    fs.renameSync(folder.at(temporary), folder.at(name))
  }
}

/** A file that is written beside its place and not in it yet. */
interface Staged {
  readonly name: string
  readonly temporary: string
  readonly fd: number
}

const orRemove = <A>(folder: Folder, temporary: string, use: () => A): A => {
  try {
    return use()
  } catch (error) {
    fs.rmSync(folder.at(temporary), { force: true })
    throw error
  }
}

const stage = (folder: Folder, { data, name }: NamedFile, options: WriteOptions, secret: boolean): Staged => {
  const old = lstat(folder.at(name))
  if (old?.isSymbolicLink() === true) throw new Refused("symlink", "it is a link")
  if (old?.isDirectory() === true) throw new Refused("exists", "a folder of that name is there")
  if (old !== undefined && options.exclusive === true) throw new Refused("exists", "it is already there")
  const { exact, mode } = modeFor(options.mode, old, secret)
  const temporary = nameTemporary()
  const fd = fs.openSync(folder.at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  return orRemove(folder, temporary, () => {
    try {
      folder.at(temporary)
      if (!secret) keepOwner(fd, old)
      if (exact) fs.fchmodSync(fd, mode)
      fill(fd, data)
    } catch (error) {
      fs.closeSync(fd)
      throw error
    }
    return { name, temporary, fd }
  })
}

const flush = (folder: Folder, staged: Staged): Staged =>
  orRemove(folder, staged.temporary, () => {
    try {
      fs.fsyncSync(staged.fd)
    } finally {
      fs.closeSync(staged.fd)
    }
    return staged
  })

/** All are written before the disk is waited for: many files then take it little longer than one. */
const writeIn = (
  folder: Folder,
  files: ReadonlyArray<NamedFile>,
  options: WriteOptions,
  secret: boolean
): ReadonlyArray<Result.Result<void, unknown>> => {
  const staged = files.map((file) => Result.try(() => stage(folder, file, options, secret)))
  const flushed = staged.map(Result.flatMap((one) => Result.try(() => flush(folder, one))))
  const placed = flushed.map(
    Result.flatMap(({ name, temporary }) =>
      Result.try(() => orRemove(folder, temporary, () => place(folder, temporary, name, options.exclusive === true)))
    )
  )
  if (placed.some(Result.isSuccess)) sync(folder)
  return placed
}

const removeIn = (folder: Folder, name: string, real: string, depth: number): void => {
  const found = lstat(folder.at(name))
  if (found === undefined) return
  if (!found.isDirectory()) return fs.unlinkSync(folder.at(name))
  if (depth > maxDepth) throw new Refused("io", "it is nested too deeply")
  const inner = openFolder(folder.at(name), join(real, name), folder.naming)
  try {
    for (const child of fs.readdirSync(inner.at("."))) removeIn(inner, child, join(real, name), depth + 1)
  } finally {
    fs.closeSync(inner.fd)
  }
  fs.rmdirSync(folder.at(name))
}

/** Whether there is none any more. */
const removeEmptyIn = (folder: Folder, name: string): boolean => {
  try {
    fs.rmdirSync(folder.at(name))
    sync(folder)
    return true
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errorCode(error))) return false
    throw error
  }
}

const readFrom = (folder: Folder, name: string, options: ReadOptions): Uint8Array => {
  const fd = fs.openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    folder.at(name)
    const stat = fs.fstatSync(fd)
    if (!stat.isFile()) throw new Refused("not-a-file", "it is no regular file")
    if (stat.size > options.maxBytes) throw new Refused("too-large", `it is larger than ${options.maxBytes} bytes`)
    const uid = getuid?.()
    if (options.own === true && uid !== undefined && (stat.uid !== uid || (stat.mode & 0o002) !== 0)) {
      throw new Refused("foreign", "another user owns it or can write it")
    }
    const bytes = new Uint8Array(stat.size + 1)
    let length = 0
    while (length < bytes.length) {
      const count = fs.readSync(fd, bytes, length, bytes.length - length, null)
      if (count === 0) return bytes.slice(0, length)
      length += count
    }
    throw new Refused("io", "it grew while it was read")
  } finally {
    fs.closeSync(fd)
  }
}

export const make = Effect.fnUntraced(function*(layerOptions: { readonly naming?: Naming }) {
  const { home } = yield* KiwiHome
  const naming = layerOptions.naming ?? (fs.existsSync("/proc/self/fd") ? "descriptor" : "path")
  const swept = new Set<string>()

  const isPrivate = (root: string): boolean => isInside(home, root)

  /** Files of one folder. What is wrong with the folder is wrong with all of them. */
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
        return writeIn(folder, files, options, secret)
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
            sync(folder)
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
          return withFolder(naming, root, parts.slice(0, -1), undefined, (folder) =>
            readFrom(folder, parts.at(-1)!, options))
        }),
      catch: asRead(path)
    })
  })

  return SafeFiles.of({ write, writeAll, makeDirectory, remove, removeEmpty, read })
})

export const layerWith = (options: { readonly naming?: Naming }) => Layer.effect(SafeFiles, make(options))

export const layer = layerWith({})
