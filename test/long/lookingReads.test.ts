// Looking at a clone ends soon, whatever stands in place of the files that Kiwi reads: a pipe that nobody writes to, a
// device without an end, a file larger than any disk, a folder of a hundred thousand names or a thousand folders deep.
import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import { createServer, type Server } from "node:net"
import { dirname, join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { kiwi, makeWorld, type World } from "../support/builtKiwi.ts"

const terabyte = 1024 ** 4

/** A bound for what hangs, not for what is slow. */
const patience = 60_000

const stack = /^ {4}at .+:\d+:\d+\)?$/m

let world: World
const servers: Array<Server> = []
beforeEach(() => {
  world = makeWorld()
})
afterEach(async () => {
  for (const server of servers.splice(0)) server.close()
  await world.close()
})

/** Everything that a project may bring and that Kiwi, or what it asks, opens. */
const places = `
  package.json pyproject.toml poetry.toml poetry.lock uv.toml .venv/pyvenv.cfg node_modules/node/package.json
  .nvmrc .node-version .python-version .ruby-version .tool-versions .env .env.local .env.production .ai/.env
  .ai/.gitignore .mcp.json .cursor/mcp.json .vscode/mcp.json .claude/settings.json .claude/skills/x/SKILL.md
  .ai/skills/x/SKILL.md .agents/skills/x/SKILL.md .ai/config/kiwi.yaml .ai/config/trust.yaml
  .ai/config/permissions.yaml .ai/config/mcp.yaml .ai/extractors/tool/x.yaml .ai/extractors/knowledge/x.yaml
  .ai/lockfiles/add@1.0.0.lock.json .ai/lockfiles/math/sum@1.0.0.lock.json .ai/lockfiles/index.json
  .ai/tools/bad.py .ai/tools/bad.sh .ai/tools/bad.yaml .ai/tools/math/sum.py.sig .ai/tools/folder/tool.yaml
  .ai/tools/other/data.bin .ai/directives/bad.md .ai/knowledge/bad.md .ai/scripts/.venv/pyvenv.cfg
  .ai/outputs/0123456789abcdef0123456789abcdef .ai/threads/a/transcript.jsonl
  .ai/logs/audit/2026-01-01/20260101T000000000Z-0123456789abcdef.jsonl .ai/logs/audit/loose.jsonl .git/config
  .git/HEAD .git/index .git/packed-refs .git/objects/info/alternates
`.trim().split(/\s+/)

const kinds: Readonly<Record<string, (file: string) => void>> = {
  "a pipe": (file) => void execFileSync("mkfifo", [file]),
  "a file of a terabyte": (file) => {
    fs.writeFileSync(file, "{")
    fs.truncateSync(file, terabyte)
  },
  "a link to /dev/zero": (file) => fs.symlinkSync("/dev/zero", file),
  "a link to /dev/random": (file) => fs.symlinkSync("/dev/random", file),
  "a link to the terminal": (file) => fs.symlinkSync("/dev/tty", file),
  "a link to standard input": (file) => fs.symlinkSync("/dev/stdin", file),
  "a link to a pipe outside": (file) => {
    const pipe = join(world.root, "pipe")
    if (!fs.existsSync(pipe)) execFileSync("mkfifo", [pipe])
    fs.symlinkSync(pipe, file)
  },
  "a link to itself": (file) => fs.symlinkSync(file, file),
  "a folder": (file) => void fs.mkdirSync(file),
  "a socket": (file) => {
    // A path of a socket may have a hundred characters.
    const short = join("/tmp", `kiwi-${process.pid}-${servers.length}`)
    servers.push(createServer().listen(short))
    execFileSync("sh", ["-c", `while [ ! -S ${short} ]; do :; done; mv ${short} "$0"`, file])
  },
  "a file of no bytes": (file) => fs.writeFileSync(file, ""),
  "a line of a hundred megabytes": (file) => {
    const one = join(world.root, "line")
    if (!fs.existsSync(one)) fs.writeFileSync(one, Buffer.alloc(100 * 1_048_576, "a"))
    fs.linkSync(one, file)
  }
}

const put = (root: string, kind: string): void => {
  for (const place of places) {
    const file = join(root, place)
    fs.rmSync(file, { recursive: true, force: true })
    fs.mkdirSync(dirname(file), { recursive: true })
    kinds[kind]!(file)
  }
}

const looking: ReadonlyArray<ReadonlyArray<string>> = [
  ["doctor", "--json"],
  ["search", "sum"],
  ["explain", "sum"],
  ["env", "explain", "sum"],
  ["logs"],
  ["audit", "verify"],
  ["lockfile", "validate", "sum"],
  ["lockfile", "verify", "--frozen", "--base", "HEAD"],
  ["trust", "project"],
  ["sign", "tool", "sum", "--yes"]
]

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly said: string
}

const runIn = (cwd: string, args: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}) =>
  new Promise<Ended>((resolve) => {
    const child = spawn(process.execPath, [kiwi, ...args], {
      cwd,
      env: { ...world.env, ...more },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let said = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => said += data.toString())
    const timer = setTimeout(() => child.kill("SIGKILL"), patience)
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, said })
    })
  })

const endsSoon = async (root: string): Promise<void> => {
  const hung: Array<string> = []
  for (const args of looking) {
    const { code, said } = await runIn(root, args)
    if (code === null || stack.test(said)) hung.push(`${args.join(" ")}: ${code} ${said.slice(-500)}`)
  }
  assert.deepStrictEqual(hung, [])
}

const writeClone = (): string => {
  world.write("clone/.ai/tools/math/sum.py", `"""Sum."""\n__version__ = "1.0.0"\nprint(1)\n`)
  return join(world.root, "clone")
}

describe("in a clone whose files are", () => {
  for (const kind of Object.keys(kinds)) {
    it(kind, { timeout: 300_000 }, async () => {
      const clone = writeClone()
      put(clone, kind)
      await endsSoon(clone)
    })
  }
})

describe("in a trusted project whose files became", () => {
  for (const kind of ["a pipe", "a file of a terabyte", "a link to /dev/zero"]) {
    it(kind, { timeout: 300_000 }, async () => {
      const project = await world.init()
      put(project, kind)
      await endsSoon(project)
    })
  }
})

describe("a folder", () => {
  /** Where Kiwi looks what there is. */
  const folders = [
    ".ai/tools/many",
    ".ai/config",
    ".ai/lockfiles",
    ".ai/logs/audit/2026-01-01",
    ".ai/scripts",
    ".claude/skills"
  ]
  const commands = [["doctor"], ["lockfile", "verify", "--frozen"]]

  it("of a hundred thousand names is looked at anywhere", { timeout: 600_000 }, async () => {
    const clone = writeClone()
    const many = join(world.root, "many")
    fs.mkdirSync(many)
    for (let i = 0; i < 100_000; i++) fs.closeSync(fs.openSync(join(many, `x${i}.jsonl`), "w"))
    for (const folder of folders) {
      const place = join(clone, folder)
      fs.rmSync(place, { recursive: true, force: true })
      fs.mkdirSync(dirname(place), { recursive: true })
      fs.renameSync(many, place)
      for (const args of commands) {
        const { code, said } = await runIn(clone, args)
        assert.isNotNull(code, `${folder}: ${args.join(" ")}`)
        assert.isBelow(said.length, 1_000_000, `${folder}: ${args.join(" ")}`)
        assert.notMatch(said, stack)
      }
      fs.renameSync(place, many)
    }
  })

  it("a thousand folders deep is looked at anywhere", { timeout: 600_000 }, async () => {
    const clone = writeClone()
    for (const folder of folders) {
      fs.mkdirSync(join(clone, folder, ...Array.from({ length: 1_000 }, () => "a")), { recursive: true })
    }
    await endsSoon(clone)
  })
})

describe("the audit", () => {
  const inProject = async () => {
    const project = await world.init()
    const audit = join(project, ".ai/logs/audit")
    const [day = ""] = fs.readdirSync(audit)
    const [file = ""] = fs.readdirSync(join(audit, day))
    return {
      project,
      file: join(audit, day, file),
      stranger: join(audit, day, `20260101T000000000Z-${"0".repeat(16)}.jsonl`)
    }
  }
  const inflated = "it is larger than its entries can be, and was not read"

  for (
    const [name, inflate] of [
      ["that Kiwi wrote", ({ file }) => fs.truncateSync(file, terabyte)],
      ["that Kiwi wrote, a little", ({ file }) => fs.truncateSync(file, 1024 ** 3)],
      ["of a stranger", ({ stranger }) => kinds["a file of a terabyte"]!(stranger)],
      ["of a stranger, with entries in it", ({ file, stranger }) => {
        fs.copyFileSync(file, stranger)
        fs.truncateSync(stranger, 2 * 1024 ** 3)
      }]
    ] as ReadonlyArray<readonly [string, (files: { readonly file: string; readonly stranger: string }) => void]>
  ) {
    it(`says that a file ${name} is too large, and does not read it`, async () => {
      const files = await inProject()
      inflate(files)
      const verified = await runIn(files.project, ["audit", "verify"])
      assert.strictEqual(verified.code, 1)
      assert.include(verified.said, inflated)
      assert.include((await runIn(files.project, ["doctor"])).said, "kiwi audit verify")
      assert.strictEqual((await runIn(files.project, ["logs"])).code, 0)
    })
  }

  it("of many large files is read up to a gigabyte", async () => {
    const { project, stranger } = await inProject()
    for (let i = 0; i < 20; i++) {
      const file = stranger.replace("0000.jsonl", `${i + 1000}.jsonl`)
      fs.writeFileSync(file, "")
      fs.truncateSync(file, 300 * 1_048_576)
    }
    const { said } = await runIn(project, ["audit", "verify"])
    assert.strictEqual(said.split(inflated).length - 1, 17)
  })

  for (const args of [["doctor"], ["audit", "verify"]]) {
    it(`lets Ctrl-C end kiwi ${args.join(" ")} while a file without lines is read`, async () => {
      const { project, stranger } = await inProject()
      fs.writeFileSync(stranger, "")
      fs.truncateSync(stranger, 1_000 * 1_048_576)
      const child = spawn(process.execPath, [kiwi, ...args], { cwd: project, env: world.env, stdio: "ignore" })
      const ended = new Promise<number | null>((resolve) => child.on("close", resolve))
      const isReading = () => {
        try {
          const folder = `/proc/${child.pid}/fd`
          return fs.readdirSync(folder).some((fd) => fs.readlinkSync(join(folder, fd)) === stranger)
        } catch {
          return false
        }
      }
      while (!isReading()) {
        assert.isNull(child.exitCode, "it ended before it read the file")
        await new Promise((resolve) => setImmediate(resolve))
      }
      const start = performance.now()
      child.kill("SIGINT")
      assert.strictEqual(await ended, 130)
      // Much less where nothing else runs; `test/layers/audit/lines.test.ts` shows it with a file without an end.
      assert.isBelow(performance.now() - start, 5_000)
    })
  }
})
