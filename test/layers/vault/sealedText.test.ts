import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import * as Ed25519 from "../../../src/layers/identity/ed25519.ts"
import * as SealedText from "../../../src/layers/vault/sealedText.ts"

const cheap = { cost: 16, blockSize: 8, parallelization: 1 }

const normal = (passphrase: string) => Buffer.from(passphrase.normalize("NFKC"))

/** What an attacker would try first: nearly the same. */
const nearly = (passphrase: string): ReadonlyArray<string> => [
  "",
  `${passphrase} `,
  ` ${passphrase}`,
  `${passphrase}\u0000`,
  `${passphrase}\u0000\u0000`,
  `${passphrase}\n`,
  passphrase.slice(1),
  passphrase.slice(0, -1),
  passphrase.toUpperCase(),
  passphrase.toLowerCase(),
  passphrase.trim(),
  `${passphrase}${passphrase}`
]

describe("a sealed key", () => {
  it.effect.prop(
    "opens by its passphrase, however it is composed, and by no other",
    [Schema.String, Schema.String],
    ([passphrase, other]) =>
      Effect.gen(function*() {
        const { publicKey, privateKey } = Ed25519.generate()
        if (passphrase.includes("\0")) return
        const text = yield* SealedText.print(privateKey, publicKey, Redacted.make(passphrase), cheap)
        assert.strictEqual(SealedText.protectionOf(text), "scrypt-aes-256-gcm")
        assert.notInclude(text, Redacted.value(privateKey))
        const open = (typed: string) =>
          Effect.result(SealedText.parse(text, publicKey, { passphrase: Redacted.make(typed) }))
        for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) {
          const opened = yield* open(passphrase.normalize(form))
          assert.isTrue(opened._tag === "Success" && Redacted.value(opened.success) === Redacted.value(privateKey))
        }
        for (const wrong of [other, ...nearly(passphrase)]) {
          if (normal(wrong).equals(normal(passphrase))) continue
          const opened = yield* open(wrong)
          assert.strictEqual(opened._tag, "Failure", JSON.stringify([passphrase, wrong]))
        }
      })
  )

  it.effect("is not the one of another key, and not a changed one", () =>
    Effect.gen(function*() {
      const [pair, other] = [Ed25519.generate(), Ed25519.generate()]
      const passphrase = Redacted.make("correct horse")
      const text = yield* SealedText.print(pair.privateKey, pair.publicKey, passphrase, cheap)
      assert.strictEqual(
        yield* Effect.flip(SealedText.parse(text, other.publicKey, { passphrase })),
        "wrong-passphrase"
      )
      const file = JSON.parse(text)
      for (const name of ["salt", "iv", "tag", "sealed"]) {
        const changed = `${file[name][0] === "A" ? "B" : "A"}${file[name].slice(1)}`
        const damaged = JSON.stringify({ ...file, [name]: changed })
        assert.isString(yield* Effect.flip(SealedText.parse(damaged, pair.publicKey, { passphrase })), name)
      }
    }))

  it.effect("by a key opens by that key alone, as what it is bound to alone, and not once it was changed", () =>
    Effect.gen(function*() {
      const [key, other, value] = [SealedText.newKey(), SealedText.newKey(), Redacted.make("dmFsdWU")]
      const text = SealedText.printWithKey(value, "token:a", key)
      assert.strictEqual(SealedText.protectionOf(text), "aes-256-gcm")
      assert.strictEqual(Redacted.value(yield* SealedText.parse(text, "token:a", { key })), "dmFsdWU")
      const form = JSON.parse(text)
      const damaged: ReadonlyArray<readonly [string, string, Redacted.Redacted | undefined]> = [
        [text, "token:b", key],
        [text, "token:a", other],
        [text, "token:a", undefined],
        [text, "token:a", Redacted.make("short")],
        ...["iv", "tag", "sealed"].flatMap((name) => [
          [JSON.stringify({ ...form, [name]: `A${form[name].slice(2)}B` }), "token:a", key] as const,
          [JSON.stringify({ ...form, [name]: form[name].slice(0, -4) }), "token:a", key] as const,
          [JSON.stringify({ ...form, [name]: undefined }), "token:a", key] as const
        ])
      ]
      for (const [changed, boundTo, by] of damaged) {
        assert.strictEqual(yield* Effect.flip(SealedText.parse(changed, boundTo, { key: by })), "damaged", changed)
      }
    }))
})
