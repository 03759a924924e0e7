// What a domain costs that nobody has thought of: a folder of its own, and one line with its import in each of the
// lists that AGENTS.md names.
import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { makeMachine } from "../support/kiwiProgram.ts"

const root = new URL("../../", import.meta.url).pathname
const domain = join(root, "test/support/exampleDomain")

/** In each list the line that its own stands behind, and the import that it needs. */
const lists = [
  {
    file: "src/layers/proxy/ToolProxyPipeline.ts",
    after: `.traced("permit", permit, "a rule lets you run it")`,
    line: `.traced("refuseClosed", refuseClosed, "it is not closed")`,
    imports: `import { refuseClosed } from "../closing/closingSteps.ts"`
  },
  {
    file: "src/layers/projectGraph.ts",
    after: "Layer.provideMerge(choose(Settings, SettingsFile.layer)),",
    line: "Layer.provideMerge(choose(Closings, ClosingsFile.layer)),",
    imports:
      `import { Closings } from "../services/closing/Closings.ts"\nimport * as ClosingsFile from "./closing/ClosingsFile.ts"`
  },
  {
    file: "src/layers/KernelMemory.ts",
    after: "Layer.provideMerge(choose(Extractors, ExtractorsMemory.layer)),",
    line: "Layer.provideMerge(choose(Closings, ClosingsFile.layer)),",
    imports:
      `import { Closings } from "../services/closing/Closings.ts"\nimport * as ClosingsFile from "./closing/ClosingsFile.ts"`
  },
  {
    file: "src/layers/ownBuiltins.ts",
    after: "LockfileBuiltins.handlers,",
    line: "ClosingBuiltins.handlers,",
    imports: `import * as ClosingBuiltins from "./closing/closingBuiltins.ts"`
  },
  {
    file: "src/programs/cli/kiwi.ts",
    after: "Command.provide(signCommand, kernel),",
    line: "Command.provide(closingsCommand, kernel),",
    imports: `import { closingsCommand } from "./commands/closings.ts"`
  },
  {
    file: "test/architecture.test.ts",
    after: `"chain",`,
    line: `"closing",`,
    imports: ""
  }
] as const

const copy = mkdtempSync(join(tmpdir(), "kiwi-domain-"))
const machine = makeMachine({ bin: join(copy, "bin/kiwi.cjs") })

const run = (...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: copy, encoding: "utf8" })
  assert.strictEqual(status, 0, `${args.join(" ")}\n${stdout}\n${stderr}`)
}

beforeAll(() => {
  for (const name of ["src", ".ai", "bin", "build", "docs", "test", "package.json", "README.md"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  for (const name of ["tsconfig.json", "tsconfig.build.json", "vitest.config.ts"]) {
    cpSync(join(root, name), join(copy, name))
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  for (const name of ["src", ".ai"]) cpSync(join(domain, name), join(copy, name), { recursive: true })
  for (const { after, file, imports, line } of lists) {
    const path = join(copy, file)
    const text = readFileSync(path, "utf8")
    assert.strictEqual(text.split(after).length, 2, `${after} in ${file}`)
    const added = text.replace(after, `${after}\n${line}`)
    writeFileSync(path, imports === "" ? added : added.replace(/^import /m, `${imports}\nimport `))
  }
  run("build/build.ts")
})

afterAll(() => {
  machine.remove()
  rmSync(copy, { recursive: true })
})

it("a domain with a step, a control file, a builtin and a command is built, and works", async () => {
  assert.strictEqual((await machine.kiwi(["init"])).code, 0)
  const add = () => machine.kiwi(["run", "tool", "add", "--params", `{"a": 1, "b": 2}`, "--json"])
  assert.strictEqual((await add()).code, 0)

  machine.write(".ai/config/closed.yaml", "tools:\n  add: it is being counted\n")
  await machine.kiwi(["trust", "project", "--yes"])
  const refused = JSON.parse((await add()).stdout)
  assert.deepInclude(refused.error, { code: "PERMISSION_DENIED" })
  assert.include(refused.error.message, "it is being counted")
  assert.include((await machine.kiwi(["explain", "add"])).stdout, "it is being counted")

  const listed = await machine.kiwi(["closings"])
  assert.strictEqual(listed.stdout, "add: it is being counted\n")
  const asked = JSON.parse((await machine.kiwi(["run", "tool", "closings", "--json"])).stdout)
  assert.deepStrictEqual(asked.data, { add: "it is being counted" })
})

it("the house stands with it", () => {
  run("node_modules/vitest/vitest.mjs", "run", "--project", "unit", "test/architecture.test.ts")
})
