// What both backends of CallLimits do. Buckets are in memory; a backend loads and stores them.
import { Clock, Duration, Effect, Semaphore } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Bucket } from "../../services/limit/buckets.ts"
import { refill, waitFor } from "../../services/limit/buckets.ts"
import type { Entrant, Leave } from "../../services/limit/CallLimits.ts"
import { CallLimits, ConcurrencyLimited, longestWait, RateLimited } from "../../services/limit/CallLimits.ts"
import type { Holding, Limits, Rate } from "../../services/limit/Limits.ts"
import { holdingFor, showRate } from "../../services/limit/Limits.ts"
import { Settings } from "../../services/settings/Settings.ts"

/** The limit of buckets. A caller cannot fill them: people name callers, and patterns are settings. */
export const mostBuckets = 10_000
/** The limit of tools whose limits are cached. */
const mostTools = 1_000

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

/** Finds the limits of a tool once for each version of the settings. */
const makeHolding = <A>() => {
  const known = new WeakMap<Limits<A>, BoundedMap<string, ReadonlyArray<Holding<A>>>>()
  return (limits: Limits<A>, [id, qualified]: Entrant["ids"]): ReadonlyArray<Holding<A>> => {
    let tools = known.get(limits)
    if (tools === undefined) known.set(limits, tools = new BoundedMap(mostTools))
    const found = tools.get(qualified)
    if (found !== undefined) return found
    const holding = holdingFor(limits, [id, qualified])
    tools.set(qualified, holding)
    return holding
  }
}

const keyOf = ({ caller }: Entrant, name: string): string => `${caller.client}\n${name}`

/** The places of one caller under one limit. Kept only while a call holds one or waits for one. */
interface Room {
  readonly free: Semaphore.Semaphore
  most: number
  /** Calls that hold a place or wait for one. */
  users: number
}

export const makeWith = Effect.fnUntraced(function*({ changed, known, load }: Counters) {
  const settings = yield* Settings
  const ratesOf = makeHolding<Rate>()
  const placesOf = makeHolding<number>()
  const rooms = new Map<string, Room>()

  const counterOf = (key: string, rate: Rate, now: number): Counter & { readonly bucket: Bucket } => {
    let counter = known.get(key)
    if (counter === undefined) known.set(key, counter = { key, rate, bucket: load(key), spent: 0 })
    return Object.assign(counter, { rate, bucket: refill(counter.bucket, rate, now) })
  }

  const take = (counter: Counter & { readonly bucket: Bucket }, tokens: number): void => {
    const { at, tokens: had } = counter.bucket
    Object.assign(counter, { bucket: { tokens: had - tokens, at }, spent: counter.spent + tokens })
    changed()
  }

  const countCall = (entrant: Entrant, limits: Limits<Rate>): Effect.Effect<void, RateLimited> =>
    Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      const holding = ratesOf(limits, entrant.ids)
      const counters = holding.map(({ limit, name }) => counterOf(keyOf(entrant, name), limit, now))
      const waits = counters.map(({ bucket, rate }) => waitFor(bucket, rate))
      const wait = Math.max(0, ...waits)
      if (wait >= longestWait) {
        const { limit, name } = holding[waits.indexOf(wait)]!
        return new RateLimited({ tool: entrant.ids[0], limit: `limits.rate.${name}: ${showRate(limit)}`, after: wait })
      }
      // Before the wait, so that whoever comes later waits longer.
      for (const counter of counters) take(counter, 1)
      if (wait === 0) return Effect.void
      const giveBack = Effect.map(Clock.currentTimeMillis, (then) => {
        for (const { key, rate } of counters) take(counterOf(key, rate, then), -1)
      })
      return Effect.onInterrupt(Effect.sleep(Duration.millis(wait)), () => giveBack)
    })

  const roomFor = (key: string, most: number): Room => {
    const known = rooms.get(key)
    if (known !== undefined) return known
    const room: Room = { free: Semaphore.makeUnsafe(most), most, users: 0 }
    rooms.set(key, room)
    return room
  }

  const exit = (key: string, room: Room): void => {
    if (--room.users === 0) rooms.delete(key)
  }

  const takePlace = (entrant: Entrant, { limit, name }: Holding<number>, hold: (leave: Leave) => void) =>
    Effect.uninterruptibleMask((restore) => {
      const key = keyOf(entrant, name)
      const room = roomFor(key, limit)
      room.users++
      const resize = room.most === limit ? Effect.void : room.free.resize(room.most = limit)
      return Effect.andThen(resize, restore(room.free.take(1))).pipe(
        Effect.onError(() => Effect.sync(() => exit(key, room))),
        Effect.map(() =>
          hold(Effect.suspend(() => {
            exit(key, room)
            return Effect.asVoid(room.free.release(1))
          }))
        )
      )
    })

  const takePlaces = (
    entrant: Entrant,
    limits: Limits<number>,
    hold: (leave: Leave) => void
  ): Effect.Effect<void, ConcurrencyLimited> => {
    const holding = placesOf(limits, entrant.ids)
    let wanted: Holding<number> | undefined
    const take = Effect.forEach(holding, (one) => {
      wanted = one
      return takePlace(entrant, one, hold)
    }, { discard: true })
    // A timer costs more than everything else here.
    const isFree = holding.every(({ limit, name }) => (rooms.get(keyOf(entrant, name))?.users ?? 0) < limit)
    return isFree ? take : Effect.timeoutOrElse(take, {
      duration: Duration.millis(longestWait),
      orElse: () =>
        Effect.fail(
          new ConcurrencyLimited({
            tool: entrant.ids[0],
            limit: `limits.concurrency.${wanted?.name}: ${wanted?.limit}`
          })
        )
    })
  }

  return CallLimits.of({
    enter: (entrant, hold) =>
      Effect.flatMap(
        settings.current,
        ({ limitsConcurrency, limitsRate }) =>
          Effect.andThen(
            Effect.suspend(() => takePlaces(entrant, limitsConcurrency, hold)),
            countCall(entrant, limitsRate)
          )
      )
  })
})
