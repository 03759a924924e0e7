// A notification on the desktop, shown by a program that notes down what it gets.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import { platform } from "node:os"
import { join } from "node:path"
import { argumentsFor } from "../../../src/layers/approval/desktopNotice.ts"
import { temporary } from "../../support/temporary.ts"
import { noticesWith, turn, until } from "./approvalNotices.ts"

/** A `notify-send` that writes its arguments and environment beside itself, each with a NUL after it. */
const fake = `#!/bin/sh
here=$(dirname "$0")
env > "$here/environment"
printf '%s\\0' "$@" > "$here/arguments.tmp"
mv "$here/arguments.tmp" "$here/arguments.$$"
`

const desktop = (more: Readonly<Record<string, string>> = {}, notify: "desktop" | "off" = "desktop") =>
  Effect.gen(function*() {
    const folder = yield* temporary
    fs.writeFileSync(join(folder, "notify-send"), fake, { mode: 0o755 })
    const shown = () =>
      fs.readdirSync(folder).filter((name) => /^arguments\.\d+$/.test(name)).map((name) =>
        fs.readFileSync(join(folder, name), "utf8").split("\0").slice(0, -1)
      )
    const environment = { PATH: folder, DISPLAY: ":7", ...more }
    const world = yield* noticesWith({ environment, settings: { approvalsNotify: notify } })
    return { ...world, folder, shown }
  })

describe.runIf(platform() === "linux")("a desktop", () => {
  it.effect("shows which tool waits, and nothing that the caller chose", () =>
    Effect.gen(function*() {
      const { announce, file, folder, shown, ways } = yield* desktop({
        XDG_RUNTIME_DIR: "/run/user/7",
        API_KEY: "canary-1"
      })
      const details = "Tool: project:tools/edit.py\nParameters: canary-2"
      yield* announce(yield* file({ details }))
      yield* until(() => shown().length > 0)
      assert.deepStrictEqual(shown(), [["--app-name=Kiwi", "--", "Kiwi: run tool edit waits for you", "kiwi inbox"]])
      const environment = fs.readFileSync(join(folder, "environment"), "utf8")
      assert.include(environment, "DISPLAY=:7\n")
      assert.include(environment, "XDG_RUNTIME_DIR=/run/user/7\n")
      assert.notInclude(environment, "canary")
      assert.deepInclude((yield* ways)[1], { way: "desktop", state: "a notification says what waits" })
    }))

  it.effect("shows one for what waits at the same time, and another one later", () =>
    Effect.gen(function*() {
      const { announce, file, shown } = yield* desktop()
      for (const one of ["1", "2", "3"]) yield* announce(yield* file({ digest: one.repeat(64) }))
      yield* until(() => shown().length > 0)
      yield* TestClock.adjust("11 seconds")
      yield* announce(yield* file({ digest: "4".repeat(64), what: "run tool later" }))
      yield* until(() => shown().length > 1)
      const titles = shown().map(([, , title]) => title).toSorted()
      assert.deepStrictEqual(titles, ["Kiwi: run tool edit waits for you", "Kiwi: run tool later waits for you"])
    }))

  const off: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, ("desktop" | "off")?]> = [
    ["is switched off", {}, "off"],
    ["is not there", { DISPLAY: "" }],
    ["is CI", { CI: "true" }],
    ["is CI with another word", { CI: "woodpecker" }],
    ["has no program for it", { PATH: "/nowhere" }]
  ]
  for (const [what, environment, notify] of off) {
    it.effect(`shows nothing if it ${what}, and the doctor says so`, () =>
      Effect.gen(function*() {
        const { announce, file, shown, ways } = yield* desktop(environment, notify)
        yield* announce(yield* file())
        // Loads and looks for the same program.
        const [, way] = yield* ways
        for (let count = 0; count < 100; count++) yield* turn
        assert.deepStrictEqual(shown(), [])
        assert.match(way?.state ?? "", /^no notification: /)
        assert.strictEqual(way?.remedy !== undefined, environment["PATH"] !== undefined)
      }))
  }

  it.effect("shows one on Wayland, and where CI is false", () =>
    Effect.gen(function*() {
      const { announce, file, shown } = yield* desktop({ DISPLAY: "", WAYLAND_DISPLAY: "wayland-0", CI: "false" })
      yield* announce(yield* file())
      yield* until(() => shown().length > 0)
      assert.lengthOf(shown(), 1)
    }))

  it.effect("does not use a program that other users can change", () =>
    Effect.gen(function*() {
      const { announce, file, folder, shown, ways } = yield* desktop()
      fs.chmodSync(join(folder, "notify-send"), 0o777)
      yield* announce(yield* file())
      const [, way] = yield* ways
      for (let count = 0; count < 100; count++) yield* turn
      assert.deepStrictEqual(shown(), [])
      assert.include(way?.state, "no notify-send that is safe to start")
    }))
})

describe("the arguments", () => {
  for (
    const what of [
      "--urgency=critical",
      "-e do shell script \"id\"",
      "-- --help",
      "\u001b[2J\u001b[H",
      "a\nb",
      "a\r\nb\tc",
      "a\0b",
      "a\u202eb",
      "a\u200bb",
      "\" & (do shell script \"id\") & \"",
      "$(id) `id` ; id",
      "<b>bold</b> &amp;",
      "x".repeat(10_000),
      ""
    ]
  ) {
    it(`hold ${JSON.stringify(what).slice(0, 40)} as one text`, () => {
      const linux = argumentsFor("linux", what)
      const mac = argumentsFor("darwin", what)
      assert.strictEqual(linux.length, 4)
      assert.deepStrictEqual(linux.slice(0, 2), ["--app-name=Kiwi", "--"])
      const [title = ""] = linux.slice(2)
      assert.match(title, /^Kiwi: .* waits for you$/s)
      assert.isBelow(title.length, 160)
      for (const character of title) {
        const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(character)
        assert.isFalse(hidden, `U+${character.codePointAt(0)?.toString(16)}`)
      }
      // The script is the same, whatever the texts are.
      assert.deepStrictEqual(mac.slice(0, 6), argumentsFor("darwin", "x").slice(0, 6))
      assert.deepStrictEqual(mac.slice(6), linux.slice(2))
    })
  }
})
