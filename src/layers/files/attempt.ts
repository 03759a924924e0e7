import { Result } from "effect"

/** The result of `read`. Undefined if it throws, as Node does for a missing or unreadable file. */
export const attempt = <A>(read: () => A): A | undefined => Result.getOrElse(Result.try(read), () => undefined)
