// What both backends of CallLimits do. Buckets are in memory; a backend loads and stores them.
import { Clock, Deferred, Duration, Effect, Exit } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Bucket } from "../../services/limit/buckets.ts"
import { refill, waitFor } from "../../services/limit/buckets.ts"
import type { Entrant } from "../../services/limit/CallLimits.ts"
import { CallLimits, ConcurrencyLimited, longestWait, RateLimited } from "../../services/limit/CallLimits.ts"
import type { Limits, Rate } from "../../services/limit/Limits.ts"
import { holdingFor, showRate } from "../../services/limit/Limits.ts"

/** The limit of buckets. A caller cannot fill them: people name callers, and patterns are settings. */
export const mostBuckets = 10_000
/** The limit of callers for whose calls of one tool the limits are cached. */
const mostCallers = 100

/** What a process knows of one bucket. */
export interface Counter {
  readonly key: string
  rate: Rate
  /** Undefined: full. */
  bucket: Bucket | undefined
  /** Tokens taken since the last write, less those that were given back. */
  spent: number
}

export interface Counters {
  readonly known: BoundedMap<string, Counter>
  /** A bucket that is not known yet. */
  readonly load: (key: string) => Bucket | undefined
  /** Called when a counter has changed. */
  readonly changed: () => void
}

/** A limit that holds for one caller's calls of one tool, and the key of its counter. */
interface Keyed<A> {
  readonly key: string
  readonly name: string
  readonly limit: A
}

interface Held extends Pick<Entrant, "rate" | "concurrency"> {
  readonly rates: ReadonlyArray<Keyed<Rate>>
  readonly places: ReadonlyArray<Keyed<number>>
}

/** Finds the limits that hold for a call once for each tool, caller and version of the settings. */
const makeFindHeld = () => {
  const known = new WeakMap<Entrant["ids"], BoundedMap<string, Held>>()
  return ({ caller, concurrency, ids, rate }: Entrant): Held => {
    let callers = known.get(ids)
    if (callers === undefined) known.set(ids, callers = new BoundedMap(mostCallers))
    const found = callers.get(caller.client)
    if (found !== undefined && found.rate === rate && found.concurrency === concurrency) return found
    const keyed = <A>(limits: Limits<A>): ReadonlyArray<Keyed<A>> =>
      holdingFor(limits, ids).map(({ limit, name }) => ({ limit, name, key: `${caller.client}\n${name}` }))
    const held = { rate, concurrency, rates: keyed(rate), places: keyed(concurrency) }
    callers.set(caller.client, held)
    return held
  }
}

/** The places of one caller under one limit. Kept only while a call holds one or waits for one. */
interface Room {
  taken: number
  /** The longest waiting first. Each gets its place from the call that leaves. */
  readonly waiting: Set<Deferred.Deferred<void>>
}

export const makeWith = ({ changed, known, load }: Counters): CallLimits["Service"] => {
  const findHeld = makeFindHeld()
  const rooms = new Map<string, Room>()
  /** The limits under which a call has a place, or runs in another's place: of calls within each other only. */
  const placesOf = new Map<string, Set<string>>()

  const counterOf = (key: string, rate: Rate, now: number): Counter & { readonly bucket: Bucket } => {
    let counter = known.get(key)
    if (counter === undefined) known.set(key, counter = { key, rate, bucket: load(key), spent: 0 })
    counter.rate = rate
    counter.bucket = refill(counter.bucket, rate, now)
    return counter as Counter & { readonly bucket: Bucket }
  }

  const take = (counter: Counter & { readonly bucket: Bucket }, tokens: number): void => {
    counter.bucket = { tokens: counter.bucket.tokens - tokens, at: counter.bucket.at }
    counter.spent += tokens
    changed()
  }

  const giveBack = (rates: Held["rates"]) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      for (const { key, limit } of rates) take(counterOf(key, limit, now), -1)
    })

  const countCall = (tool: string, rates: Held["rates"], now: number): Effect.Effect<void, RateLimited> => {
    let wait = 0
    let longest: Keyed<Rate> | undefined
    for (const rate of rates) {
      const one = waitFor(counterOf(rate.key, rate.limit, now).bucket, rate.limit)
      if (one <= wait) continue
      wait = one
      longest = rate
    }
    if (longest !== undefined && wait >= longestWait) {
      const { limit, name } = longest
      return Effect.fail(new RateLimited({ tool, limit: `limits.rate.${name}: ${showRate(limit)}`, after: wait }))
    }
    // Before the wait, so that whoever comes later waits longer.
    for (const { key, limit } of rates) take(counterOf(key, limit, now), 1)
    return wait === 0
      ? Effect.void
      : Effect.onInterrupt(Effect.sleep(Duration.millis(wait)), () => giveBack(rates))
  }

  const leave = (key: string, room: Room): void => {
    for (const next of room.waiting) {
      room.waiting.delete(next)
      Deferred.doneUnsafe(next, Exit.void)
      return
    }
    if (--room.taken === 0) rooms.delete(key)
  }

  const waitForPlace = (key: string, room: Room, hold: (leave: () => void) => void): Effect.Effect<void> =>
    Effect.suspend(() => {
      const turn = Deferred.makeUnsafe<void>()
      room.waiting.add(turn)
      return Effect.onExit(Deferred.await(turn), () =>
        Effect.sync(() => {
          // Not waiting any more: the place is this call's, even if it was interrupted right then.
          if (!room.waiting.delete(turn)) hold(() => leave(key, room))
        }))
    })

  const roomOf = (key: string): Room => {
    let room = rooms.get(key)
    if (room === undefined) rooms.set(key, room = { taken: 0, waiting: new Set() })
    return room
  }

  /** The nearest of the calls that it is made within that has a place under this limit. */
  const nearest = ({ within = [] }: Entrant, key: string): string | undefined =>
    within.findLast((call) => placesOf.get(call)?.has(key) === true)

  const note = ({ call }: Entrant, key: string, hold: (leave: () => void) => void): void => {
    if (call === undefined) return
    const keys = placesOf.get(call)
    if (keys === undefined) {
      placesOf.set(call, new Set([key]))
      hold(() => {
        placesOf.delete(call)
      })
    } else keys.add(key)
  }

  /** Undefined if it has them all at once. */
  const takePlaces = (
    entrant: Entrant,
    places: Held["places"],
    hold: (leave: () => void) => void
  ): Effect.Effect<void, ConcurrencyLimited> | undefined => {
    let waits: Array<Effect.Effect<void, ConcurrencyLimited>> | undefined
    const [tool] = entrant.ids
    for (const { key: shared, limit: most, name } of places) {
      const isFull = (rooms.get(shared)?.taken ?? 0) >= most
      const holder = isFull ? nearest(entrant, shared) : undefined
      const key = holder === undefined ? shared : `${shared}\n${holder}`
      const limit = holder === undefined ? most : 1
      const room = roomOf(key)
      note(entrant, shared, hold)
      if (room.taken < limit) {
        const own = room
        own.taken++
        hold(() => leave(key, own))
      } else {
        const refused = new ConcurrencyLimited({ tool, limit: `limits.concurrency.${name}: ${most}` })
        waits ??= []
        waits.push(Effect.timeoutOrElse(waitForPlace(key, room, hold), {
          duration: Duration.millis(longestWait),
          orElse: () => Effect.fail(refused)
        }))
      }
    }
    return waits && Effect.all(waits, { concurrency: "unbounded", discard: true })
  }

  return CallLimits.of({
    enter: (entrant, hold) =>
      Effect.clockWith((clock) => {
        const { places, rates } = findHeld(entrant)
        const [tool] = entrant.ids
        const count = () => countCall(tool, rates, clock.currentTimeMillisUnsafe())
        const taken = takePlaces(entrant, places, hold)
        return taken === undefined ? count() : Effect.andThen(taken, Effect.suspend(count))
      })
  })
}
