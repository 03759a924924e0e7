// Files in memory. It has no links and no modes; everything else behaves as on a real disk.
import { Effect, Layer } from "effect"
import {
  type FileStat,
  type FolderEntry,
  type ReadOptions,
  ReadRefused,
  SafeFiles,
  WriteRefused
} from "../../services/files/SafeFiles.ts"

const isBelow = (path: string): boolean =>
  path !== "" && !path.includes("\0") && path.split("/").every((p) => p !== "" && p !== "." && p !== "..")

const parents = (root: string, path: string): ReadonlyArray<string> => {
  const parts = path.split("/")
  return parts.slice(0, -1).map((_, i) => `${root}/${parts.slice(0, i + 1).join("/")}`)
}

/** `files` and `folders` by absolute path. Both may be shared with a test that reads or changes them. */
const build = (files: Map<string, Uint8Array>, folders: Set<string>): SafeFiles["Service"] => {
  const isFolder = (full: string): boolean =>
    folders.has(full) || files.keys().some((file) => file.startsWith(`${full}/`))

  const check = (root: string, path: string): WriteRefused | undefined => {
    if (!isBelow(path)) {
      return new WriteRefused({ path, issue: "outside", detail: "it is not a path below the folder" })
    }
    return parents(root, path).some((folder) => files.has(folder))
      ? new WriteRefused({ path, issue: "not-a-directory", detail: "a component of the path is not a folder" })
      : undefined
  }

  const write = Effect.fn("SafeFiles.write")(function*(
    root: string,
    path: string,
    data: Uint8Array | string,
    options: { readonly mode?: number; readonly exclusive?: boolean; readonly version?: string } = {}
  ) {
    const problem = check(root, path)
    if (problem !== undefined) return yield* problem
    const full = `${root}/${path}`
    if (isFolder(full)) {
      return yield* new WriteRefused({ path, issue: "exists", detail: "a folder of that name is there" })
    }
    if (options.exclusive === true && files.has(full)) {
      return yield* new WriteRefused({ path, issue: "exists", detail: "it is already there" })
    }
    const old = files.get(full)
    if (options.version !== undefined && (old === undefined || versionOf(old) !== options.version)) {
      return yield* new WriteRefused({ path, issue: "changed", detail: "it was changed meanwhile" })
    }
    for (const folder of parents(root, path)) folders.add(folder)
    files.set(full, typeof data === "string" ? new TextEncoder().encode(data) : data.slice())
  })

  const writeAll: SafeFiles["Service"]["writeAll"] = (root, writes, options) =>
    Effect.forEach(writes, ({ data, path }) => Effect.result(write(root, path, data, options)))

  const makeDirectory = Effect.fn("SafeFiles.makeDirectory")(function*(root: string, path: string) {
    const problem = check(root, `${path}/x`)
    if (problem !== undefined) return yield* new WriteRefused({ ...problem, path })
    for (const folder of parents(root, `${path}/x`)) folders.add(folder)
  })

  const remove = Effect.fn("SafeFiles.remove")(function*(root: string, path: string) {
    const problem = check(root, path)
    if (problem !== undefined) return yield* problem
    const full = `${root}/${path}`
    for (const file of files.keys()) if (file === full || file.startsWith(`${full}/`)) files.delete(file)
    for (const folder of folders) if (folder === full || folder.startsWith(`${full}/`)) folders.delete(folder)
  })

  const removeEmpty = Effect.fn("SafeFiles.removeEmpty")(function*(root: string, path: string) {
    const problem = check(root, path)
    if (problem !== undefined) return yield* problem
    const full = `${root}/${path}`
    const isIn = (name: string): boolean => name.startsWith(`${full}/`)
    if (files.has(full) || files.keys().some(isIn) || folders.values().some(isIn)) return false
    folders.delete(full)
    return true
  })

  const read = Effect.fnUntraced(function*(root: string, path: string, options: ReadOptions) {
    if (!isBelow(path)) {
      return yield* new ReadRefused({ path, issue: "outside", detail: "it is not a path below the folder" })
    }
    const full = `${root}/${path}`
    if (parents(root, path).some((folder) => files.has(folder)) || isFolder(full)) {
      return yield* new ReadRefused({ path, issue: "not-a-file", detail: "it is not a regular file" })
    }
    const bytes = files.get(full)
    if (bytes !== undefined && bytes.length > options.maxBytes) {
      const detail = `it is larger than ${options.maxBytes} bytes`
      return yield* new ReadRefused({ path, issue: "too-large", detail })
    }
    return bytes?.slice()
  })

  const versions = new WeakMap<Uint8Array, number>()
  let latest = 0
  const versionOf = (bytes: Uint8Array): string => {
    const known = versions.get(bytes) ?? ++latest
    versions.set(bytes, known)
    return String(known)
  }

  const full = (root: string, path: string): string => path === "." ? root : `${root === "/" ? "" : root}/${path}`

  const statAt = (at: string): FileStat | undefined => {
    const bytes = files.get(at)
    if (bytes !== undefined) {
      const version = versionOf(bytes)
      return { kind: "file", bytes: bytes.length, modified: 0, mode: 0o644, names: 1, version }
    }
    return isFolder(at) ? { kind: "folder", bytes: 0, modified: 0, mode: 0o755, names: 1, version: "" } : undefined
  }

  const realPath: SafeFiles["Service"]["realPath"] = (root, path) =>
    Effect.suspend(() => {
      if (path === "" || path.includes("\0")) {
        return Effect.fail(new ReadRefused({ path, issue: "outside", detail: "it is not a path" }))
      }
      const names: Array<string> = []
      for (const name of (path.startsWith("/") ? path : `${root}/${path}`).split("/")) {
        if (name === "..") names.pop()
        else if (name !== "" && name !== ".") names.push(name)
      }
      const at = `/${names.join("/")}`
      const inside = at === root ? "." : at.startsWith(`${root}/`) ? at.slice(root.length + 1) : at
      return Effect.succeed({ path: inside, stat: statAt(at) })
    })

  const list: SafeFiles["Service"]["list"] = (root, path, limit) =>
    Effect.sync(() => {
      const at = full(root, path)
      if (!isFolder(at)) return undefined
      const below = [...files.keys(), ...folders].filter((name) => name.startsWith(`${at}/`))
      const names = new Set(below.map((name) => name.slice(at.length + 1).split("/", 1)[0]!))
      return [...names].toSorted().slice(0, limit).map((name): FolderEntry => ({
        name,
        kind: statAt(`${at}/${name}`)?.kind ?? "folder"
      }))
    })

  const move: SafeFiles["Service"]["move"] = Effect.fnUntraced(function*(root, from, to, options = {}) {
    const problem = check(root, from) ?? check(root, to)
    if (problem !== undefined) return yield* problem
    const [old, next] = [full(root, from), full(root, to)]
    const moved = statAt(old)
    if (moved === undefined) return yield* new WriteRefused({ path: to, issue: "io", detail: "it does not exist" })
    const there = statAt(next)
    if (there !== undefined && !(options.replace === true && there.kind === "file" && moved.kind === "file")) {
      return yield* new WriteRefused({ path: to, issue: "exists", detail: "it is already there" })
    }
    for (const [name, bytes] of new Map(files)) {
      if (name !== old && !name.startsWith(`${old}/`)) continue
      files.delete(name)
      files.set(`${next}${name.slice(old.length)}`, bytes)
    }
  })

  return {
    write,
    writeAll,
    makeDirectory,
    remove,
    removeEmpty,
    read,
    realPath,
    readRange: (root, path, { length, offset }) =>
      Effect.map(read(root, path, { maxBytes: Infinity }), (bytes) =>
        bytes === undefined
          ? undefined
          : { bytes: bytes.subarray(offset, offset + length), stat: statAt(full(root, path))! }),
    stat: (root, path) => Effect.sync(() => statAt(full(root, path))),
    list,
    move
  }
}

export const make = (
  files = new Map<string, Uint8Array>(),
  folders = new Set<string>()
): SafeFiles["Service"] => SafeFiles.of(build(files, folders))

export const layerWith = (files: Map<string, Uint8Array>, folders?: Set<string>) =>
  Layer.sync(SafeFiles, () => make(files, folders))

export const layer = Layer.sync(SafeFiles, () => make())
