// The only disk access of EnvResolver: no writes, no processes. Synchronous, because a call waits for it: a stat costs
// three microseconds here and forty through a promise.
import * as Fs from "node:fs"
import { attempt } from "../files/attempt.ts"
import { Readings } from "../files/believe.ts"
import { readText } from "../files/readRegular.ts"
import { openUserControl } from "../workspace/userControl.ts"

export interface HostFiles {
  /** The identity of a regular file that this user may execute, with links followed. Undefined for anything else. */
  readonly executable: (path: string) => string | undefined
  readonly realPath: (path: string) => string | undefined
  /** The target of a link. Undefined if it is not a link. */
  readonly readLink: (path: string) => string | undefined
  /** Whether it is a small regular file, with links followed. */
  readonly isFile: (path: string) => boolean
  /** The content of a small regular text file, with links followed. `now`: in milliseconds, for the cache. */
  readonly readText: (path: string, now: number) => string | undefined
  /** Why a file of the user space does not count: others can change it. */
  readonly openUserControl: typeof openUserControl
  /** Names in a folder; empty if it cannot be read. With `now`, in milliseconds, they are cached until it changes. */
  readonly list: (path: string, now?: number) => ReadonlyArray<string>
}

const maxBytes = 256 * 1024

const texts = new Readings<string | undefined>({ follow: true, most: 100 })
const lists = new Readings<ReadonlyArray<string> | undefined>({ follow: true, most: 100 })

const listFolder = (path: string) => attempt(() => Fs.readdirSync(path))

export const node: HostFiles = {
  executable: (path) =>
    attempt(() => {
      const stat = Fs.statSync(path, { throwIfNoEntry: false })
      if (stat?.isFile() !== true) return undefined
      Fs.accessSync(path, Fs.constants.X_OK)
      return `${stat.dev}:${stat.ino}`
    }),
  realPath: (path) => attempt(() => Fs.realpathSync.native(path)),
  // Most paths are not links, and an exception costs ten times as much as a check.
  readLink: (path) =>
    attempt(() =>
      Fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? Fs.readlinkSync(path) : undefined
    ),
  isFile: (path) => {
    const stat = attempt(() => Fs.statSync(path, { throwIfNoEntry: false }))
    return stat?.isFile() === true && stat.size <= maxBytes
  },
  readText: (path, now) => texts.get(path, now, () => readText(path, { maxBytes, follow: true })),
  openUserControl,
  list: (path, now) => (now === undefined ? listFolder(path) : lists.get(path, now, () => listFolder(path))) ?? []
}
