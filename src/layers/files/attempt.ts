import { Result } from "effect"

/** What it answers; `undefined` where it throws, as Node does for what is not there or may not be looked at. */
export const attempt = <A>(look: () => A): A | undefined => Result.getOrElse(Result.try(look), () => undefined)
