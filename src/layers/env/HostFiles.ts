// What EnvResolver looks at on disk, and nothing else: no write, no process. Synchronous, because a call waits for it:
// one stat costs three microseconds here and forty through a promise.
import { Option, Result } from "effect"
import * as Fs from "node:fs"

export interface HostFiles {
  /** Whether this is, links followed, a regular file that this user may execute. */
  readonly isExecutable: (path: string) => boolean
  readonly realPath: (path: string) => string | undefined
  /** A small regular text file, links followed; `stamp` changes when the file does. */
  readonly stampOf: (path: string) => string | undefined
  readonly readText: (path: string) => string | undefined
  /** Names in a folder; none if it cannot be read. */
  readonly list: (path: string) => ReadonlyArray<string>
}

const maxBytes = 256 * 1024

const attempt = <A>(read: () => A): A | undefined => Option.getOrUndefined(Result.getSuccess(Result.try(read)))

const statOf = (path: string) => attempt(() => Fs.statSync(path, { bigint: true, throwIfNoEntry: false }))

export const node: HostFiles = {
  isExecutable: (path) =>
    statOf(path)?.isFile() === true &&
    attempt(() => {
      Fs.accessSync(path, Fs.constants.X_OK)
      return true
    }) === true,
  realPath: (path) => attempt(() => Fs.realpathSync.native(path)),
  stampOf: (path) => {
    const stat = statOf(path)
    return stat?.isFile() === true && stat.size <= maxBytes
      ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
      : undefined
  },
  readText: (path) => attempt(() => Fs.readFileSync(path, "utf8")),
  list: (path) => attempt(() => Fs.readdirSync(path)) ?? []
}
