// Checks data that is inserted into a URL, from left to right, by the rules of the WHATWG parser: it drops tabs and
// newlines, reads `\` as `/`, skips further slashes before a host, and reads `%2e%2e` as `..`.

const authority = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/?#\\]+[/?#]/

/** Whether the text so far contains the complete scheme, host and port, so that nothing later can change them. */
export const authorityComplete = (written: string): boolean => authority.test(written)

/** Encodes data for any place after the host: a path segment, a part of the query, the fragment. */
export const encodeForUrl = (text: string): string => encodeURIComponent(text.toWellFormed())

// oxlint-disable-next-line no-control-regex -- a URL cannot hold them
const notInUrl = /[\u0000-\u0020\u007f\\]/

/** A variable may provide the beginning of a URL, or its host. */
export const unsafeUrlStart = (text: string): string | undefined =>
  notInUrl.test(text) ? "a URL cannot contain blanks, control characters or backslashes" : undefined

const dotSegment = /^(?:\.|%2e){1,2}$/i

/** Whether the path segment with data at `start` changes the path: empty, `.` or `..`. */
export const unsafeSegment = (url: string, start: number): string | undefined => {
  const pathEnd = url.search(/[?#]/)
  if (pathEnd !== -1 && start > pathEnd) return undefined
  let from = start
  while (!isSlash(url[from - 1])) from--
  const length = url.slice(start).search(/[/\\?#]/)
  const segment = url.slice(from, length === -1 ? url.length : start + length)
  if (segment === "") return "the value is empty, so the path would be a different one"
  return dotSegment.test(segment) ? "the value makes a path segment of dots only, which leaves the path" : undefined
}

const isSlash = (character: string | undefined) => character === "/" || character === "\\" || character === undefined
