// Who would have other code installed than a person has signed and typed for.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { envSync } from "../../src/programs/envSync.ts"
import { Dependencies } from "../../src/services/dependency/Dependencies.ts"
import { call, caller, installedOf, pythonTool, queryOf, syncTool, syncWorld } from "../layers/dependency/syncWorld.ts"
import { pythonIndex, type PythonPackage, tarball } from "../support/packageServers.ts"
import { describeWith } from "../support/realParts.ts"

const words: PythonPackage = { name: "kiwi-words", version: "2.0.1", files: { "kiwi_words.py": "word = 'hello'\n" } }
const use = pythonTool(["kiwi-words"], "import kiwi_words\nprint(json.dumps(kiwi_words.word))")

const oneTool = Effect.fnUntraced(function*(packages: ReadonlyArray<PythonPackage> = [words], text = use) {
  const index = yield* pythonIndex(packages)
  const world = yield* syncWorld({ "use.py": text }, { PIP_INDEX_URL: index.url })
  return { index, world }
})

const child = fileURLToPath(new URL("../layers/dependency/syncChild.ts", import.meta.url))

interface Ended {
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

type World = Effect.Success<ReturnType<typeof oneTool>>["world"]

const startSync = ({ env, home, project, userSpace }: World) => {
  const process_ = spawn(process.execPath, [child, project, home, userSpace, "use"], { env, detached: true })
  const said = { stdout: "", stderr: "" }
  process_.stdout.on("data", (data: Buffer) => said.stdout += data.toString())
  process_.stderr.on("data", (data: Buffer) => said.stderr += data.toString())
  const ended = new Promise<Ended>((resolve) => {
    process_.on("close", (_code, signal) => resolve({ signal, ...said }))
  })
  return { pid: process_.pid ?? 0, kill: () => process_.kill("SIGKILL"), ended: Effect.promise(() => ended) }
}

const until = Effect.fnUntraced(function*(holds: () => boolean) {
  for (let round = 0; round < 1000 && !holds(); round++) yield* Effect.sleep(10)
  assert.isTrue(holds(), "it never came to that")
})

const namesIn = (folder: string) => fs.existsSync(folder) ? fs.readdirSync(folder) : []

describeWith(["pip"], "an attack on what is installed", () => {
  it.live("by the code of a source archive finds that none is built", () =>
    Effect.gen(function*() {
      const trap: PythonPackage = {
        ...words,
        setup:
          "import os\nopen(os.path.join(os.environ['HOME'], 'ran'), 'w').close()\nfrom setuptools import setup\nsetup()\n"
      }
      const { world } = yield* oneTool([trap])
      yield* world.inKernel(Effect.gen(function*() {
        const error = yield* Effect.flip(syncTool("use"))
        assert.strictEqual(error._tag, "InstallFailed")
        assert.isFalse(fs.existsSync(join(world.env.HOME, "ran")))
        assert.deepStrictEqual(namesIn(world.envs), [])
      }))
    }), 60_000)

  it.live(
    "by a package that names an address for what it needs finds that nothing from there is built",
    () =>
      Effect.gen(function*() {
        const { world } = yield* oneTool([words])
        const evil = join(world.env.HOME, "kiwi_evil-1.0.0.tar.gz")
        fs.writeFileSync(
          evil,
          tarball({
            "kiwi_evil-1.0.0/pyproject.toml":
              "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
            "kiwi_evil-1.0.0/backend.py": "import os\nopen(os.path.join(os.environ['HOME'], 'ran'), 'w').close()\n",
            "kiwi_evil-1.0.0/PKG-INFO": "Metadata-Version: 2.1\nName: kiwi-evil\nVersion: 1.0.0\n"
          })
        )
        const index = yield* pythonIndex([{ ...words, requires: [`kiwi-evil @ file://${evil}`] }])
        yield* world.inKernel(
          Effect.gen(function*() {
            const error = yield* Effect.flip(syncTool("use"))
            assert.isFalse(fs.existsSync(join(world.env.HOME, "ran")))
            assert.strictEqual(error._tag, "InstallFailed")
            assert.include(error.message, "would have to be built")
          }),
          { PIP_INDEX_URL: index.url }
        )
      }),
    60_000
  )

  it.live(
    "by other bytes under a locked hash, another version, or a package more finds it refused",
    () =>
      Effect.gen(function*() {
        const { index, world } = yield* oneTool()
        const hash = index.hashOf(words)
        const pins = [{ name: "kiwi-words", version: "2.0.1", hash }]
        index.serve([{ ...words, files: { "kiwi_words.py": "word = 'evil'\n" } }])
        yield* world.inKernel(Effect.gen(function*() {
          const other = yield* Effect.flip(syncTool("use", { pins }))
          assert.strictEqual(other._tag, "PinsDiffer", other.message)
          assert.deepStrictEqual(namesIn(world.envs), [])

          index.serve([{ ...words, version: "2.0.2" }, words])
          const outcome = yield* syncTool("use", { pins })
          assert.deepStrictEqual(outcome?.set.packages, pins)

          const upgraded = yield* syncTool("use", { pins, upgrade: true })
          assert.strictEqual(upgraded?.set.packages[0]?.version, "2.0.2")
          // Whoever is locked to the older one gets an environment beside it.
          const locked = yield* syncTool("use", { pins })
          assert.strictEqual(locked?.set.packages[0]?.version, "2.0.1")
          assert.strictEqual(namesIn(world.envs).length, 2)
          const dependencies = yield* Dependencies
          const query = yield* queryOf("use")
          assert.strictEqual((yield* dependencies.installed({ ...query, pins }))?.digest, locked?.set.digest)
          assert.strictEqual((yield* dependencies.installed(query))?.digest, upgraded?.set.digest)
        }))
      }),
    90_000
  )

  it.live(
    "by a lock that lacks what the tool declares, or that is written as an option, finds it refused",
    () =>
      Effect.gen(function*() {
        const other: PythonPackage = { name: "kiwi-other", version: "1.0", files: {} }
        const { index, world } = yield* oneTool([words, other])
        yield* world.inKernel(Effect.gen(function*() {
          const lacking = yield* Effect.flip(
            syncTool("use", { pins: [{ name: "kiwi-other", version: "1.0", hash: index.hashOf(other) }] })
          )
          assert.strictEqual(lacking._tag, "PinsDiffer")
          assert.include(lacking.message, "kiwi-words")
          const asked = index.seen.length
          for (
            const name of ["--index-url=http://127.0.0.1:1/", "-e .", "kiwi-words --index-url http://127.0.0.1:1/"]
          ) {
            const option = yield* Effect.flip(syncTool("use", { pins: [{ name, version: "1", hash: null }] }))
            assert.strictEqual(option._tag, "PinsDiffer")
          }
          assert.strictEqual(index.seen.length, asked)
          assert.deepStrictEqual(namesIn(world.envs), [])
        }))
      }),
    60_000
  )

  it.live(
    "by changing what was installed is seen: at once where it decides which code is found, else by sync",
    () =>
      Effect.gen(function*() {
        const { world } = yield* oneTool()
        yield* world.inKernel(Effect.gen(function*() {
          const folder = (yield* syncTool("use"))?.set.folder ?? ""
          const site = join(folder, "lib", fs.readdirSync(join(folder, "lib"))[0]!, "site-packages")
          // Python would run it before any tool.
          fs.writeFileSync(join(site, "sitecustomize.py"), "")
          const error = yield* Effect.flip(installedOf("use"))
          assert.strictEqual(error._tag, "DependenciesMissing")
          assert.include(error.message, "no longer as they were installed")
          assert.strictEqual((yield* syncTool("use"))?.state, "installed")
          assert.strictEqual(yield* call("use"), "hello")
          // The text of a module is not looked at on every call, and sync says so.
          fs.writeFileSync(join(site, "kiwi_words.py"), "word = 'evil'\n")
          assert.strictEqual((yield* syncTool("use"))?.state, "installed")
          assert.strictEqual(yield* call("use"), "hello")
        }))
      }),
    120_000
  )

  it.live(
    "by a link in the place of an environment, or of all of them, writes nothing through it",
    () =>
      Effect.gen(function*() {
        const { world } = yield* oneTool()
        const target = join(world.home, "..", "target")
        yield* world.inKernel(Effect.gen(function*() {
          const dependencies = yield* Dependencies
          const digest = yield* dependencies.digest(yield* queryOf("use"))
          fs.mkdirSync(target)
          fs.mkdirSync(world.envs, { mode: 0o700 })
          fs.symlinkSync(target, join(world.envs, digest ?? ""))
          assert.strictEqual((yield* Effect.flip(installedOf("use")))._tag, "DependenciesMissing")
          assert.strictEqual((yield* syncTool("use"))?.state, "installed")
          assert.isTrue(fs.lstatSync(join(world.envs, digest ?? "")).isDirectory())
          assert.deepStrictEqual(fs.readdirSync(target), [])

          fs.renameSync(world.envs, join(target, "moved"))
          fs.symlinkSync(join(target, "moved"), world.envs)
          const missing = yield* Effect.flip(installedOf("use"))
          assert.strictEqual(missing._tag, "DependenciesMissing")
          const before = fs.readdirSync(join(target, "moved"))
          assert.strictEqual((yield* Effect.flip(syncTool("use")))._tag, "WriteRefused")
          assert.deepStrictEqual(fs.readdirSync(join(target, "moved")), before)
        }))
      }),
    60_000
  )

  it.live(
    "by a kill in the middle leaves nothing that counts, and the next sync clears up",
    () =>
      Effect.gen(function*() {
        const { index, world } = yield* oneTool()
        index.delay = 60_000
        const running = startSync(world)
        yield* until(() => index.seen.some(({ url }) => url.startsWith("/files/")))
        running.kill()
        const { signal } = yield* running.ended
        assert.strictEqual(signal, "SIGKILL")
        assert.isTrue(namesIn(world.envs).some((name) => name.startsWith(".new-")))
        index.delay = 0
        yield* world.inKernel(Effect.gen(function*() {
          assert.strictEqual((yield* Effect.flip(installedOf("use")))._tag, "DependenciesMissing")
          const outcome = yield* syncTool("use")
          assert.strictEqual(outcome?.state, "installed")
          assert.strictEqual(yield* call("use"), "hello")
        }))
      }),
    60_000
  )

  it.live("of nobody: of two syncs at once one installs", () =>
    Effect.gen(function*() {
      const { index, world } = yield* oneTool()
      index.delay = 1000
      const both = [startSync(world), startSync(world)]
      const ended = yield* Effect.forEach(both, (one) => one.ended, { concurrency: 2 })
      const told = ended.map(({ stderr, stdout }) => stdout === "" ? stderr : JSON.parse(stdout).state)
      assert.deepStrictEqual(told.toSorted(), ["installed", "up-to-date"])
      assert.strictEqual(index.seen.filter(({ url }) => url.startsWith("/files/")).length, 1)
      assert.strictEqual(namesIn(world.envs).length, 1)
    }), 60_000)

  it.live(
    "by a tool that nobody has signed, or that was changed since, installs nothing",
    () =>
      Effect.gen(function*() {
        const { index, world } = yield* oneTool()
        world.write(".ai/tools/unsigned.py", use)
        world.write(".ai/tools/use.py", `${fs.readFileSync(join(world.project, ".ai/tools/use.py"), "utf8")}\n# more\n`)
        const sync = (tool?: string) =>
          envSync({
            tool,
            upgrade: false,
            allowBuild: false,
            plan: () => Effect.void,
            progress: () => Effect.void
          }, caller)
        yield* world.inKernel(Effect.gen(function*() {
          for (const [tool, code] of [["unsigned", "UNSIGNED"], ["use", "TAMPERED"]] as const) {
            const [one] = yield* sync(tool)
            assert.strictEqual(one?.state, "refused")
            assert.strictEqual(one?.error?.code, code)
          }
          assert.deepStrictEqual((yield* sync()).map(({ state }) => state), ["refused", "refused"])
        }))
        assert.strictEqual(index.seen.length, 0)
      }),
    60_000
  )
})
