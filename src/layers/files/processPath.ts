// Finds paths that mean another file in each process. `/proc/self/cwd` is Kiwi's folder for Kiwi but the project for a
// child, so what such a link points to here says nothing about what a child would run.
import { posix } from "node:path"

/** The folders whose content depends on the process; `/dev/shm` is an ordinary folder. */
const ofProcess = /^\/(?:proc|sys|dev\/(?!shm(?:\/|$))[^/]+)(?:\/|$)/i

/** The number of links that Linux follows. */
const maxLinks = 40

/**
 * The first such folder that an absolute path leads through: "/proc", "/dev/fd". `readLink` returns a link's target, or
 * `undefined` if the path is not a link.
 */
export const processPath = (
  file: string,
  readLink: (path: string) => string | undefined
): string | undefined => {
  // A Windows path does not start like this, and Windows has no such folders.
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
