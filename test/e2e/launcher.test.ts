import { assert, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { version } from "../../src/programs/version.ts"
import { describeWith, findOldNode } from "../support/realParts.ts"

const root = new URL("../../", import.meta.url).pathname
const launcher = join(root, "bin/kiwi.cjs")

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kiwi-launcher-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (path: string, content: string, mode = 0o644) => {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  chmodSync(file, mode)
  return file
}

/** An installed copy whose program is the given text, with no `node` package beside it. */
const install = (program: string) => {
  mkdirSync(join(folder, "kiwi/bin"), { recursive: true })
  copyFileSync(launcher, join(folder, "kiwi/bin/kiwi.cjs"))
  write("kiwi/package.json", `{ "type": "module" }`)
  write("kiwi/dist/bin/start.js", program)
  return join(folder, "kiwi/bin/kiwi.cjs")
}

/** This Node, believing that it is Node 18. */
const old = () => [
  "--require",
  write("old.cjs", `Object.defineProperty(process.versions, "node", { value: "18.20.0" })`)
]

const env = (more: Record<string, string> = {}) => ({ HOME: folder, PATH: join(folder, "none"), ...more })

const run = (args: ReadonlyArray<string>, more?: Record<string, string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: "utf8",
    env: env(more)
  })
  return { status, stderr, stdout }
}

const printsItself = `console.log(JSON.stringify({ by: process.execPath, args: process.argv.slice(2) }))`

describe("on a Node that is new enough", () => {
  it("runs the program in this process", () => {
    const { status, stderr, stdout } = run([install(printsItself), "a", "--b=c d"])
    assert.deepStrictEqual({ status, stderr }, { status: 0, stderr: "" })
    assert.deepStrictEqual(JSON.parse(stdout), { by: process.execPath, args: ["a", "--b=c d"] })
  })

  it("says what is wrong with a copy that was not built", () => {
    const kiwi = install(printsItself)
    rmSync(join(folder, "kiwi/dist"), { recursive: true })
    const { status, stderr } = run([kiwi])
    assert.strictEqual(status, 1)
    assert.include(stderr, "dist/bin/start.js is missing")
    assert.include(stderr, "npm run build")
  })

  it("does not hide an error of the program itself", () => {
    const { status, stderr } = run([install(`import "./gone.js"`)])
    assert.strictEqual(status, 1)
    assert.include(stderr, "gone.js")
  })
})

describe("on a Node that is too old", () => {
  const link = (path: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(process.execPath, join(folder, path))
  }

  const startedBy = (more?: Record<string, string>) => {
    // The launcher starts whatever it found by that name, so the program sees the name.
    const { status, stderr, stdout } = run(
      [...old(), install(`console.log(process.argv0)`)],
      more
    )
    assert.deepStrictEqual({ status, stderr }, { status: 0, stderr: "" })
    return stdout.trim()
  }

  it("says what to install, and fails", () => {
    const { status, stderr, stdout } = run([...old(), install(printsItself)])
    assert.deepStrictEqual({ status, stdout }, { status: 1, stdout: "" })
    assert.include(stderr, "needs Node 24 or newer; this is Node 18.20.0")
    assert.include(stderr, "nvm install 24")
  })

  it("prefers the node package beside it, then PATH, then a version manager", () => {
    link(".nvm/versions/node/v24.3.0/bin/node")
    assert.strictEqual(startedBy(), join(folder, ".nvm/versions/node/v24.3.0/bin/node"))
    link("path/node")
    assert.strictEqual(startedBy({ PATH: join(folder, "path") }), join(folder, "path/node"))
    link("node/bin/node")
    assert.strictEqual(startedBy({ PATH: join(folder, "path") }), join(folder, "node/bin/node"))
  })

  it("takes a version manager's newest that really runs", () => {
    for (const name of ["v9.9.9", "v20.19.0", "v24.9.0", "v24.10.0"]) link(`.nvm/versions/node/${name}/bin/node`)
    write(".nvm/versions/node/v25.0.0/bin/node", "#!/bin/sh\nexit 3\n", 0o755)
    assert.strictEqual(startedBy(), join(folder, ".nvm/versions/node/v24.10.0/bin/node"))
  })

  it.each([
    ["fnm", "FNM_DIR", "node-versions/v24.1.0/installation/bin/node"],
    ["asdf", "ASDF_DATA_DIR", "installs/nodejs/24.1.0/bin/node"],
    ["mise", "MISE_DATA_DIR", "installs/node/24.1.0/bin/node"],
    ["volta", "VOLTA_HOME", "tools/image/node/24.1.0/bin/node"]
  ])("knows where %s keeps its versions", (name, variable, file) => {
    link(join(name, file))
    assert.strictEqual(startedBy({ [variable]: join(folder, name) }), join(folder, name, file))
  })

  it("does not believe a folder that is named relative to where it was started", () => {
    write("here/node", `#!/bin/sh\necho v24.0.0\ntouch "${join(folder, "ran")}"\n`, 0o755)
    for (const PATH of ["here", ".:./here", ""]) {
      assert.strictEqual(run([...old(), install(printsItself)], { PATH }).status, 1, PATH)
    }
    assert.isFalse(existsSync(join(folder, "ran")))
  })

  it("takes no program that a project, a package or another user brings", () => {
    const program = `#!/bin/sh\necho v24.0.0\necho ran >> "${join(folder, "ran")}"\n`
    const kiwi = install(printsItself)
    const own = write("own/none", "")
    mkdirSync(join(folder, "clone/.git"), { recursive: true })
    for (
      const place of ["clone", "clone/bin", "clone/a/node_modules/.bin", "b/node_modules/.bin", "open", "above/bin"]
    ) {
      write(`${place}/node`, program, 0o755)
    }
    for (const name of ["nvm/versions/node/v25.0.0/bin", "volta/tools/image/node/25.0.0/bin"]) {
      write(`clone/${name}/node`, program, 0o755)
    }
    chmodSync(join(folder, "open"), 0o777)
    chmodSync(join(folder, "above"), 0o777)
    symlinkSync(join(folder, "clone/bin"), join(folder, "linked"))
    mkdirSync(join(folder, "programs"))
    symlinkSync(join(folder, "clone/bin/node"), join(folder, "programs/node"))
    const entries = ["clone", "clone/bin", "clone/a/node_modules/.bin", "b/node_modules/.bin", "open", "above/bin"]
      .concat("linked", "programs", "clone/a/../bin")
      .map((entry) => join(folder, entry))
    for (const HOME of [folder, "", ".", join(folder, "own")]) {
      const { status } = spawnSync(process.execPath, [...old(), kiwi], {
        cwd: join(folder, "clone/a"),
        encoding: "utf8",
        env: {
          HOME,
          PATH: [...entries, dirname(own), ".", "", "bin"].join(":"),
          NVM_DIR: join(folder, "clone/nvm"),
          VOLTA_HOME: "../volta"
        }
      })
      assert.strictEqual(status, 1, HOME)
      assert.isFalse(existsSync(join(folder, "ran")), HOME)
    }
  })

  it("asks a program for its version with nothing of the environment", () => {
    const asked = join(folder, "asked")
    write("path/node", `#!/bin/sh\n{ pwd; env; } > "${asked}"\nexit 1\n`, 0o755)
    run([...old(), install(printsItself)], { PATH: join(folder, "path"), BASH_ENV: "/none", LD_LIBRARY_PATH: "/none" })
    assert.deepStrictEqual(
      readFileSync(asked, "utf8").trim().split("\n").filter((line) => !/^(PWD|_|SHLVL|OLDPWD|PATH)=/.test(line)),
      ["/"]
    )
  })

  it("looks in no version manager's folder that is named relative to where it was started", () => {
    write(".nvm/versions/node/v24.9.0/bin/node", `#!/bin/sh\necho v24.9.0\ntouch "${join(folder, "ran")}"\n`, 0o755)
    for (
      const more of [
        { HOME: "" },
        { HOME: "." },
        { HOME: "./" },
        { HOME: "~" },
        ...["NVM_DIR", "FNM_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "VOLTA_HOME"].map((name) => ({
          HOME: "/nowhere",
          [name]: ".nvm"
        }))
      ]
    ) assert.strictEqual(run([...old(), install(printsItself)], more).status, 1, JSON.stringify(more))
    assert.isFalse(existsSync(join(folder, "ran")))
  })

  it("hands no relative folder of compiled code over", () => {
    link("path/node")
    const kiwi = install(`console.log(String(process.env.NODE_COMPILE_CACHE))`)
    for (const [given, got] of [["cache", "undefined"], ["~/cache", "undefined"], [folder, folder]] as const) {
      const { stdout } = run([...old(), kiwi], { PATH: join(folder, "path"), NODE_COMPILE_CACHE: given })
      assert.strictEqual(stdout.trim(), got)
    }
  })

  it("hands over arguments, input, output and the exit code", () => {
    link("path/node")
    const kiwi = install(`process.stdin.pipe(process.stderr); console.log(process.argv[2]); process.exitCode = 7`)
    const { status, stderr, stdout } = spawnSync(process.execPath, [...old(), kiwi, "--x=a b"], {
      cwd: folder,
      encoding: "utf8",
      env: env({ PATH: join(folder, "path") }),
      input: "through"
    })
    assert.deepStrictEqual({ status, stderr, stdout }, { status: 7, stderr: "through", stdout: "--x=a b\n" })
  })

  const signalled = (program: string, signal: NodeJS.Signals) =>
    new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
      link("path/node")
      const child = spawn(process.execPath, [...old(), install(program)], {
        cwd: folder,
        env: env({ PATH: join(folder, "path") }),
        stdio: ["ignore", "pipe", "inherit"]
      })
      child.stdout.once("data", () => child.kill(signal))
      child.once("error", reject)
      child.once("exit", (code, by) => resolve({ code, signal: by }))
    })

  it("passes a signal on, and lets the program end in its own way", async () => {
    const program = `process.on("SIGTERM", () => process.exit(5)); setInterval(() => {}, 1000); console.log("up")`
    assert.deepStrictEqual(await signalled(program, "SIGTERM"), { code: 5, signal: null })
  })

  it("dies of the signal that the program died of", async () => {
    const program = `setInterval(() => {}, 1000); console.log("up")`
    assert.deepStrictEqual(await signalled(program, "SIGTERM"), { code: null, signal: "SIGTERM" })
  })
})

describeWith(["oldNode"], "the launcher on an old Node of this machine", () => {
  it("runs the built program on the newer Node of this project", () => {
    const { status, stdout } = spawnSync(findOldNode()!, [launcher, "--version"], { encoding: "utf8" })
    assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: `kiwi ${version}\n` })
  })
})
