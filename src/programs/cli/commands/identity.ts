// identity: the key that a person signs with, and its passphrase.
import { Effect, Predicate } from "effect"
import * as Command from "effect/cli/Command"
import { sha256 } from "../../../layers/identity/sha256.ts"
import { nameFlag } from "../../../layers/identity/shownName.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import { Identity, isEncryptedPlace } from "../../../services/identity/Identity.ts"
import { SecretStore } from "../../../services/identity/SecretStore.ts"
import { HumanRequired } from "../../../services/trust/HumanAct.ts"
import type { HumanAct, HumanRequest } from "../../../services/trust/HumanAct.ts"
import { asHuman } from "../../humanAct.ts"
import { withNext } from "../help.ts"
import { withGate } from "../HumanGateTerminal.ts"
import { askNew, askPresent } from "../keyPassphrase.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { Shell, variable } from "../Shell.ts"
import { TerminalDevice } from "../TerminalDevice.ts"
import { definitions, plural } from "../text.ts"

const identityRequest = {
  kind: "identity",
  title: "Make a signing key for you on this machine",
  details: "It is kept in the keychain, or without one in Kiwi's own folder.",
  digest: sha256("identity"),
  command: "kiwi identity"
} as const

export const identityCommand = Command.make("identity", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const identity = yield* Identity
    const by = yield* caller
    const known = yield* identity.current
    const signer = known ?? (yield* inProject(() => asHuman(identityRequest, by, identity.ensure)).pipe(
      withGate(true, { ownBytes: true })
    ))
    const storedIn = yield* identity.storedIn
    yield* output.answer(
      {
        key_id: signer.keyId,
        public_key: signer.publicKey,
        name: signer.name,
        stored_in: storedIn ?? null,
        made: known === undefined
      },
      () =>
        definitions([
          ["name", safeLine(signer.name)],
          ["key id", signer.keyId],
          ["public key", signer.publicKey],
          ["private key", safeLine(storedIn ?? "")]
        ], output.width)
    )
    if (output.json) return
    yield* output.say(
      `\nTo let what you sign run as their own, a teammate types in the project that you share:\n  ${
        output.talkPaint.cyan(`kiwi trust add ${signer.publicKey} ${nameFlag(signer.name)} --as me`)
      }`
    )
  })).pipe(
    Command.withDescription(
      "Show your identity: the key that you sign with, and where its private half is kept. Kiwi makes the " +
        "key the first time that you ask for it or sign."
    ),
    Command.withShortDescription("Show your signing key, and put a passphrase on it"),
    Command.withExamples([
      { command: "kiwi identity" },
      { command: "kiwi identity --json", description: "The public key, for a program" }
    ]),
    withNext(
      ["kiwi identity encrypt", "put a passphrase on it"],
      ["kiwi trust list", "whose signatures count besides yours"]
    )
  )

/** These passphrases are only typed: no variable, argument or pipe replaces the person here. */
const change = Effect.fnUntraced(function*(what: "encrypt" | "decrypt", request: HumanRequest, act: HumanAct) {
  const identity = yield* Identity
  const device = yield* TerminalDevice
  const terminal = yield* device.open
  if (terminal === undefined) return yield* noTerminal(request)
  const isEncrypted = isEncryptedPlace((yield* identity.storedIn) ?? "")
  const from = isEncrypted ? act.passphrase ?? (yield* askPresent(terminal, request)) : undefined
  const to = what === "encrypt" ? yield* askNew(terminal, request) : undefined
  return yield* identity.changePassphrase({ from, to }, act)
}, Effect.scoped)

const noTerminal = ({ command, kind, title }: HumanRequest) =>
  new HumanRequired({
    kind,
    title,
    command,
    why: "the passphrase is typed at a terminal, and there is none",
    remedy: `A person types it at a terminal: ${command}`
  })

const changePassphrase = Effect.fnUntraced(function*(what: "encrypt" | "decrypt") {
  const output = yield* Output
  const identity = yield* Identity
  const device = yield* TerminalDevice
  const by = yield* caller
  const request = yield* identity.proposePassphrase(what)
  const isThere = yield* Effect.scoped(Effect.map(device.open, Predicate.isNotUndefined))
  if (!isThere) return yield* noTerminal(request)
  yield* inProject(() => asHuman(request, by, (act) => change(what, request, act))).pipe(
    withGate(false, { asksItself: true })
  )
  const signer = yield* identity.current
  const storedIn = yield* identity.storedIn
  yield* output.answer(
    { key_id: signer?.keyId ?? null, stored_in: storedIn ?? null },
    (paint) => `${paint.green(`${what}ed`)} your signing key; it is kept in: ${safeLine(storedIn ?? "")}`
  )
})

/** Says what KIWI_PASSPHRASE still encrypts, and if it no longer opens the key. */
const sayVariable = Effect.gen(function*() {
  const output = yield* Output
  if (output.json) return
  const { env } = yield* Shell
  const identity = yield* Identity
  if (variable(env, "KIWI_PASSPHRASE") !== undefined && (yield* identity.locked) !== undefined) {
    yield* output.say("KIWI_PASSPHRASE has a different passphrase, and does not open the key any more.")
  }
  const sealed = (yield* Effect.flatMap(SecretStore, (store) => store.list)).filter(({ storedIn }) =>
    storedIn === "file (encrypted)"
  )
  if (sealed.length === 0) return
  yield* output.say(
    `${plural(sealed.length, "secret")} in a file: still encrypted by the KIWI_PASSPHRASE of the time of storing.`
  )
})

export const identityEncryptCommand = Command.make(
  "encrypt",
  {},
  () => Effect.andThen(changePassphrase("encrypt"), sayVariable)
).pipe(
  Command.withDescription(
    "Put a passphrase on your signing key, or change the one that it has. The key stays the same, in the same kind " +
      "of place, and your signatures stay valid. From then on signing asks for the passphrase at the terminal, " +
      "or takes it from KIWI_PASSPHRASE: a shell alone cannot sign. It is typed here, twice, and not shown; no " +
      "argument, pipe or variable is read."
  ),
  Command.withShortDescription("Put a passphrase on your signing key, or change it"),
  Command.withExamples([{ command: "kiwi identity encrypt" }]),
  withNext(["kiwi identity", "where the key is kept now"], ["kiwi identity decrypt", "remove the passphrase again"])
)

export const identityDecryptCommand = Command.make("decrypt", {}, () => changePassphrase("decrypt")).pipe(
  Command.withDescription(
    "Remove the passphrase of your signing key. From then on every program that runs as you can sign as you. The passphrase is " +
      "typed here; no argument, pipe or variable is read."
  ),
  Command.withShortDescription("Remove the passphrase of your signing key"),
  Command.withExamples([{ command: "kiwi identity decrypt" }]),
  withNext(["kiwi identity encrypt", "set a passphrase again"])
)
