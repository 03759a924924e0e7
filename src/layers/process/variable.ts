// Reads one variable of the process's environment, through the current ConfigProvider. Empty, absent and unreadable all
// count as not set.
import { Config, Effect, Option } from "effect"

export const variable = (name: string): Effect.Effect<Option.Option<string>> =>
  Config.option(Config.String(name)).pipe(
    Config.map(Option.filter((value: string) => value.trim() !== "")),
    Effect.orElseSucceed(() => Option.none())
  )
