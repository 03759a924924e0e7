import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Redacted } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import * as KeychainOs from "../../../src/layers/identity/KeychainOs.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { Keychain } from "../../../src/services/identity/Keychain.ts"
import { contract } from "../../services/identity/Keychain.contract.ts"
import { describeWith } from "../../support/realParts.ts"
import { lockSecretService, secretService } from "../../support/secretService.ts"
import { temporary } from "../../support/temporary.ts"

const keychainOn = (environment: Record<string, string>, config: Record<string, string> = {}) =>
  KeychainOs.layerWith({ environment }).pipe(
    Layer.provide(ChildProcessesNode.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(config)))
  )

const secret = Redacted.make("hidden-word")

describeWith(["secretService"], "KeychainOs on a real Secret Service", () => {
  contract("KeychainOs", Layer.unwrap(Effect.map(secretService, keychainOn)))

  it.live("keeps a secret from one process to the next", () =>
    Effect.gen(function*() {
      const keychain = keychainOn(yield* secretService)
      yield* Effect.provide(Effect.flatMap(Keychain, ({ set }) => set("a", secret)), keychain)
      const kept = yield* Effect.provide(Effect.flatMap(Keychain, ({ get }) => get("a")), keychain)
      assert.strictEqual(kept && Redacted.value(kept), "hidden-word")
    }))

  it.live("says that a locked keychain is one, and nothing of the secret", () =>
    Effect.gen(function*() {
      const environment = yield* secretService
      const { get, set } = yield* Effect.provide(Keychain, keychainOn(environment))
      yield* set("a", secret)
      yield* lockSecretService(environment)
      for (const error of [yield* Effect.flip(set("a", secret)), yield* Effect.flip(get("a"))]) {
        assert.strictEqual(error._tag, "KeychainUnavailable")
        assert.notInclude(JSON.stringify(error) + error.message, "hidden-word")
      }
    }))
})

describe("KeychainOs without one", () => {
  it.live("fails where there is no session bus", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const { get, set } = yield* Effect.provide(
        Keychain,
        keychainOn({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${folder}/none` })
      )
      assert.strictEqual((yield* Effect.flip(set("a", secret)))._tag, "KeychainUnavailable")
      assert.strictEqual((yield* Effect.flip(get("a")))._tag, "KeychainUnavailable")
      const nowhere = yield* Effect.provide(
        Keychain,
        keychainOn({ DBUS_SESSION_BUS_ADDRESS: "", XDG_RUNTIME_DIR: folder })
      )
      assert.strictEqual(
        (yield* Effect.flip(nowhere.get("a"))).detail,
        "no Secret Service answers on the session bus"
      )
    }))

  it.live(
    "gives up on a session bus that never answers, and lets other work go on meanwhile",
    () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        const path = join(folder, "bus")
        yield* Effect.acquireRelease(
          Effect.callback<ReturnType<typeof createServer>>((resume) => {
            const server = createServer((socket) => socket.on("error", () => undefined))
            server.listen(path, () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.sync(() => server.close())
        )
        const { set } = yield* Effect.provide(Keychain, keychainOn({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${path}` }))
        let ticks = 0
        const work = Effect.forever(Effect.delay(Effect.sync(() => ticks++), Duration.millis(50)))
        const [elapsed, error] = yield* Effect.timed(Effect.raceFirst(Effect.flip(set("a", secret)), work))
        assert.include(String(error), "did not answer within 3 s")
        assert.isAbove(ticks, 30)
        assert.isBelow(Duration.toSeconds(elapsed), 10)
      }),
    15_000
  )

  /** What the child would read where it is started; the first line of it decided where a signing key is kept. */
  const manifests: Readonly<Record<string, (file: string) => void>> = {
    "is no JSON": (file) => fs.writeFileSync(file, "{ \"type\": "),
    "is empty": (file) => fs.writeFileSync(file, ""),
    "is null": (file) => fs.writeFileSync(file, "null"),
    "is of another type": (file) => fs.writeFileSync(file, "{\"type\":\"module\"}"),
    "has a type that is none": (file) => fs.writeFileSync(file, "{\"type\":{\"a\":1}}"),
    "begins with a mark": (file) => fs.writeFileSync(file, "\uFEFF{}"),
    "is not text": (file) => fs.writeFileSync(file, Buffer.from([0xff, 0xfe, 0])),
    "is nested deeply": (file) => fs.writeFileSync(file, "[".repeat(200_000)),
    "has its own exports": (file) => fs.writeFileSync(file, "{\"name\":\"node:fs\",\"exports\":\"./x.js\"}"),
    "is a folder": (file) => void fs.mkdirSync(file),
    "is a pipe": (file) => void execFileSync("mkfifo", [file]),
    "is a link to /dev/zero": (file) => fs.symlinkSync("/dev/zero", file),
    "is a link to itself": (file) => fs.symlinkSync(file, file),
    "has a terabyte": (file) => {
      fs.writeFileSync(file, "")
      fs.truncateSync(file, 1024 ** 4)
    }
  }
  for (const [what, make] of Object.entries(manifests)) {
    it.live(`answers the same where package.json ${what}`, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        make(join(folder, "package.json"))
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            const before = process.cwd()
            process.chdir(folder)
            return before
          }),
          (before) => Effect.sync(() => process.chdir(before))
        )
        const { get } = yield* Effect.provide(
          Keychain,
          keychainOn({ DBUS_SESSION_BUS_ADDRESS: "", XDG_RUNTIME_DIR: folder })
        )
        assert.strictEqual((yield* Effect.flip(get("a"))).detail, "no Secret Service answers on the session bus")
      }))
  }

  for (
    const address of ["unixexec:path=/bin/sh", "unix:path=/none;unixexec:path=/bin/sh", "autolaunch:", "launchd:env=X"]
  ) {
    it.live(`asks no bus at ${address}, which would be a program`, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        const { get } = yield* Effect.provide(
          Keychain,
          keychainOn({ XDG_RUNTIME_DIR: folder }, { DBUS_SESSION_BUS_ADDRESS: address })
        )
        assert.strictEqual((yield* Effect.flip(get("a"))).detail, "no Secret Service answers on the session bus")
      }))
  }

  it.live("is off when KIWI_KEYCHAIN says so", () =>
    Effect.gen(function*() {
      const { get } = yield* Effect.provide(Keychain, keychainOn({}, { KIWI_KEYCHAIN: "off" }))
      assert.include((yield* Effect.flip(get("a"))).message, "KIWI_KEYCHAIN=off")
    }))
})
