// Ranges of semantic versions in npm's syntax: `^2.0`, `~1.4.2`, `>=2 <4`, `1.x || 3`. A pre-release is in a range only
// if the range names a pre-release of the same three numbers.
import { Result, SemVer, SemVerRange } from "effect"

const maxRange = 128

/** Whether a text is a range. The only check of foreign text, so it bounds the length and refuses newlines. */
export const isRange = (text: string): boolean =>
  text.length <= maxRange && text.trim() === text && text !== "" && !/[^\x20-\x7e]/.test(text) &&
  Result.isSuccess(SemVerRange.parse(text))

/** An invalid version or range never matches. */
export const isInRange = (version: string, range: string): boolean => {
  const [parsed, within] = [SemVer.parse(version), SemVerRange.parse(range)]
  return Result.isSuccess(parsed) && Result.isSuccess(within) && SemVerRange.matches(within.success, parsed.success)
}

/** Whether it is a pre-release that would be in the range if ranges included pre-releases. */
export const isPrereleaseInRange = (version: string, range: string): boolean => {
  const [parsed, within] = [SemVer.parse(version), SemVerRange.parse(range)]
  return Result.isSuccess(parsed) && Result.isSuccess(within) && SemVer.isPrerelease(parsed.success) &&
    SemVerRange.matches(within.success, parsed.success, { includePrerelease: true })
}
