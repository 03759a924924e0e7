// Ranges of semantic versions, as npm reads them: `^2.0`, `~1.4.2`, `>=2 <4`, `1.x || 3`. A pre-release is in a range
// only where the range names a pre-release of the same three numbers.
import { Result, SemVer, SemVerRange } from "effect"

const maxRange = 128

/** Whether a text is a range. No text but this one is ever asked about, so it is short and has no line ends. */
export const isRange = (text: string): boolean =>
  text.length <= maxRange && text.trim() === text && text !== "" && !/[^\x20-\x7e]/.test(text) &&
  Result.isSuccess(SemVerRange.parse(text))

/** A version or a range that is none is never a match. */
export const isInRange = (version: string, range: string): boolean => {
  const [parsed, within] = [SemVer.parse(version), SemVerRange.parse(range)]
  return Result.isSuccess(parsed) && Result.isSuccess(within) && SemVerRange.matches(within.success, parsed.success)
}

/** A pre-release that would be in the range, if the range took pre-releases. */
export const isPrereleaseInRange = (version: string, range: string): boolean => {
  const [parsed, within] = [SemVer.parse(version), SemVerRange.parse(range)]
  return Result.isSuccess(parsed) && Result.isSuccess(within) && SemVer.isPrerelease(parsed.success) &&
    SemVerRange.matches(within.success, parsed.success, { includePrerelease: true })
}
