// What a person is shown of a tool is what its interpreter reads, in each file of it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkFiles, invalid, parseFiles } from "./parsing.ts"

const bytes = (...parts: ReadonlyArray<string | ReadonlyArray<number>>): Uint8Array =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))

const folder = (path: string, content: Uint8Array | string, entrypoint = "main.py", executor = "python_runtime") => ({
  "tools/f/tool.yaml":
    `tool_id: f\ntool_type: python\nversion: '1.0.0'\nexecutor_id: ${executor}\nentrypoint: ${entrypoint}\n`,
  "tools/f/main.py": "print(1)\n",
  [`tools/f/${path}`]: content
})

const utf16 = (text: string) => bytes([0xff, 0xfe], Array.from(Buffer.from(text, "utf16le")))

/** Latin 1: 0xe9 is "é" and no UTF-8. */
const odd = [0xe9]

const refused: ReadonlyArray<readonly [what: string, path: string, content: Uint8Array | string, issue: RegExp]> = [
  ["latin-1 with an odd byte", "main.py", bytes("# coding: latin-1\nx = '", odd, "'\n"), /not valid UTF-8/],
  ["latin-1 without one", "main.py", "# coding: latin-1\nprint(1)\n", /says that it is not UTF-8/],
  ["utf-7", "main.py", "# coding: utf-7\n# +AAo-import os\n", /says that it is not UTF-8/],
  ["utf-7 on the second line", "main.py", "#!/usr/bin/env python3\n# coding: utf-7\n", /says that it is not UTF-8/],
  ["Emacs' form", "lib/a.py", "# -*- mode: python; coding: raw_unicode_escape -*-\n", /says that it is not UTF-8/],
  ["Vim's form", "lib/a.py", "\n# vim: set fileencoding=unicode_escape :\n", /says that it is not UTF-8/],
  ["a cookie after a byte order mark", "a.py", "\ufeff# coding: utf-7\n", /says that it is not UTF-8/],
  ["a cookie after form feeds", "a.py", "\f\t # coding=rot13\n", /says that it is not UTF-8/],
  ["a package's __init__", "lib/deep/er/__init__.py", "# coding: cp037\n", /says that it is not UTF-8/],
  [".pyw", "a.pyw", "# coding: utf-16\n", /says that it is not UTF-8/],
  ["an extension in capitals", "A.PY", "# coding: utf_7\n", /says that it is not UTF-8/],
  ["no extension but #!", "bin/run", "#!/usr/bin/python3\n# coding: utf-7\n", /says that it is not UTF-8/],
  ["a text that pip reads", "requirements.txt", "# coding: utf-7\nx\n", /says that it is not UTF-8/],
  ["Ruby", "a.rb", "# encoding: iso-8859-1\n", /says that it is not UTF-8/],
  ["no name that says anything", "payload", "# coding: utf-7\n", /says that it is not UTF-8/],
  ["prose", "notes.md", "# vim: set fileencoding=utf-7 :\n# +AAo-print()\n", /says that it is not UTF-8/],
  ["prose in a codec without a digit", "notes.md", "# coding: raw_unicode_escape\n", /says that it is not UTF-8/],
  ["prose by its long name", "doc/NOTES.MARKDOWN", "\n# coding: utf-7\n", /says that it is not UTF-8/],
  ["a cookie among NULs", "payload.bin", bytes("# coding: latin-1\n", [0, 0xff]), /not valid UTF-8/],
  ["one odd byte in a text of no known kind", "helper.inc", bytes("def f(): pass # caf", odd, "\n"), /not valid UTF-8/],
  ["#! and a NUL", "bin/run", bytes("#!/bin/sh\necho a\n", [0], "\n"), /a NUL/],
  ["JavaScript in UTF-16", "a.js", utf16("alert(1)\n"), /not valid UTF-8/],
  ["JavaScript with U+2028", "a.mjs", "// harmless\u2028evil()\n", /U\+2028/],
  ["JavaScript with U+2029", "a.cjs", "// harmless\u2029evil()\n", /U\+2029/],
  ["TypeScript with a lone CR", "a.ts", "// harmless\revil()\n", /carriage return/],
  ["bash with a NUL", "a.sh", bytes("ec", [0], "ho\n"), /a NUL/],
  ["bash with a lone CR", "a.bash", "# harmless\revil\n", /carriage return/],
  ["Python with a lone CR", "a.py", "# harmless\rimport evil\n", /carriage return/],
  ["YAML in UTF-16", "a.yaml", utf16("a: 1\n"), /not valid UTF-8/],
  ["pyproject.toml in Latin 1", "pyproject.toml", bytes("# ", odd, "\n"), /not valid UTF-8/],
  ["package.json in UTF-16", "package.json", utf16("{}"), /not valid UTF-8/],
  ["Perl with a NUL", "a.PL", bytes("print 1;\n", [0]), /a NUL/],
  ["a Makefile with a NUL", "Makefile", bytes("all:\n", [0]), /a NUL/]
]

describe("a folder's file that would be read otherwise than it is shown", () => {
  for (const [what, path, content, issue] of refused) {
    it.live(`is neither signed nor run: ${what}`, () =>
      Effect.gen(function*() {
        for (const read of [checkFiles, parseFiles]) {
          const error = yield* invalid(read(folder(path, content)))
          assert.match(error.message, issue)
          assert.include(error.message, path)
        }
      }))
  }

  it.live("is not signed, where the tool starts with it or Python would prefer it", () =>
    Effect.gen(function*() {
      const data = bytes([0, 1, 2, 0xff])
      const cases: ReadonlyArray<readonly [path: string, content: Uint8Array | string, entrypoint?: string]> = [
        ["start.bin", data, "start.bin"],
        ["start.md", "# coding: utf-7\n", "start.md"],
        ["helper.pyc", data],
        ["helper.PYO", data]
      ]
      for (const [path, content, entrypoint] of cases) {
        const { issue, item } = yield* invalid(checkFiles(folder(path, content, entrypoint)))
        assert.include(`${item} ${issue}`, path)
      }
    }))

  it.live("is not signed with a syntax error, whatever it is called", () =>
    Effect.gen(function*() {
      const cases = [
        ["A.SH", "if\n"],
        ["a.bash", "if\n"],
        ["bin/run", "#!/usr/bin/env bash\nif\n"],
        ["bin/run", "#!/bin/sh\nif\n"],
        ["a.pyw", "def f(:\n"],
        ["A.PY", "def f(:\n"],
        ["bin/run", "#!/usr/bin/env python3.12\ndef f(:\n"],
        ["bin/run", "#!/usr/bin/env node\nlet = = 1\n"],
        ["a.mts", "let a: = 1\n"]
      ] as const
      for (const [path, content] of cases) {
        assert.include((yield* invalid(checkFiles(folder(path, content)))).item, `/${path}`)
      }
    }))
})

describe("a tool of one file", () => {
  it.live("whatever runs it, says nothing of another encoding", () =>
    Effect.gen(function*() {
      const shell = (cookie: string) => ({
        "tools/a.sh": `#!/bin/sh\n# ${cookie}\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: python_runtime\n`
      })
      assert.include((yield* invalid(parseFiles(shell("coding: utf-7")))).issue, "not UTF-8")
      yield* parseFiles(shell("coding: utf-8"))
    }))
})

describe("what is as it is shown", () => {
  it.live("is signed", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [path: string, content: Uint8Array | string]> = [
        ["a.py", "# -*- coding: utf-8 -*-\nx = 'é'\n"],
        ["a.py", "\ufeffx = 1\r\ny = 2\r\n"],
        ["a.py", "x = 1\n\n# coding: utf-7 is not read here\n"],
        ["README.md", "# Vibe coding: a guide\n"],
        ["données.csv", "à,é,ü\n"],
        ["漢字", "漢字\n"],
        ["logo.png", bytes([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])],
        ["key.bin", Uint8Array.from({ length: 32 }, (_, n) => 0xe0 - n)],
        ["x.wasm", bytes([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])]
      ]
      for (const [path, content] of cases) yield* checkFiles(folder(path, content))
    }))
})
