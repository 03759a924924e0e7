// uv, the real one where it is there; and what Kiwi asks of it, answered by a stand-in that has pip do the work.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { call, pythonTool, syncTool, syncWorld } from "../layers/dependency/syncWorld.ts"
import { pythonIndex, type PythonPackage } from "../support/packageServers.ts"
import { describeWith } from "../support/realParts.ts"
import { temporary } from "../support/temporary.ts"

const words: PythonPackage = { name: "kiwi-words", version: "2.0.1", files: { "kiwi_words.py": "word = 'hello'\n" } }
const greet: PythonPackage = {
  name: "kiwi-greet",
  version: "1.2.0",
  files: { "kiwi_greet.py": "import kiwi_words\ndef hello():\n    return kiwi_words.word\n" },
  requires: ["kiwi-words"]
}
const tool = pythonTool(["kiwi-greet"], "import kiwi_greet\nprint(json.dumps(kiwi_greet.hello()))")

const standIn = `#!/usr/bin/env python3
import json, os, subprocess, sys
args = sys.argv[1:]
if args != ["--version"] and not os.path.exists("uv.toml"):
    sys.exit("no settings of its own")
def pip(*rest, **more):
    python = args[args.index("--python") + 1]
    return subprocess.run([sys.executable, "-m", "pip", "--python", python, *rest], **more)
if args == ["--version"]:
    print("uv 0.0.0 (a stand-in)")
elif args[0] == "venv":
    base = args[args.index("--python") + 1]
    sys.exit(subprocess.run([base, "-m", "venv", "--without-pip", args[-1]]).returncode)
elif args[:2] == ["pip", "compile"]:
    only = ["--only-binary", ":all:"] if "--only-binary" in args else []
    deps = ["--no-deps"] if "--no-deps" in args else []
    done = pip("install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-", *only, *deps, "-r", args[-1], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(1)
    with open(args[args.index("--output-file") + 1], "w") as out:
        out.write('lock-version = "1.0"\\ncreated-by = "uv"\\n')
        for one in json.loads(done.stdout)["install"]:
            url = one["download_info"]["url"].split("#")[0]
            sha = one["download_info"]["archive_info"]["hashes"]["sha256"]
            out.write('\\n[[packages]]\\nname = "%s"\\nversion = "%s"\\n' % (one["metadata"]["name"], one["metadata"]["version"]))
            out.write('wheels = [{ url = "%s", upload-time = 2025-03-17T00:02:54Z, size = 1, hashes = { sha256 = "%s" } }]\\n' % (url, sha))
elif args[:2] == ["pip", "install"]:
    rest = [a for a in args[2:] if a != "--compile-bytecode"]
    at = rest.index("--python")
    del rest[at:at + 2]
    sys.exit(pip("install", *rest).returncode)
else:
    sys.exit(2)
`

/** The folder of a program called uv. */
const standInFolder = Effect.map(temporary, (folder) => {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  writeFileSync(join(bin, "uv"), standIn)
  chmodSync(join(bin, "uv"), 0o755)
  return bin
})

const behaves = Effect.fnUntraced(function*(bin: string | undefined) {
  const index = yield* pythonIndex([words, greet])
  const PATH = [...(bin === undefined ? [] : [bin]), dirname(process.execPath), process.env["PATH"] ?? ""].join(":")
  const env = { PIP_INDEX_URL: index.url, UV_DEFAULT_INDEX: index.url, PATH }
  const world = yield* syncWorld({ "hello.py": tool }, env)
  const packages = [
    { name: "kiwi-greet", version: "1.2.0", hash: index.hashOf(greet) },
    { name: "kiwi-words", version: "2.0.1", hash: index.hashOf(words) }
  ]
  yield* world.inKernel(Effect.gen(function*() {
    const outcome = yield* syncTool("hello")
    assert.match(outcome?.installer ?? "", /^uv \d/)
    assert.deepStrictEqual(outcome?.set.packages, packages)
    assert.strictEqual(yield* call("hello"), "hello")
    assert.strictEqual((yield* syncTool("hello"))?.state, "up-to-date")
  }))
  const other = yield* syncWorld({ "hello.py": tool }, env)
  yield* other.inKernel(Effect.gen(function*() {
    index.serve([words, { ...words, version: "3.0" }, greet])
    const locked = yield* syncTool("hello", { pins: packages })
    assert.deepStrictEqual(locked?.set.packages, packages)
    index.serve([{ ...words, files: { "kiwi_words.py": "word = 'evil'\n" } }, greet])
    const error = yield* Effect.flip(
      syncTool("hello", {
        pins: packages.map(({ name, version }) => ({ name, version, hash: `sha256:${"0".repeat(64)}` }))
      })
    )
    assert.strictEqual(error._tag, "PinsDiffer", error.message)
    const trap = { ...words, setup: "raise SystemExit(1)\n" }
    index.serve([greet, trap])
    assert.strictEqual((yield* Effect.flip(syncTool("hello", { upgrade: true })))._tag, "InstallFailed")
  }))
})

describeWith(["pip"], "packages by uv, as Kiwi asks for them", () => {
  it.live(
    "are installed, named by their hashes, held to a lock, and never built",
    () => Effect.flatMap(standInFolder, behaves),
    120_000
  )
})

describeWith(["uv"], "packages by the real uv", () => {
  it.live("are installed, named by their hashes, held to a lock, and never built", () => behaves(undefined), 120_000)
})
