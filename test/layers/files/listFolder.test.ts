import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { listFolder, readFolder } from "../../../src/layers/files/listFolder.ts"
import { temporary } from "../../support/temporary.ts"

describe("the names in a folder", () => {
  it.effect("are told with what they are, and no more than were asked for", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      for (let i = 0; i < 20; i++) fs.writeFileSync(join(folder, `f${i}`), "")
      fs.mkdirSync(join(folder, "folder"))
      fs.symlinkSync("nowhere", join(folder, "link"))
      const entries = listFolder(folder)
      assert.lengthOf(entries, 22)
      assert.isTrue(entries.find(({ name }) => name === "folder")?.isDirectory())
      assert.isTrue(entries.find(({ name }) => name === "link")?.isSymbolicLink())
      assert.isTrue(entries.find(({ name }) => name === "f7")?.isFile())
      for (const most of [0, 1, 21]) assert.lengthOf(listFolder(folder, most), most)
    }))

  it.effect("are none for what is no folder, without waiting", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      fs.writeFileSync(join(folder, "file"), "")
      execFileSync("mkfifo", [join(folder, "pipe")])
      fs.symlinkSync("loop", join(folder, "loop"))
      for (const name of ["file", "pipe", "loop", "none", "file/below"]) {
        assert.deepStrictEqual(listFolder(join(folder, name)), [], name)
        assert.throws(() => readFolder(join(folder, name)))
      }
    }))
})
