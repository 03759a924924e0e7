// Interpreters of a project that are scripts: none is used but what pnpm writes, with the program that it starts.
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

const binary = systemProgram
const standingOf = (name: string) => ProjectTrust.use(({ interpreter }) => interpreter(name))
const issue = "is a script, or not a program of this system, and is never used"

const isRefused = Effect.fnUntraced(function*(name: string) {
  const { effects } = yield* trustProject
  assert.include(effects.join("\n"), `; it ${issue}`)
  assert.deepStrictEqual(yield* standingOf(name), { _tag: "Refused", issue })
  assert.deepStrictEqual(yield* ProjectTrust.use(({ unseen }) => unseen), [name])
})

const sh = (line: string, shell = "#!/bin/sh") => `${shell}\nhere=$(cd "$(dirname "$0")/../.." && pwd)\n${line}\n`

const scripts: ReadonlyArray<readonly [what: string, name: string, text: string]> = [
  ["exec", node, sh(`exec "$here/lib/real" "$@"`)],
  ["a message with < and >", python, sh(`{ echo "usage: python <file>" >&2; exit 2; }; exec $here/lib/real "$@"`)],
  ["a prompt", python, sh(`PS1="> "; exec $here/lib/real "$@"`)],
  ["a glob", python, sh(`exec $here/lib/rea[l] "$@"`)],
  ["a question mark", python, sh(`exec $here/lib/rea? "$@"`)],
  ["a word over two lines", python, sh(`exec $here/lib/re\\\nal "$@"`)],
  ["a quote in a name", python, sh(`exec "$here/lib/re'al" "$@"`)],
  ["an array", python, sh(`p=(lib real); IFS=/; exec "$here/\${p[*]}" "$@"`, "#!/bin/bash")],
  ["a suffix taken off", python, sh(`p=lib/real.orig; exec "$here/\${p%.orig}" "$@"`, "#!/bin/bash")],
  ["a name from a file", python, sh(`exec "$(cat "$here/lib/which.txt")" "$@"`)],
  ["a folder that is sourced", python, sh(`for f in "$here"/conf.d/*.sh; do . "$f"; done; exec python3 "$@"`)],
  ["a program of the machine alone", python, sh(`exec /usr/bin/python3 "$@"`)],
  ["Python that imports", python, "#!/usr/bin/python3\nimport starter\n"],
  ["Python that imports its library", python, "#!/usr/bin/python3\nimport subprocess\nsubprocess.call(['python3'])\n"],
  ["Node by a package.json", node, "#!/usr/bin/env node\nimport(\"#start\")\n"],
  ["Node by a path", node, "#!/usr/bin/env node\nrequire(\"../../lib/start\")\n"],
  ["Perl by a module", python, "#!/usr/bin/perl\nuse FindBin; use lib \"$FindBin::Bin/../../lib\";\nuse Start;\n"],
  ["a program after #!", python, "#!/usr/bin/env -S sh lib/real\n"],
  ["no #!", python, "exec python3 \"$@\"\n"],
  ["a byte order mark", python, "\xef\xbb\xbf#!/bin/sh\nexec python3\n"],
  ["nothing at all", python, ""],
  ["very long", python, `#!/bin/sh\n${"#".repeat(100_000)}\nexec python3 "$@"\n`],
  ...["\x7fELF", "\x7fELF\x02\x01\x01", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ=1", ...foreignPrograms].map((
    head
  ) => [`what begins ${JSON.stringify(head.slice(0, 8))}`, node, `${head}\nexec ./tools/py\n`] as const)
]

/** `case`: its lines; `nodePath`: whether it sets NODE_PATH. */
const pnpmShim = (cygwin: string, nodePath: boolean, target = "../.pnpm/node@22.1.0/node_modules/node/bin/node") =>
  [
    "#!/bin/sh",
    `basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")`,
    "",
    "case `uname` in",
    cygwin,
    "esac",
    "",
    ...(nodePath
      ? [
        `if [ -z "$NODE_PATH" ]; then`,
        `  export NODE_PATH="/srv/shop/node_modules/.pnpm/node_modules"`,
        "else",
        `  export NODE_PATH="/srv/shop/node_modules/.pnpm/node_modules:$NODE_PATH"`,
        "fi"
      ]
      : []),
    `"$basedir/${target}"   "$@"`,
    "exit $?",
    ""
  ].join("\n")

const before = "    *CYGWIN*) basedir=`cygpath -w \"$basedir\"`;;"
const now = `    *CYGWIN*|*MINGW*|*MSYS*)
        if command -v cygpath > /dev/null 2>&1; then
            basedir=\`cygpath -w "$basedir"\`
        fi
    ;;`
const pnpm10 = pnpmShim(now, true)

const kept: ReadonlyArray<readonly [what: string, text: string]> = [
  ["pnpm 8 and 9", pnpmShim(before, true)],
  ["pnpm 10", pnpm10],
  ["pnpm 10 without NODE_PATH", pnpmShim(now, false)]
]

const almost: ReadonlyArray<readonly [what: string, text: string]> = [
  ["a line before the end", pnpm10.replace("exit $?", "exit $?\nevil")],
  ["a line behind the end", `${pnpm10}evil\n`],
  ["no line end", pnpm10.slice(0, -1)],
  ["CRLF", pnpm10.replaceAll("\n", "\r\n")],
  ["another shell", pnpm10.replace("/bin/sh", "/bin/bash")],
  ["another folder", pnpm10.replace("dirname \"$(echo", "dirname \"$(cat")],
  ["a command in NODE_PATH", pnpm10.replaceAll("/srv/shop/", "$(evil)/")],
  ["two values of NODE_PATH", pnpm10.replace("/srv/shop/", "/srv/other/")],
  ["a variable in the target", pnpmShim(now, true, "../$x/node")],
  ["a command in the target", pnpmShim(now, true, "../`evil`/node")],
  ["a quote in the target", pnpmShim(now, true, "../a\";evil;\"/node")],
  ["a backslash in the target", pnpmShim(now, true, "../a\\b/node")],
  ["another argument", pnpm10.replace("   \"$@\"", "  -r ./evil.js \"$@\"")],
  ["the template twice", pnpm10 + pnpm10]
]

describe("an interpreter of a checkout that is a script", () => {
  for (const [what, name, text] of scripts) {
    it.effect(`is refused: ${what}`, () =>
      Effect.gen(function*() {
        const at = yield* place
        at.put(name, text)
        at.put("lib/real", binary)
        yield* isRefused(name).pipe(Effect.provide(at.layer))
      }))
  }

  it.effect("is refused behind a link, and as the Python that a virtual environment was made from", () =>
    Effect.gen(function*() {
      const linked = yield* place
      linked.put("tools/py", sh("exec python3"))
      linked.link(python, "../../tools/py")
      yield* isRefused(python).pipe(Effect.provide(linked.layer))
      const based = yield* place
      based.put(python, binary)
      based.put(".venv/pyvenv.cfg", "home = ../tools/bin\n", 0o644)
      based.put("tools/bin/python3", sh("exec python3"))
      yield* isRefused(python).pipe(Effect.provide(based.layer))
    }))

  it.effect("is the machine's own where it lies outside the checkout", () =>
    Effect.gen(function*() {
      const at = yield* place
      fs.writeFileSync(join(at.folder, "wrapper"), sh("exec python3"), { mode: 0o755 })
      at.link(python, join(at.folder, "wrapper"))
      const standing = yield* Effect.andThen(trustProject, standingOf(python)).pipe(Effect.provide(at.layer))
      assert.strictEqual(standing._tag, "Shown")
    }))

  for (const [what, text] of almost) {
    it.effect(`is refused where it is not pnpm's to the byte: ${what}`, () =>
      Effect.gen(function*() {
        const at = yield* place
        at.put(node, text)
        at.put(real, binary)
        yield* isRefused(node).pipe(Effect.provide(at.layer))
      }))
  }
})

describe("the script that pnpm writes for Node", () => {
  for (const [what, text] of kept) {
    it.effect(`is kept with the program that it starts: ${what}`, () =>
      Effect.gen(function*() {
        const at = yield* place
        at.put(node, text)
        at.put(real, binary)
        const isChanged = Effect.gen(function*() {
          assert.deepStrictEqual(yield* standingOf(node), { _tag: "Changed", issue: changedProgram })
          assert.deepStrictEqual(yield* ProjectTrust.use(({ unseen }) => unseen), [node])
        })
        yield* Effect.gen(function*() {
          const { effects } = yield* trustProject
          assert.include(effects.join("\n"), `; it starts ${real} in the project, sha256`)
          assert.strictEqual((yield* standingOf(node))._tag, "Shown")
          at.put(real, `${binary} evil`)
          yield* isChanged
          at.link(real, "/usr/bin/env")
          yield* isChanged
          at.remove(real)
          yield* isChanged
          at.put(real, binary)
          assert.strictEqual((yield* standingOf(node))._tag, "Shown")
          at.put(real, sh("exec node \"$@\""))
          assert.deepStrictEqual(yield* standingOf(node), { _tag: "Refused", issue })
        }).pipe(Effect.provide(at.layer))
      }))
  }

  it.effect("is no Python, and is refused where a link leads each process elsewhere", () =>
    Effect.gen(function*() {
      const other = yield* place
      other.put(python, pnpm10)
      yield* isRefused(python).pipe(Effect.provide(other.layer))
      const at = yield* place
      at.put(node, pnpmShim(now, true, "../real/node"))
      at.put("tools/node", binary)
      at.link("node_modules/real", `/proc/self/root${at.root}/tools`)
      const standing = yield* Effect.andThen(trustProject, standingOf(node)).pipe(Effect.provide(at.layer))
      assert.strictEqual(standing._tag, "Refused")
    }))

  it.effect("starts what the shell would start, where its folder is a link", () =>
    Effect.gen(function*() {
      const at = yield* place
      at.put("tools/bins/node", pnpmShim(now, true, "../node/bin/node"))
      at.put("tools/node/bin/node", binary)
      at.put("node_modules/node/bin/node", sh("exec evil"))
      at.link("node_modules/.bin", "../tools/bins")
      yield* Effect.gen(function*() {
        const { effects } = yield* trustProject
        assert.include(effects.join("\n"), "; it starts tools/node/bin/node in the project")
        assert.strictEqual((yield* standingOf(node))._tag, "Shown")
      }).pipe(Effect.provide(at.layer))
    }))
})
