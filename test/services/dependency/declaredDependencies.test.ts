import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { makeChain } from "../../../src/services/chain/Chain.ts"
import type { ChainLink } from "../../../src/services/chain/Chain.ts"
import { declaredBy } from "../../../src/services/dependency/declaredDependencies.ts"
import { differencesFrom, sortPackages } from "../../../src/services/dependency/InstalledPackage.ts"
import type { Tool } from "../../../src/services/item/Item.ts"
import { toolOf } from "../../layers/chain/items.ts"
import * as Snapshots from "../../support/snapshots.ts"

const file = (name: string, text: string, tool: Partial<Tool> = {}): ChainLink => {
  const location = Snapshots.locationOf(`tools/${name}`)
  const snapshot = Snapshots.fileSnapshot(location, text)!
  const entrypoint = name.endsWith(".yaml") ? undefined : name
  return { snapshot, tool: { ...toolOf({ id: location.id }), location, entrypoint, ...tool } }
}

const folder = (files: Readonly<Record<string, string>>, tool: Partial<Tool> = {}): ChainLink => {
  const location = Snapshots.locationOf("tools/talk", { kind: "folder" })
  const snapshot = Snapshots.folderSnapshot(
    location,
    Object.entries({ "tool.yaml": "x: 1\n", ...files }).map(([path, text]) => Snapshots.folderFile(path, text))
  )
  return { snapshot, tool: { ...toolOf({ id: "talk" }), location, entrypoint: "main.js", ...tool } }
}

const runtime = (name: string, type: string, tool: Partial<Tool> = {}) =>
  file(`${name}.yaml`, "x: 1\n", { toolType: "runtime", envConfig: { interpreter: { type } }, ...tool })
const python = runtime("python_runtime", "venv_python")
const node = runtime("node_runtime", "node_modules")
const primitive = file("subprocess.yaml", "x: 1\n", { toolType: "primitive" })

const declared = (...links: readonly [ChainLink, ...ReadonlyArray<ChainLink>]) =>
  declaredBy(makeChain([...links, primitive] as [ChainLink, ...Array<ChainLink>], () => ""))
const found = (...links: readonly [ChainLink, ...ReadonlyArray<ChainLink>]) => Result.getOrThrow(declared(...links))
const issue = (...links: readonly [ChainLink, ...ReadonlyArray<ChainLink>]) => {
  const result = declared(...links)
  return Result.isFailure(result) ? `${result.failure.link}: ${result.failure.message}` : "it is valid"
}

const block = (requirement: string) => `# /// script\n# dependencies = ["${requirement}"]\n# ///\nx = 1\n`

describe("what a chain declares", () => {
  it("is nothing for most", () => {
    assert.isUndefined(found(file("a.py", "x = 1\n"), python))
    assert.isUndefined(found(file("a.sh", "true\n", { toolType: "bash" })))
    assert.isUndefined(found(folder({ "main.js": "", "package.json": "{}" }), node))
    assert.isUndefined(found(file("a.py", "# /// script\n# requires-python = \">=3\"\n# ///\n"), python))
  })

  it("is in the metadata, the script block or the package.json", () => {
    assert.deepInclude(found(file("a.py", "x = 1\n", { dependencies: [" b>=1 "] }), python), {
      ecosystem: "python",
      links: ["a"],
      requirements: ["b>=1"]
    })
    const scripted = "# /// script\n# requires-python = \">=3.9\"\n# dependencies = [\"b\"]\n# ///\n"
    assert.deepInclude(found(file("a.py", scripted), python), { requirements: ["b"], requiresPython: [">=3.9"] })
    assert.deepInclude(found(folder({ "main.py": block("b") }, { entrypoint: "main.py" }), python), {
      ecosystem: "python",
      requirements: ["b"]
    })
    assert.deepInclude(
      found(folder({ "main.js": "", "package.json": `{"dependencies": {"b": "1"}}`, "package-lock.json": "{}" }), node),
      { ecosystem: "node", requirements: ["b@1"], packageLock: "{}" }
    )
    for (const name of ["a.js", "a.mjs", "a.ts"]) {
      assert.strictEqual(found(file(name, "", { dependencies: ["b"] }), node)?.ecosystem, "node")
    }
  })

  it("is of the language of the file, the type, or the runtime below", () => {
    const yaml = (toolType: string, ...below: ReadonlyArray<ChainLink>) =>
      declared(file("a.yaml", "x: 1\n", { toolType, dependencies: ["b"] }), ...below)
    assert.strictEqual(Result.getOrThrow(yaml("python"))?.ecosystem, "python")
    assert.strictEqual(Result.getOrThrow(yaml("script", node))?.ecosystem, "node")
    assert.strictEqual(Result.getOrThrow(yaml("script", python))?.ecosystem, "python")
    const managed = (manager: string, plugin?: string) =>
      file("m.yaml", "x: 1\n", {
        envConfig: { interpreter: { type: "version_manager", manager, ...(plugin === undefined ? {} : { plugin }) } }
      })
    assert.strictEqual(Result.getOrThrow(yaml("script", managed("pyenv")))?.ecosystem, "python")
    assert.strictEqual(Result.getOrThrow(yaml("script", managed("asdf", "nodejs")))?.ecosystem, "node")
    assert.isTrue(Result.isFailure(yaml("script", managed("rbenv"))))
    assert.include(issue(file("a.sh", "", { toolType: "bash", dependencies: ["b"] })), "neither")
  })

  it("may be said twice if it is the same", () => {
    assert.deepStrictEqual(found(file("a.py", block("b"), { dependencies: ["b"] }), python)?.requirements, ["b"])
    assert.include(issue(file("a.py", block("b"), { dependencies: ["b>=1"] }), python), "declared twice")
    const json = { "main.js": "", "package.json": `{"dependencies": {"b": "1"}}` }
    assert.deepStrictEqual(found(folder(json, { dependencies: ["b@1"] }), node)?.requirements, ["b@1"])
    assert.include(issue(folder(json, { dependencies: ["c@1"] }), node), "declared twice")
  })

  it("is the union of the links, leaf first, in one language", () => {
    const below = runtime("mine", "venv_python", { dependencies: ["c", "b"] })
    assert.deepInclude(found(file("a.py", "", { dependencies: ["b", "a"] }), below), {
      links: ["a", "mine"],
      requirements: ["b", "a", "c"]
    })
    assert.include(
      issue(file("a.py", "", { dependencies: ["b"] }), runtime("mine", "node_modules", { dependencies: ["c"] })),
      "mine: "
    )
    assert.include(
      issue(file("a.js", "", { dependencies: ["b@1"] }), runtime("mine", "node_modules", { dependencies: ["b@2"] })),
      "two ranges"
    )
  })

  it("is refused with what is no package, naming the link and the place", () => {
    assert.include(
      issue(file("a.py", "", { dependencies: ["ok", "git+https://elsewhere.example/x"] }), python),
      "dependencies[1]"
    )
    assert.include(issue(file("a.py", block("-e ."), {}), python), "script.dependencies[0]")
    assert.include(issue(file("a.py", "# /// script\n# x = [\n# ///\n"), python), "script")
    assert.include(issue(folder({ "main.js": "", "package.json": "[" }), node), "package.json")
    assert.include(
      issue(file("a.py", "", { dependencies: Array.from({ length: 201 }, (_, n) => `p${n}`) }), python),
      "more than 200"
    )
  })
})

describe("installed packages against a lock", () => {
  const a = { name: "a", version: "1", hash: "sha256:1" }
  it("differ by name, version and hash, where both know one", () => {
    assert.deepStrictEqual(differencesFrom([a], [a]), [])
    assert.deepStrictEqual(differencesFrom([{ ...a, hash: null }], [a]), [])
    assert.deepStrictEqual(differencesFrom([a], [{ ...a, hash: null }]), [])
    assert.match(differencesFrom([a], [{ ...a, hash: "sha256:2" }])[0] ?? "", /another hash/)
    assert.match(differencesFrom([a], [])[0] ?? "", /a 1 is locked but not installed/)
    assert.match(differencesFrom([], [a])[0] ?? "", /a 1 is installed but not locked/)
    assert.strictEqual(differencesFrom([a], [{ ...a, version: "2" }]).length, 2)
  })
  it("are sorted and there once", () => {
    const b = { name: "b", version: "1", hash: null }
    assert.deepStrictEqual(sortPackages([b, a, b, { ...a, version: "0" }]), [{ ...a, version: "0" }, a, b])
  })
})
