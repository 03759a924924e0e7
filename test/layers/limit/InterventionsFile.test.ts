import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as InterventionsFile from "../../../src/layers/limit/InterventionsFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { Interventions } from "../../../src/services/limit/Interventions.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { temporary } from "../../support/temporary.ts"
import { contract, request } from "./Interventions.contract.ts"

const stateIn = (folder: string) => join(folder, "home/projects/p")

const open = (folder: string) => {
  const homeLayer = KiwiHomeNode.layerWith({ home: join(folder, "home") })
  return Layer.orDie(
    Layer.fresh(InterventionsFile.layer).pipe(
      Layer.provide([
        ProcessLockSqlite.layer,
        Layer.provide(SafeFilesNode.layer, homeLayer),
        Layer.succeed(Workspace, { project: Option.none(), state: stateIn(folder), cwd: folder })
      ])
    )
  )
}

contract("InterventionsFile", Effect.map(temporary, open))

it.effect("what waits is still there after a restart, for the person alone", () =>
  Effect.gen(function*() {
    const folder = yield* temporary
    const id = yield* Effect.provide(Effect.flatMap(Interventions, ({ file }) => file(request())), open(folder))
    const waiting = yield* Effect.provide(Effect.flatMap(Interventions, (one) => one.waiting), open(folder))
    assert.deepStrictEqual(waiting.map((one) => one.id), [id])
    assert.strictEqual(fs.statSync(join(stateIn(folder), "interventions.json")).mode & 0o777, 0o600)
  }))

it.effect("a file that cannot be used is told of, and not replaced", () =>
  Effect.gen(function*() {
    for (const text of ["", "{", "[{}]", "{}", "[\"\"]"]) {
      const folder = yield* temporary
      fs.mkdirSync(stateIn(folder), { recursive: true })
      const file = join(stateIn(folder), "interventions.json")
      fs.writeFileSync(file, text, { mode: 0o600 })
      const error = yield* Effect.flip(
        Effect.provide(Effect.flatMap(Interventions, (one) => one.file(request())), open(folder))
      )
      assert.strictEqual(error._tag, "InterventionsUnavailable")
      assert.notInclude(error.message, folder)
      assert.strictEqual(fs.readFileSync(file, "utf8"), text)
    }
  }))
