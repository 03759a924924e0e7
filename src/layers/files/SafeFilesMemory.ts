// Files in memory. It has no links and no modes; everything else behaves as on a real disk.
import { Effect, Layer } from "effect"
import { type ReadOptions, ReadRefused, SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"

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
    options: { readonly mode?: number; readonly exclusive?: boolean } = {}
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

  return SafeFiles.of({ write, writeAll, makeDirectory, remove, removeEmpty, read })
}

export const make = (files = new Map<string, Uint8Array>(), folders = new Set<string>()) =>
  Effect.sync(() => build(files, folders))

export const layerWith = (files: Map<string, Uint8Array>, folders?: Set<string>) =>
  Layer.effect(SafeFiles, make(files, folders))

export const layer = Layer.effect(SafeFiles, Effect.suspend(() => make()))
