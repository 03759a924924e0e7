// What EnvResolver looks at on disk, and nothing else: no write, no process. Synchronous, because a call waits for it:
// one stat costs three microseconds here and forty through a promise.
import * as Fs from "node:fs"
import { attempt } from "../files/attempt.ts"
import { readText } from "../files/readRegular.ts"

export interface HostFiles {
  /** What identifies a regular file, links followed, that this user may execute; `undefined` for anything else. */
  readonly executable: (path: string) => string | undefined
  readonly realPath: (path: string) => string | undefined
  /** What a link says; `undefined` for what is none. */
  readonly readLink: (path: string) => string | undefined
  /** A small regular text file, links followed; `stamp` changes when the file does. */
  readonly stampOf: (path: string) => string | undefined
  readonly readText: (path: string) => string | undefined
  /** Names in a folder; none if it cannot be read. */
  readonly list: (path: string) => ReadonlyArray<string>
}

const maxBytes = 256 * 1024

export const node: HostFiles = {
  executable: (path) =>
    attempt(() => {
      const stat = Fs.statSync(path, { throwIfNoEntry: false })
      if (stat?.isFile() !== true) return undefined
      Fs.accessSync(path, Fs.constants.X_OK)
      return `${stat.dev}:${stat.ino}`
    }),
  realPath: (path) => attempt(() => Fs.realpathSync.native(path)),
  // Most paths are no link, and an exception costs ten times what a look does.
  readLink: (path) =>
    attempt(() =>
      Fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? Fs.readlinkSync(path) : undefined
    ),
  stampOf: (path) => {
    const stat = attempt(() => Fs.statSync(path, { bigint: true, throwIfNoEntry: false }))
    return stat?.isFile() === true && stat.size <= maxBytes
      ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
      : undefined
  },
  readText: (path) => readText(path, { maxBytes, follow: true }),
  list: (path) => attempt(() => Fs.readdirSync(path)) ?? []
}
