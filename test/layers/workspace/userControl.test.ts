import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { openUserControl, readUserControl } from "../../../src/layers/workspace/userControl.ts"
import { temporary } from "../../support/temporary.ts"

const made = Effect.map(temporary, (userHome) => {
  const userSpace = join(userHome, ".ai")
  fs.mkdirSync(join(userSpace, "config"), { recursive: true })
  fs.mkdirSync(join(userHome, "dotfiles"))
  const file = join(userSpace, "config/kiwi.yaml")
  fs.writeFileSync(file, "a: 1\n")
  const home = { home: join(userHome, ".kiwi"), userSpace, systemSpace: "", verified: "", userHome }
  return { userHome, userSpace, config: join(userSpace, "config"), file, dotfiles: join(userHome, "dotfiles"), home }
})
type Made = Effect.Success<typeof made>

const link = ({ dotfiles, file }: Made) => {
  fs.renameSync(file, join(dotfiles, "kiwi.yaml"))
  fs.symlinkSync(join(dotfiles, "kiwi.yaml"), file)
}

const read = (change: (world: Made) => void) =>
  Effect.map(made, (world) => {
    change(world)
    return Result.map(readUserControl(world.home, "config/kiwi.yaml"), (bytes) => bytes?.toString())
  })

describe("a control file of the user space", () => {
  const believed: ReadonlyArray<readonly [string, (world: Made) => void, string | undefined]> = [
    ["as it is", () => undefined, "a: 1\n"],
    ["with a group's rights, as with umask 002", ({ config, file }) => {
      fs.chmodSync(file, 0o664)
      fs.chmodSync(config, 0o775)
    }, "a: 1\n"],
    ["as a link to dotfiles", link, "a: 1\n"],
    ["absent", ({ file }) => fs.rmSync(file), undefined],
    ["without a folder", ({ userSpace }) => fs.rmSync(userSpace, { recursive: true }), undefined]
  ]
  for (const [what, change, text] of believed) {
    it.effect(`is read ${what}`, () =>
      Effect.map(read(change), (got) => assert.deepStrictEqual(got, Result.succeed(text))))
  }

  const refused: ReadonlyArray<readonly [string, (world: Made) => void, RegExp, string]> = [
    ["everybody can write it", ({ file }) => fs.chmodSync(file, 0o666), /change it$/, "~/.ai/config/kiwi.yaml"],
    ["others can write it", ({ file }) => fs.chmodSync(file, 0o602), /change it$/, "~/.ai/config/kiwi.yaml"],
    ["its folder is 777", ({ config }) => fs.chmodSync(config, 0o777), /folder config$/, "~/.ai/config"],
    ["its folder is 703", ({ config }) => fs.chmodSync(config, 0o703), /folder config$/, "~/.ai/config"],
    ["its folder is like /tmp", ({ config }) => fs.chmodSync(config, 0o1777), /folder config$/, "~/.ai/config"],
    ["the user space is 777", ({ userSpace }) => fs.chmodSync(userSpace, 0o777), /user space$/, "~/.ai"],
    [
      "it was removed in an open folder",
      ({ config, file }) => {
        fs.rmSync(file)
        fs.chmodSync(config, 0o777)
      },
      /folder config$/,
      "~/.ai/config"
    ],
    [
      "the link leads to an open folder",
      (world) => {
        link(world)
        fs.chmodSync(world.dotfiles, 0o777)
      },
      /folder that the link leads to$/,
      "\"$(dirname \"$(realpath ~/.ai/config/kiwi.yaml)\")\""
    ],
    [
      "the link leads to an open file",
      (world) => {
        link(world)
        fs.chmodSync(join(world.dotfiles, "kiwi.yaml"), 0o666)
      },
      /change it$/,
      "~/.ai/config/kiwi.yaml"
    ],
    [
      "the folder is a link to an open one",
      ({ config, dotfiles, file }) => {
        fs.renameSync(file, join(dotfiles, "kiwi.yaml"))
        fs.rmdirSync(config)
        fs.symlinkSync(dotfiles, config)
        fs.chmodSync(dotfiles, 0o777)
      },
      /folder config$/,
      "~/.ai/config"
    ]
  ]
  for (const [what, change, issue, path] of refused) {
    it.effect(`does not count if ${what}`, () =>
      Effect.map(read(change), (got) => {
        if (Result.isSuccess(got)) return assert.fail("it was read")
        assert.match(got.failure.issue, issue)
        assert.isTrue(got.failure.hint.startsWith(`chmod go-w ${path};`), got.failure.hint)
      }))
  }

  it.effect("does not count if another user owns it", () =>
    Effect.gen(function*() {
      if (process.getuid?.() !== 0) return
      const foreign: ReadonlyArray<(world: Made) => void> = [
        ({ file }) => fs.chownSync(file, 12345, 12345),
        ({ config }) => fs.chownSync(config, 12345, 12345)
      ]
      for (const change of foreign) assert.isTrue(Result.isFailure(yield* read(change)))
    }))
})

describe("a file deeper in the user space", () => {
  for (const open of ["extractors", "extractors/tool", "extractors/tool/x.yaml"]) {
    it.effect(`does not count if others can write ${open}`, () =>
      Effect.map(made, ({ home, userSpace }) => {
        fs.mkdirSync(join(userSpace, "extractors/tool"), { recursive: true })
        fs.writeFileSync(join(userSpace, "extractors/tool/x.yaml"), "")
        assert.isUndefined(openUserControl(home, "extractors/tool/x.yaml"))
        fs.chmodSync(join(userSpace, open), 0o777)
        assert.match(openUserControl(home, "extractors/tool/x.yaml")?.issue ?? "", /^other users can change/)
      }))
  }
})
