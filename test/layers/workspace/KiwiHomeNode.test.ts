import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import * as fs from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import { KiwiHome } from "../../../src/services/workspace/KiwiHome.ts"
import { temporary } from "../../support/temporary.ts"

const folders = (env: Record<string, string>) =>
  Effect.provide(
    KiwiHome,
    KiwiHomeNode.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))
  )

it.effect("has its defaults below the home folder and creates nothing", () =>
  Effect.gen(function*() {
    const home = yield* temporary
    const found = yield* folders({ HOME: home })
    assert.deepStrictEqual(found, {
      home: join(home, ".kiwi"),
      userSpace: join(home, ".ai"),
      systemSpace: fileURLToPath(new URL("../../../.ai", import.meta.url)),
      verified: join(home, ".kiwi/verified"),
      userHome: home
    })
    assert.deepStrictEqual(fs.readdirSync(home), [])
  }))

it.effect("expands ~ and counts relative folders from the home folder, not from where it was started", () =>
  Effect.gen(function*() {
    const home = yield* temporary
    const found = yield* folders({ HOME: home, KIWI_HOME: "~/deep/kiwi", USER_SPACE: "mine" })
    assert.strictEqual(found.home, join(home, "deep/kiwi"))
    assert.strictEqual(found.userSpace, join(home, "mine"))
    assert.strictEqual((yield* folders({ HOME: home, KIWI_HOME: "~/~" })).home, join(home, "~"))
  }))

it.effect("takes empty variables as not set, and finds a home folder without HOME", () =>
  Effect.gen(function*() {
    const found = yield* folders({ HOME: "", KIWI_HOME: "", USER_SPACE: "" })
    assert.strictEqual(found.userHome, fs.realpathSync.native(userInfo().homedir))
    assert.strictEqual(found.home, join(found.userHome, ".kiwi"))
  }))

it.effect("makes paths real as far as they exist, and keeps a link that leads nowhere as it stands", () =>
  Effect.gen(function*() {
    const dir = yield* temporary
    fs.mkdirSync(join(dir, "real"))
    fs.symlinkSync(join(dir, "real"), join(dir, "alias"))
    fs.symlinkSync(join(dir, "loop"), join(dir, "loop"))
    const env = { HOME: dir, KIWI_HOME: join(dir, "alias/not/yet"), USER_SPACE: join(dir, "loop") }
    const found = yield* folders(env)
    assert.strictEqual(found.home, join(dir, "real/not/yet"))
    assert.strictEqual(found.userSpace, join(dir, "loop"))
  }))

it.effect("takes from the environment what it was not told", () =>
  Effect.gen(function*() {
    const home = yield* temporary
    const env = { HOME: home, KIWI_HOME: "/somewhere/else", USER_SPACE: "mine" }
    const found = yield* Effect.provide(
      KiwiHome,
      KiwiHomeNode.layerWith({ home: "told" }).pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
      )
    )
    assert.strictEqual(found.home, join(home, "told"))
    assert.strictEqual(found.userSpace, join(home, "mine"))
  }))

it.effect("counts nothing from the working directory", () =>
  Effect.gen(function*() {
    const home = yield* temporary
    const listed = fs.realpathSync.native(userInfo().homedir)
    const cases: ReadonlyArray<readonly [env: Record<string, string>, home: string]> = [
      [{ HOME: home, KIWI_HOME: "~/.kiwi-work" }, join(home, ".kiwi-work")],
      [{ HOME: home, KIWI_HOME: "~/x/y/.." }, join(home, "x")],
      [{ HOME: home, KIWI_HOME: "./x" }, join(home, "x")],
      [{ HOME: home, KIWI_HOME: "a/../x//" }, join(home, "x")],
      [{ HOME: home, KIWI_HOME: "../x" }, join(home, "../x")],
      [{ HOME: home, KIWI_HOME: "./x/." }, join(home, "x")],
      [{ HOME: home, KIWI_HOME: "~/../x" }, join(home, "../x")],
      [{ HOME: home, KIWI_HOME: " " }, join(home, ".kiwi")],
      [{ HOME: `${home}/` }, join(home, ".kiwi")],
      [{ HOME: `${home}/a/..` }, join(home, ".kiwi")],
      [{ HOME: "." }, join(listed, ".kiwi")],
      [{ HOME: "relative", KIWI_HOME: "x" }, join(listed, "x")],
      [{ HOME: "~" }, join(listed, ".kiwi")],
      [{ HOME: "", KIWI_HOME: "~/x" }, join(listed, "x")],
      [{ KIWI_HOME: "x" }, join(listed, "x")]
    ]
    for (const [env, expected] of cases) {
      assert.strictEqual((yield* folders(env)).home, expected, JSON.stringify(env))
      const { HOME, KIWI_HOME } = env
      const space = yield* folders({ ...(HOME === undefined ? {} : { HOME }), USER_SPACE: KIWI_HOME ?? ".kiwi" })
      assert.strictEqual(space.userSpace, KIWI_HOME === " " ? join(home, ".ai") : expected, JSON.stringify(env))
    }
  }))

it.effect("refuses a value with blanks or quotes around it, and says what to write", () =>
  Effect.gen(function*() {
    const home = yield* temporary
    const wrong = [
      "\"~/.kiwi\"",
      "'~/.kiwi'",
      "`~/.kiwi`",
      " ~/.kiwi",
      "~/.kiwi ",
      "\u00a0~/.kiwi",
      "\u2003/kiwi",
      "\"/kiwi",
      "/kiwi'",
      "\u201c~/.kiwi\u201d",
      "\u2018/kiwi\u2019",
      "\u00ab/kiwi\u00bb",
      " \"~/.kiwi\""
    ]
    for (const variable of ["KIWI_HOME", "USER_SPACE"]) {
      for (const value of wrong) {
        const error = yield* Effect.flip(folders({ HOME: home, [variable]: value }))
        assert.include(error.message, `${variable} begins or ends with a blank or a quote`, JSON.stringify(value))
        assert.include(error.remediation, "~/some/folder")
      }
      const fine = yield* folders({ HOME: home, [variable]: "~/it's \"mine\" too/x" })
      assert.include([fine.home, fine.userSpace], join(home, "it's \"mine\" too/x"))
    }
  }))

it.effect("refuses the home folder itself, and what it lies in", () =>
  Effect.gen(function*() {
    const folder = yield* temporary
    const home = join(folder, "me")
    fs.mkdirSync(home)
    fs.symlinkSync(home, join(folder, "link"))
    const wrong = ["~", "~/", "~/.", ".", "./", "..", "~/..", "~/x/..", "/", "//", "/.", home, `${home}/`, folder]
    for (const variable of ["KIWI_HOME", "USER_SPACE"]) {
      for (const value of [...wrong, join(folder, "link"), userInfo().homedir]) {
        const error = yield* Effect.flip(folders({ HOME: home, [variable]: value }))
        assert.include(error.message, `${variable} is your home folder itself, or a folder that contains it`, value)
      }
    }
    assert.strictEqual((yield* folders({ HOME: "/", KIWI_HOME: "/kiwi" })).home, "/kiwi")
    assert.strictEqual((yield* folders({ HOME: home, KIWI_HOME: `${home}2` })).home, `${home}2`)
  }))

it.effect("refuses what names no folder of this user", () =>
  Effect.gen(function*() {
    const home = yield* temporary
    const wrong = ["~bob", "~bob/x", "~+", "~+/x", "~-", "$HOME/x", "${HOME}/x", "%USERPROFILE%/x", "a\nb", "a\0b"]
    for (const variable of ["KIWI_HOME", "USER_SPACE"]) {
      for (const value of [...wrong, "x".repeat(40_000)]) {
        const error = yield* Effect.flip(folders({ HOME: home, [variable]: value }))
        assert.strictEqual(error._tag, "HomeRefused")
        assert.strictEqual(error.variable, variable)
        assert.notInclude(error.message, value, "it may be somebody's path")
      }
    }
  }))
