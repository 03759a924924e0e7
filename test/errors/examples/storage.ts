// What Kiwi keeps on disk and behind the keychain: the audit, locks, the index, the key, and plain files.
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as IdentityMemory from "../../../src/layers/identity/IdentityMemory.ts"
import * as KeychainOs from "../../../src/layers/identity/KeychainOs.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { SafeFiles } from "../../../src/services/files/SafeFiles.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import { Keychain } from "../../../src/services/identity/Keychain.ts"
import { Outbound } from "../../../src/services/outbound/Outbound.ts"
import { ItemIndex } from "../../../src/services/search/ItemIndex.ts"
import { KiwiHome } from "../../../src/services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../../src/services/workspace/ProcessLock.ts"
import { call, echo } from "../../layers/proxy/calls.ts"
import { kernelOf } from "../../support/realProject.ts"
import { agree } from "../../support/trustWorld.ts"
import { failing, project } from "../Example.ts"
import type { Examples } from "../Example.ts"

const send = (url: string, privateHosts: ReadonlyArray<string>) =>
  Effect.flatMap(
    Outbound,
    (outbound) => outbound.send({ method: "GET", url, headers: {}, body: undefined, privateHosts, maxBytes: 1_000 })
  )

const signRequest = { kind: "sign", title: "", details: "", digest: "", command: "" } as const

const noKeychain = ConfigProvider.layer(ConfigProvider.fromUnknown({ KIWI_KEYCHAIN: "off" }))

export const examples: Examples = {
  AuditUnavailable: {
    when: "A file stands where the audit's folder should be",
    produce: failing({ ".ai/logs/audit": "", ".ai/tools/add.yaml": echo }, "trusted", () => call("add", { text: "a" }))
  },
  IndexUnavailable: {
    when: "A folder stands where the project's search index should be",
    produce: failing({}, "trusted", ({ home }) => {
      const id = fs.readdirSync(join(home, "projects")).find((name) => name !== "index")
      fs.mkdirSync(join(home, "projects", id!, "search.db/x"), { recursive: true })
      return Effect.flatMap(ItemIndex, (index) => index.search({ query: "add", tier: "project" }))
    })
  },
  HomeRefused: {
    when: "KIWI_HOME names the home folder of somebody else",
    produce: Effect.flip(Effect.provide(KiwiHome, KiwiHomeNode.layerWith({ home: "~bob/.kiwi" })))
  },
  LockTimeout: {
    when: "Another process holds the lock",
    produce: failing({}, "nothing", ({ home }) =>
      Effect.gen(function*() {
        const locks = yield* ProcessLock
        yield* locks.tryHold(home, "sign")
        return yield* Effect.provide(
          Effect.flatMap(ProcessLock, (other) => other.tryHold(home, "sign")),
          Layer.fresh(ProcessLockSqlite.layer)
        )
      }))
  },
  LockUnavailable: {
    when: "A folder stands where the lock's file should be",
    produce: failing({}, "nothing", ({ home }) => {
      fs.mkdirSync(join(home, "sign"), { recursive: true })
      return Effect.flatMap(ProcessLock, (locks) => locks.withLock(home, "sign")(Effect.void))
    })
  },
  WriteRefused: {
    when: "A link stands where Kiwi would write",
    produce: failing({}, "nothing", ({ project: root }) => {
      fs.symlinkSync("/etc/passwd", join(root, ".ai/notes.md"))
      return Effect.flatMap(SafeFiles, (files) => files.write(root, ".ai/notes.md", "x"))
    })
  },
  ReadRefused: {
    when: "A file is larger than it may be",
    produce: failing(
      { "big.txt": "x".repeat(100) },
      "nothing",
      ({ project: root }) => Effect.flatMap(SafeFiles, (files) => files.read(root, "big.txt", { maxBytes: 10 }))
    )
  },
  KeyUnavailable: {
    when: "The file of the key was cut off",
    produce: Effect.gen(function*() {
      const place = yield* project()
      yield* Effect.provide(Effect.flatMap(Identity, (identity) => identity.ensure()), [kernelOf(place), noKeychain])
        .pipe(Effect.provide(noKeychain))
      const folder = join(place.home, "keys")
      for (const name of fs.readdirSync(folder)) fs.writeFileSync(join(folder, name), "{")
      return yield* Effect.provide(
        Effect.flip(Effect.flatMap(Identity, (identity) => identity.sign(["x"], agree(signRequest)))),
        kernelOf(place)
      )
    })
  },
  KeyLocked: {
    when: "The key was made with a passphrase, and KIWI_PASSPHRASE is not set",
    produce: Effect.gen(function*() {
      const place = yield* project()
      const passphrase = ConfigProvider.layer(
        ConfigProvider.fromUnknown({ KIWI_PASSPHRASE: "correct horse battery staple", KIWI_KEYCHAIN: "off" })
      )
      yield* Effect.provide(Effect.flatMap(Identity, (identity) => identity.ensure()), [kernelOf(place), passphrase])
        .pipe(Effect.provide(passphrase))
      return yield* Effect.provide(
        Effect.flip(Effect.flatMap(Identity, (identity) => identity.sign(["x"], agree(signRequest)))),
        kernelOf(place)
      )
    })
  },
  PassphraseRefused: {
    when: "A person types `secret` as the new passphrase of their key",
    produce: Effect.provide(
      Effect.gen(function*() {
        const identity = yield* Identity
        yield* identity.ensure()
        const act = agree(yield* identity.proposePassphrase("encrypt"))
        return yield* Effect.flip(identity.changePassphrase({ from: undefined, to: Redacted.make("secret") }, act))
      }),
      IdentityMemory.layer
    )
  },
  KeychainUnavailable: {
    when: "The keychain is turned off",
    produce: Effect.provide(
      Effect.flip(Effect.flatMap(Keychain, (keychain) => keychain.get("item"))),
      KeychainOs.layer.pipe(
        Layer.provide(ChildProcessesNode.layer),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ KIWI_KEYCHAIN: "off" })))
      )
    )
  },
  OutboundRefused: {
    when: "A request would go to a private address that nobody has granted",
    produce: failing({}, "nothing", () => Effect.scoped(send("http://192.168.1.1/", [])))
  },
  OutboundFailed: {
    when: "Nobody listens on the port",
    produce: failing({}, "nothing", () => Effect.scoped(send("http://127.0.0.1:1/", ["127.0.0.1:1"])))
  }
}
