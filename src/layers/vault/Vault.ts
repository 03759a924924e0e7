// Values that a person gave Kiwi by name: secrets of tools today. Each lies where `slots.ts` puts it. A list in
// `$KIWI_HOME` has names and places alone, since a keychain cannot be asked what it holds, and asking it is a process:
// what it answered is remembered for some minutes, until the list changes.
import { Clock, Data, Effect, Order, type Redacted, Schema } from "effect"
import { type ReadRefused, SafeFiles } from "../../services/files/SafeFiles.ts"
import { isInKeychain, VaultPlace } from "../../services/vault/VaultPlace.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { sha256 } from "../identity/sha256.ts"
import type { Kdf } from "./sealedText.ts"
import * as Slots from "./slots.ts"

const Entry = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/^[\w.-]{1,64}$/)),
  storedIn: VaultPlace,
  /** The keychain may have another value too: an older one, which could not be removed, or one that was begun. */
  stale: Schema.optionalKey(Schema.Literal(true))
})
type Entry = typeof Entry.Type

const Listed = Schema.fromJsonString(Schema.Struct({
  version: Schema.Literal(1),
  /** Goes up with every change, so that whoever remembers a value knows when to ask again. */
  revision: Schema.Int,
  secrets: Schema.Array(Entry)
}))

const decodeList = Schema.decodeUnknownResult(Listed)
const encodeList = Schema.encodeSync(Listed)
const nothing: typeof Listed.Type = { version: 1, revision: 0, secrets: [] }

const withKey: VaultPlace = "file (key in the keychain)"

const maxList = 1_048_576
/** In milliseconds. */
const remembered = 300_000

/** UTF-16 units: the longest value that a vault takes. */
export const longestValue = 48_000

/** The list cannot be read, or is not what Kiwi writes. Nothing is written over it. */
export class ListUnreadable extends Data.TaggedError("ListUnreadable")<{
  readonly cause: ReadRefused | Schema.SchemaError
}> {}

export const make = Effect.fnUntraced(function*(options: {
  /** "secret": `secrets.json` is the list, files are in `secrets/`, the keychain has "secret:NAME". */
  readonly kind: string
  /** What the warning calls a value: "The secret". */
  readonly title: string
  /** What seals a file. */
  readonly passphrase: Redacted.Redacted | undefined
  /** What deriving a key from the passphrase costs. */
  readonly kdf?: Kdf
}) {
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  const slots = yield* Slots.make(options.kdf)
  const { withLock } = yield* ProcessLock
  const alone = withLock(home, `${options.kind}-list`)
  const listPath = `${options.kind}s.json`

  const slotOf = (name: string): Slots.Slot => ({
    account: `${options.kind}:${name}`,
    // File systems that fold case would make one of two names.
    path: `${options.kind}s/${sha256(name).slice(0, 32)}.json`,
    boundTo: `${options.kind}:${name}`,
    isBase64Url: false,
    isAlwaysSealed: false,
    title: options.title
  })

  const read = Effect.gen(function*() {
    const bytes = yield* files.read(home, listPath, { maxBytes: maxList, own: true })
    return bytes === undefined ? nothing : yield* Effect.fromResult(decodeList(new TextDecoder().decode(bytes)))
  }).pipe(Effect.mapError((cause) => new ListUnreadable({ cause })))

  const write = Effect.fnUntraced(function*(before: typeof Listed.Type, entries: ReadonlyArray<Entry>) {
    const secrets = entries.toSorted(Order.mapInput(Order.String, (entry) => entry.name))
    const list: typeof Listed.Type = { version: 1, revision: before.revision + 1, secrets }
    yield* files.write(home, listPath, `${encodeList(list)}\n`, { mode: 0o600 })
    return list
  })

  const find = Effect.fnUntraced(function*(name: string) {
    const list = yield* read
    const others = list.secrets.filter((one) => one.name !== name)
    return { list, others, entry: list.secrets.find((one) => one.name === name) }
  })

  const known = new Map<
    string,
    { readonly revision: number; readonly until: number; readonly value: Redacted.Redacted }
  >()

  /** `undefined` where nothing is kept under the name. */
  const get = Effect.fnUntraced(function*(name: string) {
    const { entry, list } = yield* find(name)
    if (entry === undefined) return undefined
    const now = yield* Clock.currentTimeMillis
    const before = known.get(name)
    if (before?.revision === list.revision && before.until > now) return before.value
    const where = isInKeychain(entry.storedIn) ? "keychain" : "file"
    const value = yield* slots.get(slotOf(name), where, options.passphrase)
    known.set(name, { revision: list.revision, until: now + remembered, value })
    return value
  })

  /** Keeps the value in place of the one before, and says where. */
  const put = Effect.fnUntraced(function*(name: string, value: Redacted.Redacted) {
    const { entry: before, list, others } = yield* find(name)
    const slot = slotOf(name)
    const isMoving = before !== undefined && !isInKeychain(before.storedIn)
    // A process that is killed on the way from a file to the keychain leaves an entry there.
    const begun = isMoving ? yield* write(list, [...others, { ...before, stale: true }]) : list
    const storedIn = yield* slots.put(slot, value, options.passphrase)
    const entry: Entry = { name, storedIn }
    const isStale = !isInKeychain(storedIn) && before !== undefined && (!isMoving || before.stale === true)
    const written = yield* write(begun, [...others, isStale ? { ...entry, stale: true } : entry])
    if (isInKeychain(storedIn)) yield* slots.removeFile(slot)
    if (before?.storedIn === withKey && storedIn !== withKey) yield* slots.removeKey(slot)
    // A keychain that cuts has a part of the value. One that did not answer is not asked again: that may take long.
    const isCleared = storedIn === withKey && (yield* Effect.isSuccess(slots.removeEntry(slot)))
    if (isStale && isCleared) yield* write(written, [...others, entry])
    return storedIn
  }, alone)

  /** Whether there was one. What the keychain has goes first: without the list nobody would know of it. */
  const remove = Effect.fnUntraced(function*(name: string) {
    const { entry, list, others } = yield* find(name)
    if (entry === undefined) return false
    const slot = slotOf(name)
    if (isInKeychain(entry.storedIn)) yield* slots.removeEntry(slot)
    if (entry.stale === true) {
      yield* slots.removeEntry(slot).pipe(
        Effect.catch((error) =>
          Effect.logWarning(`${error.message}. It still has an older value, under ${slot.account}`)
        )
      )
    }
    yield* slots.removeFile(slot)
    if (entry.storedIn === withKey) yield* slots.removeKey(slot)
    yield* write(list, others)
    known.delete(name)
    return true
  }, alone)

  return {
    /** Names and places; asks no keychain. */
    list: Effect.map(read, ({ secrets }) => secrets),
    get,
    put,
    remove,
    where: (name: string) => Effect.map(find(name), ({ entry }) => entry?.storedIn)
  }
})
