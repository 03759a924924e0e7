// Interpreters of a project that lie in the checkout around it: what a person was shown of them, something then changed.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join, relative } from "node:path"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { changedProgram, goneProgram, newProgram } from "../../../src/services/trust/ShownProgram.ts"
import { describeWith } from "../../support/realParts.ts"
import { systemProgram } from "../../support/systemProgram.ts"
import { temporary } from "../../support/temporary.ts"
import { agree, decisionFile, trustProject, worldIn } from "../../support/trustWorld.ts"

interface Place {
  readonly root: string
  /** Paths from here on are relative to the temporary folder: "mono" is the checkout, "mono/packages/a" the project. */
  readonly at: (path: string) => string
  readonly put: (path: string, text: string) => void
  /** A link, whatever was there before. `to` is relative to the temporary folder, and the link to its own. */
  readonly link: (path: string, to: string) => void
  readonly remove: (path: string) => void
}

const python = ".venv/bin/python"
const node = "node_modules/.bin/node"

const makePlace = (folder: string): Place => {
  const at = (path: string) => join(folder, path)
  const remove = (path: string) => fs.rmSync(at(path), { recursive: true, force: true })
  const make = (path: string) => fs.mkdirSync(dirname(at(path)), { recursive: true })
  return {
    root: at("mono/packages/a"),
    at,
    remove,
    put: (path, text) => {
      make(path)
      // A script would be refused, whatever a person was shown.
      const content = /(?:python[0-9.]*|node|one|two)$/.test(path) ? systemProgram + text : text
      fs.writeFileSync(at(path), content, { mode: 0o755, encoding: "latin1" })
    },
    link: (path, to) => {
      make(path)
      remove(path)
      fs.symlinkSync(relative(dirname(at(path)), at(to)), at(path))
    }
  }
}

const place = Effect.map(temporary, (folder) => {
  const found = makePlace(folder)
  for (const path of ["mono/.git", "mono/packages/a/.ai", "home"]) fs.mkdirSync(found.at(path), { recursive: true })
  found.put("machine/python3", "the machine's")
  return found
})

const layerOf = ({ at, root }: Place) => worldIn({ home: at("home"), root }).layer

const standingOf = (name: string) => ProjectTrust.use(({ interpreter }) => interpreter(name))

const environment = (folder: string, { put }: Place) => {
  put(`${folder}/pyvenv.cfg`, "home = /usr/bin\n")
  put(`${folder}/bin/python`, "as it was shown")
}

interface Attack {
  readonly what: string
  readonly name: string
  readonly make: (at: Place) => void
  readonly change: (at: Place) => void
}

const rootsEnvironment = (at: Place) => {
  environment("mono/.venv", at)
  at.link("mono/packages/a/.venv", "mono/.venv")
}
const onRoots = (what: string, change: Attack["change"]): Attack => ({
  what,
  name: python,
  make: rootsEnvironment,
  change
})
const rootsNode = (at: Place) => at.put("mono/node_modules/node/bin/node", "as it was shown")

const attacks: ReadonlyArray<Attack> = [
  onRoots("the root's python: other bytes", ({ put }) => put("mono/.venv/bin/python", "not as it was shown")),
  onRoots("the root's python: other bytes of the same size and time", ({ at, put }) => {
    const { atime, mtime } = fs.statSync(at("mono/.venv/bin/python"))
    put("mono/.venv/bin/python", "as it was evil ")
    fs.utimesSync(at("mono/.venv/bin/python"), atime, mtime)
  }),
  onRoots("the root's python: a link to a file of the root", ({ link, put }) => {
    put("mono/tools/python", "evil")
    link("mono/.venv/bin/python", "mono/tools/python")
  }),
  onRoots(
    "the root's python: a link out of the checkout",
    ({ link }) => link("mono/.venv/bin/python", "machine/python3")
  ),
  onRoots("the root's environment: another one by a link", ({ link, remove, ...at }) => {
    environment("mono/other", { link, remove, ...at })
    at.put("mono/other/bin/python", "evil")
    link("mono/.venv", "mono/other")
  }),
  onRoots("the root's environment: an own one in its place", (at) => {
    at.remove("mono/packages/a/.venv")
    environment("mono/packages/a/.venv", at)
  }),
  onRoots("the root's pyvenv.cfg", ({ put }) => put("mono/.venv/pyvenv.cfg", "home = ../lib\n")),
  onRoots("a pyvenv.cfg beside the root's python", ({ put }) => put("mono/.venv/bin/pyvenv.cfg", "home = ../lib\n")),
  onRoots("a ._pth beside the root's python", ({ put }) => put("mono/.venv/bin/python._pth", "../lib\n")),
  onRoots("no .git any more", ({ at, put }) => {
    fs.renameSync(at("mono/.git"), at("mono/git"))
    put("mono/.venv/bin/python", "evil")
  }),
  onRoots("a .git of the folder between", ({ at, put }) => {
    fs.mkdirSync(at("mono/packages/.git"))
    put("mono/.venv/bin/python", "evil")
  }),
  ...["venv", "env", ".ai/scripts/venv", ".ai/scripts/env"].flatMap((folder): ReadonlyArray<Attack> => {
    const inProject = `mono/packages/a/${folder}`
    const make = (at: Place) => environment(inProject, at)
    const name = `${folder}/bin/python`
    return [
      { what: `${folder}: other bytes`, name, make, change: ({ put }) => put(`${inProject}/bin/python`, "evil") },
      { what: `${folder}: its pyvenv.cfg`, name, make, change: ({ put }) => put(`${inProject}/pyvenv.cfg`, "home = x") }
    ]
  }),
  {
    what: "a sibling's python",
    name: python,
    make: (at) => {
      environment("mono/packages/b/.venv", at)
      at.link("mono/packages/a/.venv", "mono/packages/b/.venv")
    },
    change: ({ put }) => put("mono/packages/b/.venv/bin/python", "evil")
  },
  {
    what: "a python of the root's tools, by two links",
    name: python,
    make: ({ link, put }) => {
      put("mono/tools/python3.12", "as it was shown")
      link("mono/tools/python", "mono/tools/python3.12")
      link("mono/packages/a/.venv/bin/python", "mono/tools/python")
    },
    change: ({ put }) => put("mono/tools/python3.12", "evil")
  },
  {
    what: "a link in between",
    name: python,
    make: ({ link, put }) => {
      put("mono/tools/one", "as it was shown")
      put("mono/tools/two", "as it was shown")
      link("mono/tools/python", "mono/tools/one")
      link("mono/packages/a/.venv/bin/python", "mono/tools/python")
    },
    change: ({ link }) => link("mono/tools/python", "mono/tools/two")
  },
  {
    what: "the program in the home of pyvenv.cfg",
    name: python,
    make: ({ link, put }) => {
      put("mono/python/bin/python3", "as it was shown")
      put("mono/packages/a/.venv/pyvenv.cfg", "home = ../../../python/bin\n")
      link("mono/packages/a/.venv/bin/python", "machine/python3")
    },
    change: ({ put }) => put("mono/python/bin/python3", "evil")
  },
  {
    what: "the home of pyvenv.cfg, a link of the root",
    name: python,
    make: ({ at, link, put }) => {
      put("machine/one/python3", "one")
      put("machine/two/python3", "two")
      link("mono/python", "machine/one")
      put("mono/packages/a/.venv/pyvenv.cfg", `home = ${at("mono/python")}\n`)
      link("mono/packages/a/.venv/bin/python", "machine/python3")
    },
    change: ({ link }) => link("mono/python", "machine/two")
  },
  {
    what: "a program that appears in the home of pyvenv.cfg",
    name: python,
    make: ({ link, put }) => {
      put("mono/packages/a/.venv/pyvenv.cfg", "home = ../../../python/bin\n")
      link("mono/packages/a/.venv/bin/python", "machine/python3")
    },
    change: ({ put }) => put("mono/python/bin/python", "evil")
  },
  {
    what: "the root's Node by a link to its node_modules",
    name: node,
    make: (at) => {
      rootsNode(at)
      at.link("mono/node_modules/.bin/node", "mono/node_modules/node/bin/node")
      at.link("mono/packages/a/node_modules", "mono/node_modules")
    },
    change: ({ put }) => put("mono/node_modules/node/bin/node", "evil")
  },
  {
    what: "the root's Node by a link to the program",
    name: node,
    make: (at) => {
      rootsNode(at)
      at.link("mono/packages/a/node_modules/.bin/node", "mono/node_modules/node/bin/node")
    },
    change: ({ put }) => put("mono/node_modules/node/bin/node", "evil")
  },
  {
    what: "the root's Node where the root is told by its .ai",
    name: node,
    make: (at) => {
      rootsNode(at)
      at.remove("mono/.git")
      at.put("mono/.ai/README", "")
      at.link("mono/packages/a/node_modules/.bin/node", "mono/node_modules/node/bin/node")
    },
    change: ({ put }) => put("mono/node_modules/node/bin/node", "evil")
  },
  ...[".hg", ".jj", ".svn", ".bzr"].map((mark): Attack => ({
    what: `the root's python where the root is told by its ${mark}`,
    name: python,
    make: (at) => {
      at.remove("mono/.git")
      fs.mkdirSync(at.at(`mono/${mark}`))
      rootsEnvironment(at)
    },
    change: ({ put }) => put("mono/.venv/bin/python", "evil")
  })),
  {
    what: "a python of .ai/scripts that is the root's",
    name: ".ai/scripts/.venv/bin/python",
    make: (at) => {
      environment("mono/.venv", at)
      at.link("mono/packages/a/.ai/scripts/.venv", "mono/.venv")
    },
    change: ({ put }) => put("mono/.venv/bin/python", "evil")
  },
  {
    what: "a link that led nowhere, and leads to the root's now",
    name: python,
    make: ({ link }) => link(`mono/packages/a/${python}`, "mono/tools/python"),
    change: ({ put }) => put("mono/tools/python", "evil")
  },
  ...[".nvmrc", ".python-version", ".tool-versions"].map((file): Attack => ({
    what: `the root's ${file}`,
    name: `../../${file}`,
    make: ({ put }) => put(`mono/${file}`, "20\n"),
    change: ({ put }) => put(`mono/${file}`, "22\n")
  })),
  {
    what: "a version file of the folder between",
    name: "../.nvmrc",
    make: ({ put }) => put("mono/packages/.nvmrc", "20\n"),
    change: ({ put }) => put("mono/packages/.nvmrc", "22\n")
  },
  {
    what: "a version file that is the root's",
    name: ".nvmrc",
    make: ({ link, put }) => {
      put("mono/config/node", "20\n")
      link("mono/packages/a/.nvmrc", "mono/config/node")
    },
    change: ({ put }) => put("mono/config/node", "22\n")
  }
]

describe("an interpreter in the checkout around a project", () => {
  for (const { change, make, name, what } of attacks) {
    it.effect(`is told by its bytes: ${what}`, () =>
      Effect.gen(function*() {
        const at = yield* place
        make(at)
        yield* Effect.gen(function*() {
          yield* trustProject
          assert.strictEqual((yield* standingOf(name))._tag, "Shown")
          change(at)
          assert.deepStrictEqual(yield* standingOf(name), { _tag: "Changed", issue: changedProgram })
          const { unseen } = yield* ProjectTrust
          assert.deepStrictEqual(yield* unseen, [name])
          yield* trustProject
          assert.strictEqual((yield* standingOf(name))._tag, "Shown")
        }).pipe(Effect.provide(layerOf(at)))
      }))
  }

  it.effect("is shown with its path from the project and its digest", () =>
    Effect.gen(function*() {
      const at = yield* place
      rootsEnvironment(at)
      at.put("mono/.venv/bin/python", systemProgram)
      at.put("mono/.nvmrc", "20\n")
      yield* Effect.gen(function*() {
        const { effects } = yield* trustProject
        const all = effects.join("\n")
        assert.match(
          all,
          /run with \.venv\/bin\/python: \.\.\/\.\.\/\.venv\/bin\/python in the checkout around it, sha256 [0-9a-f]{12}; it reads \.\.\/\.\.\/\.venv\/pyvenv\.cfg in the checkout/
        )
        assert.include(all, `../../.nvmrc chooses the version of an interpreter; it says "20"`)
        const standing = yield* standingOf(python)
        assert.isTrue(standing._tag === "Shown")
        assert.match(JSON.stringify(standing), /"path":"\.\.\/\.\.\/\.venv\/bin\/python","sha256":"[0-9a-f]{64}"/)
      }).pipe(Effect.provide(layerOf(at)))
    }))

  it.effect("asks again where an older decision has it as outside the project", () =>
    Effect.gen(function*() {
      const at = yield* place
      rootsEnvironment(at)
      yield* Effect.andThen(trustProject, Effect.void).pipe(Effect.provide(layerOf(at)))
      const file = decisionFile(at.at("home"))
      const decision = JSON.parse(fs.readFileSync(file, "utf8"))
      decision.interpreters[0].files = [
        { path: at.at("mono/.venv/bin/python"), sha256: null },
        { path: at.at("mono/.venv/pyvenv.cfg"), sha256: null }
      ]
      fs.writeFileSync(file, JSON.stringify(decision))
      assert.strictEqual((yield* standingOf(python).pipe(Effect.provide(layerOf(at))))._tag, "Changed")
    }))

  it.effect("makes an answer void where it was replaced after the question was asked", () =>
    Effect.gen(function*() {
      const at = yield* place
      rootsEnvironment(at)
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const proposal = yield* trust.propose
        at.put("mono/.venv/bin/python", "evil")
        const refused = yield* Effect.flip(trust.accept(proposal, agree(proposal.request)))
        assert.include(refused.message, "changed since it was shown")
      }).pipe(Effect.provide(layerOf(at)))
    }))

  it.effect("is nobody's before it was shown: one that appears", () =>
    Effect.gen(function*() {
      const at = yield* place
      yield* Effect.gen(function*() {
        yield* trustProject
        rootsEnvironment(at)
        at.put("mono/.nvmrc", "20\n")
        for (const name of [python, "../../.nvmrc"]) {
          assert.deepStrictEqual(yield* standingOf(name), { _tag: "New", issue: newProgram })
        }
      }).pipe(Effect.provide(layerOf(at)))
    }))

  it.effect("is none in a venv or env without pyvenv.cfg, nor nobody's where one appears", () =>
    Effect.gen(function*() {
      for (const folder of ["venv", "env", ".ai/scripts/venv", ".ai/scripts/env"]) {
        const at = yield* place
        const name = `${folder}/bin/python`
        at.put(`mono/packages/a/${name}`, "\x7fELF")
        yield* Effect.gen(function*() {
          const trust = yield* ProjectTrust
          const { effects } = yield* trustProject
          assert.notInclude(effects.join("\n"), name)
          at.put(`mono/packages/a/${folder}/pyvenv.cfg`, "home = /usr/bin\n")
          assert.deepStrictEqual(yield* standingOf(name), { _tag: "New", issue: newProgram })
          assert.deepStrictEqual(yield* trust.unseen, [name])
          assert.include((yield* trustProject).effects.join("\n"), `run with ${name}`)
          at.remove(`mono/packages/a/${folder}/pyvenv.cfg`)
          assert.strictEqual((yield* standingOf(name))._tag, "Changed")
          assert.deepStrictEqual(yield* trust.unseen, [name])
        }).pipe(Effect.provide(layerOf(at)))
      }
    }))

  it.effect("ends at the home folder, whatever that holds, and where no checkout is around", () =>
    Effect.gen(function*() {
      for (const mark of [".git", ".ai"]) {
        const folder = yield* temporary
        const at = makePlace(folder)
        const root = at.at("home/work/app")
        fs.mkdirSync(join(root, ".ai"), { recursive: true })
        fs.mkdirSync(at.at(`home/${mark}`), { recursive: true })
        environment("home/tools", at)
        at.put("home/.nvmrc", "20\n")
        at.link("home/work/app/.venv", "home/tools")
        yield* Effect.gen(function*() {
          const { effects } = yield* trustProject
          assert.include(effects.join("\n"), "/home/tools/bin/python, outside the project")
          assert.notInclude(effects.join("\n"), ".nvmrc")
          at.put("home/tools/bin/python", "updated")
          assert.strictEqual((yield* standingOf(python))._tag, "Shown")
        }).pipe(Effect.provide(worldIn({ home: at.at("kiwi"), userHome: at.at("home"), root }).layer))
      }
    }))
})

/** Writes through a mapping of memory: the first write moves the file's times, later ones to the same page do not. */
const mapping = (file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const code = `import mmap, sys
f = open(sys.argv[1], "r+b"); m = mmap.mmap(f.fileno(), 0)
m[-1:] = m[-1:]
for line in sys.stdin:
    m[-1:] = line[:1].encode(); print("written", flush=True)
`
      const child = spawn("python3", ["-c", code, file], { stdio: ["pipe", "pipe", "inherit"] })
      const write = (letter: string) =>
        Effect.promise(() =>
          new Promise<void>((resolve) => {
            child.stdout.once("data", () => resolve())
            child.stdin.write(`${letter}\n`)
          })
        )
      return { child, write }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

describeWith(["python3"], "an interpreter that is written to through a mapping of memory", () => {
  it.effect("is not as it was shown, right before its process starts", () =>
    Effect.gen(function*() {
      const at = yield* place
      environment("mono/packages/a/.venv", at)
      const file = at.at("mono/packages/a/.venv/bin/python")
      const { write } = yield* mapping(file)
      yield* write(fs.readFileSync(file, "latin1").slice(-1))
      yield* Effect.gen(function*() {
        const { interpreter } = yield* ProjectTrust
        yield* trustProject
        // By then any later change of the file would show in its times.
        yield* TestClock.setTime(Date.now() + 60_000)
        assert.strictEqual((yield* interpreter(python))._tag, "Shown")
        const { ctimeNs } = fs.statSync(file, { bigint: true })
        yield* write("!")
        assert.strictEqual(fs.statSync(file, { bigint: true }).ctimeNs, ctimeNs, "nothing tells of it")
        assert.strictEqual((yield* interpreter(python, true))._tag, "Changed")
      }).pipe(Effect.provide(layerOf(at)))
    }))
})

describe("an interpreter that is gone", () => {
  const removals: ReadonlyArray<readonly [what: string, name: string, make: (at: Place) => void, path: string]> = [
    ["its environment", python, (at) => environment("mono/packages/a/.venv", at), "mono/packages/a/.venv"],
    ["its program", python, (at) => environment("mono/packages/a/.venv", at), "mono/packages/a/.venv/bin/python"],
    ["its folder bin", python, (at) => environment("mono/packages/a/.venv", at), "mono/packages/a/.venv/bin"],
    ["the link to the root's", python, rootsEnvironment, "mono/packages/a/.venv"],
    ["what the link leads to", python, rootsEnvironment, "mono/.venv"],
    ["the program that the link leads to", python, rootsEnvironment, "mono/.venv/bin/python"],
    [
      "that of .ai/scripts",
      ".ai/scripts/.venv/bin/python",
      (at) => environment("mono/packages/a/.ai/scripts/.venv", at),
      "mono/packages/a/.ai/scripts/.venv"
    ],
    ["venv", "venv/bin/python", (at) => environment("mono/packages/a/venv", at), "mono/packages/a/venv"],
    ["node_modules", node, ({ put }) => put(`mono/packages/a/${node}`, "as it was"), "mono/packages/a/node_modules"],
    [".nvmrc", ".nvmrc", ({ put }) => put("mono/packages/a/.nvmrc", "20\n"), "mono/packages/a/.nvmrc"],
    ["the root's .nvmrc", "../../.nvmrc", ({ put }) => put("mono/.nvmrc", "20\n"), "mono/.nvmrc"]
  ]
  for (const [what, name, make, path] of removals) {
    it.effect(`is not as it was shown, until a person was told: ${what}`, () =>
      Effect.gen(function*() {
        const at = yield* place
        make(at)
        yield* Effect.gen(function*() {
          const trust = yield* ProjectTrust
          yield* trustProject
          at.remove(path)
          assert.deepStrictEqual(yield* standingOf(name), { _tag: "Changed", issue: goneProgram })
          assert.deepStrictEqual(yield* trust.unseen, [name])
          const { effects } = yield* trustProject
          assert.include(effects.join("\n"), `${name} is gone`)
          assert.deepStrictEqual(yield* trust.unseen, [])
          const state = yield* trust.state
          assert.isFalse(state._tag === "Trusted" && state.seen?.includes(name))
          assert.notInclude((yield* trust.propose).effects.join("\n"), `${name} is gone`)
        }).pipe(Effect.provide(layerOf(at)))
      }))
  }
})
