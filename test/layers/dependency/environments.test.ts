import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import {
  contentOf,
  discard,
  isAsStamped,
  isOwnFolder,
  moveScripts,
  stampsOf
} from "../../../src/layers/dependency/environmentFiles.ts"
import { hashOf, wheelsIn } from "../../../src/layers/dependency/installUv.ts"
import { Dependencies } from "../../../src/services/dependency/Dependencies.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { npmRegistry } from "../../support/packageServers.ts"
import { describeWith } from "../../support/realParts.ts"
import { temporary } from "../../support/temporary.ts"
import * as Calls from "../proxy/calls.ts"
import { call, caller, installedOf, nodeTool, pythonTool, syncTool, syncWorld } from "./syncWorld.ts"

const python = Effect.map(temporary, (folder) => {
  const root = join(folder, "env")
  const site = join(root, "lib/python3.11/site-packages")
  fs.mkdirSync(join(site, "greet"), { recursive: true, mode: 0o755 })
  fs.mkdirSync(join(root, "bin"))
  fs.chmodSync(root, 0o700)
  fs.symlinkSync("/usr/bin/env", join(root, "bin/python"))
  fs.writeFileSync(join(root, "bin/tool"), `#!${root}/bin/python\nprint(1)\n`, { mode: 0o755 })
  fs.writeFileSync(join(root, "pyvenv.cfg"), `command = python -m venv ${root}\n`)
  fs.writeFileSync(join(site, "greet/__init__.py"), "a = 1\n")
  return { root, site }
})

describe("an environment's folder", () => {
  const seen: ReadonlyArray<readonly [what: string, change: (root: string, site: string) => void]> = [
    ["a module beside the packages", (_, site) => fs.writeFileSync(join(site, "sitecustomize.py"), "")],
    ["a package less", (_, site) => fs.rmSync(join(site, "greet"), { recursive: true })],
    ["another interpreter", (root) => {
      fs.rmSync(join(root, "bin/python"))
      fs.symlinkSync("/usr/bin/true", join(root, "bin/python"))
    }],
    ["other settings", (root) => fs.appendFileSync(join(root, "pyvenv.cfg"), "x = 1\n")],
    ["a program more", (root) => fs.writeFileSync(join(root, "bin/more"), "")]
  ]
  for (const [what, change] of seen) {
    it.effect(`shows ${what} at a look`, () =>
      Effect.gen(function*() {
        const { root, site } = yield* python
        const stamps = stampsOf(root, "python", false)
        assert.isTrue(isAsStamped(root, stamps))
        change(root, site)
        assert.isFalse(isAsStamped(root, stamps))
      }))
  }

  it.effect("shows any other change when all of it is read", () =>
    Effect.gen(function*() {
      const { root, site } = yield* python
      const before = contentOf(root)
      const file = join(site, "greet/__init__.py")
      for (
        const change of [
          () => fs.writeFileSync(file, "a = 2\n"),
          () => fs.chmodSync(file, 0o700),
          () => fs.writeFileSync(join(site, "greet/more.py"), ""),
          () => fs.rmSync(file),
          () => fs.symlinkSync("/etc/passwd", file)
        ]
      ) {
        const last = contentOf(root)
        change()
        assert.notStrictEqual(contentOf(root), last)
      }
      assert.notStrictEqual(contentOf(root), before)
      // What Kiwi itself puts in later is no change.
      const now = contentOf(root)
      fs.mkdirSync(join(root, "copies/x"), { recursive: true })
      fs.writeFileSync(join(root, "environment.json"), "{}")
      fs.writeFileSync(join(root, "used"), "")
      assert.strictEqual(contentOf(root), now)
    }))

  it.effect("is nobody's where others can write it, or it is a link", () =>
    Effect.gen(function*() {
      const { root } = yield* python
      assert.isTrue(isOwnFolder(root))
      fs.chmodSync(root, 0o770)
      assert.isFalse(isOwnFolder(root))
      fs.chmodSync(root, 0o700)
      fs.symlinkSync(root, `${root}-link`)
      assert.isFalse(isOwnFolder(`${root}-link`))
      assert.isFalse(isOwnFolder(join(root, "nothing")))
    }))

  it.effect("is called by its last name in scripts, and goes whole", () =>
    Effect.gen(function*() {
      const { root } = yield* python
      moveScripts(root, "/final/place", false)
      assert.strictEqual(fs.readFileSync(join(root, "bin/tool"), "utf8"), "#!/final/place/bin/python\nprint(1)\n")
      assert.strictEqual(fs.statSync(join(root, "bin/tool")).mode & 0o777, 0o755)
      assert.include(fs.readFileSync(join(root, "pyvenv.cfg"), "utf8"), "/final/place")
      fs.mkdirSync(join(root, "copies/x"), { recursive: true })
      fs.writeFileSync(join(root, "copies/x/tool.py"), "", { mode: 0o400 })
      fs.chmodSync(join(root, "copies/x"), 0o500)
      discard(root)
      assert.isFalse(fs.existsSync(root))
      discard(root)
    }))
})

describe("what uv resolved", () => {
  const hash = (digit: string) => digit.repeat(64)
  const pylock = `lock-version = "1.0"
created-by = "uv"

[[packages]]
name = "Kiwi.Greet"
version = "1.2.0"
index = "https://index.example/simple"
sdist = { url = "https://index.example/kiwi_greet-1.2.0.tar.gz", hashes = { sha256 = "${hash("0")}" } }
wheels = [
    { url = "https://index.example/kiwi_greet-1.2.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", hashes = { sha256 = "${
    hash("1")
  }" } },
    { name = "kiwi_greet-1.2.0-py3-none-any.whl", url = "https://index.example/x", hashes = { sha256 = "${
    hash("2")
  }" } },
]
`
  it("names each wheel by its hash, and the installed one by its tags", () => {
    const wheels = wheelsIn(pylock).get("kiwi-greet 1.2.0") ?? []
    assert.strictEqual(wheels.length, 2)
    assert.strictEqual(hashOf(wheels, "Wheel-Version: 1.0\nTag: py3-none-any\n"), `sha256:${hash("2")}`)
    assert.strictEqual(
      hashOf(wheels, "Tag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp311-cp311-manylinux2014_x86_64\n"),
      `sha256:${hash("1")}`
    )
    assert.isNull(hashOf(wheels, "Tag: cp311-cp311-manylinux_2_17_x86_64\n"))
    assert.isNull(hashOf(wheels, ""))
    assert.strictEqual(wheelsIn("nonsense [").size, 0)
  })
})

describe("a call in memory", () => {
  const kernel = (dependencies: string) =>
    Calls.kernel({
      project: {
        "tools/add.py": pythonTool(["kiwi-greet>=1"], "print(1)", dependencies),
        "tools/plain.yaml": Calls.echo
      },
      host: { programs: ["/usr/bin/python3"], variables: { PATH: "/usr/bin" } },
      packages: new Map([["kiwi-greet", "1.2.0"]])
    })

  it.effect("names packages together with everything else that is missing", () =>
    Effect.gen(function*() {
      const reason = Calls.reasonOf(yield* Effect.flip(Calls.call("add")))
      assert.strictEqual(reason._tag, "RequirementsMissing")
      assert.include(reason.message, "nowhere_to_be_found")
      assert.include(reason.message, "packages not installed: kiwi-greet>=1")
      assert.include(reason.remediation ?? "", "kiwi env sync add")
      yield* syncTool("add")
      const after = Calls.reasonOf(yield* Effect.flip(Calls.call("add")))
      assert.notInclude(after.message, "kiwi-greet")
    }).pipe(Effect.provide(kernel("__requires__ = {\"commands\": [\"nowhere_to_be_found\"]}"))))

  it.effect("runs once they are installed, by the environment's interpreter", () =>
    Effect.gen(function*() {
      const reason = Calls.reasonOf(yield* Effect.flip(Calls.call("add")))
      assert.strictEqual(reason._tag, "DependenciesMissing")
      const set = (yield* syncTool("add"))?.set
      assert.deepStrictEqual(yield* installedOf("add"), set)
      const { env } = yield* (yield* ToolProxy).trace(caller, { item: "add" })
      assert.strictEqual(env?.interpreter?.path, set?.interpreter)
      assert.strictEqual((yield* syncTool("add"))?.state, "up-to-date")
      const pinned = (version: string) => syncTool("add", { pins: [{ name: "kiwi-greet", version, hash: null }] })
      assert.strictEqual((yield* pinned("1.2.0"))?.state, "up-to-date")
      assert.strictEqual((yield* Effect.flip(pinned("9")))._tag, "PinsDiffer")
      const dependencies = yield* Dependencies
      assert.deepStrictEqual(yield* dependencies.prune({ before: 0, keep: new Set([set?.digest ?? ""]) }), [])
      assert.deepStrictEqual(yield* dependencies.prune({ before: 0, keep: new Set() }), [`${set?.digest}`])
    }).pipe(Effect.provide(kernel(""))))

  it.effect("runs by that interpreter also where a variable refers to the keychain", () =>
    Effect.gen(function*() {
      const set = (yield* syncTool("add"))?.set
      const { data } = yield* Calls.call("add", {}, { dryRun: true })
      assert.include(JSON.stringify(data), set?.interpreter ?? "none was installed")
      assert.notInclude(JSON.stringify(data), "/usr/bin/python3")
    }).pipe(Effect.provide(Calls.kernel({
      project: {
        "tools/add.py": pythonTool(["kiwi-greet>=1"], "print(1)", "__requires__ = {\"environment\": [\"TOKEN\"]}")
      },
      host: { programs: ["/usr/bin/python3"], variables: { PATH: "/usr/bin" } },
      controlFiles: { ".env": "TOKEN=keychain:github\n" },
      secrets: { github: "ghp_0123456789abcdef" },
      packages: new Map([["kiwi-greet", "1.2.0"]])
    }))))

  it.effect("that declares nothing has nothing looked at", () =>
    Effect.gen(function*() {
      const dependencies = yield* Dependencies
      const result = yield* Calls.call("plain", { text: "a" })
      assert.strictEqual(result.status, "success")
      assert.deepStrictEqual(yield* dependencies.prune({ before: 0, keep: new Set() }), [])
    }).pipe(Effect.provide(kernel(""))))
})

describeWith(["npm"], "environments that nobody uses", () => {
  it.live(
    "go after their time, unless a tool wants them; a call counts as a use, a dry run does not",
    () =>
      Effect.gen(function*() {
        const registry = yield* npmRegistry([{ name: "kiwi-one", version: "1.0.0", files: { "index.js": "" } }])
        const world = yield* syncWorld({ "one.mjs": nodeTool(["kiwi-one"], "import \"kiwi-one\"\nconsole.log(1)") }, {
          npm_config_registry: registry.url
        })
        yield* world.inKernel(Effect.gen(function*() {
          const dependencies = yield* Dependencies
          const proxy = yield* ToolProxy
          const set = (yield* syncTool("one"))?.set
          const used = join(set?.folder ?? "", "used")
          const now = yield* Clock.currentTimeMillis
          const month = 30 * 86_400_000
          fs.utimesSync(used, (now - 3 * month) / 1000, (now - 3 * month) / 1000)
          assert.deepStrictEqual(yield* dependencies.prune({ before: now - 4 * month, keep: new Set() }), [])
          assert.deepStrictEqual(
            yield* dependencies.prune({ before: now - month, keep: new Set([set?.digest ?? ""]) }),
            []
          )
          yield* proxy.call({ callId: "dry", caller, item: "one", parameters: {}, dryRun: true })
          assert.isBelow(fs.statSync(used).mtimeMs, now - month)
          assert.strictEqual(yield* call("one"), 1)
          assert.isAbove(fs.statSync(used).mtimeMs, now - month)

          // The copy that runs is held to the same as one that lies among the verified ones.
          const copies = join(set?.folder ?? "", "copies")
          const [folder = ""] = fs.readdirSync(copies)
          const copy = join(copies, folder, "one.mjs")
          assert.strictEqual(fs.statSync(copy).mode & 0o777, 0o400)
          fs.chmodSync(join(copies, folder), 0o700)
          fs.rmSync(copy)
          fs.writeFileSync(copy, "console.log(2)")
          assert.strictEqual(yield* call("one"), 1)

          assert.deepStrictEqual(yield* dependencies.prune({ before: now + month, keep: new Set() }), [
            `${set?.digest}`
          ])
          assert.deepStrictEqual(fs.readdirSync(world.envs), [])
          assert.strictEqual((yield* Effect.flip(installedOf("one")))._tag, "DependenciesMissing")
        }))
      }),
    60_000
  )
})
