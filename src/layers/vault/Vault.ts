// Values that a person gave Kiwi by name: today, secrets of tools. `slots.ts` decides where each is stored. A list in
// `$KIWI_HOME` has only names and places, since a keychain cannot list its entries. Reading the keychain starts a
// process, so its answer is cached for some minutes, until the list changes.
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
  /** The keychain may also have another value: an older one that could not be removed, or an incomplete one. */
  stale: Schema.optionalKey(Schema.Literal(true))
})
type Entry = typeof Entry.Type

const Listed = Schema.fromJsonString(Schema.Struct({
  version: Schema.Literal(1),
  /** Incremented with every change, so that a cached value is known to be stale. */
  revision: Schema.Int,
  secrets: Schema.Array(Entry)
}))

const decodeList = Schema.decodeUnknownResult(Listed)
const encodeList = Schema.encodeSync(Listed)
const nothing: typeof Listed.Type = { version: 1, revision: 0, secrets: [] }

const withKey: VaultPlace = "file (key in the keychain)"

const maxList = 1_048_576
/** How long a value is cached, in milliseconds. */
const remembered = 300_000

/** The longest value that a vault accepts, in UTF-16 units. */
export const longestValue = 48_000

/** The list cannot be read, or Kiwi did not write it. It is not overwritten. */
export class ListUnreadable extends Data.TaggedError("ListUnreadable")<{
  readonly cause: ReadRefused | Schema.SchemaError
}> {}

export const make = Effect.fnUntraced(function*(options: {
  /** "secret": `secrets.json` is the list, files are in `secrets/`, keychain entries are "secret:NAME". */
  readonly kind: string
  /** The name of a value in a warning: "The secret". */
  readonly title: string
  /** The passphrase that seals files. */
  readonly passphrase: Redacted.Redacted | undefined
  /**
   * For values that Kiwi makes and uses with nobody there: they are kept in files only. A keychain may ask a person to
   * unlock it, and has no answer for a program that starts without a session.
   */
  readonly filesOnly?: boolean
  /** The cost parameters for deriving a key from the passphrase. */
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
    // A digest, since a file system that folds case would merge two names.
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

  /** Undefined if nothing is stored under the name. */
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

  /** Stores the value in place of the previous one, and returns where. */
  const put = Effect.fnUntraced(function*(name: string, value: Redacted.Redacted) {
    const { entry: before, list, others } = yield* find(name)
    const slot = slotOf(name)
    const isMoving = before !== undefined && !isInKeychain(before.storedIn)
    // If the process is killed while a value moves from a file to the keychain, an entry may stay there.
    const begun = isMoving ? yield* write(list, [...others, { ...before, stale: true }]) : list
    const storedIn = options.filesOnly === true
      ? yield* slots.putInFile(slot, value, options.passphrase)
      : yield* slots.put(slot, value, options.passphrase)
    const entry: Entry = { name, storedIn }
    const isStale = !isInKeychain(storedIn) && before !== undefined && (!isMoving || before.stale === true)
    const written = yield* write(begun, [...others, isStale ? { ...entry, stale: true } : entry])
    if (isInKeychain(storedIn)) yield* slots.removeFile(slot)
    if (before?.storedIn === withKey && storedIn !== withKey) yield* slots.removeKey(slot)
    // A keychain that truncates has a part of the value. One that did not answer is not asked again, since that may
    // take long.
    const isCleared = storedIn === withKey && (yield* Effect.isSuccess(slots.removeEntry(slot)))
    if (isStale && isCleared) yield* write(written, [...others, entry])
    return storedIn
  }, alone)

  /** Returns whether there was one. The keychain entry is removed first: without the list nobody would know of it. */
  const remove = Effect.fnUntraced(function*(name: string) {
    const { entry, list, others } = yield* find(name)
    if (entry === undefined) return false
    const slot = slotOf(name)
    if (isInKeychain(entry.storedIn)) yield* slots.removeEntry(slot)
    if (entry.stale === true) {
      yield* slots.removeEntry(slot).pipe(
        Effect.catch((error) =>
          Effect.logWarning(`${error.message}. It still has an older value under ${slot.account}`)
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
    /** Names and places. Does not access the keychain. */
    list: Effect.map(read, ({ secrets }) => secrets),
    get,
    put,
    remove,
    where: (name: string) => Effect.map(find(name), ({ entry }) => entry?.storedIn)
  }
})
