import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Layer } from "effect"
import { hash } from "node:crypto"
import type { MemoryTiers } from "../../../src/layers/item/ItemStoreMemory.ts"
import { showLocation } from "../../../src/services/item/Item.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import type { ItemQuery } from "../../../src/services/item/ItemStore.ts"
import { commentSyntax, printClaim, withSignature } from "../../../src/services/item/SignatureLine.ts"

const claim = {
  time: "20261121T210900Z",
  kind: "person",
  digest: "a".repeat(64),
  keyId: "0123456789abcdef",
  signature: `${"b".repeat(85)}Q`
} as const

/** What every store does, over the same files. `build` gives a store that holds them. */
export const contract = (name: string, build: (tiers: MemoryTiers) => Layer.Layer<ItemStore>) => {
  const using = <A, E>(tiers: MemoryTiers, body: (store: ItemStore["Service"]) => Effect.Effect<A, E>) =>
    Effect.flatMap(ItemStore, body).pipe(Effect.provide(build(tiers)))
  const found = (store: ItemStore["Service"], query: ItemQuery) =>
    Effect.map(store.find(query), (f) => showLocation(f.location))
  const failure = (store: ItemStore["Service"], query: ItemQuery) => Effect.flip(store.find(query))

  describe(`${name} finds items`, () => {
    it.effect("in the project, then the user's, then the system's tier, and says what is hidden", () =>
      using({
        project: { "tools/math/add.py": "p" },
        user: { "tools/add.sh": "u", "tools/sub.py": "u" },
        system: { "tools/mul.py": "s", "tools/files/sub.py": "s\noverridable: true\n" }
      }, (store) =>
        Effect.gen(function*() {
          const add = yield* store.find({ id: "add" })
          assert.strictEqual(showLocation(add.location), "project:tools/math/add.py")
          assert.deepInclude(add.location, { category: "math", kind: "file", type: "tool", path: "math/add.py" })
          assert.deepStrictEqual(add.hides.map(showLocation), ["user:tools/add.sh"])
          assert.strictEqual(yield* found(store, { id: "add", tier: "user" }), "user:tools/add.sh")
          assert.strictEqual(yield* found(store, { id: "sub" }), "user:tools/sub.py")
          assert.strictEqual(yield* found(store, { id: "mul" }), "system:tools/mul.py")
          assert.strictEqual((yield* failure(store, { id: "mul", tier: "project" }))._tag, "ItemNotFound")
        })))

    it.effect("by id and by category path, exactly", () =>
      using({
        project: {
          "tools/a/x.py": "",
          "tools/a/b/x.py": "",
          "tools/a/filesystem.read.yaml": "",
          "directives/deploy.md": "",
          "knowledge/001-email.md": ""
        }
      }, (store) =>
        Effect.gen(function*() {
          assert.strictEqual(yield* found(store, { id: "a/b/x" }), "project:tools/a/b/x.py")
          assert.strictEqual(yield* found(store, { id: "a/x" }), "project:tools/a/x.py")
          assert.strictEqual(yield* found(store, { id: "filesystem.read" }), "project:tools/a/filesystem.read.yaml")
          assert.strictEqual(yield* found(store, { id: "deploy" }), "project:directives/deploy.md")
          assert.strictEqual(
            yield* found(store, { id: "001-email", type: "knowledge" }),
            "project:knowledge/001-email.md"
          )
          // The original matched parts of names and any folder that happened to fit.
          for (const id of ["deplo", "b/x", "c/x", "read"]) {
            assert.strictEqual((yield* failure(store, { id }))._tag, "ItemNotFound", id)
          }
        })))

    it.effect("and refuses ids that could be paths", () =>
      using({ project: { "tools/x.py": "" } }, (store) =>
        Effect.gen(function*() {
          for (
            const id of [
              "",
              "../x",
              "a/../x",
              "/x",
              "x\0",
              "a\\x",
              "./x",
              "a//x",
              "x/",
              "X",
              "x.py/",
              "..",
              "x..y",
              "é",
              `${"a".repeat(200)}`,
              "a\nb",
              "*"
            ]
          ) assert.strictEqual((yield* failure(store, { id }))._tag, "ItemIdInvalid", JSON.stringify(id))
        })))

    it.effect("two of one id in one tier, or in two types, are ambiguous, naming both", () =>
      using({
        project: {
          "tools/a/x.py": "",
          "tools/b/x.sh": "",
          "tools/y.py": "",
          "tools/y.yaml": "",
          "directives/z.md": ""
        },
        user: { "knowledge/z.md": "" }
      }, (store) =>
        Effect.gen(function*() {
          const x = yield* failure(store, { id: "x" })
          assert.deepInclude(x, {
            _tag: "ItemAmbiguous",
            candidates: ["project:tools/a/x.py", "project:tools/b/x.sh"]
          })
          assert.strictEqual(yield* found(store, { id: "b/x" }), "project:tools/b/x.sh")
          assert.strictEqual((yield* failure(store, { id: "y" }))._tag, "ItemAmbiguous")
          assert.strictEqual((yield* failure(store, { id: "z" }))._tag, "ItemAmbiguous")
          assert.strictEqual(yield* found(store, { id: "z", type: "knowledge" }), "user:knowledge/z.md")
          const problems = yield* store.problems
          assert.deepStrictEqual(problems.map((p) => p._tag), ["ItemAmbiguous", "ItemAmbiguous"])
        })))

    it.effect("near ids are named, at most three, nearest first", () =>
      using({
        project: {
          "tools/add.py": "",
          "tools/added.py": "",
          "tools/math/adds.py": "",
          "tools/ads.py": "",
          "tools/zebra.py": "",
          "directives/deploy_all.md": ""
        }
      }, (store) =>
        Effect.gen(function*() {
          const near = (id: string) =>
            Effect.map(failure(store, { id }), (e) => e._tag === "ItemNotFound" ? e.near : undefined)
          assert.deepStrictEqual(yield* near("ad"), ["add", "ads"])
          assert.deepStrictEqual(yield* near("depoly_all"), ["deploy_all"])
          assert.deepStrictEqual(yield* near("wrong/adds"), ["math/adds", "add", "ads"])
          assert.deepStrictEqual(yield* near("quite_else"), [])
        })))
  })

  describe(`${name} protects the system's items`, () => {
    const system = {
      "tools/runtimes/python_runtime.py": "__overridable__ = True\n",
      "tools/files/filesystem.read.py": "x\n",
      "directives/core/init.md": "x\n",
      "directives/open.md": "  <overridable>true</overridable>\n",
      "tools/extra/free.py": "__overridable__ = True\n"
    }
    const shadows = {
      "tools/python_runtime.py": "",
      "tools/evil/python_runtime.sh": "",
      "tools/filesystem.read.py": "",
      "directives/init.md": "",
      "directives/open.md": "",
      "tools/free.py": ""
    }

    it.effect("from every shadow, unless they give themselves up; core tools never do", () =>
      using({ project: shadows, user: shadows, system }, (store) =>
        Effect.gen(function*() {
          assert.strictEqual(yield* found(store, { id: "python_runtime" }), "system:tools/runtimes/python_runtime.py")
          assert.strictEqual(yield* found(store, { id: "filesystem.read" }), "system:tools/files/filesystem.read.py")
          assert.strictEqual(yield* found(store, { id: "init" }), "system:directives/core/init.md")
          assert.strictEqual(yield* found(store, { id: "open" }), "project:directives/open.md")
          assert.strictEqual(yield* found(store, { id: "free" }), "project:tools/free.py")
          // Even by its category, a shadow is found only by naming its tier.
          assert.strictEqual((yield* failure(store, { id: "evil/python_runtime" }))._tag, "ItemNotFound")
          assert.strictEqual(
            yield* found(store, { id: "evil/python_runtime", tier: "project" }),
            "project:tools/evil/python_runtime.sh"
          )
          const shadowed = (yield* store.problems).filter((p) => p._tag === "ItemInvalid").map((p) => p.item)
          assert.deepStrictEqual(
            new Set(shadowed),
            new Set([
              "project:tools/python_runtime.py",
              "project:tools/evil/python_runtime.sh",
              "project:tools/filesystem.read.py",
              "project:directives/init.md",
              "user:tools/python_runtime.py",
              "user:tools/evil/python_runtime.sh",
              "user:tools/filesystem.read.py",
              "user:directives/init.md"
            ])
          )
        })))
  })

  describe(`${name} lists items`, () => {
    it.effect("project first, by type and tier; what is no item is left out", () =>
      using({
        project: {
          "tools/a.py": "",
          "tools/README.md": "",
          "tools/data.json": "",
          "tools/_private.py": "",
          "tools/.hidden.py": "",
          "tools/node_modules/x/index.js": "",
          "tools/__pycache__/a.py": "",
          "tools/.git/b.py": "",
          "tools/Not An Id.py": "",
          "tools/bad folder/c.py": "",
          "tools/1/2/3/4/5/6/7/8/deep.py": "",
          "tools/1/2/3/4/5/6/7/8/9/toodeep.py": "",
          "directives/d.md": "",
          "directives/e.txt": "",
          "logs/f.py": "",
          "g.py": ""
        },
        user: { "knowledge/k.md": "" },
        system: { "tools/s.yaml": "" }
      }, (store) =>
        Effect.gen(function*() {
          const all = (yield* store.list()).map(showLocation)
          assert.deepStrictEqual(all.toSorted(), [
            "project:directives/d.md",
            "project:tools/1/2/3/4/5/6/7/8/deep.py",
            "project:tools/a.py",
            "system:tools/s.yaml",
            "user:knowledge/k.md"
          ])
          assert.isTrue(all[0]!.startsWith("project:"))
          assert.deepStrictEqual((yield* store.list({ tier: "user", type: "knowledge" })).map(showLocation), [
            "user:knowledge/k.md"
          ])
          assert.deepStrictEqual(yield* store.list({ tier: "user", type: "tool" }), [])
          const problems = (yield* store.problems).map((p) => p._tag === "ItemAmbiguous" ? p.id : p.item)
          assert.deepStrictEqual(problems.toSorted(), [
            "project:tools/1/2/3/4/5/6/7/8/9",
            "project:tools/Not An Id.py",
            "project:tools/bad folder"
          ])
        })))
  })

  describe(`${name} reads items`, () => {
    const read = (tiers: MemoryTiers, id: string) =>
      using(tiers, (store) => Effect.flatMap(store.find({ id }), (f) => store.read(f.location)))

    it.effect("as canonical bytes with their digest and the claim", () =>
      Effect.gen(function*() {
        const source = "#!/bin/bash\r\necho\r\n"
        const signed = withSignature(source, commentSyntax("x.sh")!, claim)
        const plain = yield* read({ project: { "tools/x.sh": source } }, "x")
        const snapshot = yield* read(
          { project: { "tools/x.sh": { content: `\uFEFF${signed}`, executable: true } } },
          "x"
        )
        assert.strictEqual(new TextDecoder().decode(snapshot.bytes), "#!/bin/bash\necho\n")
        assert.strictEqual(snapshot.digest, plain.digest)
        assert.strictEqual(plain.digest, hash("sha256", "#!/bin/bash\necho\n"))
        assert.deepStrictEqual(snapshot.claim, { _tag: "Claim", claim, detached: false })
        assert.deepStrictEqual(plain.claim, { _tag: "None" })
        assert.deepStrictEqual([plain.executable, snapshot.executable], [false, true])
        const other = yield* read({ project: { "tools/x.sh": "#!/bin/bash\necho \n" } }, "x")
        assert.notStrictEqual(other.digest, plain.digest)
      }))

    it.effect("and refuses what is no text, or too much of it", () =>
      Effect.gen(function*() {
        const refused = (content: string | Uint8Array) => Effect.flip(read({ project: { "tools/x.py": content } }, "x"))
        for (const wrong of [new Uint8Array([0xff, 0xfe]), "a\0", "a\rb", "a\u2028b"]) {
          assert.include((yield* refused(wrong)).message, "project:tools/x.py")
        }
        assert.include((yield* refused("a".repeat(1024 * 1024 + 1))).message, "larger than 1048576 bytes")
        assert.include((yield* refused("a".repeat(10 * 1024 * 1024))).message, "could not be read")
        assert.strictEqual(
          (yield* read({ project: { "tools/x.py": "a".repeat(1024 * 1024) } }, "x")).bytes.length,
          1024 * 1024
        )
      }))

    const folder = {
      "tools/web/fetch/tool.yaml": "tool_id: fetch\n",
      "tools/web/fetch/main.py": "x\r\n",
      "tools/web/fetch/lib/b.py": "#!y",
      "tools/web/fetch/lib/data.bin": new Uint8Array([0, 255])
    }

    it.effect("folders whole: every file is in the digest, by path and bytes, and its bytes say whether it is executable", () =>
      Effect.gen(function*() {
        const snapshot = yield* read({ project: folder }, "fetch")
        assert.deepInclude(snapshot.location, { kind: "folder", path: "web/fetch", category: "web" })
        assert.strictEqual<string>(snapshot.location.id, "fetch")
        assert.strictEqual(new TextDecoder().decode(snapshot.bytes), "tool_id: fetch\n")
        assert.deepStrictEqual(snapshot.files.map((f) => [f.path, f.executable, f.bytes.length]), [
          ["lib/b.py", true, 3],
          ["lib/data.bin", false, 2],
          ["main.py", false, 3],
          ["tool.yaml", false, 15]
        ])
        const changes: ReadonlyArray<MemoryTiers["project"]> = [
          { ...folder, "tools/web/fetch/extra.txt": "" },
          { ...folder, "tools/web/fetch/.hidden": "" },
          { ...folder, "tools/web/fetch/main.pyc": "" },
          ...[
            "extra.py",
            "conftest.py",
            "sitecustomize.py",
            "usercustomize.py",
            "extra.pth",
            "lib/__init__.py",
            "package.json",
            "node_modules/a/index.js",
            "pyvenv.cfg",
            ".env",
            ".npmrc",
            ".gitignore",
            ".git/config",
            ".python-version",
            ".vscode.py",
            ".idea2/a.py",
            "idea/a.py",
            "vscode/a.js",
            "gitkeep",
            ".gitkeep.py",
            "mypy_cache/a.py",
            "pycache/main.pyc",
            "__pycache__.py",
            "Thumbs.db.js",
            "Icon",
            "Icon.py",
            "main.swp.py",
            "main.swf",
            "swp",
            "~",
            "~main.py",
            ".nfs.py"
          ].map((path) => Object.assign({ [`tools/web/fetch/${path}`]: "" }, folder)),
          { ...folder, "tools/web/fetch/lib/cache/b.py": "" },
          { ...folder, "tools/web/fetch/main.py": "x\n" },
          { ...folder, "tools/web/fetch/lib/b.py": "y" }
        ]
        for (const changed of changes) {
          assert.notStrictEqual((yield* read({ project: changed }, "fetch")).digest, snapshot.digest)
        }
        const leftBehind = [
          ".DS_Store",
          "lib/.DS_Store",
          "Thumbs.db",
          "desktop.ini",
          "Desktop.ini",
          ".directory",
          "__pycache__/main.cpython-312.pyc",
          "lib/__pycache__/b.cpython-312.pyc",
          "__PYCACHE__/main.cpython-312.pyc",
          "._main.py",
          ".main.py.swp",
          ".main.py.swo",
          "main.swp",
          "lib/b.py.SWP",
          "main.py~",
          ".gitkeep",
          "lib/empty/.gitkeep",
          ".keep",
          ".idea/workspace.xml",
          ".vscode/settings.json",
          ".VSCode/evil.py",
          "lib/.vscode/tasks.json",
          ".vs/slnx.sqlite",
          ".zed/settings.json",
          ".mypy_cache/3.12/main.data.json",
          ".pytest_cache/v/cache/lastfailed",
          ".ruff_cache/0.6.9/1",
          ".ipynb_checkpoints/main-checkpoint.py",
          ".hypothesis/examples/a",
          ".AppleDouble/main.py",
          ".Spotlight-V100/a",
          "ehthumbs.db",
          "Icon\r",
          "lib/Icon\r",
          ".nfs00000000000a1b2c00000001",
          ".fuse_hidden0000000a00000001",
          "#main.py#",
          ".#main.py"
        ].map((path) => Object.assign({ [`tools/web/fetch/${path}`]: "x" }, folder))
        const otherModes = [
          { ...folder, "tools/web/fetch/main.py": { content: "x\r\n", executable: true } },
          { ...folder, "tools/web/fetch/lib/b.py": { content: "#!y", executable: true } }
        ]
        for (const same of [...leftBehind, ...otherModes]) {
          const again = yield* read({ project: same }, "fetch")
          assert.strictEqual(again.digest, snapshot.digest)
          assert.deepStrictEqual(again.files, snapshot.files)
        }
        assert.deepStrictEqual(snapshot.claim, { _tag: "None" })
      }))

    it.effect("a folder's signature lies beside it, and nowhere else", () =>
      Effect.gen(function*() {
        const withSig = (sig: string) => read({ project: { ...folder, "tools/web/fetch.kiwi-sig": sig } }, "fetch")
        const snapshot = yield* withSig(`${printClaim(claim)}\n`)
        assert.deepStrictEqual(snapshot.claim, { _tag: "Claim", claim, detached: true })
        assert.strictEqual(snapshot.digest, (yield* read({ project: folder }, "fetch")).digest)
        for (const wrong of ["", `# ${printClaim(claim)}\n`, `${printClaim(claim)}\n\n`]) {
          assert.strictEqual((yield* withSig(wrong)).claim._tag, "Malformed", wrong)
        }
        const inline = { ...folder, "tools/web/fetch/tool.yaml": `# ${printClaim(claim)}\ntool_id: fetch\n` }
        assert.deepStrictEqual((yield* read({ project: inline }, "fetch")).claim, { _tag: "None" })
      }))

    it.effect("what is below a folder tool is its own, and a folder that is no id is a problem", () =>
      using({
        project: {
          "tools/a/tool.yaml": "",
          "tools/a/b.py": "",
          "tools/a/c/tool.yaml": "",
          "tools/Bad/tool.yaml": "",
          "tools/tool.yaml": "tool_id: tool\n"
        }
      }, (store) =>
        Effect.gen(function*() {
          assert.deepStrictEqual((yield* store.list()).map(showLocation).toSorted(), [
            "project:tools/a",
            "project:tools/tool.yaml"
          ])
          assert.deepStrictEqual((yield* store.problems).map((p) => p._tag === "ItemInvalid" ? p.item : p._tag), [
            "project:tools/Bad"
          ])
        })))
  })
}
