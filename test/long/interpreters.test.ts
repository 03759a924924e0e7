// Interpreters by bytes: a person trusts a project with a virtual environment and a Node of its own, then something in
// there changes. Whatever is in the place afterwards does not run before a person has been shown it.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { makeWorld, type World } from "../support/builtKiwi.ts"

const pythonTool = `"""Says hello."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = ""
print("hello")
`
const nodeTool = `export const __version__ = "1.0.0"
export const __tool_type__ = "node"
export const __executor_id__ = "node_runtime"
export const __category__ = ""
console.log("hello")
`

interface Place {
  readonly world: World
  readonly project: string
  /** Where a program of the attacker's leaves word. */
  readonly canary: string
}

const put = (file: string, text: string | Uint8Array, mode = 0o644) => {
  fs.mkdirSync(dirname(file), { recursive: true })
  fs.writeFileSync(file, text, { mode })
}

/** A program, since a script is never used; it would end with 0. */
const evil = fs.readFileSync("/bin/echo")

const replace = (file: string, make: () => void) => {
  fs.rmSync(file, { force: true })
  make()
}

type Attack = readonly [what: string, change: (at: Place) => void]

const venv = (at: Place, ...parts: ReadonlyArray<string>) => join(at.project, ".venv", ...parts)

/** A script would be refused. */
const programOf = (program: string) => fs.readFileSync(program)

/** Of an environment whose `bin/python` is a link out of the project, as venv makes it. */
const pythonAttacks: ReadonlyArray<Attack> = [
  [
    "a script in its place",
    (at) => replace(venv(at, "bin/python"), () => put(venv(at, "bin/python"), evil, 0o755))
  ],
  ["another file beside that it leads to", (at) => {
    put(venv(at, "bin/python0"), evil, 0o755)
    replace(venv(at, "bin/python"), () => fs.symlinkSync("python0", venv(at, "bin/python")))
  }],
  ["the file beside that it led to", (at) => {
    const target = fs.readlinkSync(venv(at, "bin/python"))
    if (target.includes("/")) return replace(venv(at, "bin/python"), () => put(venv(at, "bin/python"), evil, 0o755))
    replace(venv(at, "bin", target), () => put(venv(at, "bin", target), evil, 0o755))
  }],
  ["a link to another program outside", (at) => {
    put(join(at.world.root, "elsewhere/python3"), evil, 0o755)
    replace(
      venv(at, "bin/python"),
      () => fs.symlinkSync(join(at.world.root, "elsewhere/python3"), venv(at, "bin/python"))
    )
  }],
  ["a link outside that leads back into the project", (at) => {
    put(join(at.project, "tools/py"), evil, 0o755)
    fs.mkdirSync(join(at.world.root, "outer"))
    fs.symlinkSync(join(at.project, "tools/py"), join(at.world.root, "outer/python3"))
    replace(venv(at, "bin/python"), () => fs.symlinkSync(join(at.world.root, "outer/python3"), venv(at, "bin/python")))
  }],
  ["a hard link", (at) => {
    put(join(at.project, "tools/py"), evil, 0o755)
    replace(venv(at, "bin/python"), () => fs.linkSync(join(at.project, "tools/py"), venv(at, "bin/python")))
  }],
  ["another environment in the place of the whole one", (at) => {
    fs.renameSync(venv(at), join(at.project, "old"))
    put(venv(at, "bin/python"), evil, 0o755)
    fs.copyFileSync(join(at.project, "old/pyvenv.cfg"), venv(at, "pyvenv.cfg"))
  }],
  ["a link to an environment elsewhere", (at) => {
    fs.renameSync(venv(at), join(at.project, "old"))
    put(join(at.world.root, "other/bin/python"), evil, 0o755)
    fs.symlinkSync(join(at.world.root, "other"), venv(at))
  }],
  ["bin as a link", (at) => {
    fs.renameSync(venv(at, "bin"), venv(at, "old"))
    put(join(at.world.root, "bins/python"), evil, 0o755)
    fs.symlinkSync(join(at.world.root, "bins"), venv(at, "bin"))
  }],
  ["home in pyvenv.cfg", (at) => {
    const settings = fs.readFileSync(venv(at, "pyvenv.cfg"), "utf8")
    fs.writeFileSync(venv(at, "pyvenv.cfg"), settings.replace(/^home = .*$/m, `home = ${at.project}/lib`))
  }],
  ["a pyvenv.cfg beside the program, which counts first", (at) => {
    put(venv(at, "bin/pyvenv.cfg"), `home = ${at.project}/lib\n`)
  }],
  ["python._pth, which replaces its search path", (at) => {
    put(join(at.project, "lib/site.py"), "print('evil')")
    put(venv(at, "bin/python._pth"), `${at.project}/lib\n`)
  }],
  ["pyvenv.cfg removed", (at) => fs.rmSync(venv(at, "pyvenv.cfg"))]
]

/** Of a Node that lies in the project itself. */
const nodeAttacks: ReadonlyArray<Attack> = [
  ["a script in its place", (at) => {
    const file = join(at.project, "node_modules/.bin/node")
    replace(file, () => put(file, evil, 0o755))
  }],
  ["other bytes in the same file", (at) => fs.writeFileSync(join(at.project, "node_modules/node/bin/node"), evil)],
  ["other bytes of the same size and time", (at) => {
    const file = join(at.project, "node_modules/node/bin/node")
    const { atime, mtime, size } = fs.statSync(file)
    fs.writeFileSync(file, Buffer.concat([evil, Buffer.alloc(size - evil.length)]))
    fs.utimesSync(file, atime, mtime)
  }],
  ["a link to another file of the project", (at) => {
    put(join(at.project, "node_modules/other/node"), evil, 0o755)
    const file = join(at.project, "node_modules/.bin/node")
    replace(file, () => fs.symlinkSync("../other/node", file))
  }]
]

const makePlace = async (node: boolean): Promise<Place> => {
  const world = makeWorld()
  const project = await world.init()
  const canary = join(world.root, "canary")
  put(join(project, ".ai/tools/hello.py"), pythonTool)
  put(join(project, ".ai/tools/hi.mjs"), nodeTool)
  const made = spawnSync("python3", ["-m", "venv", "--without-pip", ".venv"], { cwd: project, encoding: "utf8" })
  assert.strictEqual(made.status, 0, made.stderr)
  if (node) {
    put(join(project, "node_modules/node/bin/node"), programOf(process.execPath), 0o755)
    fs.mkdirSync(join(project, "node_modules/.bin"))
    fs.symlinkSync("../node/bin/node", join(project, "node_modules/.bin/node"))
  }
  for (const args of [["trust", "project", "--yes"], ["sign", "tool", "h*"]]) {
    const { code, stderr } = await world.run([...args, "--project", project])
    assert.strictEqual(code, 0, stderr)
  }
  return { world, project, canary }
}

const setMode = (world: World, mode: string) =>
  put(join(world.root, "user/config/kiwi.yaml"), `lockfile:\n  mode: ${mode}\n`)

describe("an interpreter of a trusted project that is not as a person was shown it", () => {
  let pristine: Place
  let at: Place
  const run = (tool: string) => at.world.run(["run", "tool", tool, "--project", at.project])
  const stops = async (tool: string, what: string) => {
    const { code, stderr, stdout } = await run(tool)
    assert.strictEqual(code, 1, `${what}: ${stdout}`)
    assert.match(stderr, /is not what a person was shown|nobody has been shown it/, what)
    assert.match(stderr, /kiwi trust project/, what)
    assert.isFalse(fs.existsSync(at.canary), what)
  }

  beforeAll(async () => {
    pristine = await makePlace(true)
    at = pristine
    for (const tool of ["hello", "hi"]) assert.strictEqual((await run(tool)).stdout.trim(), "hello")
  }, 120_000)
  afterAll(() => pristine.world.close())

  const keep = (attack: Attack, tool: string, prepare: (at: Place) => void = () => {}) => async () => {
    const kept = join(pristine.world.root, "kept")
    fs.cpSync(join(pristine.project), kept, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
    try {
      prepare(at)
      attack[1](at)
      await stops(tool, attack[0])
    } finally {
      for (const name of [".venv", "node_modules", ".ai/lockfiles"]) {
        fs.rmSync(join(at.project, name), { recursive: true, force: true })
        fs.cpSync(join(kept, name), join(at.project, name), { recursive: true, verbatimSymlinks: true })
      }
      for (
        const name of [
          kept,
          at.canary,
          ...["outer", "other", "bins", "elsewhere", "user/config"].map((n) => join(at.world.root, n))
        ]
      ) {
        fs.rmSync(name, { recursive: true, force: true })
      }
      for (const name of ["tools", "old", "lib"]) fs.rmSync(join(at.project, name), { recursive: true, force: true })
    }
  }

  for (const attack of pythonAttacks) it(`Python: ${attack[0]}`, keep(attack, "hello"), 60_000)
  for (const attack of nodeAttacks) it(`Node: ${attack[0]}`, keep(attack, "hi"), 60_000)
  const [script] = pythonAttacks
  it("where locks are strict", keep(script!, "hello", ({ world }) => setMode(world, "strict")), 60_000)
  it("where locks are off", keep(script!, "hello", ({ world }) => setMode(world, "off")), 60_000)
  it(
    "without any lock",
    keep(script!, "hello", ({ project }) => fs.rmSync(join(project, ".ai/lockfiles"), { recursive: true })),
    60_000
  )
  it("and runs as it was, and again when the person has been shown what is there now", async () => {
    for (const tool of ["hello", "hi"]) assert.strictEqual((await run(tool)).stdout.trim(), "hello")
    put(venv(at, "bin/pyvenv.cfg"), fs.readFileSync(venv(at, "pyvenv.cfg"), "utf8"))
    await stops("hello", "another pyvenv.cfg")
    const { code, stderr } = await at.world.run(["trust", "project", "--yes", "--project", at.project])
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual((await run("hello")).stdout.trim(), "hello")
  }, 60_000)
})

describe("an interpreter that appears later", () => {
  it("in node_modules/.bin stops the project's tools, and no other", async () => {
    const at = await makePlace(false)
    const run = (tool: string) => at.world.run(["run", "tool", tool, "--project", at.project])
    assert.strictEqual((await run("hi")).stdout.trim(), "hello")
    put(join(at.project, "node_modules/.bin/node"), evil, 0o755)
    const { code, stderr } = await run("hi")
    assert.strictEqual(code, 1)
    assert.match(stderr, /node_modules\/\.bin\/node is there, but nobody has been shown it/)
    assert.strictEqual((await run("hello")).stdout.trim(), "hello")
    assert.isFalse(fs.existsSync(at.canary))
    await at.world.close()
  }, 120_000)
})

describe("an interpreter that a person was shown and that is gone", () => {
  it("stops the project's tools until the person has been told, whatever the mode", async () => {
    const at = await makePlace(true)
    const run = (tool: string) => at.world.run(["run", "tool", tool, "--project", at.project])
    for (const tool of ["hello", "hi"]) assert.strictEqual((await run(tool)).stdout.trim(), "hello")
    for (const name of [".venv", "node_modules", ".ai/lockfiles"]) {
      fs.rmSync(join(at.project, name), { recursive: true })
    }
    for (const mode of ["warn", "off", "strict"]) {
      setMode(at.world, mode)
      for (const tool of ["hello", "hi"]) {
        const { code, stderr } = await run(tool)
        assert.strictEqual(code, 1, mode)
        assert.match(stderr, /was there when the project was trusted, and is gone: kiwi trust project accepts it/)
      }
    }
    assert.match((await at.world.run(["doctor", "--project", at.project])).stdout, /not accepted .*\.venv\/bin\/python/)
    setMode(at.world, "warn")
    const trusted = await at.world.run(["trust", "project", "--yes", "--project", at.project])
    assert.match(trusted.stdout + trusted.stderr, /\.venv\/bin\/python is gone; tools of the project would run with/)
    for (const tool of ["hello", "hi"]) assert.strictEqual((await run(tool)).stdout.trim(), "hello")
    await at.world.close()
  }, 120_000)
})

/** Paths in `make` and `change` are relative to the checkout; the project is packages/a in it. */
interface InCheckout {
  readonly what: string
  readonly tool: "hello" | "hi"
  readonly make: (at: Place, checkout: string) => void
  readonly change: (at: Place, checkout: string) => void
  readonly env?: Record<string, string>
  /** A lock has the program alone, and not what that one starts. */
  readonly isStartedByAnother?: boolean
}

const realPython = spawnSync("python3", ["-c", "import sys; print(sys._base_executable)"], { encoding: "utf8" }).stdout
  .trim()
const rootsVenv: InCheckout["make"] = ({ project }, checkout) => {
  put(join(checkout, ".venv/bin/python"), programOf(realPython), 0o755)
  put(join(checkout, ".venv/pyvenv.cfg"), `home = ${dirname(realPython)}\n`)
  fs.symlinkSync("../../.venv", join(project, ".venv"))
}

const checkouts: ReadonlyArray<InCheckout> = [
  {
    what: "the root's environment by a link",
    tool: "hello",
    make: rootsVenv,
    change: (_, checkout) => fs.writeFileSync(join(checkout, ".venv/bin/python"), evil)
  },
  {
    what: "a sibling's environment by a link",
    tool: "hello",
    make: ({ project }, checkout) => {
      put(join(checkout, "packages/b/.venv/bin/python"), programOf(realPython), 0o755)
      fs.symlinkSync("../b/.venv", join(project, ".venv"))
    },
    change: (_, checkout) => fs.writeFileSync(join(checkout, "packages/b/.venv/bin/python"), evil)
  },
  {
    what: "a program of the root by a link",
    tool: "hello",
    make: ({ project }, checkout) => {
      put(join(checkout, "tools/python"), programOf(realPython), 0o755)
      fs.mkdirSync(join(project, ".venv/bin"), { recursive: true })
      fs.symlinkSync("../../../../tools/python", join(project, ".venv/bin/python"))
    },
    change: (_, checkout) => fs.writeFileSync(join(checkout, "tools/python"), evil)
  },
  {
    what: "the root's Node by a link",
    tool: "hi",
    make: ({ project }, checkout) => {
      put(join(checkout, "node_modules/node/bin/node"), programOf(process.execPath), 0o755)
      fs.mkdirSync(join(project, "node_modules/.bin"), { recursive: true })
      fs.symlinkSync("../../../../node_modules/node/bin/node", join(project, "node_modules/.bin/node"))
    },
    change: (_, checkout) => fs.writeFileSync(join(checkout, "node_modules/node/bin/node"), evil)
  },
  {
    what: "the program in the home that pyvenv.cfg names",
    tool: "hello",
    isStartedByAnother: true,
    make: ({ project }, checkout) => {
      put(join(checkout, "python/bin/python3"), programOf(realPython), 0o755)
      put(join(project, ".venv/bin/python"), programOf(realPython), 0o755)
      put(join(project, ".venv/pyvenv.cfg"), `home = ${checkout}/python/bin\n`)
    },
    change: (_, checkout) => fs.writeFileSync(join(checkout, "python/bin/python3"), evil)
  },
  {
    what: "uv's environment of the workspace",
    tool: "hello",
    env: { UV_PROJECT_ENVIRONMENT: "../../.venv" },
    make: ({ project }, checkout) => {
      put(join(project, "pyproject.toml"), "[project]\nname = \"a\"\n")
      put(join(checkout, ".venv/bin/python"), programOf(realPython), 0o755)
    },
    change: (_, checkout) => fs.writeFileSync(join(checkout, ".venv/bin/python"), evil)
  }
]

describe("an interpreter of the checkout that a trusted project is a part of", () => {
  const asked = async ({ change, env, isStartedByAnother, make, tool }: InCheckout, modes: ReadonlyArray<string>) => {
    const world = makeWorld()
    const checkout = join(world.root, "mono")
    const at: Place = { world, project: join(checkout, "packages/a"), canary: join(world.root, "canary") }
    const kiwi = (...args: ReadonlyArray<string>) => world.run([...args, "--project", at.project], env)
    fs.mkdirSync(join(checkout, ".git"), { recursive: true })
    fs.mkdirSync(dirname(at.project))
    fs.renameSync(await world.init(), at.project)
    put(join(at.project, ".ai/tools/hello.py"), pythonTool)
    put(join(at.project, ".ai/tools/hi.mjs"), nodeTool)
    make(at, checkout)
    const trusted = await kiwi("trust", "project", "--yes")
    assert.strictEqual(trusted.code, 0, trusted.stderr)
    assert.match(trusted.stdout + trusted.stderr, /in the checkout around it, sha256/)
    const signed = await kiwi("sign", "tool", "h*")
    assert.strictEqual(signed.code, 0, signed.stderr)
    const ran = await kiwi("run", "tool", tool)
    assert.strictEqual(ran.stdout.trim(), "hello", ran.stderr)
    change(at, checkout)
    for (const mode of modes) {
      setMode(world, mode)
      const { code, stderr } = await kiwi("run", "tool", tool)
      assert.strictEqual(code, 1, mode)
      assert.match(stderr, /is not what a person was shown.*kiwi trust project/s)
    }
    const frozen = await kiwi("lockfile", "verify", "--frozen")
    assert.strictEqual(frozen.code, 1)
    assert.match(frozen.stdout, /^interpreter\s+(?:\.venv|node_modules|\.\.\/\.\.\/\.venv)\//m)
    assert.isFalse(fs.existsSync(at.canary))
    if (isStartedByAnother !== true) {
      // What a person agrees to is that person's, and what was locked is still another one.
      assert.strictEqual((await kiwi("trust", "project", "--yes")).code, 0)
      setMode(world, "strict")
      assert.include((await kiwi("run", "tool", tool)).stderr, "LOCK_MISMATCH")
      assert.isFalse(fs.existsSync(at.canary))
    }
    await world.close()
  }
  for (const [index, one] of checkouts.entries()) {
    it(one.what, () => asked(one, index === 0 ? ["warn", "strict", "off"] : ["warn"]), 120_000)
  }
})
