// A control file of the user and the same of the project, read together and kept. The user's file may be a link, as
// dotfiles often are; the project's is read only through ProjectTrust.
import { Effect } from "effect"
import type { BigIntStats } from "node:fs"
import type { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { isUnchanged, statOf } from "../files/believe.ts"

/** In milliseconds: how long what the project's trust says is believed. */
const trustedFor = 1_000

export const nowhere = {
  issue: "it is a link that leads nowhere",
  hint: "Make it a file that you can read, or remove it"
}

/** What was read, and the files' states before. */
interface Known<A> {
  readonly value: A
  readonly user: BigIntStats | undefined
  readonly project: BigIntStats | undefined
  /** In milliseconds. */
  readonly at: number
}

/**
 * What `load` makes of both files. A changed file counts from the next time; a project that was trusted or restricted
 * meanwhile, within a second. `load` gets the state of the user's file. What it fails with is not kept.
 */
export const makeControlPair = <A, E>(
  files: { readonly user: string; readonly project: string | undefined },
  load: (user: BigIntStats | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  let known: Known<A> | undefined
  return Effect.clockWith((clock) => {
    const at = clock.currentTimeMillisUnsafe()
    const user = statOf(files.user)
    const project = files.project === undefined ? undefined : statOf(files.project)
    if (
      known !== undefined && at >= known.at && at - known.at < trustedFor &&
      isUnchanged(known.user, user, known.at) && isUnchanged(known.project, project, known.at)
    ) return Effect.succeed(known.value)
    return Effect.map(load(user), (value) => {
      known = { value, user, project, at }
      return value
    })
  })
}

/** Parses texts. The last text of each slot is not parsed again. */
export const makeLastTexts = <A>() => {
  const last = new Map<string, { readonly bytes: Uint8Array; readonly parsed: A }>()
  return <E>(slot: string, bytes: Uint8Array, parse: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const known = last.get(slot)
      if (known !== undefined && Buffer.compare(known.bytes, bytes) === 0) return Effect.succeed(known.parsed)
      return Effect.map(parse, (parsed) => {
        last.set(slot, { bytes, parsed })
        return parsed
      })
    })
}

/** The project's file: as it was accepted, or every text that still restricts (`narrows`), whose grants do not count. */
export const readProjectTexts = Effect.fnUntraced(function*<A, E>(
  trust: ProjectTrust["Service"],
  path: string,
  read: (slot: string, bytes: Uint8Array, narrows: boolean) => Effect.Effect<A, E>
) {
  const accepted = yield* trust.readControl(path)
  return accepted === undefined
    ? yield* Effect.forEach(
      yield* trust.readNarrowing(path),
      (text, index) => read(`narrowing ${index}`, text, true)
    )
    : [yield* read("project", accepted, false)]
})
