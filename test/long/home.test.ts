// A clone that brings folders named as Kiwi's own could be named by mistake: what a client's configuration leaves
// unexpanded, what counts from the working directory, what an empty HOME stands for. Nothing of it is taken as Kiwi's.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { version } from "../../src/programs/version.ts"
import { kiwi } from "../support/builtKiwi.ts"
import { findOldNode } from "../support/realParts.ts"

const key = "A".repeat(43)
const nobody = 65_534

let root: string
let clone: string
let person: string
beforeEach(() => {
  root = fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), "kiwi-home-")))
  clone = join(root, "clone")
  person = join(root, "person")
  fs.mkdirSync(join(person, ".kiwi"), { recursive: true, mode: 0o700 })
  // As an attacker would guess them: every name that a variable below could be taken for, literally.
  for (
    const place of [
      "~/.kiwi-work",
      "~",
      "~/.kiwi",
      ".kiwi",
      "relative",
      "relative/.kiwi",
      "x",
      "",
      "a/b",
      "$HOME/.kiwi",
      "~bob/.kiwi"
    ]
  ) plant(join(clone, place))
  plantTool(join(clone, ".ai"), "planted_in_ai")
  plantTool(join(clone, "~/.ai"), "planted_in_tilde")
  plantTool(join(clone, "mine"), "planted_in_mine")
  fs.mkdirSync(join(clone, ".nvm/versions/node/v24.99.0/bin"), { recursive: true })
  fs.writeFileSync(
    join(clone, ".nvm/versions/node/v24.99.0/bin/node"),
    `#!/bin/sh\necho v24.99.0\ntouch "${join(root, "ran")}"\n`,
    { mode: 0o755 }
  )
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

/** A home as Kiwi would believe it: the modes are right, an identity is there, and compiled code has its folder. */
const plant = (home: string) => {
  fs.mkdirSync(join(home, "cache/compiled"), { recursive: true })
  for (const each of [home, join(home, "cache"), join(home, "cache/compiled")]) fs.chmodSync(each, 0o700)
  fs.writeFileSync(
    join(home, "identity.json"),
    JSON.stringify({ version: 1, keyId: "planted", publicKey: key, place: "file" }),
    { mode: 0o600 }
  )
}

const plantTool = (space: string, id: string) => {
  fs.mkdirSync(join(space, "tools"), { recursive: true })
  fs.writeFileSync(join(space, "tools", `${id}.yaml`), `version: "1.0.0"\ntool_type: script\nexecutor: bash_runtime\n`)
}

const treeOf = (folder: string) =>
  fs.readdirSync(folder, { recursive: true }).map(String).filter((name) => !name.startsWith(".ai")).toSorted()

interface Attempt {
  readonly env: Record<string, string | undefined>
  readonly cwd?: () => string
  readonly node?: string
  readonly uid?: number
}

const run = (args: ReadonlyArray<string>, { cwd = () => clone, env, node = process.execPath, uid }: Attempt) => {
  const { status, stderr, stdout } = spawnSync(node, [kiwi, ...args], {
    cwd: cwd(),
    encoding: "utf8",
    env: { PATH: dirname(process.execPath), KIWI_KEYCHAIN: "off", HOME: person, ...env },
    ...(uid === undefined ? {} : { uid, gid: uid })
  })
  return { status, said: stdout + stderr }
}

/** Long enough that no file system has it, short enough for an environment. */
const veryLong = "x/".repeat(10_000)

const attempts: ReadonlyArray<readonly [name: string, env: Record<string, string | undefined>]> = [
  ["KIWI_HOME as a client's JSON leaves it", { KIWI_HOME: "~/.kiwi-work" }],
  ["KIWI_HOME=~", { KIWI_HOME: "~" }],
  ["KIWI_HOME relative", { KIWI_HOME: "relative" }],
  ["KIWI_HOME=./x", { KIWI_HOME: "./x" }],
  ["KIWI_HOME=.", { KIWI_HOME: "." }],
  ["KIWI_HOME=a/../relative/", { KIWI_HOME: "a/../relative/" }],
  ["KIWI_HOME=a//b/", { KIWI_HOME: "a//b/" }],
  ["KIWI_HOME of somebody else", { KIWI_HOME: "~bob/.kiwi" }],
  ["KIWI_HOME with a variable in it", { KIWI_HOME: "$HOME/.kiwi" }],
  ["KIWI_HOME with a line break", { KIWI_HOME: "relative\n" }],
  ["KIWI_HOME empty", { KIWI_HOME: "" }],
  ["KIWI_HOME blank", { KIWI_HOME: "  " }],
  ["KIWI_HOME very long", { KIWI_HOME: veryLong }],
  ["HOME empty", { HOME: "" }],
  ["HOME=.", { HOME: "." }],
  ["HOME=~", { HOME: "~" }],
  ["HOME relative", { HOME: "relative" }],
  ["HOME not set", { HOME: undefined }],
  ["HOME empty, KIWI_HOME relative", { HOME: "", KIWI_HOME: "relative" }],
  ["HOME with a slash at its end", { HOME: "PERSON/" }],
  ["HOME with dots in it", { HOME: "PERSON/../person" }],
  ["USER_SPACE relative", { USER_SPACE: "mine" }],
  ["USER_SPACE as a client's JSON leaves it", { USER_SPACE: "~/.ai" }],
  ["USER_SPACE=./mine", { USER_SPACE: "./mine" }]
]

/** The half of them that reach furthest. */
const shortly = attempts.filter((_, index) => index % 2 === 0)

const filled = (env: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value?.replace("PERSON", person)]))

/** Where HOME says nothing, home is what the system's list says: this machine's own, which a test leaves alone. */
const looks = ({ env }: Attempt) =>
  "HOME" in env && !env["HOME"]?.startsWith("/")
    ? [["--version"]]
    : "USER_SPACE" in env
    ? [["search", "planted", "--json"]]
    : [["--version"], ["identity", "--json"]]

const holds = (name: string, attempt: Attempt) => {
  const before = treeOf(clone)
  for (const args of looks(attempt)) {
    const { said, status } = run(args, attempt)
    assert.notInclude(said, key, name)
    assert.notMatch(said, /planted_in_(?:tilde|mine)|"tier":\s*"user"/, `${name}\n${said}`)
    assert.notMatch(said, /\n\s+at |node:internal/, `${name}\n${said}`)
    if (args[0] === "--version") {
      assert.deepStrictEqual({ status, said }, { status: 0, said: `kiwi ${version}\n` }, name)
    }
  }
  assert.deepStrictEqual(treeOf(clone), before, name)
  assert.isFalse(fs.existsSync(join(root, "ran")), name)
}

describe("in a clone that brings Kiwi's folders", () => {
  it.each(attempts)("%s", (name, env) => {
    holds(name, { env: filled(env) })
  })

  it("says which variable is wrong, and what to do", () => {
    for (const [KIWI_HOME, issue] of [["~bob/x", "~ and a name"], ["$HOME/x", "no shell"], ["a\nb", "control"]]) {
      const { said, status } = run(["identity"], { env: { KIWI_HOME } })
      assert.strictEqual(status, 1)
      assert.match(said, /error\[HOME_REFUSED\]: KIWI_HOME /)
      assert.include(said, issue!)
      assert.include(said, "hint: Set KIWI_HOME to an absolute path")
    }
    const served = run(["serve"], { env: { USER_SPACE: "~bob/x" } })
    assert.strictEqual(served.status, 1)
    assert.match(served.said, /error\[HOME_REFUSED\]: USER_SPACE /)
  })

  it("believes no file and no link in the place of its home", () => {
    fs.writeFileSync(join(person, "file"), "")
    fs.symlinkSync(join(clone, "relative"), join(person, "link"))
    for (const KIWI_HOME of ["file", "link"]) {
      const before = treeOf(clone)
      assert.strictEqual(run(["--version"], { env: { KIWI_HOME } }).said, `kiwi ${version}\n`)
      assert.deepStrictEqual(treeOf(clone), before, KIWI_HOME)
    }
  })

  it.skipIf(findOldNode() === undefined)("from a Node that is too old", () => {
    for (const [name, env] of shortly) holds(name, { env: filled(env), node: findOldNode()! })
    holds("NODE_COMPILE_CACHE relative", {
      env: { NODE_COMPILE_CACHE: "relative/cache/compiled" },
      node: findOldNode()!
    })
    for (const folder of ["NVM_DIR", "FNM_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "VOLTA_HOME"]) {
      holds(folder, { env: { PATH: "", [folder]: ".nvm" }, node: findOldNode()! })
    }
  })

  it.skipIf(process.getuid?.() !== 0)("as an ordinary user", () => {
    spawnSync("chown", ["-R", `${nobody}:${nobody}`, root])
    for (const [name, env] of shortly) holds(name, { env: filled(env), uid: nobody })
  })
})

describe("compiled code", () => {
  const compiled = (home: string) =>
    fs.existsSync(join(home, "cache/compiled"))
      ? fs.readdirSync(join(home, "cache/compiled"), { recursive: true }).length
      : 0
  const start = (env: Record<string, string>, cwd = person) => {
    const { said, status } = run(["--version"], { env, cwd: () => cwd })
    assert.deepStrictEqual({ status, said }, { status: 0, said: `kiwi ${version}\n` })
  }

  it("is kept in Kiwi's home, once there is one", () => {
    const home = join(person, "made")
    start({ KIWI_HOME: home })
    assert.isFalse(fs.existsSync(home), "the start does not make it")
    for (
      const [KIWI_HOME, place] of [[home, home], ["~/tilde", join(person, "tilde")], ["plain", join(person, "plain")]]
    ) {
      fs.mkdirSync(place!, { mode: 0o700 })
      start({ KIWI_HOME: KIWI_HOME! })
      assert.isAbove(compiled(place!), 1, KIWI_HOME)
    }
    start({})
    assert.isAbove(compiled(join(person, ".kiwi")), 1)
  })

  const doubtful: ReadonlyArray<readonly [string, (home: string) => void]> = [
    ["a home that others can write", (home) => fs.chmodSync(home, 0o777)],
    ["a home that a group can write", (home) => fs.chmodSync(home, 0o770)],
    ["a cache that others can write", (home) => {
      fs.mkdirSync(join(home, "cache"))
      fs.chmodSync(join(home, "cache"), 0o777)
    }],
    ["a folder of compiled code that others can write", (home) => {
      fs.mkdirSync(join(home, "cache/compiled"), { recursive: true })
      fs.chmodSync(join(home, "cache/compiled"), 0o777)
    }],
    ["a link in the place of the home", (home) => {
      fs.renameSync(home, `${home}-real`)
      fs.symlinkSync(`${home}-real`, home)
    }],
    ["a link above the home", (home) => {
      fs.renameSync(dirname(home), `${dirname(home)}-real`)
      fs.symlinkSync(`${dirname(home)}-real`, dirname(home))
    }],
    ["a link below it", (home) => {
      fs.mkdirSync(join(dirname(home), "elsewhere"), { mode: 0o700 })
      fs.mkdirSync(join(home, "cache"), { mode: 0o700 })
      fs.symlinkSync(join(dirname(home), "elsewhere"), join(home, "cache/compiled"))
    }],
    ["a home below a folder that others can write", (home) => fs.chmodSync(dirname(home), 0o777)],
    ["a home in a project", (home) => fs.mkdirSync(join(dirname(home), ".ai"))],
    ["a home in a project further up", (home) => fs.mkdirSync(join(dirname(dirname(home)), ".ai"))],
    ["a home in a checkout", (home) => fs.mkdirSync(join(dirname(home), ".git"))],
    ["a home in a work tree", (home) => fs.writeFileSync(join(dirname(home), ".git"), "gitdir: elsewhere")],
    ["a home that is a checkout", (home) => fs.mkdirSync(join(home, ".git"))],
    ["a file in the place of the home", (home) => {
      fs.rmdirSync(home)
      fs.writeFileSync(home, "")
    }]
  ]

  it.each(doubtful)("is not kept in %s", (_, prepare) => {
    const home = join(person, "a/b/home")
    fs.mkdirSync(home, { recursive: true, mode: 0o700 })
    prepare(home)
    start({ KIWI_HOME: home })
    const kept = spawnSync("find", [join(person, ".."), "-path", "*compiled*", "-type", "f"], { encoding: "utf8" })
    assert.strictEqual(kept.stdout, "")
    assert.strictEqual(
      spawnSync("find", ["-L", join(person, "a"), "-path", "*elsewhere/*", "-type", "f"], { encoding: "utf8" }).stdout,
      ""
    )
  })

  it.skipIf(process.getuid?.() !== 0)("is not kept in a home, or below a folder, of another user", () => {
    for (const name of ["home", "above"]) {
      const home = join(person, name, "home")
      fs.mkdirSync(home, { recursive: true, mode: 0o700 })
      fs.chownSync(name === "home" ? home : dirname(home), nobody, nobody)
      start({ KIWI_HOME: home })
      assert.strictEqual(compiled(home), 0, name)
    }
  })
})
