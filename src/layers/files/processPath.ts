// Paths that lead each process to another file. `/proc/self/cwd` is Kiwi's folder for Kiwi and the project for a child,
// so what such a link leads to here says nothing of what runs there.
import { posix } from "node:path"

/** What lies in these is another thing for each process; `/dev/shm` is a folder like any other. */
const ofProcess = /^\/(?:proc|sys|dev\/(?!shm(?:\/|$))[^/]+)(?:\/|$)/i

/** As many as Linux follows: a longer way leads nowhere. */
const maxLinks = 40

/**
 * The first place of that kind that an absolute path leads through: "/proc", "/dev/fd". `readLink` gives what a link
 * says, and `undefined` for what is none.
 */
export const processPath = (
  file: string,
  readLink: (path: string) => string | undefined
): string | undefined => {
  // No path of Windows begins so, and none there leads to such a place.
  if (!file.startsWith("/")) return undefined
  const waiting = file.split("/").toReversed()
  let at = "/"
  let links = 0
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const next = posix.join(at, part)
    if (ofProcess.test(next)) return next
    const target = part === "" || part === "." || part === ".." ? undefined : readLink(next)
    if (target === undefined) {
      at = next
      continue
    }
    links += 1
    if (links > maxLinks) return undefined
    if (target.startsWith("/")) at = "/"
    waiting.push(...target.split("/").toReversed())
  }
  return undefined
}
