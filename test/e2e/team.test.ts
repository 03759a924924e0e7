// A team's first day, as docs/trust.md tells it: two people with a home and a key each, one repository, a tool from each,
// a change by the other, two branches, a merge, and CI. The built program, by commands.
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { makeWorld, type World } from "../support/builtKiwi.ts"
import { person } from "../support/person.ts"

const tool = (name: string, says: string, version = "1.0.0") =>
  `#!/usr/bin/env bash
# kiwi:
#   version: "${version}"
#   tool_type: bash
#   executor_id: bash_runtime
#   description: ${name}
echo "${says}"
`

interface Member {
  readonly name: string
  readonly world: World
  readonly clone: string
  readonly kiwi: (...args: ReadonlyArray<string>) => Promise<{ readonly code: number | null; readonly text: string }>
  readonly git: (...args: ReadonlyArray<string>) => string
  readonly write: (path: string, text: string) => void
}

const closing: Array<() => Promise<unknown>> = []
afterAll(async () => {
  for (const close of closing) await close()
})

/** A person on a machine of their own, whose key has a passphrase: setting the variable is how they act here. */
const member = (name: string, remote: string): Member => {
  const world = makeWorld()
  closing.push(() => world.close())
  const clone = join(world.root, "shop")
  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("git", ["-c", `user.name=${name}`, "-c", `user.email=${name}@example.com`, ...args], {
      cwd: fs.existsSync(clone) ? clone : world.root,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "", HOME: world.root, GIT_CONFIG_NOSYSTEM: "1" },
      stdio: ["ignore", "pipe", "pipe"]
    })
  git("clone", "-q", remote, clone)
  return {
    name,
    world,
    clone,
    git,
    kiwi: async (...args) => {
      const place = args[0] === "init" ? [clone] : ["--project", clone]
      const { code, stderr, stdout } = await world.run([...args, ...place], person)
      return { code, text: `${stdout}\n${stderr}` }
    },
    write: (path, text) => {
      fs.mkdirSync(join(clone, path, ".."), { recursive: true })
      fs.writeFileSync(join(clone, path), text)
    }
  }
}

const done = async (step: Promise<{ readonly code: number | null; readonly text: string }>) => {
  const { code, text } = await step
  assert.strictEqual(code, 0, text)
  return text
}

const refused = async (step: Promise<{ readonly code: number | null; readonly text: string }>) => {
  const { code, text } = await step
  assert.strictEqual(code, 1, text)
  return text
}

describe("a team's first day", () => {
  let ada: Member
  let bob: Member
  let remote: string

  beforeAll(() => {
    const world = makeWorld()
    closing.push(() => world.close())
    remote = join(world.root, "shop.git")
    execFileSync("git", ["init", "-q", "--bare", "-b", "main", remote])
    ada = member("Ada", remote)
  })

  it("Ada makes the project, proposes her key and pushes", async () => {
    await done(ada.kiwi("init"))
    ada.write(".ai/tools/hello.sh", tool("Hello", "hello from Ada"))
    await done(ada.kiwi("sign", "tool", "hello", "--yes"))
    await done(ada.kiwi("trust", "propose", "--yes"))
    assert.include(await done(ada.kiwi("run", "tool", "hello")), "hello from Ada")
    ada.git("add", "-A")
    ada.git("commit", "-qm", "Start")
    ada.git("branch", "-M", "main")
    ada.git("push", "-qu", "origin", "main")
  })

  it("Bob clones it, trusts the project, and Ada's tool says what is missing until he says so", async () => {
    bob = member("Bob", remote)
    assert.include(await refused(bob.kiwi("run", "tool", "hello")), "PROJECT_RESTRICTED")
    await done(bob.kiwi("trust", "project", "--yes"))
    const text = await refused(bob.kiwi("run", "tool", "hello"))
    assert.include(text, "PERMISSION_DENIED")
    assert.match(text, /kiwi trust add [\w-]{43} --name \S+ --as me/)
    const [name] = /(?<=^ {2}- name: ).*$/m.exec(fs.readFileSync(join(bob.clone, ".ai/config/trust.yaml"), "utf8")) ??
      []
    await done(bob.kiwi("trust", "add", name!, "--as", "me", "--yes"))
    assert.include(await done(bob.kiwi("run", "tool", "hello")), "hello from Ada")
    assert.include(await done(bob.kiwi("trust", "list")), "as you, in this project")
  })

  it("Bob adds a tool and his key on a branch, Ada changes hers on another, and both are merged", async () => {
    bob.git("checkout", "-qb", "bob")
    const identity = await done(bob.kiwi("identity"))
    assert.match(identity, /a teammate types.*:\n {2}kiwi trust add [\w-]{43} --name \S+ --as me\n/)
    await done(bob.kiwi("trust", "propose", "--yes"))
    bob.write(".ai/tools/bye.sh", tool("Bye", "bye from Bob"))
    await done(bob.kiwi("sign", "tool", "bye", "--yes"))
    bob.git("add", "-A")
    bob.git("commit", "-qm", "A tool of Bob's")
    bob.git("push", "-q", "origin", "bob")

    ada.git("checkout", "-qb", "ada")
    ada.write(".ai/tools/hello.sh", tool("Hello", "hello again", "1.1.0"))
    await done(ada.kiwi("sign", "tool", "hello", "--yes"))
    ada.git("add", "-A")
    ada.git("commit", "-qm", "Say it again")
    ada.git("checkout", "-q", "main")
    ada.git("merge", "-q", "--no-edit", "ada")
    ada.git("fetch", "-q")
    ada.git("merge", "-q", "--no-edit", "origin/bob")
    ada.git("push", "-q", "origin", "main")
  })

  it("Ada accepts the new trust.yaml and lets what Bob signs run", async () => {
    assert.include(await done(ada.kiwi("run", "tool", "hello")), "hello again")
    const changed = await refused(ada.kiwi("run", "tool", "bye"))
    assert.include(changed, "SIGNER_UNTRUSTED")
    assert.include(changed, "trust.yaml is not as you accepted it")
    assert.include(changed, "hint: kiwi trust project")
    assert.include(
      await refused(ada.kiwi("trust", "add", "Nobody", "--as", "me", "--yes")),
      "is not as you accepted it"
    )
    await done(ada.kiwi("trust", "project", "--yes"))
    const text = await refused(ada.kiwi("run", "tool", "bye"))
    const [, key] = /kiwi trust add ([\w-]{43})/.exec(text) ?? []
    await done(ada.kiwi("trust", "add", key!, "--as", "me", "--yes"))
    assert.include(await done(ada.kiwi("run", "tool", "bye")), "bye from Bob")
  })

  it("Bob changes Ada's tool; it runs for both", async () => {
    bob.git("checkout", "-q", "main")
    bob.git("pull", "-q", "--ff-only")
    const theirs = fs.readFileSync(join(bob.clone, ".ai/tools/hello.sh"), "utf8")
    bob.write(".ai/tools/hello.sh", theirs.replace("1.1.0", "1.2.0").replace("hello again", "hello from both"))
    assert.include(await refused(bob.kiwi("run", "tool", "hello")), "TAMPERED")
    await done(bob.kiwi("sign", "tool", "hello", "--yes"))
    assert.include(await done(bob.kiwi("run", "tool", "hello")), "hello from both")
    bob.git("commit", "-qam", "From both")
    bob.git("add", "-A")
    bob.git("commit", "-qm", "Locks", "--allow-empty")
    bob.git("push", "-q", "origin", "main")
    ada.git("pull", "-q", "--ff-only")
    assert.include(await done(ada.kiwi("run", "tool", "hello")), "hello from both")
  })

  it("both give one tool the same version: signing what was merged ends the conflict in its lock too", async () => {
    for (const [one, says] of [[ada, "from Ada's branch"], [bob, "from Bob's branch"]] as const) {
      one.git("checkout", "-qb", `${one.name}-same`)
      one.write(".ai/tools/hello.sh", tool("Hello", says, "1.3.0"))
      await done(one.kiwi("sign", "tool", "hello", "--yes"))
      one.git("add", "-A")
      one.git("commit", "-qm", says)
      one.git("push", "-q", "origin", `${one.name}-same`)
    }
    ada.git("fetch", "-q")
    assert.throws(() => ada.git("merge", "-q", "origin/Bob-same"))
    const conflicts = ada.git("diff", "--name-only", "--diff-filter=U").trim().split("\n")
    assert.deepStrictEqual(conflicts, [".ai/lockfiles/tools/hello@1.3.0.lock.json", ".ai/tools/hello.sh"])
    ada.write(".ai/tools/hello.sh", tool("Hello", "hello from the merge", "1.3.0"))
    await done(ada.kiwi("sign", "tool", "hello", "--yes"))
    ada.git("add", ".ai")
    ada.git("commit", "-qm", "Merge")
    assert.include(await done(ada.kiwi("run", "tool", "hello")), "hello from the merge")
    assert.match(await done(ada.kiwi("lockfile", "verify")), /held +project:lockfiles\/tools\/hello@1\.3\.0/)
    for (const one of [ada, bob]) one.git("checkout", "-q", "main")
  })

  it("CI proves a fresh clone by the signers that it was given", async () => {
    const ci = member("ci", remote)
    const trust = join(ci.world.root, "signers.yaml")
    fs.copyFileSync(join(ada.clone, ".ai/config/trust.yaml"), trust)
    await done(ci.kiwi("lockfile", "verify", "--frozen", "--trust", trust))
    ci.write(".ai/tools/hello.sh", tool("Hello", "hello from somebody else", "1.3.0"))
    await refused(ci.kiwi("lockfile", "verify", "--frozen", "--trust", trust))
  })

  it("what Bob signs stops running for Ada when she says so", async () => {
    const list = JSON.parse((await ada.world.run(["trust", "list", "--json", "--project", ada.clone])).stdout)
    const them = list.signers.find((signer: { readonly standing: string }) => signer.standing === "as you")
    await done(ada.kiwi("trust", "remove", them.key_id, "--yes"))
    assert.include(await refused(ada.kiwi("run", "tool", "bye")), "PERMISSION_DENIED")
  })
})
