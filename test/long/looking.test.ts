// Looking at an untrusted clone starts nothing that the clone brought. Every command that only looks is run once, from
// inside the clone, with all of it at the same time: every way of getting a program of the clone onto PATH, every
// variable that makes a program run another, and every file that a program reads where it is started. Whatever runs
// leaves its name, so a failure says which way it came.
import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, beforeEach } from "vitest"
import { kiwi, makeWorld, type World } from "../support/builtKiwi.ts"

/** What Kiwi, or a program that Kiwi starts, looks for by name. */
const names = `
  bash sh env python3 python git node ps less more cat uv pip pip3 npm npx secret-tool dbus-launch ldd uname
  which stty tput pyenv asdf mise claude
`.trim().split(/\s+/)

/** The ways onto PATH: what lies in the folder, and how it is named. */
const ways = (clone: string, outside: string): ReadonlyArray<readonly [folder: string, entry?: string]> => [
  [join(clone, "node_modules/.bin")],
  [join(clone, "here"), "."],
  [join(clone, "here"), ""],
  [join(clone, "here"), "here"],
  [join(clone, "here"), "./here/"],
  [join(clone, "tools/bin")],
  [join(clone, ".venv/bin")],
  [join(clone, ".ai/bin")],
  [join(clone, "dotted"), `${clone}/tools/../dotted`],
  [join(clone, "doubled"), `${clone}//doubled//`],
  [join(clone, "linked"), join(outside, "link")],
  [join(clone, "chained"), join(outside, "first")],
  [join(clone, "deep/a/b/c/bin"), join(outside, "parent/a/b/c/bin")],
  [join(outside, "other/node_modules/.bin")],
  [join(outside, "open")],
  [join(outside, "open-above/bin")],
  [join(outside, "programs")]
]

let world: World
let clone: string
let canary: string
let hostile: Record<string, string>

/** Runs it to its end, and says what it printed. */
const runHere = (args: ReadonlyArray<string>) =>
  new Promise<{ readonly pid: number | undefined; readonly code: number | null; readonly said: string }>((resolve) => {
    const child = spawn(process.execPath, [kiwi, ...args], {
      cwd: clone,
      env: { ...world.env, ...hostile, KIWI_KEYCHAIN: "" },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let said = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => said += data.toString())
    child.on("close", (code) => resolve({ pid: child.pid, code, said }))
  })

/** What ran beside the program itself, which obeys the variables of whoever starts it. */
const ranBeside = (self: number | undefined): ReadonlyArray<string> =>
  fs.existsSync(canary)
    ? fs.readFileSync(canary, "utf8").trim().split("\n").filter((line) => !line.startsWith(`${self} `))
    : []

const executable = (file: string, text: string): string => {
  fs.mkdirSync(dirname(file), { recursive: true })
  fs.writeFileSync(file, text, { mode: 0o755 })
  return file
}

beforeAll(() => {
  world = makeWorld()
  canary = join(world.root, "canary")
  clone = join(world.root, "clones/clone")
  const outside = join(world.root, "outside")
  fs.mkdirSync(outside)
  const folders = ways(clone, outside)
  const program = `#!/bin/sh\necho "$$ $0 $*" >> '${canary}'\nexit 1\n`
  for (const [folder] of folders) {
    if (folder.endsWith("/programs")) continue
    for (const name of names) executable(join(folder, name), program)
  }
  fs.symlinkSync(join(clone, "linked"), join(outside, "link"))
  fs.symlinkSync(join(outside, "second"), join(outside, "first"))
  fs.symlinkSync(join(clone, "chained"), join(outside, "second"))
  fs.symlinkSync(join(clone, "deep"), join(outside, "parent"))
  fs.chmodSync(join(outside, "open"), 0o777)
  fs.chmodSync(join(outside, "open-above"), 0o777)
  // A folder that is nobody's fault, with programs that are links into the clone.
  fs.mkdirSync(join(outside, "programs"))
  for (const name of names) fs.symlinkSync(join(clone, "tools/bin", name), join(outside, "programs", name))

  const evil = world.write(
    "clones/clone/evil.cjs",
    `require("node:fs").appendFileSync(${JSON.stringify(canary)}, process.pid + " evil.cjs " + process.argv + "\\n")\n`
  )
  const shell = executable(join(clone, "evil.sh"), `echo "$$ evil.sh $0" >> '${canary}'\n`)
  const module = `import os\nopen(${JSON.stringify(canary)}, "a").write(f"{os.getpid()} {__file__}\\n")\n`
  for (const name of ["sitecustomize", "usercustomize", "json", "ast", "os", "sys", "encodings/__init__"]) {
    world.write(`clones/clone/${name}.py`, module)
  }
  hostile = {
    PATH: [...folders.map(([folder, entry]) => entry ?? folder), world.env["PATH"]].join(":"),
    BASH_ENV: shell,
    ENV: shell,
    PS4: `$(${shell})`,
    SHELLOPTS: "xtrace",
    NODE_OPTIONS: `--require ${evil}`,
    NODE_PATH: clone,
    NAPI_RS_NATIVE_LIBRARY_PATH: evil,
    PYTHONPATH: clone,
    PYTHONSTARTUP: join(clone, "sitecustomize.py"),
    PYTHONUSERBASE: clone,
    GIT_DIR: join(clone, ".git"),
    GIT_EXEC_PATH: join(clone, "tools/bin"),
    GIT_PAGER: shell,
    GIT_EXTERNAL_DIFF: shell,
    GIT_SSH_COMMAND: shell,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: shell,
    PAGER: shell,
    LESSOPEN: `|${shell} %s`,
    EDITOR: shell,
    BROWSER: shell,
    DBUS_SESSION_BUS_ADDRESS: `unixexec:path=${shell}`,
    VIRTUAL_ENV: join(clone, ".venv"),
    npm_config_node_options: `--require ${evil}`,
    npm_config_script_shell: shell
  }

  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("/usr/bin/git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], {
      cwd: clone,
      stdio: "ignore"
    })
  world.write("clones/clone/.ai/tools/add.sh", `# kiwi:\n#   version: "1.0.0"\necho 1\n`)
  world.write("clones/clone/.ai/tools/math/sum.py", `"""Sum."""\n__version__ = "1.0.0"\nprint(1)\n`)
  git("init", "-q")
  git("add", ".ai")
  git("commit", "-q", "-m", "a")
  for (
    const hook of ["post-checkout", "post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman"]
  ) {
    executable(join(clone, ".git/hooks", hook), program)
  }
  fs.appendFileSync(
    join(clone, ".git/config"),
    `[core]\n\tfsmonitor = ${shell}\n\tpager = ${shell}\n\tsshCommand = ${shell}\n\teditor = ${shell}\n` +
      `[diff "x"]\n\ttextconv = ${shell}\n\tcommand = ${shell}\n[filter "x"]\n\tsmudge = ${shell}\n\tclean = ${shell}\n` +
      `[alias]\n\tls-tree = !${shell}\n[credential]\n\thelper = !${shell}\n[include]\n\tpath = ${clone}/more\n`
  )
  world.write("clones/clone/.gitattributes", "* diff=x filter=x\n")
  world.write("clones/clone/package.json", `{ "type": "module", "imports": { "#*": "./evil.cjs" } }`)
  world.write("clones/clone/.npmrc", `node-options=--require ${evil}\nscript-shell=${shell}\n`)
  world.write("clones/clone/bunfig.toml", `preload = ["./evil.cjs"]\n`)
  world.write("clones/clone/pyvenv.cfg", `home = ${clone}\n`)
  for (const file of [".node-version", ".nvmrc", ".python-version", ".tool-versions", ".envrc"]) {
    world.write(`clones/clone/${file}`, "nodejs 99\n")
  }
})

beforeEach(() => fs.rmSync(canary, { force: true }))
afterAll(() => world.close())

const looking: ReadonlyArray<ReadonlyArray<string>> = [
  ["--version"],
  ["--help"],
  ["help"],
  ["completions", "bash"],
  ["doctor"],
  ["doctor", "--json"],
  ["search", "add"],
  ["load", "tool", "add"],
  ["explain", "add"],
  ["explain", "sum"],
  ["chain", "add"],
  ["chain", "sum"],
  ["env", "explain", "add"],
  ["env", "explain", "sum"],
  ["logs"],
  ["audit", "verify"],
  ["audit", "show"],
  ["audit", "anchor"],
  ["lockfile", "list"],
  ["lockfile", "validate", "add"],
  ["lockfile", "verify"],
  ["lockfile", "verify", "--frozen"],
  ["lockfile", "verify", "--frozen", "--base", "HEAD"],
  ["trust", "list"],
  ["trust", "project"],
  ["identity", "show"],
  ["status"],
  ["serve", "--help"],
  ["env", "list"],
  ["init", "sub"],
  ["sign", "tool", "add", "--yes"],
  ["sign", "tool", "sum", "--yes"]
]

describe("in an untrusted clone", () => {
  for (const args of looking) {
    it(`kiwi ${args.join(" ")} runs nothing that it brought`, async () => {
      const { pid, said } = await runHere(args)
      assert.deepStrictEqual(ranBeside(pid), [])
      assert.notMatch(said, /^ {4}at .+:\d+:\d+\)?$/m)
    })
  }

  it("kiwi demo runs nothing that it brought, and plays to its end", async () => {
    const { code, pid, said } = await runHere(["demo"])
    assert.deepStrictEqual(ranBeside(pid), [])
    assert.strictEqual(code, 0, said)
  })
})
