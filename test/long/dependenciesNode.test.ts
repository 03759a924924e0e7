import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { call, nodeTool, syncTool, syncWorld, trace } from "../layers/dependency/syncWorld.ts"
import { type NodePackage, npmRegistry } from "../support/packageServers.ts"
import { describeWith } from "../support/realParts.ts"

const words: NodePackage = {
  name: "@kiwi-test/words",
  version: "2.0.1",
  files: { "index.js": "exports.word = 'hello'\n" }
}
const oldWords: NodePackage = { ...words, version: "1.0.0", files: { "index.js": "exports.word = 'hi'\n" } }
const greet: NodePackage = {
  name: "kiwi-greet",
  version: "1.2.0",
  dependencies: { "@kiwi-test/words": "^2.0.0" },
  files: { "index.js": "exports.hello = () => require('@kiwi-test/words').word + ' 1.2.0'\n" }
}
const shout: NodePackage = {
  name: "kiwi-shout",
  version: "0.1.0",
  manifest: { type: "module", exports: "./index.mjs" },
  files: { "index.mjs": "export const shout = (text) => text.toUpperCase()\n" }
}

const say = "console.log(JSON.stringify({ said: shout(greet.hello()) }))"
const folder = (main: string, entrypoint: string, packageJson: unknown) => ({
  "talk/tool.yaml": `tool_id: talk
version: "1.0.0"
tool_type: node
executor_id: node_runtime
entrypoint: ${entrypoint}
input_schema: { type: object, properties: {} }
config: { output: json }
`,
  [`talk/${entrypoint}`]: main,
  "talk/package.json": JSON.stringify(packageJson)
})
const wanted = ["kiwi-greet@^1.0.0", "kiwi-shout@0"]
const asJson = { dependencies: { "kiwi-greet": "^1.0.0", "kiwi-shout": "0" } }

const kinds: ReadonlyArray<readonly [kind: string, files: Readonly<Record<string, string>>]> = [
  ["an ES module", {
    "talk.mjs": nodeTool(wanted, `import greet from "kiwi-greet"\nimport { shout } from "kiwi-shout"\n${say}`)
  }],
  ["TypeScript", {
    "talk.ts": nodeTool(
      wanted,
      `import greet from "kiwi-greet"\nimport { shout } from "kiwi-shout"\nconst told: string = shout(greet.hello())\nconsole.log(JSON.stringify({ said: told }))`
    )
  }],
  [
    "a folder with CommonJS and a package.json",
    folder(
      `const greet = require("kiwi-greet")\nconst { shout } = require("kiwi-shout")\n${say}`,
      "main.cjs",
      { ...asJson, scripts: { postinstall: "exit 1" }, devDependencies: { nowhere: "1" } }
    )
  ]
]

describeWith(["npm"], "packages of Node tools", () => {
  for (const [kind, files] of kinds) {
    it.live(`are missing, then installed, then found by ${kind}`, () =>
      Effect.gen(function*() {
        const registry = yield* npmRegistry([oldWords, words, greet, shout])
        const world = yield* syncWorld(files, { npm_config_registry: registry.url })
        yield* world.inKernel(Effect.gen(function*() {
          const before = yield* Effect.flip(call("talk"))
          assert.include(before.message, "kiwi-greet@^1.0.0")
          assert.strictEqual((yield* trace("talk")).blocked?.step, "resolveEnvironment")
          assert.strictEqual(registry.seen.length, 0, "a call has asked the registry")

          const outcome = yield* syncTool("talk")
          assert.strictEqual(outcome?.state, "installed")
          assert.match(outcome?.installer ?? "", /^npm \d/)
          assert.deepStrictEqual(outcome?.set.packages, [
            { name: "@kiwi-test/words", version: "2.0.1", hash: registry.hashOf(words) },
            { name: "kiwi-greet", version: "1.2.0", hash: registry.hashOf(greet) },
            { name: "kiwi-shout", version: "0.1.0", hash: registry.hashOf(shout) }
          ])
          assert.strictEqual(fs.statSync(outcome?.set.folder ?? "").mode & 0o777, 0o700)
          assert.deepStrictEqual(yield* call("talk"), { said: "HELLO 1.2.0" })
          assert.deepStrictEqual(yield* call("talk"), { said: "HELLO 1.2.0" })
          const asked = registry.seen.length
          assert.strictEqual((yield* syncTool("talk"))?.state, "up-to-date")
          assert.strictEqual(registry.seen.length, asked)
        }))
      }), 60_000)
  }

  it.live("are never those of the project's own node_modules", () =>
    Effect.gen(function*() {
      const registry = yield* npmRegistry([shout])
      const world = yield* syncWorld({
        "talk.mjs": nodeTool(
          ["kiwi-shout"],
          `import { shout } from "kiwi-shout"\nconsole.log(JSON.stringify({ said: shout("a") }))`
        )
      }, { npm_config_registry: registry.url })
      world.write("node_modules/kiwi-shout/package.json", JSON.stringify({ name: "kiwi-shout", main: "index.js" }))
      world.write("node_modules/kiwi-shout/index.js", "exports.shout = () => 'planted'\n")
      yield* world.inKernel(Effect.gen(function*() {
        assert.include((yield* Effect.flip(call("talk"))).message, "kiwi-shout")
        yield* syncTool("talk")
        assert.deepStrictEqual(yield* call("talk"), { said: "A" })
      }))
    }), 60_000)

  it.live("follow the package-lock.json of the tool, whatever address it names", () =>
    Effect.gen(function*() {
      const registry = yield* npmRegistry([oldWords, words])
      const elsewhere = yield* npmRegistry([oldWords])
      const lock = (integrity: string) =>
        JSON.stringify({
          name: "talk",
          lockfileVersion: 3,
          requires: true,
          packages: {
            "": { name: "talk", dependencies: { "@kiwi-test/words": ">=1" } },
            "node_modules/@kiwi-test/words": {
              version: "1.0.0",
              resolved: `${elsewhere.url}@kiwi-test/words/-/1.0.0.tgz`,
              integrity
            }
          }
        })
      const files = (integrity: string) => ({
        ...folder(
          `const { word } = require("@kiwi-test/words")\nconsole.log(JSON.stringify({ said: word }))`,
          "main.cjs",
          { dependencies: { "@kiwi-test/words": ">=1" } }
        ),
        "talk/package-lock.json": lock(integrity)
      })
      const world = yield* syncWorld(files(registry.hashOf(oldWords)), { npm_config_registry: registry.url })
      yield* world.inKernel(Effect.gen(function*() {
        const outcome = yield* syncTool("talk")
        assert.deepStrictEqual(outcome?.set.packages.map(({ version }) => version), ["1.0.0"])
        assert.deepStrictEqual(yield* call("talk"), { said: "hi" })
        assert.strictEqual(elsewhere.seen.length, 0)
        const newer = yield* syncTool("talk", { upgrade: true })
        assert.deepStrictEqual(newer?.set.packages.map(({ version }) => version), ["2.0.1"])
      }))
      const other = yield* syncWorld(files(registry.hashOf(words)), { npm_config_registry: registry.url })
      yield* other.inKernel(Effect.gen(function*() {
        const error = yield* Effect.flip(syncTool("talk"))
        assert.strictEqual(error._tag, "PinsDiffer")
        assert.deepStrictEqual(fs.readdirSync(join(other.home, "envs")), [])
      }))
    }), 60_000)

  it.live("are exactly the locked ones, in two versions of one package too, or none", () =>
    Effect.gen(function*() {
      const later: NodePackage = { ...words, version: "2.5.0", files: { "index.js": "exports.word = 'later'\n" } }
      const registry = yield* npmRegistry([oldWords, words, greet])
      const files = {
        "talk.mjs": nodeTool(
          ["kiwi-greet@1", "@kiwi-test/words@1"],
          `import greet from "kiwi-greet"\nimport { word } from "@kiwi-test/words"\nconsole.log(JSON.stringify({ said: greet.hello() + word }))`
        )
      }
      const env = { npm_config_registry: registry.url }
      const first = yield* syncWorld(files, env)
      const pins = (yield* first.inKernel(syncTool("talk")))?.set.packages ?? []
      assert.deepStrictEqual(pins.map(({ name, version }) => `${name} ${version}`), [
        "@kiwi-test/words 1.0.0",
        "@kiwi-test/words 2.0.1",
        "kiwi-greet 1.2.0"
      ])
      registry.serve([oldWords, words, later, greet])
      const second = yield* syncWorld(files, env)
      yield* second.inKernel(Effect.gen(function*() {
        const outcome = yield* syncTool("talk", { pins })
        assert.deepStrictEqual(outcome?.set.packages, pins)
        assert.deepStrictEqual(yield* call("talk"), { said: "hello 1.2.0hi" })
      }))
      for (
        const [name, version] of [["a", "git+ssh://e.example/a"], ["a@1", "1.0.0"], ["a", "file:a"], ["../a", "1.0.0"]]
      ) {
        const wrong = { name: name ?? "", version: version ?? "", hash: null }
        const error = yield* Effect.flip(first.inKernel(syncTool("talk", { pins: [wrong] })))
        assert.include(error.message, "npm does not accept")
      }
      registry.serve([oldWords, { ...words, files: { "index.js": "exports.word = 'evil'\n" } }, greet])
      const third = yield* syncWorld(files, env)
      yield* third.inKernel(Effect.gen(function*() {
        const error = yield* Effect.flip(syncTool("talk", { pins }))
        assert.strictEqual(error._tag, "PinsDiffer")
        assert.include(error.message, "@kiwi-test/words 2.0.1 has another hash")
        assert.strictEqual((yield* syncTool("talk", { pins, upgrade: true }))?.state, "installed")
      }))
    }), 90_000)

  it.live("run no script while they are installed, unless they are let", () =>
    Effect.gen(function*() {
      const trap: NodePackage = {
        name: "kiwi-trap",
        version: "1.0.0",
        files: { "index.js": "exports.a = 1\n" },
        scripts: { preinstall: "touch $HOME/ran", install: "touch $HOME/ran", postinstall: "touch $HOME/ran" }
      }
      const registry = yield* npmRegistry([trap])
      const world = yield* syncWorld({
        "talk.mjs": nodeTool(["kiwi-trap"], `import "kiwi-trap"\nconsole.log("1")`)
      }, { npm_config_registry: registry.url })
      const ran = join(world.env.HOME, "ran")
      yield* world.inKernel(Effect.gen(function*() {
        yield* syncTool("talk")
        assert.isFalse(fs.existsSync(ran))
        assert.strictEqual(yield* call("talk"), 1)
        yield* syncTool("talk", { upgrade: true, allowBuild: true })
        assert.isTrue(fs.existsSync(ran))
      }))
    }), 60_000)

  it.live("are refused where a package names a repository for what it needs", () =>
    Effect.gen(function*() {
      const registry = yield* npmRegistry([])
      const world = yield* syncWorld({
        "talk.mjs": nodeTool(["kiwi-shout"], "console.log(1)")
      }, { npm_config_registry: registry.url, npm_config_fetch_retries: "0" })
      const repository = join(world.env.HOME, "evil")
      fs.mkdirSync(repository)
      fs.writeFileSync(
        join(repository, "package.json"),
        JSON.stringify({ name: "kiwi-evil", version: "1.0.0", scripts: { prepare: "touch $HOME/ran" } })
      )
      const git = (...args: ReadonlyArray<string>) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: repository })
      git("init", "--quiet")
      git("add", ".")
      git("commit", "--quiet", "--message", "one")
      registry.serve([{ ...shout, dependencies: { "kiwi-evil": `git+file://${repository}` } }])
      yield* world.inKernel(Effect.gen(function*() {
        const error = yield* Effect.flip(syncTool("talk"))
        assert.strictEqual(error._tag, "InstallFailed")
        assert.include(error.message, "kiwi-evil")
        assert.isFalse(fs.existsSync(join(world.env.HOME, "ran")))
      }))
    }), 60_000)

  it.live("are refused where the registry sends other bytes than it says", () =>
    Effect.gen(function*() {
      const registry = yield* npmRegistry([{ ...shout, integrity: `sha512-${Buffer.alloc(64).toString("base64")}` }])
      const world = yield* syncWorld({
        "talk.mjs": nodeTool(["kiwi-shout"], "console.log(1)")
      }, { npm_config_registry: registry.url, npm_config_fetch_retries: "0" })
      yield* world.inKernel(Effect.gen(function*() {
        const error = yield* Effect.flip(syncTool("talk"))
        assert.strictEqual(error._tag, "InstallFailed")
        assert.include(error.message, "EINTEGRITY")
      }))
    }), 60_000)
})
