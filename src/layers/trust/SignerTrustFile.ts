// Signers in `$KIWI_HOME/signers.json`, with whole public keys. As with every decision, the file counts only if this
// user wrote it and nobody else could. An invalid file trusts nobody and is not overwritten.
import { Effect, Layer, Schema } from "effect"
import { join } from "node:path"
import { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { type SignerGrant, SignersUnbelieved, SignerTrust } from "../../services/trust/SignerTrust.ts"
import { decodeControl } from "../../services/workspace/controlFile.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Readings } from "../files/believe.ts"
import { makeSignerTrust, parseSigner } from "./signers.ts"

const SignersFile = Schema.Struct({
  version: Schema.Literal(1),
  signers: Schema.Array(Schema.Struct({
    publicKey: Schema.String,
    name: Schema.String,
    as: Schema.Literals(["me", "other"]),
    /** Real path of the only project in which it holds. */
    project: Schema.NullOr(Schema.String)
  }))
})

const file = "signers.json"
const maxBytes = 1_048_576

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  const { withLock } = yield* ProcessLock
  const readings = new Readings<ReadonlyArray<SignerGrant>>()

  /** Fails with the defect of an existing file. One invalid entry makes the whole file invalid. */
  const load = Effect.gen(function*() {
    const bytes = yield* Effect.mapError(files.read(home, file, { maxBytes, own: true }), (error) => error.detail)
    if (bytes === undefined) return []
    const { signers } = yield* Effect.mapError(
      decodeControl(bytes, SignersFile, maxBytes),
      (error) => `it is not what Kiwi writes: ${error.message}`
    )
    return yield* Effect.forEach(
      signers,
      ({ as, name, project, publicKey }) =>
        Effect.fromResult(parseSigner(publicKey, name)).pipe(
          Effect.map((signer): SignerGrant => ({ signer, as, project: project ?? undefined })),
          Effect.mapError((error) =>
            error.about === "name" ? `of one signer, ${error.issue}` : `it has an invalid key: ${error.issue}`
          )
        )
    )
  }).pipe(Effect.mapError((detail) => new SignersUnbelieved({ detail })))

  const read = Effect.map(
    readings.getEffect(join(home, file), Effect.orElseSucceed(load, (): ReadonlyArray<SignerGrant> => [])),
    (grants) => grants ?? []
  )

  const update = Effect.fnUntraced(
    function*(change: (grants: ReadonlyArray<SignerGrant>) => ReadonlyArray<SignerGrant>) {
      return yield* withLock(home, "signers")(Effect.gen(function*() {
        const grants = yield* Effect.mapError(
          load,
          (cause) =>
            new WriteRefused({
              path: file,
              issue: "io",
              detail: `the existing file cannot be used: ${cause.detail}`,
              cause
            })
        )
        const next = change(grants).map(({ as, project, signer: { name, publicKey } }) => ({
          name,
          publicKey,
          as,
          project: project ?? null
        }))
        const text: typeof SignersFile.Encoded = { version: 1, signers: next }
        yield* files.write(home, file, JSON.stringify(text))
      }))
    }
  )

  const problem = Effect.match(load, { onSuccess: () => undefined, onFailure: (error) => error })

  return yield* makeSignerTrust({ read, problem, update })
})

export const layer = Layer.effect(SignerTrust, make)
