// What may stand in the place of a file that Kiwi wrote, and a disk on which a change does not show in a file's times.
import { Effect } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { basename, dirname, join } from "node:path"
import { getuid } from "node:process"
import { temporary } from "./temporary.ts"

const moved = (file: string): string => {
  const target = `${dirname(file)}-${basename(file)}.moved`
  fs.renameSync(file, target)
  return target
}

/** Replaces a sound file. What a link leads to is the sound file, where it can be. */
export const spoiled: ReadonlyArray<readonly [what: string, spoil: (file: string) => void]> = [
  ["a link to it", (file) => fs.symlinkSync(moved(file), file)],
  ["a relative link to it", (file) => fs.symlinkSync(`../${basename(moved(file))}`, file)],
  ["a link to a link to it", (file) => {
    fs.symlinkSync(moved(file), `${file}.second`)
    fs.symlinkSync(`${file}.second`, file)
  }],
  ["a link through /proc/self/root", (file) => fs.symlinkSync(`/proc/self/root${moved(file)}`, file)],
  ["a link to nothing", (file) => fs.symlinkSync(`${moved(file)}.none`, file)],
  ["a link to itself", (file) => {
    fs.rmSync(file)
    fs.symlinkSync(file, file)
  }],
  ["a link to /dev/zero", (file) => {
    fs.rmSync(file)
    fs.symlinkSync("/dev/zero", file)
  }],
  ["a pipe", (file) => {
    fs.rmSync(file)
    execFileSync("mkfifo", [file])
  }],
  ["a folder", (file) => {
    fs.rmSync(file)
    fs.mkdirSync(file)
  }],
  ["a file of a terabyte", (file) => fs.truncateSync(file, 1024 ** 4)],
  ["the same with spaces, too large", (file) => fs.appendFileSync(file, " ".repeat(2 * 1024 * 1024))],
  ["a file that everybody can write", (file) => fs.chmodSync(file, 0o666)],
  ...(getuid?.() === 0
    ? [["another user's file", (file: string) => fs.chownSync(file, 4242, 4242)] as const]
    : [["a file that nobody may read", (file: string) => fs.chmodSync(file, 0)] as const])
]

/** A folder on a file system with the kernel's coarse times; `undefined` where none can be mounted. */
export const coarseFolder = Effect.gen(function*() {
  const folder = yield* temporary
  if (spawnSync("mount", ["-t", "ramfs", "ramfs", folder]).status !== 0) return undefined
  yield* Effect.addFinalizer(() => Effect.sync(() => spawnSync("umount", [folder])))
  const inside = join(folder, "inside")
  fs.mkdirSync(inside, { mode: 0o700 })
  return inside
})

/**
 * Has `use` read a file that says `before`, then writes `after` over it within the same tick of the clock, so that its
 * stat stays the same. Says whether that succeeded; both texts are equally long.
 */
export const changeUnseen = <A, E, R>(
  file: string,
  { after, before }: { readonly before: string; readonly after: string },
  use: Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    for (let attempt = 0; attempt < 2_000; attempt++) {
      fs.writeFileSync(file, before)
      const old = fs.statSync(file, { bigint: true })
      yield* use
      fs.writeFileSync(file, after)
      const now = fs.statSync(file, { bigint: true })
      if (now.ctimeNs === old.ctimeNs && now.size === old.size && now.ino === old.ino) return true
    }
    return false
  })
