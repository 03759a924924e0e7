// Secrets of tools: in the keychain, or where that does not take one when it is set, in a file of its own under
// `$KIWI_HOME/secrets`. `secrets.json` has names and places alone, since a keychain cannot be asked what it holds, and
// asking it is a process: what it answered is remembered for some minutes, until the list changes.
import { Clock, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { Keychain } from "../../services/identity/Keychain.ts"
import {
  isSecretName,
  SecretNameInvalid,
  SecretPlace,
  SecretStore,
  SecretUnavailable,
  type StoredSecret
} from "../../services/identity/SecretStore.ts"
import { type HumanAct, type HumanRequest, requireAct } from "../../services/trust/HumanAct.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { SafeFiles } from "../../services/workspace/SafeFiles.ts"
import { variable } from "../process/variable.ts"
import * as KeyFile from "./keyFile.ts"
import { sha256 } from "./sha256.ts"

const listPath = "secrets.json"

const Listed = Schema.fromJsonString(Schema.Struct({
  version: Schema.Literal(1),
  /** Goes up with every change, so that whoever remembers a value knows when to ask again. */
  revision: Schema.Int,
  secrets: Schema.Array(
    Schema.Struct({ name: Schema.String.check(Schema.isPattern(/^[\w.-]{1,64}$/)), storedIn: SecretPlace })
  )
}))
type Listed = typeof Listed.Type

const decodeList = Schema.decodeUnknownResult(Listed)
const encodeList = Schema.encodeSync(Listed)
const nothing: Listed = { version: 1, revision: 0, secrets: [] }

const maxBytes = 1_048_576
const longest = 48_000
const remembered = 300_000

const account = (name: string) => `secret:${name}`
/** File systems that fold case would make one of two names. */
const filePath = (name: string) => `secrets/${sha256(name).slice(0, 32)}.json`

const requestFor = (what: "set" | "remove", name: string): HumanRequest => ({
  kind: "secret",
  title: what === "set" ? `Store a secret as ${name}` : `Remove the secret ${name}`,
  details: what === "set"
    ? `Tools that you have signed can then have it, where they declare a variable as keychain:${name}.`
    : `Tools that refer to keychain:${name} do not run any more.`,
  digest: sha256(JSON.stringify(["secret", what, name])),
  command: `kiwi env secret ${what} ${name}`
})

const wrapped = (value: Redacted.Redacted) =>
  Redacted.make(Buffer.from(Redacted.value(value), "utf8").toString("base64url"))
const unwrapped = (value: Redacted.Redacted) =>
  Redacted.make(Buffer.from(Redacted.value(value), "base64url").toString("utf8"))

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  const keychain = yield* Keychain
  const { withLock } = yield* ProcessLock
  const passphrase = Option.getOrUndefined(Option.map(yield* variable("KIWI_PASSPHRASE"), Redacted.make))

  const unavailable = (name: string, detail: string, remedy: string) => new SecretUnavailable({ name, detail, remedy })

  const readList = Effect.gen(function*() {
    const bytes = yield* files.read(home, listPath, { maxBytes, own: true })
    return bytes === undefined ? nothing : yield* Effect.fromResult(decodeList(new TextDecoder().decode(bytes)))
  })
  const listFor = (name: string) =>
    Effect.mapError(readList, (error) =>
      unavailable(
        name,
        `the list of secrets, ${listPath} in $KIWI_HOME, is not what Kiwi writes`,
        error._tag === "ReadRefused"
          ? error.remediation
          : `Move $KIWI_HOME/${listPath} away, and set your secrets again`
      ))

  const known = new Map<
    string,
    { readonly revision: number; readonly until: number; readonly value: Redacted.Redacted }
  >()

  const readFile = Effect.fnUntraced(function*(name: string) {
    const gone = unavailable(
      name,
      "its file in $KIWI_HOME/secrets is missing or damaged",
      `kiwi env secret set ${name}`
    )
    const bytes = yield* Effect.mapError(
      files.read(home, filePath(name), { maxBytes, own: true }),
      (error) => unavailable(name, error.message, error.remediation)
    )
    if (bytes === undefined) return yield* gone
    return unwrapped(
      yield* Effect.mapError(
        KeyFile.parse(new TextDecoder().decode(bytes), account(name), passphrase),
        (issue) =>
          issue === "is damaged"
            ? gone
            : unavailable(
              name,
              `its file ${issue}`,
              `Set KIWI_PASSPHRASE to what it was when the secret was stored, or store it anew: kiwi env secret set ${name}`
            )
      )
    )
  })

  const readKeychain = Effect.fnUntraced(function*(name: string) {
    const value = yield* Effect.mapError(
      keychain.get(account(name)),
      (error) => unavailable(name, error.message, `${error.remediation}, or store it anew: kiwi env secret set ${name}`)
    )
    return value ??
      (yield* unavailable(name, "it is no longer in the keychain", `kiwi env secret set ${name}`))
  })

  const get = Effect.fn("SecretStore.get")(function*(name: string) {
    const { revision, secrets } = yield* listFor(name)
    const entry = secrets.find((one) => one.name === name)
    if (entry === undefined) return undefined
    const now = yield* Clock.currentTimeMillis
    const before = known.get(name)
    if (before?.revision === revision && before.until > now) return before.value
    const value = yield* entry.storedIn === "keychain" ? readKeychain(name) : readFile(name)
    known.set(name, { revision, until: now + remembered, value })
    return value
  })

  /** Puts the value where it will stay, and says where that is. */
  const store = Effect.fnUntraced(function*(name: string, value: Redacted.Redacted) {
    const inKeychain = yield* keychain.set(account(name), value).pipe(
      Effect.andThen(keychain.get(account(name))),
      Effect.map((read) => read !== undefined && Redacted.value(read) === Redacted.value(value)),
      Effect.catch((error) =>
        Effect.as(
          Effect.logWarning(
            `${error.message}. The secret is kept in a file under $KIWI_HOME/secrets instead, ` +
              (passphrase === undefined
                ? "readable for your user alone"
                : "encrypted by KIWI_PASSPHRASE")
          ),
          false
        )
      )
    )
    if (inKeychain) return "keychain" as const
    const text = yield* Effect.mapError(
      KeyFile.print({ publicKey: account(name), privateKey: wrapped(value) }, passphrase),
      () => unavailable(name, "it could not be encrypted", "Free some memory and try again")
    )
    yield* files.makeDirectory(home, "secrets", { mode: 0o700 })
    yield* files.write(home, filePath(name), text, { mode: 0o600 })
    return passphrase === undefined ? "file (0600)" as const : "file (encrypted)" as const
  })

  const writeList = (list: Listed, secrets: ReadonlyArray<StoredSecret>) =>
    files.write(
      home,
      listPath,
      `${
        encodeList({
          version: 1,
          revision: list.revision + 1,
          secrets: secrets.toSorted((a, b) => a.name < b.name ? -1 : 1)
        })
      }\n`,
      { mode: 0o600 }
    )

  const set = Effect.fn("SecretStore.set")(function*(name: string, value: Redacted.Redacted, act: HumanAct) {
    yield* requireAct(requestFor("set", name), act)
    const { length } = Redacted.value(value)
    if (!isSecretName(name) || length === 0 || length > longest) {
      const detail = length === 0 ? "it is empty" : length > longest ? "it is too long" : "its name is none"
      const remedy = `A secret has 1 to ${longest} characters: kiwi env secret set NAME`
      return yield* new SecretUnavailable({ name, detail, remedy, storing: true })
    }
    return yield* withLock(home, "secret-list")(Effect.gen(function*() {
      const list = yield* listFor(name)
      const stored: StoredSecret = { name, storedIn: yield* store(name, value) }
      yield* writeList(list, [...list.secrets.filter((one) => one.name !== name), stored])
      // A copy in a file would outlive the move to a keychain.
      if (stored.storedIn === "keychain") yield* files.remove(home, filePath(name))
      return stored
    }))
  })

  const remove = Effect.fn("SecretStore.remove")(function*(name: string, act: HumanAct) {
    yield* requireAct(requestFor("remove", name), act)
    return yield* withLock(home, "secret-list")(Effect.gen(function*() {
      const list = yield* listFor(name)
      const entry = list.secrets.find((one) => one.name === name)
      if (entry === undefined) return false
      if (entry.storedIn === "keychain") {
        yield* Effect.mapError(
          keychain.remove(account(name)),
          (error) => unavailable(name, error.message, error.remediation)
        )
      }
      yield* files.remove(home, filePath(name))
      yield* writeList(list, list.secrets.filter((one) => one.name !== name))
      known.delete(name)
      return true
    }))
  })

  const propose = (what: "set" | "remove") => (name: string) =>
    isSecretName(name) ? Effect.succeed(requestFor(what, name)) : Effect.fail(new SecretNameInvalid({ name }))

  return SecretStore.of({
    list: Effect.map(Effect.result(readList), (read) => Result.isSuccess(read) ? read.success.secrets : []),
    get,
    proposeSet: propose("set"),
    set,
    proposeRemove: propose("remove"),
    remove
  })
})

export const layer = Layer.effect(SecretStore, make)
