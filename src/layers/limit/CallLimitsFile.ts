// Counters that survive a restart, and that the processes of a project share: `call-limits.json` beside its other
// state, read before the first call and written in the background at most once a second. Each process adds what it has
// counted since its last write to what the others wrote.
//
// Gotcha: a file that is there and cannot be used counts as if every bucket had been empty when it was found so.
// Otherwise damaging it would give all calls back.
import { Clock, Effect, Layer, Option, Queue, Record as Rec, Schema } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { Bucket, refill } from "../../services/limit/buckets.ts"
import { CallLimits } from "../../services/limit/CallLimits.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { type Counter, makeWith, mostBuckets } from "./makeCallLimits.ts"

const name = "call-limits.json"
const maxBytes = 4_194_304

/** Milliseconds after which every bucket is full again, however much is owed: the longest period is a day. */
const forgetAfter = 2 * 86_400_000

/** `emptyAt`: when a bucket that is not named was empty. Absent: it is full. */
const Stored = Schema.Struct({
  emptyAt: Schema.optionalKey(Schema.Finite),
  buckets: Schema.Record(Schema.String, Bucket)
})
type Stored = typeof Stored.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Stored))

/** The newest buckets, without those that are full again by now. */
const shorten = (buckets: ReadonlyMap<string, Bucket>, now: number): Stored["buckets"] =>
  Object.fromEntries(
    [...buckets].filter(([, { at }]) => now - at < forgetAfter).toSorted(([, a], [, b]) => b.at - a.at)
      .slice(0, mostBuckets)
  )

const full: Stored = { buckets: {} }

/** The clock may have been ahead. */
const notLater = ({ buckets, emptyAt }: Stored, now: number): Stored => ({
  buckets: Rec.map(buckets, ({ at, tokens }) => ({ tokens, at: Math.min(at, now) })),
  ...(emptyAt === undefined || now - emptyAt > forgetAfter ? {} : { emptyAt: Math.min(emptyAt, now) })
})

const findIn = ({ buckets, emptyAt }: Stored, key: string): Bucket | undefined =>
  Object.hasOwn(buckets, key) ? buckets[key] : emptyAt === undefined ? undefined : { tokens: 0, at: emptyAt }

export const make = Effect.gen(function*() {
  const files = yield* SafeFiles
  const locks = yield* ProcessLock
  const { state } = yield* Workspace
  const traffic = yield* Queue.sliding<void>(1)
  const known = new BoundedMap<string, Counter>(mostBuckets)
  let stored: Stored | undefined
  let isDue = false
  let isSignalled = false

  const changed = () => {
    isDue = true
    if (isSignalled) return
    isSignalled = true
    Queue.offerUnsafe(traffic, undefined)
  }

  const read = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    return yield* files.read(state, name, { maxBytes, own: true }).pipe(
      Effect.map((bytes) =>
        bytes === undefined ? full : Option.getOrUndefined(decode(new TextDecoder().decode(bytes)))
      ),
      Effect.map((found) => found === undefined ? undefined : notLater(found, now)),
      Effect.orElseSucceed(() => undefined),
      Effect.map((found): Stored => found ?? { emptyAt: now, buckets: {} })
    )
  })

  const write = Effect.gen(function*() {
    const others = yield* read
    const now = yield* Clock.currentTimeMillis
    const buckets = new Map(Object.entries(others.buckets))
    const updates = Array.from(known.values(), (counter) => {
      const { bucket, key, rate, spent } = counter
      const before = Object.hasOwn(others.buckets, key) ? others.buckets[key] : undefined
      // A bucket that the file does not have is as this process knows it.
      const { tokens } = refill(before ?? bucket, rate, now)
      const next = { tokens: before === undefined ? tokens : tokens - spent, at: now }
      buckets.set(key, next)
      return { counter, next, spent }
    })
    isSignalled = false
    isDue = false
    const written = { ...others, buckets: shorten(buckets, now) }
    yield* files.write(state, name, JSON.stringify(written), { mode: 0o600 })
    stored = written
    for (const { counter, next, spent } of updates) {
      // What was taken while this was being written.
      counter.spent -= spent
      counter.bucket = { tokens: next.tokens - counter.spent, at: now }
    }
  }).pipe(locks.withLock(state, "call-limits.lock"))

  // After a failed write the counters go on, and the next write has all that they counted.
  const save = Effect.suspend(() => isDue ? write : Effect.void).pipe(
    Effect.catch(({ message }) => {
      isDue = true
      isSignalled = false
      return Effect.logWarning(`The counters of calls could not be written: ${message}`)
    })
  )

  yield* Effect.addFinalizer(() => save)
  yield* Queue.take(traffic).pipe(
    Effect.andThen(save),
    Effect.andThen(Effect.sleep("1 second")),
    Effect.forever,
    Effect.forkScoped
  )

  const limits = makeWith({
    known,
    load: (key) => findIn(stored ?? full, key),
    changed
  })
  const load = Effect.zipWith(Clock.currentTimeMillis, read, (now, found) => {
    stored ??= found
    // What was put right is written down, or it would begin anew with every process.
    if (found.emptyAt !== undefined || Object.values(found.buckets).some(({ at }) => at >= now)) changed()
  })
  return CallLimits.of({
    enter: (entrant, hold) =>
      stored === undefined ? Effect.andThen(load, limits.enter(entrant, hold)) : limits.enter(entrant, hold)
  })
})

export const layer = Layer.effect(CallLimits, make)
