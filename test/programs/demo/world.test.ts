import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { make } from "../../../src/programs/demo/world.ts"
import { temporary } from "../../support/temporary.ts"

it.effect("is removed with what is read-only in it, and changes nothing that a link in it leads to", () =>
  Effect.gen(function*() {
    const outside = join(yield* temporary, "outside")
    fs.mkdirSync(join(outside, "deep"), { recursive: true })
    fs.writeFileSync(join(outside, "deep", "file"), "kept")
    for (const path of [outside, join(outside, "deep")]) fs.chmodSync(path, 0o755)
    const scope = yield* Scope.make()
    const world = yield* Scope.provide(make({ env: process.env, started: { node: "node", script: "kiwi" } }), scope)
    yield* world.write(join(world.project, "kept", "locked", "file"), "")
    const links = {
      "to-folder": outside,
      "kept/locked/to-folder": outside,
      "kept/relative": join("..", "..", "..", "..", "..", outside),
      "to-deep": join(outside, "deep"),
      "to-file": join(outside, "deep", "file"),
      "to-nothing": join(outside, "nothing"),
      "to-itself": "to-itself",
      "to-its-folder": ".",
      "kept/to-above": "..",
      "to-link": "to-folder"
    }
    for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, join(world.project, name))
    for (const name of ["kept/locked", "kept"]) fs.chmodSync(join(world.project, name), 0o500)
    yield* Scope.close(scope, Exit.void)
    assert.isFalse(fs.existsSync(dirname(world.project)))
    assert.deepStrictEqual(
      ["", "deep"].map((name) => fs.statSync(join(outside, name)).mode & 0o777),
      [0o755, 0o755]
    )
    assert.strictEqual(fs.readFileSync(join(outside, "deep", "file"), "utf8"), "kept")
  }).pipe(Effect.provide(Layer.merge(ChildProcessesNode.layer, NodeServices.layer))))
