import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { call, installedOf, pythonTool, syncTool, syncWorld, trace } from "../layers/dependency/syncWorld.ts"
import { pythonIndex, type PythonPackage } from "../support/packageServers.ts"
import { describeWith } from "../support/realParts.ts"

const greet: PythonPackage = {
  name: "kiwi-greet",
  version: "1.2.0",
  files: { "kiwi_greet.py": "import kiwi_words\ndef hello():\n    return kiwi_words.word + ' 1.2.0'\n" },
  requires: ["kiwi-words>=2"]
}
const words: PythonPackage = { name: "kiwi-words", version: "2.0.1", files: { "kiwi_words.py": "word = 'hello'\n" } }

const tool = pythonTool(
  ["kiwi-greet>=1,<2"],
  "import kiwi_greet\nprint(json.dumps({'said': kiwi_greet.hello(), 'python': sys.executable, 'kiwi': os.environ['KIWI_PYTHON'], 'venv': os.environ['PROJECT_VENV_PYTHON']}))"
)

describeWith(["pip"], "packages of Python tools", () => {
  it.live("are missing, then installed with what they need in turn, then run", () =>
    Effect.gen(function*() {
      const index = yield* pythonIndex([greet, words])
      const world = yield* syncWorld({ "hello.py": tool }, { PIP_INDEX_URL: index.url })
      yield* world.inKernel(Effect.gen(function*() {
        const before = yield* Effect.flip(call("hello"))
        assert.strictEqual(before._tag, "ToolChainError")
        assert.include(before.message, "kiwi-greet>=1,<2")
        assert.strictEqual("remediation" in before ? before.remediation : "", "kiwi env sync hello")
        assert.strictEqual((yield* trace("hello")).blocked?.step, "resolveEnvironment")
        assert.strictEqual(index.seen.length, 0, "a call has asked the index")

        const outcome = yield* syncTool("hello")
        assert.strictEqual(outcome?.state, "installed")
        assert.deepStrictEqual(outcome?.set.packages, [
          { name: "kiwi-greet", version: "1.2.0", hash: index.hashOf(greet) },
          { name: "kiwi-words", version: "2.0.1", hash: index.hashOf(words) }
        ])
        assert.match(outcome?.installer ?? "", /^pip \d/)
        const folder = outcome?.set.folder ?? ""
        assert.strictEqual(folder, join(world.envs, outcome?.set.digest ?? ""))
        assert.strictEqual(fs.statSync(folder).mode & 0o777, 0o700)
        assert.strictEqual(fs.statSync(join(folder, "environment.json")).mode & 0o777, 0o600)
        assert.deepStrictEqual(fs.readdirSync(world.envs), [outcome?.set.digest])

        const python = join(folder, "bin/python")
        assert.deepStrictEqual(yield* call("hello"), {
          said: "hello 1.2.0",
          python,
          kiwi: python,
          venv: python
        })
        assert.isUndefined((yield* trace("hello")).blocked)
        const asked = index.seen.length
        assert.strictEqual((yield* syncTool("hello"))?.state, "up-to-date")
        assert.strictEqual(index.seen.length, asked)
      }))
      // Another process finds it too.
      yield* world.inKernel(Effect.gen(function*() {
        assert.strictEqual((yield* installedOf("hello"))?.packages.length, 2)
      }))
    }), 60_000)
})
