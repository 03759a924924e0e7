import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { type Door, doorsOf } from "./support/doors.ts"

const root = new URL("../", import.meta.url)

const opened = (kind: Door["kind"]): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    globSync(["src/**/*.ts", "bin/*"], { cwd: root.pathname }).toSorted().flatMap((path) => {
      const found = doorsOf(path, readFileSync(new URL(path, root), "utf8")).filter((door) => door.kind === kind)
      return found.length === 0 ? [] : [[path, [...new Set(found.map(({ text }) => text))].toSorted()]]
    })
  )

/** Who starts a process, or has the service that does, and why not through `layers/process/ownChild.ts`. */
const starters: Readonly<Record<string, readonly [why: string, ...doors: ReadonlyArray<string>]>> = {
  "bin/kiwi.cjs": ["an old Node reads it, which cannot load anything of src", "child_process"],
  "src/layers/identity/KeychainOs.ts": ["only finds where the library lies", "createRequire"],
  "src/layers/Kernel.ts": ["composes", "ChildProcesses"],
  "src/layers/KernelMemory.ts": ["composes", "ChildProcesses"],
  "src/layers/permission/PermissionGateRules.ts": ["asks whether there is a sandbox", "ChildProcesses"],
  "src/layers/primitive/SubprocessNode.ts": ["runs tools", "ChildProcesses"],
  "src/layers/process/capturedChild.ts": ["runs commands and git for a caller", "ChildProcesses"],
  "src/layers/process/ChildProcessesMemory.ts": ["the service without processes", "ChildProcesses"],
  "src/layers/process/ChildProcessesNode.ts": ["the service", "ChildProcesses", "child_process"],
  "src/layers/process/ownChild.ts": ["every child of Kiwi's own", "ChildProcesses"],
  "src/layers/primitive/steps/isolationSteps.ts": ["asks which levels there are", "ChildProcesses"],
  "src/programs/embed.ts": ["lets a program bring engines", "ChildProcesses"],
  "src/programs/demo/agent.ts": ["the demo's agent starts a server, as agents do", "@modelcontextprotocol/client/stdio"]
}

/** Who reads by itself, and why not through `layers/files`. */
const readers: Readonly<Record<string, string>> = {
  "bin/kiwi.cjs": "folders of version managers, in the home folder: an old Node reads it",
  "src/layers/env/HostFiles.ts": "names in a folder, on the path of a call: a bounded listing costs 20 µs more",
  "src/layers/files/createPrivate.ts": "makes a file and opens none",
  "src/layers/files/folders.ts": "folders below a root, one by one",
  "src/layers/files/listFolder.ts": "bounded listings",
  "src/layers/files/readRegular.ts": "regular files",
  "src/layers/files/replaceFiles.ts": "opens what it writes",
  "src/layers/format/ExtractorsFile.ts": "names in a folder, on the path of a call",
  "src/layers/item/keptFolder.ts": "folders that are kept open",
  "src/layers/item/makeCatalog.ts": "names in a folder: of a large one, every name is an item's",
  "src/layers/item/readItem.ts": "names in a folder tool, on the path of a call",
  "src/layers/item/watchTiers.ts": "names in a folder: all are watched",
  "src/layers/presence/LineageProc.ts": "/proc",
  "src/layers/process/limits.ts": "/proc",
  "src/layers/process/processTree.ts": "/proc",
  "src/programs/cli/TerminalDevice.ts": "the terminal",
  "src/programs/cli/homeInUse.ts": "names in Kiwi's own home",
  "src/programs/demo/world.ts": "the demo's own folder"
}

describe("src and bin", () => {
  it("start processes in one place", () => {
    const expected = new Map(Object.entries(starters).map(([path, [, ...doors]]) => [path, doors]))
    assert.deepStrictEqual(opened("start"), expected)
  })

  it("read what a project may have brought through the safe readers", () => {
    assert.deepStrictEqual([...opened("read").keys()].toSorted(), Object.keys(readers).toSorted())
  })
})

describe("a door is found", () => {
  for (
    const [kind, text, source] of [
      ["start", "child_process", `import { spawn } from "node:child_process"`],
      ["start", "child_process", `import * as Child from "child_process"`],
      ["start", "child_process", `export { fork } from "node:child_process"`],
      ["start", "child_process", `export * from "node:child_process"`],
      ["start", "child_process", `const child = () => import("node:child_process")`],
      ["start", "child_process", `const { exec } = require("child_process")`],
      ["start", "child_process", `require("node:child_process").execSync("x")`],
      ["start", "require(…)", `const load = (name) => require(name)`],
      ["start", "import(…)", `const load = (name: string) => import(name)`],
      ["start", "cluster", `import cluster from "node:cluster"`],
      ["start", "worker_threads", `import { Worker } from "node:worker_threads"`],
      ["start", "effect/process", `import { ChildProcess } from "effect/process"`],
      ["start", "effect/process/ChildProcess", `import * as C from "effect/process/ChildProcess"`],
      [
        "start",
        "@effect/platform-node/NodeChildProcessSpawner",
        `import * as S from "@effect/platform-node/NodeChildProcessSpawner"`
      ],
      ["start", "cross-spawn", `import spawn from "cross-spawn"`],
      ["start", "createRequire", `import { createRequire } from "node:module"`],
      ["start", "getBuiltinModule", `const child = process.getBuiltinModule("child_process")`],
      ["start", "dlopen", `process["dlopen"](module, "x.node")`],
      ["start", "ChildProcesses", `import { type ChildExit, ChildProcesses } from "../process/ChildProcesses.ts"`],
      ["start", "ChildProcesses", `export { ChildProcesses as C } from "../process/ChildProcesses.ts"`],
      ["start", "ChildProcesses", `import * as C from "../../services/process/ChildProcesses.ts"`],
      ["start", "ChildProcesses", `export * from "../../services/process/ChildProcesses.ts"`],
      ["start", "ChildProcesses", `const C = yield* load(() => import("../../services/process/ChildProcesses.ts"))`],
      ["read", "readFileSync", `import { readFileSync } from "node:fs"`],
      ["read", "readFileSync", `import { readFileSync as look } from "fs"`],
      ["read", "readFileSync", `import * as Fs from "node:fs"\nFs.readFileSync("x")`],
      ["read", "openSync", `import fs from "node:fs"\nfs["openSync"]("x")`],
      ["read", "readFile", `import { readFile } from "node:fs/promises"`],
      ["read", "readdir", `import * as Fs from "node:fs/promises"\nFs.readdir("x")`],
      ["read", "createReadStream", `import { createReadStream } from "node:fs"`],
      ["read", "opendirSync", `import * as Fs from "node:fs"\nconst { opendirSync } = Fs`],
      ["read", "readFileSync", `import * as Fs from "node:fs"\nconst g = Fs\ng.readFileSync("x")`],
      ["read", "readFileSync", `require("fs").readFileSync("x")`],
      ["read", "readFileSync", `const fs = require("fs")\nfs.readFileSync("x")`],
      ["read", "import of fs", `const fs = await import("node:fs")`],
      ["read", "node:fs", `export * from "node:fs"`],
      ["read", "readFileString", `const text = yield* files.readFileString("x")`],
      ["read", "readDirectory", `const names = files.readDirectory("x")`]
    ] as const
  ) {
    it(`${kind}: ${source}`, () => {
      const wrapped = source.includes("yield*") ? `function* f() { ${source} }` : source
      const found = doorsOf("src/layers/item/A.ts", wrapped).filter((door) => door.kind === kind)
      assert.deepStrictEqual(found.map((door) => door.text), [text])
    })
  }

  it("and none in what only speaks of one", () => {
    const source = `// import "node:child_process"
      import type { ChildProcess } from "node:child_process"
      import { type ChildExit } from "../../services/process/ChildProcesses.ts"
      import * as ChildProcessesNode from "../process/ChildProcessesNode.ts"
      import { constants, statSync } from "node:fs"
      const text = "readFileSync"
      const record = { ChildProcesses: 1, readFileSync: 2 }`
    assert.deepStrictEqual(doorsOf("src/layers/item/A.ts", source), [])
  })
})
