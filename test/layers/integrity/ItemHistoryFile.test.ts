import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import {
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as ItemHistoryFile from "../../../src/layers/integrity/ItemHistoryFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { ItemHistory } from "../../../src/services/integrity/ItemHistory.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { contract } from "../../services/integrity/ItemHistory.contract.ts"
import { locationOf } from "../../support/snapshots.ts"
import { changeUnseen, coarseFolder, spoiled } from "../../support/spoiledFiles.ts"
import { temporary } from "../../support/temporary.ts"

/** A history as a new process would see it. */
const open = (home: string) => {
  const homeLayer = KiwiHomeNode.layerWith({ home })
  return ItemHistoryFile.layer.pipe(
    Layer.provide([
      homeLayer,
      ProcessLockSqlite.layer,
      Layer.provide(SafeFilesNode.layer, homeLayer),
      Layer.succeed(Workspace, { project: Option.none(), state: join(home, "projects/p"), cwd: home })
    ])
  )
}

contract("ItemHistoryFile", Layer.unwrap(Effect.map(temporary, (folder) => open(join(folder, "home")))))

const item = locationOf("tools/math/add.py")
const own = locationOf("tools/math/add.py", { tier: "user" })

describe("ItemHistoryFile", () => {
  it.effect("keeps a project's past with the project and the user's with the user, for its owner alone", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      yield* Effect.provide(
        Effect.flatMap(
          ItemHistory,
          (history) =>
            Effect.andThen(
              history.ran(item, "1.0.0", "a"),
              history.signed([{ location: own, digest: "b", goesBack: false, hides: false }])
            )
        ),
        open(home)
      )
      const [project] = globSync("projects/p/history/*.json", { cwd: home })
      const [user] = globSync("user/history/*.json", { cwd: home })
      assert.include(readFileSync(join(home, project!), "utf8"), "project:tools/math/add.py")
      assert.include(readFileSync(join(home, user!), "utf8"), "user:tools/math/add.py")
      assert.strictEqual(statSync(join(home, project!)).mode & 0o777, 0o600)
      yield* Effect.provide(
        Effect.flatMap(ItemHistory, (history) => Effect.flip(history.checkForward(item, "0.9.0", "x"))),
        open(home)
      )
    }))

  it.effect("sees what another process has written", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const [first, second] = yield* Effect.all([
        Effect.provide(ItemHistory, open(home)),
        Effect.provide(ItemHistory, open(home))
      ])
      yield* first.ran(item, "1.0.0", "a")
      yield* second.ran(item, "2.0.0", "b")
      const back = yield* Effect.flip(first.checkForward(item, "1.0.0", "a"))
      assert.strictEqual(back._tag === "GoesBack" ? back.from : back._tag, "2.0.0")
      yield* first.ran(item, "1.5.0", "c")
      assert.strictEqual((yield* second.past(item)).newest?.version, "2.0.0")
    }))

  it.effect("loses no change when several are made at once", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const histories = yield* Effect.all(Array.from({ length: 4 }, () => Effect.provide(ItemHistory, open(home))))
      yield* Effect.all(
        [
          histories[0]!.ran(item, "1.0.0", "a"),
          histories[1]!.ran(item, "3.0.0", "c"),
          histories[2]!.ran(item, "2.0.0", "b"),
          histories[3]!.signed([{ location: item, digest: "s", goesBack: false, hides: true }])
        ],
        { concurrency: "unbounded" }
      )
      const past = yield* histories[0]!.past(item)
      assert.strictEqual(past.newest?.version, "3.0.0")
      assert.deepStrictEqual(past.agreed, [{ digest: "s", goesBack: false, hides: true }])
    }))

  it.effect("refuses an item whose past is damaged, until a person signs it again", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const history = yield* Effect.provide(ItemHistory, open(home))
      yield* history.signed([{ location: item, digest: "a", goesBack: false, hides: true }])
      const folder = join(home, "projects/p/history")
      const file = join(folder, readdirSync(folder)[0]!)
      for (const text of ["", "{", "[]", "{\"format\":2}", "\0"]) {
        writeFileSync(file, text)
        assert.isFalse(yield* history.acceptedHiding(item, "a"))
        assert.isUndefined((yield* history.past(item)).newest)
        const error = yield* Effect.flip(history.checkForward(item, "1.0.0", "a"))
        assert.strictEqual(error._tag, "HistoryDamaged")
        assert.include(error.message, "$KIWI_HOME/projects/p/history/tool-")
        assert.include(error.remediation, "kiwi sign tool add")
        yield* history.ran(item, "9.0.0", "a")
        assert.strictEqual(readFileSync(file, "utf8"), text)
      }
      yield* history.signed([{ location: item, digest: "a", goesBack: false, hides: true }])
      assert.isTrue(yield* history.acceptedHiding(item, "a"))
      yield* history.checkForward(item, "1.0.0", "a")
    }))

  for (const [what, spoil] of spoiled) {
    it.effect(`refuses an item whose past is ${what}`, () =>
      Effect.gen(function*() {
        const home = join(yield* temporary, "home")
        const before = yield* Effect.provide(ItemHistory, open(home))
        yield* before.ran(item, "2.0.0", "a")
        const [file] = globSync("projects/p/history/*.json", { cwd: home })
        spoil(join(home, file!))
        for (const history of [before, yield* Effect.provide(ItemHistory, open(home))]) {
          for (const [version, digest] of [["1.0.0", "b"], ["2.0.0", "a"], ["3.0.0", "c"]] as const) {
            assert.strictEqual((yield* Effect.flip(history.checkForward(item, version, digest)))._tag, "HistoryDamaged")
          }
          assert.isUndefined((yield* history.past(item)).newest)
        }
      }))
  }

  it.effect("refuses an item whose folder of pasts is a link", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      yield* Effect.flatMap(Effect.provide(ItemHistory, open(home)), (history) => history.ran(item, "2.0.0", "a"))
      const folder = join(home, "projects/p/history")
      renameSync(folder, join(home, "elsewhere"))
      symlinkSync(join(home, "elsewhere"), folder)
      const history = yield* Effect.provide(ItemHistory, open(home))
      assert.strictEqual((yield* Effect.flip(history.checkForward(item, "1.0.0", "b")))._tag, "HistoryDamaged")
    }))

  it.live("sees a change that the file's times do not show", (context) =>
    Effect.gen(function*() {
      const home = yield* coarseFolder
      if (home === undefined) return context.skip("no file system with coarse times can be mounted here")
      const history = yield* Effect.provide(ItemHistory, open(home))
      yield* history.ran(item, "2.0.0", "a")
      const [file] = globSync("projects/p/history/*.json", { cwd: home })
      const before = readFileSync(join(home, file!), "utf8")
      const after = before.replaceAll("2.0.0", "9.0.0")
      assert.isTrue(yield* changeUnseen(join(home, file!), { before, after }, history.checkForward(item, "2.0.1", "b")))
      assert.strictEqual((yield* Effect.flip(history.checkForward(item, "2.0.1", "b")))._tag, "GoesBack")
    }))

  it.effect("writes through no link", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const history = yield* Effect.provide(ItemHistory, open(home))
      yield* history.signed([{ location: item, digest: "a", goesBack: false, hides: true }])
      const folder = join(home, "projects/p/history")
      rmSync(folder, { recursive: true })
      mkdirSync(join(home, "elsewhere"))
      symlinkSync(join(home, "elsewhere"), folder)
      assert.strictEqual(
        (yield* Effect.flip(history.signed([{ location: item, digest: "a", goesBack: false, hides: true }])))._tag,
        "WriteRefused"
      )
      assert.deepStrictEqual(readdirSync(join(home, "elsewhere")), [])
    }))

  it.effect("writes nothing for the same bytes, nor for an older version", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const history = yield* Effect.provide(ItemHistory, open(home))
      yield* history.ran(item, "1.0.0", "a")
      const [file] = globSync("projects/p/history/*.json", { cwd: home })
      const before = statSync(join(home, file!), { bigint: true })
      yield* history.ran(item, "1.0.0", "a")
      yield* history.ran(item, "0.5.0", "c")
      assert.deepStrictEqual(statSync(join(home, file!), { bigint: true }).ino, before.ino)
      assert.deepStrictEqual((yield* history.past(item)).newest, { version: "1.0.0", digest: "a" })
    }))
})
