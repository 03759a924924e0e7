// EnvResolver only looks. Here node's own modules are taken apart around the real one: whatever in them writes, starts
// or connects throws, the folder is read-only, and everything that was called at all is on a list of what only reads.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer } from "effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as net from "node:net"
import { dirname, join } from "node:path"
import * as workers from "node:worker_threads"
import * as EnvResolverNode from "../../../src/layers/env/EnvResolverNode.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { EnvResolver } from "../../../src/services/env/EnvResolver.ts"
import { chainOf, subprocess, trustLayer, withRuntime } from "./environments.ts"

/** All that EnvResolver may ask the disk. */
const reads = new Set([
  "statSync",
  "lstatSync",
  "accessSync",
  "realpathSync",
  "native",
  "readlinkSync",
  "readdirSync",
  "openSync",
  "fstatSync",
  "readSync",
  "closeSync"
])
const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants

/** Opened to read, and without waiting for anybody. */
const onlyReads = (flags: unknown): boolean =>
  typeof flags === "number" && (flags & (O_APPEND | O_CREAT | O_RDWR | O_TRUNC | O_WRONLY)) === 0 &&
  (flags & O_NONBLOCK) !== 0

const modules: ReadonlyArray<readonly [string, object]> = [
  ["fs", fs],
  ["fs.promises", fs.promises],
  ["child_process", childProcess],
  ["net", net],
  ["worker_threads", workers]
]

const plain = (namespace: object): Record<string, unknown> =>
  (namespace as { default?: Record<string, unknown> }).default ?? namespace as Record<string, unknown>

/** Runs an effect that must be synchronous, and says what it called. */
const watched = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.sync(() => {
    const called: Array<string> = []
    const undo: Array<() => void> = []
    for (const [name, namespace] of modules) {
      const module = plain(namespace)
      for (const [key, value] of Object.entries(module)) {
        if (typeof value !== "function") continue
        const allowed = name === "fs" && reads.has(key)
        const replacement = (...args: ReadonlyArray<unknown>) => {
          called.push(`${name}.${key}`)
          if (!allowed || (key === "openSync" && !onlyReads(args[1]))) {
            throw new Error(`${name}.${key}(${String(args[0])}) is no way to look at something`)
          }
          return Reflect.apply(value, module, args) as unknown
        }
        const native: unknown = "native" in value ? value.native : undefined
        if (typeof native === "function") Object.assign(replacement, { native })
        try {
          module[key] = replacement
          undo.push(() => void (module[key] = value))
        } catch {
          // A getter, of something that is not called.
        }
      }
    }
    syncBuiltinESMExports()
    try {
      return { exit: Effect.runSyncExit(effect), called }
    } finally {
      for (const put of undo) put()
      syncBuiltinESMExports()
    }
  })

const write = (file: string, text: string, mode = 0o644) => {
  fs.mkdirSync(dirname(file), { recursive: true })
  fs.writeFileSync(file, text, { mode })
}

const listing = (root: string) =>
  fs.readdirSync(root, { recursive: true, encoding: "utf8" }).toSorted().map((name) => {
    const { ctimeMs, mtimeMs, size } = fs.lstatSync(join(root, name))
    return [name, size, mtimeMs, ctimeMs]
  })

const chmodAll = (root: string, mode: (isFolder: boolean, now: number) => number) => {
  for (const name of ["", ...fs.readdirSync(root, { recursive: true, encoding: "utf8" })]) {
    const stat = fs.lstatSync(join(root, name))
    if (!stat.isSymbolicLink()) fs.chmodSync(join(root, name), mode(stat.isDirectory(), stat.mode))
  }
}

/** A machine with something for every resolver, on a disk of its own. */
const world = Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const root = yield* files.realPath(yield* files.makeTempDirectoryScoped())
  const project = join(root, "project")
  const program = (path: string) => write(join(root, path), "#!/bin/sh\n", 0o755)
  program("project/.venv/bin/python")
  write(join(project, ".venv/pyvenv.cfg"), "version = 3.11.2\n")
  write(join(project, "pyproject.toml"), "[project]\nname = \"x\"\n")
  program("bin/node")
  program(".nvm/versions/node/v20.9.0/bin/node")
  write(join(root, ".nvm/alias/default"), "20\n")
  program(".rbenv/versions/3.3.0/bin/ruby")
  write(join(project, ".ruby-version"), "3.3.0\n")
  program(".pyenv/versions/3.12.1/bin/python")
  write(join(root, ".pyenv/version"), "3.12\n")
  program(".asdf/installs/nodejs/20.9.0/bin/node")
  write(join(root, ".tool-versions"), "nodejs 20.9.0\n")
  write(join(root, ".ai/.env"), "TOKEN=t\nnonsense\n")
  yield* Effect.acquireRelease(
    Effect.sync(() => chmodAll(root, (isFolder, now) => isFolder ? 0o555 : now & 0o555)),
    () => Effect.sync(() => chmodAll(root, (isFolder, now) => isFolder ? 0o755 : now | 0o200))
  )
  const variables = { PATH: `${root}/bin:/usr/bin:/bin` }
  const layer = EnvResolverNode.layer.pipe(
    Layer.provide(WorkspaceMemory.layerWith(project)),
    Layer.provide(KiwiHomeMemory.layerWith({ userHome: root, userSpace: join(root, ".ai") })),
    Layer.provide(trustLayer({ control: { ".env": "OTHER=o\n" } })),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(variables)))
  )
  return { root, resolver: yield* Effect.provide(EnvResolver, layer) }
})

const managed = (manager: string, more = {}) =>
  withRuntime({ interpreter: { type: "version_manager", var: "X", manager, ...more } }, {
    requires: { environment: ["TOKEN", "OTHER", "GONE"] }
  })
const all = ["project", "kiwi", "user", "system"]
const chains = {
  "venv_python": withRuntime({ interpreter: { type: "venv_python", var: "X", search: all } }),
  "venv_python in poetry's folder": withRuntime({
    interpreter: { type: "venv_python", var: "X", search: ["kiwi", "project"] }
  }),
  "node_modules": withRuntime({ interpreter: { type: "node_modules", var: "X", search: all, fallback: "sh" } }),
  "system_binary": withRuntime({ interpreter: { type: "system_binary", var: "X", binary: "node" } }),
  "rbenv": managed("rbenv"),
  "nvm": managed("nvm"),
  "pyenv": managed("pyenv"),
  "asdf": managed("asdf", { plugin: "nodejs" }),
  "something that is not there": managed("nvm", { version: "99" }),
  "no interpreter": chainOf({ id: "leaf", requires: { commands: ["sh", "gone"], environment: ["TOKEN"] } }, subprocess)
}

describe("EnvResolver has no side effects", () => {
  for (const [name, chain] of Object.entries(chains)) {
    it.live(`looking for ${name}: no write, no process, no connection`, () =>
      Effect.gen(function*() {
        const { resolver, root } = yield* world
        const before = listing(root)
        const resolved = yield* watched(Effect.result(resolver.resolve(chain)))
        const explained = yield* watched(resolver.explain(chain))
        for (const { called, exit } of [resolved, explained]) {
          assert.strictEqual(exit._tag, "Success", String(exit))
          assert.deepStrictEqual(called.filter((one) => !reads.has(one.replace("fs.", ""))), [])
          assert.include(called, "fs.statSync")
        }
        assert.deepStrictEqual(listing(root), before)
      }).pipe(Effect.provide(NodeServices.layer)))
  }

  it.live("and this would show: a write, a process", () =>
    Effect.gen(function*() {
      const written = yield* watched(Effect.sync(() => fs.writeFileSync("/tmp/x", "")))
      const started = yield* watched(Effect.sync(() => childProcess.spawnSync("true")))
      assert.deepStrictEqual([written.exit._tag, written.called], ["Failure", ["fs.writeFileSync"]])
      assert.deepStrictEqual([started.exit._tag, started.called], ["Failure", ["child_process.spawnSync"]])
    }))
})
