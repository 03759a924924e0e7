// Packages that a tool declares: written wrongly, not there, or not to be had.
import { Effect } from "effect"
import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import * as DependenciesMemory from "../../../src/layers/dependency/DependenciesMemory.ts"
import { call, nodeTool, pythonTool, syncTool, syncWorld } from "../../layers/dependency/syncWorld.ts"
import { pythonIndex, type PythonPackage } from "../../support/packageServers.ts"
import { temporary } from "../../support/temporary.ts"
import type { Examples } from "../Example.ts"

const greet: PythonPackage = { name: "humanize", version: "1.2.0", files: { "kiwi_greet.py": "" } }
const hello = (requirement: string, more = "") => ({ "hello.py": pythonTool([requirement], "print(1)", more) })

/** The same over a registry in memory: what real installers say is another text with every version of theirs. */
const failingInMemory = (tools: Readonly<Record<string, string>>, options: Parameters<typeof syncTool>[1] = {}) =>
  Effect.gen(function*() {
    const world = yield* syncWorld(tools)
    const registry = DependenciesMemory.layerWith(new Map([["humanize", "1.2.0"]]))
    return yield* world.inKernel(Effect.provide(Effect.flip(syncTool("hello", options)), registry))
  })

/** The error of installing from an index that has one package. */
const failingSync = (
  tools: Readonly<Record<string, string>>,
  options: Parameters<typeof syncTool>[1] = {},
  env: Readonly<Record<string, string>> = {}
) =>
  Effect.gen(function*() {
    const index = yield* pythonIndex([greet])
    const world = yield* syncWorld(tools, { PIP_INDEX_URL: index.url, ...env })
    return yield* world.inKernel(Effect.flip(syncTool("hello", options)))
  })

const failingCall = (tools: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const world = yield* syncWorld(tools)
    return yield* world.inKernel(Effect.flip(call("hello")))
  })

/** A folder that has Node, and no npm. */
const onlyNode = Effect.gen(function*() {
  const folder = join(yield* temporary, "bin")
  mkdirSync(folder)
  symlinkSync(process.execPath, join(folder, "node"))
  return folder
})

export const examples: Examples = {
  DependenciesInvalid: {
    when: "A tool asks for a package of a repository instead of a registry",
    produce: failingCall(hello("git+https://example.com/humanize.git"))
  },
  DependenciesMissing: {
    when: "A tool is called whose package nobody has installed",
    produce: failingCall(hello("humanize>=1"))
  },
  InstallerMissing: {
    when: "A Node tool's packages are to be installed, and there is no npm",
    produce: Effect.flatMap(
      onlyNode,
      (PATH) => failingSync({ "hello.mjs": nodeTool(["humanize"], "console.log(1)") }, {}, { PATH })
    )
  },
  InstallFailed: {
    when: "The index has no such package",
    produce: failingInMemory(hello("kiwi-great"))
  },
  InterpreterUnsuitable: {
    when: "A script asks for a newer Python than there is",
    produce: failingSync(
      hello("humanize", "# /// script\n# requires-python = \">=9\"\n# dependencies = [\"humanize\"]\n# ///\n")
    )
  },
  PinsDiffer: {
    when: "The index has another package than the one that was locked",
    produce: failingInMemory(hello("humanize"), { pins: [{ name: "humanize", version: "1.1.0", hash: null }] })
  }
}
