// Interpreters of a project that are scripts: what they name by a path is kept with them, by its bytes.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { changedProgram } from "../../../src/services/trust/ShownProgram.ts"
import { foreignPrograms, systemProgram } from "../../support/systemProgram.ts"
import { temporary } from "../../support/temporary.ts"
import { trustProject, worldIn } from "../../support/trustWorld.ts"

const node = "node_modules/.bin/node"
const python = ".venv/bin/python"
const real = "node_modules/.pnpm/node@22.1.0/node_modules/node/bin/node"

/** Paths are relative to the checkout; the project is `packages/a` of it. */
const place = Effect.map(temporary, (folder) => {
  const checkout = join(folder, "mono")
  const root = join(checkout, "packages/a")
  const at = (path: string) => join(root, path)
  for (const path of [join(root, ".ai"), join(checkout, ".git"), join(folder, "home")]) {
    fs.mkdirSync(path, { recursive: true })
  }
  return {
    folder,
    root,
    layer: worldIn({ home: join(folder, "home"), root }).layer,
    put: (path: string, text: string, mode = 0o755) => {
      fs.mkdirSync(dirname(at(path)), { recursive: true })
      fs.rmSync(at(path), { force: true })
      fs.writeFileSync(at(path), Buffer.from(text, "latin1"), { mode })
    },
    link: (path: string, to: string) => {
      fs.mkdirSync(dirname(at(path)), { recursive: true })
      fs.rmSync(at(path), { force: true })
      fs.symlinkSync(to, at(path))
    },
    remove: (path: string) => fs.rmSync(at(path))
  }
})
type Place = Effect.Success<typeof place>

const binary = systemProgram
const standingOf = (name: string) => ProjectTrust.use(({ interpreter }) => interpreter(name))

interface Variant {
  readonly what: string
  readonly name: string
  readonly text: string | ((at: Place) => string)
  /** What it starts; relative to the project. */
  readonly target: string
  readonly make?: (at: Place) => void
}

const sh = (line: string) => `#!/bin/sh\nhere=$(dirname "$0")\n${line}\n`

const variants: ReadonlyArray<Variant> = [
  {
    what: "as pnpm writes it",
    name: node,
    text: `#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")
case \`uname\` in *CYGWIN*) basedir=\`cygpath -w "$basedir"\`;; esac
export NODE_PATH="/somewhere/node_modules:$NODE_PATH"
"$basedir/../.pnpm/node@22.1.0/node_modules/node/bin/node"   "$@"
exit $?
`,
    target: real
  },
  { what: "exec", name: node, text: sh(`exec "$here/../node/bin/node" "$@"`), target: "node_modules/node/bin/node" },
  { what: "braces", name: node, text: sh(`exec "\${here}/../node/bin/node"`), target: "node_modules/node/bin/node" },
  {
    what: "quotes around the variable",
    name: python,
    text: sh(`exec "$here"/../real/py "$@"`),
    target: ".venv/real/py"
  },
  { what: "no quotes", name: python, text: sh("exec $here/../real/py $@"), target: ".venv/real/py" },
  {
    what: "dirname in place",
    name: python,
    text: "#!/bin/sh\nexec $(dirname \"$0\")/real.py3 \"$@\"\n",
    target: ".venv/bin/real.py3"
  },
  { what: "backquotes", name: python, text: "#!/bin/sh\nexec `dirname $0`/../real/py\n", target: ".venv/real/py" },
  {
    what: "what is cut from $0",
    name: python,
    text: "#!/bin/sh\nexec \"${0%/*}/../real/py\"\n",
    target: ".venv/real/py"
  },
  {
    what: "cd and pwd",
    name: python,
    text: "#!/bin/sh\nd=\"$(cd -- \"$(dirname -- \"$0\")/..\" && pwd -P)\"\nexec \"$d/real/py\"\n",
    target: ".venv/real/py"
  },
  { what: "a default", name: python, text: sh("exec \"${PY:-../real/py}\""), target: ".venv/real/py" },
  {
    what: "a folder of its own",
    name: python,
    text: sh("lib=$here/../../tools\nexec \"$lib/py\""),
    target: "tools/py"
  },
  {
    what: "a folder put on PATH",
    name: node,
    text: sh("PATH=$here/../../tools/bin:$PATH\nexec node22 \"$@\""),
    target: "tools/bin/node22"
  },
  {
    what: "its own folder put on PATH",
    name: node,
    text: sh("PATH=$here:$PATH exec node22"),
    target: "node_modules/.bin/node22"
  },
  { what: "cd", name: python, text: sh("cd \"$here/../../tools\" && exec ./py"), target: "tools/py" },
  { what: "the folder that it is started in", name: python, text: sh("exec ./tools/py"), target: "tools/py" },
  {
    what: "the environment's variable",
    name: python,
    text: sh("exec \"$VIRTUAL_ENV/lib/py\""),
    target: ".venv/lib/py"
  },
  { what: "the project's variable", name: python, text: sh("exec \"$KIWI_PROJECT/tools/py\""), target: "tools/py" },
  {
    what: "the checkout above",
    name: python,
    text: sh("exec \"$here/../../../../tools/py\""),
    target: "../../tools/py"
  },
  {
    what: "the checkout by a command",
    name: python,
    text: sh("exec \"$(git rev-parse --show-toplevel)/tools/py\""),
    target: "../../tools/py"
  },
  { what: "an absolute path", name: python, text: ({ root }) => sh(`exec ${root}/tools/py`), target: "tools/py" },
  {
    what: "an absolute path after #!",
    name: python,
    text: ({ root }) => `#!${root}/tools/py -E\n`,
    target: "tools/py"
  },
  {
    what: "blanks between quotes",
    name: python,
    text: sh("exec \"$here/../my tools/py\" -E"),
    target: ".venv/my tools/py"
  },
  {
    what: "blanks by backslashes",
    name: python,
    text: sh("exec $here/../my\\ tools/py -E"),
    target: ".venv/my tools/py"
  },
  { what: "an option", name: node, text: sh("exec node --require=$here/../hook.cjs"), target: "node_modules/hook.cjs" },
  { what: "an option with no blank", name: python, text: sh("exec tool -X../tools/py"), target: "../tools/py" },
  {
    what: "what is sourced",
    name: python,
    text: sh(". \"$here/activate\"\nexec python3"),
    target: ".venv/bin/activate"
  },
  {
    what: "Python",
    name: python,
    text: "#!/usr/bin/env python3\nimport os\nos.execv(here + '/../real/py', [])\n",
    target: ".venv/real/py"
  },
  {
    what: "JavaScript",
    name: node,
    text: "#!/usr/bin/env node\nspawn(`${import.meta.dirname}/../node/bin/node`)\n",
    target: "node_modules/node/bin/node"
  },
  {
    what: "a process that its output goes to",
    name: python,
    text: sh(": > >(\"$here/real\" -x)"),
    target: ".venv/bin/real"
  },
  {
    what: "a file that is read and written",
    name: python,
    text: sh("exec 5<>\"$here/real\"; . /dev/fd/5"),
    target: ".venv/bin/real"
  },
  {
    what: "a command within an output",
    name: python,
    text: sh(": >\"$(\"$here/../lib/real\")\""),
    target: ".venv/lib/real"
  },
  { what: "quotes in the middle of a word", name: python, text: sh("exec \"$here/re\"al"), target: ".venv/bin/real" },
  {
    what: "quotes in the middle of a path",
    name: python,
    text: sh("exec $here/'../li'b/\"re\"al"),
    target: ".venv/lib/real"
  },
  { what: "a backslash in a word", name: python, text: sh("exec $here/../l\\ib/real"), target: ".venv/lib/real" },
  {
    what: "a path from home",
    name: python,
    text: sh("exec \"$HOME/src/mono/packages/a/tools/py\""),
    target: "tools/py"
  },
  { what: "a path from ~", name: python, text: sh("exec ~/src/mono/packages/a/tools/py"), target: "tools/py" },
  { what: "a path from home and back", name: python, text: sh("exec \"${HOME}/../x/a/tools/py\""), target: "tools/py" },
  {
    what: "a module without its ending",
    name: node,
    text: "#!/usr/bin/node\nrequire(\"../lib/start\")\n",
    target: "node_modules/lib/start.js"
  },
  {
    what: "a module of the old kind",
    name: node,
    text: "#!/usr/bin/node\nrequire('../lib/start')\n",
    target: "node_modules/lib/start.cjs"
  },
  {
    what: "JSON without its ending",
    name: node,
    text: "#!/usr/bin/node\nrequire('../lib/start')\n",
    target: "node_modules/lib/start.json"
  },
  {
    what: "a folder's module",
    name: node,
    text: "#!/usr/bin/node\nrequire(\"../lib\")\n",
    target: "node_modules/lib/index.js"
  },
  { what: "the folder above", name: node, text: "#!/usr/bin/node\nrequire(\"..\")\n", target: "node_modules/index.js" },
  {
    what: "what a package names",
    name: node,
    text: "#!/usr/bin/node\nrequire(\"../lib\")\n",
    target: "node_modules/lib/src/main.js",
    make: ({ put }) => put("node_modules/lib/package.json", "{\"main\":\"src/main\"}", 0o644)
  },
  {
    what: "a module of a module",
    name: node,
    text: "#!/usr/bin/node\nrequire(\"../lib/start.js\")\n",
    target: "node_modules/lib/sub.js",
    make: ({ put }) => put("node_modules/lib/start.js", "require(\"./sub.js\")\n", 0o644)
  },
  {
    what: "a Python module beside it",
    name: python,
    text: "#!/usr/bin/python3\nimport os, realmod\n",
    target: ".venv/bin/realmod.py"
  },
  {
    what: "a Python package",
    name: python,
    text: "#!/usr/bin/python3\nfrom pack.sub import go\n",
    target: ".venv/bin/pack/sub.py"
  },
  {
    what: "the start of a Python package",
    name: python,
    text: "#!/usr/bin/python3\nimport pack.sub as x\n",
    target: ".venv/bin/pack/__init__.py"
  },
  {
    what: "what a sourced file sources, whatever its name",
    name: python,
    text: sh(". \"$here/../../.envrc\""),
    target: "tools/vars",
    make: ({ put }) => put(".envrc", ". ./tools/vars\n", 0o644)
  },
  {
    what: "what an included file starts",
    name: python,
    text: sh(". \"$here/start.inc\""),
    target: ".venv/bin/real",
    make: ({ put }) => put(".venv/bin/start.inc", "exec \"$here/real\" \"$@\"\n", 0o644)
  },
  { what: "no #! at all", name: node, text: "exec node_modules/node/bin/node\n", target: "node_modules/node/bin/node" },
  {
    what: "where its log lies",
    name: python,
    text: sh("echo x >> \"$here/log\"\nexec \"$here/../real/py\" 2>$here/errors"),
    target: ".venv/real/py"
  },
  {
    what: "a link to the script",
    name: node,
    text: "#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/../lib/node\"\n",
    target: "tools/lib/node",
    make: ({ link, put, root }) => {
      put("tools/bin/start", fs.readFileSync(join(root, node), "utf8"))
      link(node, "../../tools/bin/start")
    }
  },
  {
    what: "a script that it starts",
    name: node,
    text: sh("exec \"$here/../../tools/first\""),
    target: "tools/lib/node",
    make: ({ put }) => {
      put("tools/first", sh("exec \"$here/second.sh\""))
      put("tools/second.sh", sh("exec \"$here/lib/node\""), 0o644)
    }
  },
  {
    what: "the Python in the home of pyvenv.cfg",
    name: python,
    text: binary,
    target: "tools/real/py",
    make: ({ put }) => {
      put(".venv/pyvenv.cfg", "home = ../tools/bin\n")
      put("tools/bin/python3", sh("exec \"$here/../real/py\""))
    }
  }
]

const prepared = Effect.fnUntraced(function*({ make, name, target, text }: Variant, withTarget: boolean) {
  const at = yield* place
  at.put(name, typeof text === "string" ? text : text(at))
  if (withTarget) at.put(target, binary)
  make?.(at)
  return at
})

const isChanged = Effect.fnUntraced(function*(name: string) {
  assert.deepStrictEqual(yield* standingOf(name), { _tag: "Changed", issue: changedProgram })
  assert.deepStrictEqual(yield* ProjectTrust.use(({ unseen }) => unseen), [name])
  yield* trustProject
  assert.strictEqual((yield* standingOf(name))._tag, "Shown")
})

describe("what a script that is an interpreter starts", () => {
  for (const variant of variants) {
    const { name, target, what } = variant
    it.effect(`is kept with it, told by its bytes: ${what}`, () =>
      Effect.gen(function*() {
        const at = yield* prepared(variant, true)
        yield* Effect.gen(function*() {
          const { effects } = yield* trustProject
          assert.include(effects.join("\n"), `${target} in the ${target.startsWith("../") ? "checkout" : "project"}`)
          assert.strictEqual((yield* standingOf(name))._tag, "Shown")
          at.put(target, `${binary} evil`)
          yield* isChanged(name)
          at.link(target, "/usr/bin/env")
          yield* isChanged(name)
          at.remove(target)
          yield* isChanged(name)
          at.put(target, binary)
          yield* isChanged(name)
        }).pipe(Effect.provide(at.layer))
      }))
  }

  it.effect("is told to whom looks, and to whom resolves", () =>
    Effect.gen(function*() {
      const [first] = variants
      const at = yield* prepared(first!, true)
      yield* Effect.gen(function*() {
        const { effects } = yield* trustProject
        assert.match(
          effects.join("\n"),
          /sha256 [0-9a-f]{12}; it is a script, and what it starts that is not listed here may change; it reads or starts node_modules\/\.pnpm\//
        )
        const standing = yield* standingOf(node)
        assert.deepStrictEqual(standing._tag === "Shown" ? standing.starts : [], [real])
      }).pipe(Effect.provide(at.layer))
    }))

  it.effect("is nothing of what is written, of the machine, or of a name that only the run knows", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.put(node, sh("x=lib\nexec \"$here/$x$y\" /usr/bin/env >>\"$here/log\" 2> $here/errors"))
      yield* Effect.gen(function*() {
        yield* trustProject
        at.put("node_modules/.bin/log", "")
        at.put("node_modules/.bin/errors", "")
        at.put("node_modules/.bin/libnode", binary)
        const standing = yield* standingOf(node)
        assert.deepStrictEqual(standing._tag === "Shown" ? standing.starts : undefined, [])
      }).pipe(Effect.provide(at.layer))
    }))

  it.effect("is what any text starts that the system does not run itself, however it begins, and modules too", () =>
    Effect.gen(function*() {
      const names = "\nexec ./tools/py \"$here/../hook.mjs\"\n"
      const heads = [
        "\x7fELF",
        "\x7fELF\x02\x01\x01",
        "\xcf\xfa\xed\xfe",
        "\xfe\xed\xfa\xcf",
        "\xca\xfe\xba\xbe",
        "MZ=1"
      ]
      for (const start of [...heads, ...foreignPrograms, systemProgram]) {
        const isProgram = start === systemProgram
        const at = yield* place
        at.put(python, start + names)
        at.put("tools/py", binary)
        const { effects } = yield* trustProject.pipe(Effect.provide(at.layer))
        assert.strictEqual(effects.join("\n").includes("tools/py"), !isProgram, JSON.stringify(start))
        assert.strictEqual(effects.join("\n").includes("script"), !isProgram)
      }
      const at = yield* place
      at.put(node, sh("exec node \"$here/../hook.mjs\""))
      at.put("node_modules/hook.mjs", "import './other.mjs'", 0o644)
      at.put("node_modules/other.mjs", "", 0o644)
      const { effects } = yield* trustProject.pipe(Effect.provide(at.layer))
      assert.include(effects.join("\n"), "node_modules/hook.mjs in the project")
      assert.include(effects.join("\n"), "other.mjs")
    }))

  const putScript = (at: Place) => at.put("node_modules/conf.d/a.sh", "export A=1\n", 0o644)
  const runsFolder = (what: string, line: string) =>
    [what, (at: Place) => {
      putScript(at)
      at.put(node, sh(`${line}\nexec python3 "$@"`))
    }] as const

  const refused: ReadonlyArray<readonly [what: string, make: (at: Place) => void]> = [
    runsFolder("a loop that sources a folder", "for f in \"$here\"/../conf.d/*.sh; do . \"$f\"; done"),
    runsFolder("a loop over lines", "for f in $here/../conf.d/*\ndo\n  [ -r \"$f\" ] && . \"$f\"\ndone"),
    runsFolder("a loop that runs what it finds", "for f in node_modules/conf.d/*.sh; do \"$f\"; done"),
    runsFolder("a loop that starts a shell", "for f in \"$here/../conf.d\"/*.sh; do sh \"$f\"; done"),
    runsFolder("a loop over ls", "for f in `ls \"$here/../conf.d\"`; do . \"$here/../conf.d/$f\"; done"),
    runsFolder("a loop over $(ls)", "for f in $(ls $here/../conf.d); do . \"$here/../conf.d/$f\"; done"),
    runsFolder("a glob that is sourced", ". \"$here\"/../conf.d/*"),
    runsFolder("source with a question mark", "source $here/../conf.d/?.sh"),
    runsFolder("run-parts", "run-parts \"$here/../conf.d\""),
    runsFolder("the second of two globs", "for f in /etc/none/*.sh \"$here\"/../conf.d/*.sh; do . \"$f\"; done"),
    ["too long", ({ put }) => put(node, `#!/bin/sh\n${"#".repeat(256 * 1024)}`)],
    [
      "too many words",
      ({ put }) => put(node, `#!/bin/sh\n${Array.from({ length: 3_000 }, (_, i) => `w${i}`).join(" ")}`)
    ],
    ["too many files", ({ put }) => {
      const files = Array.from({ length: 65 }, (_, i) => `tools/f${i}`)
      for (const file of files) put(file, binary)
      put(node, sh(`exec ${files.join(" ")}`))
    }],
    ["too many folders", ({ put }) => {
      const folders = Array.from({ length: 40 }, (_, i) => `tools/f${i}`)
      for (const folder of folders) put(`${folder}/x`, binary)
      put(node, sh(`exec ${folders.join(" ")}`))
    }],
    ["a script that it starts is too long", ({ put }) => {
      put(node, sh("exec \"$here/../long\""))
      put("node_modules/long", `#!/bin/sh\n${"#".repeat(256 * 1024)}`)
    }],
    ["scripts without end", ({ put }) => {
      put(node, sh("exec \"$here/../s0\""))
      for (let i = 0; i < 70; i++) put(`node_modules/s${i}`, sh(`exec "$here/s${i + 1}"`))
    }]
  ]
  for (const [what, make] of refused) {
    it.effect(`is refused where it cannot be told: ${what}`, () =>
      Effect.gen(function*() {
        const at = yield* place
        make(at)
        yield* Effect.gen(function*() {
          const issue =
            "is or starts a script that is too long to tell what it starts, or runs whatever lies in a folder, and is never used"
          const { effects } = yield* trustProject
          assert.include(effects.join("\n"), `; it ${issue}`)
          assert.deepStrictEqual(yield* standingOf(node), { _tag: "Refused", issue })
          assert.deepStrictEqual(yield* ProjectTrust.use(({ unseen }) => unseen), [node])
        }).pipe(Effect.provide(at.layer))
      }))
  }

  it.effect("is refused where a link leads each process elsewhere", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.put(node, sh("exec \"$here/../real/node\""))
      at.put("tools/node", binary)
      at.link("node_modules/real", `/proc/self/root${at.root}/tools`)
      const standing = yield* Effect.andThen(trustProject, standingOf(node)).pipe(Effect.provide(at.layer))
      assert.strictEqual(standing._tag, "Refused")
    }))

  it.effect("ends where scripts name each other", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.put(node, sh("exec \"$here/../other\" \"$here/node\""))
      at.put("node_modules/other", sh("exec \"$here/.bin/node\""))
      const standing = yield* Effect.andThen(trustProject, standingOf(node)).pipe(Effect.provide(at.layer))
      assert.deepStrictEqual(standing._tag === "Shown" ? standing.starts : undefined, ["node_modules/other"])
    }))
})
