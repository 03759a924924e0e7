// A keychain that takes as much as Windows' Credential Manager does: 2,560 bytes of UTF-16.
import { Effect, Layer } from "effect"
import { Redacted } from "effect"
import * as KeychainMemory from "../../src/layers/identity/KeychainMemory.ts"
import { Keychain, KeychainUnavailable } from "../../src/services/identity/Keychain.ts"

export const longestOfWindows = 1_280

export const smallKeychain = Layer.effect(
  Keychain,
  Effect.map(KeychainMemory.make, (inner) =>
    Keychain.of({
      ...inner,
      set: (account, secret) =>
        Redacted.value(secret).length > longestOfWindows
          ? Effect.fail(
            new KeychainUnavailable({ detail: "Attribute 'password' is longer than platform limit of 2560 chars" })
          )
          : inner.set(account, secret)
    }))
)
