import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { getuid } from "node:process"
import { readAll, readRegular, readText, type Unread, withRegular } from "../../../src/layers/files/readRegular.ts"
import { Refused } from "../../../src/layers/files/refused.ts"
import { temporary } from "../../support/temporary.ts"

const cases: ReadonlyArray<readonly [what: string, make: (file: string) => void, followed: Unread, itself?: Unread]> = [
  ["nothing", () => {}, "absent"],
  ["a folder", (file) => Fs.mkdirSync(file), "not-a-file"],
  ["a pipe", (file) => void execFileSync("mkfifo", [file]), "not-a-file"],
  ["a link to a pipe", (file) => {
    execFileSync("mkfifo", [`${file}.pipe`])
    Fs.symlinkSync(`${file}.pipe`, file)
  }, "not-a-file"],
  ["a link to /dev/zero", (file) => Fs.symlinkSync("/dev/zero", file), "not-a-file"],
  ["a link to /dev/random", (file) => Fs.symlinkSync("/dev/random", file), "not-a-file"],
  ["a link to /dev/tty", (file) => Fs.symlinkSync("/dev/tty", file), "not-a-file"],
  ["a link to a folder", (file) => Fs.symlinkSync("/", file), "not-a-file"],
  ["a link to itself", (file) => Fs.symlinkSync(file, file), "not-a-file"],
  ["a link to nothing", (file) => Fs.symlinkSync(`${file}.none`, file), "absent", "not-a-file"],
  ["a file of a terabyte", (file) => {
    Fs.writeFileSync(file, "")
    Fs.truncateSync(file, 1024 ** 4)
  }, "too-large"],
  ["a file of a byte too many", (file) => Fs.writeFileSync(file, Buffer.alloc(1_025)), "too-large"],
  ["a name that is too long", () => {}, "unreadable"]
]

describe("a regular file is read, and not", () => {
  for (const [what, make, followed, itself = followed] of cases) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const file = join(yield* temporary, what === "a name that is too long" ? "x".repeat(300) : "file")
        make(file)
        assert.deepStrictEqual(readRegular(file, { maxBytes: 1_024, follow: true }), Result.fail(followed))
        assert.deepStrictEqual(readRegular(file, { maxBytes: 1_024, follow: false }), Result.fail(itself))
        assert.isUndefined(readText(file, { maxBytes: 1_024, follow: true }))
      }))
  }

  it.effect("behind a link, unless it may be followed", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      Fs.mkdirSync(join(folder, "real/inner"), { recursive: true })
      Fs.writeFileSync(join(folder, "real/inner/file"), "text")
      Fs.symlinkSync("real", join(folder, "link"))
      Fs.symlinkSync(join(folder, "real"), join(folder, "absolute"))
      Fs.symlinkSync("../real/inner", join(folder, "real/again"))
      for (const path of ["link/inner/file", "absolute/inner/file", "real/again/file", "real/inner/../inner/file"]) {
        const file = `${folder}/${path}`
        assert.strictEqual(readText(file, { maxBytes: 10, follow: true }), "text", path)
        assert.deepStrictEqual(readRegular(file, { maxBytes: 10, follow: false }), Result.fail("not-a-file"), path)
      }
      assert.strictEqual(readText(join(folder, "real/inner/file"), { maxBytes: 10, follow: false }), "text")
    }))

  it.effect("that another user owns or everybody can write, where that counts", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "file")
      Fs.writeFileSync(file, "text")
      const bounds = { maxBytes: 10, follow: false }
      assert.strictEqual(readText(file, { ...bounds, own: true }), "text")
      Fs.chmodSync(file, 0o666)
      assert.deepStrictEqual(readRegular(file, { ...bounds, own: true }), Result.fail("unreadable"))
      assert.strictEqual(readText(file, bounds), "text")
      if (getuid?.() !== 0) return
      Fs.chmodSync(file, 0o600)
      Fs.chownSync(file, 4242, 4242)
      assert.deepStrictEqual(readRegular(file, { ...bounds, own: true }), Result.fail("unreadable"))
      assert.strictEqual(readText(file, bounds), "text")
    }))

  it.effect("that grows or shrinks while it is read", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "file")
      for (const after of ["text and more", "te", ""]) {
        Fs.writeFileSync(file, "text")
        const read = Result.try(() =>
          withRegular(file, { maxBytes: 10, follow: false }, (opened) => {
            Fs.writeFileSync(file, after)
            return readAll(opened)
          })
        )
        const error = Result.isFailure(read) ? read.failure : undefined
        assert.strictEqual(error instanceof Refused ? error.message : error, "it changed while being read")
      }
    }))

  it.live("a socket", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "s")
      yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const server = createServer()
          server.listen(file, () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      assert.deepStrictEqual(readRegular(file, { maxBytes: 10, follow: true }), Result.fail("not-a-file"))
    }))

  it.effect("but for its bytes, through a link only where one may lead to it", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const [file, link] = [join(folder, "file"), join(folder, "link")]
      Fs.writeFileSync(file, "a".repeat(1_024))
      Fs.symlinkSync(file, link)
      assert.strictEqual(readText(file, { maxBytes: 1_024, follow: false })?.length, 1_024)
      assert.strictEqual(readText(link, { maxBytes: 1_024, follow: true })?.length, 1_024)
      assert.deepStrictEqual(readRegular(link, { maxBytes: 1_024, follow: false }), Result.fail("not-a-file"))
    }))
})
