// Files that are made to be slow to read: looking at one must not keep anybody waiting.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkFiles } from "../parsing.ts"

const times = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join("\n")
const head = "__version__ = \"1.0.0\"\nimport argparse\np = argparse.ArgumentParser()\n"

const files: Readonly<Record<string, readonly [name: string, text: string]>> = {
  "many arguments": ["x.py", head + times(5_000, (at) => `p.add_argument("--a${at}")`)],
  "names that lead to each other": [
    "x.py",
    head + times(2_000, (at) => `a${at} = a${at + 1}\na${at + 1} = a${at}\na${at}.add_argument("--b${at}")`)
  ],
  "one name of many": ["x.py", head + times(2_000, (at) => `q = p\nq.add_argument("--a${at}")`)],
  "functions that hand on": [
    "x.py",
    head + times(1_000, (at) => `def f${at}(p):\n    f${at + 1}(p)\n    p.add_argument("--a${at}")\nf${at}(p)`)
  ],
  "one function that is called often": [
    "x.py",
    `${head}def f(q):\n${times(1_000, (at) => `    q.add_argument("--a${at}")`)}\n${times(1_000, () => "f(p)")}\n`
  ],
  "many parsings": ["x.py", head + times(2_000, () => "def f(a):\n    a = a or b\n    p.parse_args(a)\nb = f(b)")],
  "nested conditions": [
    "x.py",
    head + times(40, (at) => `${" ".repeat(at)}if x:`) + `\n${" ".repeat(40)}p.add_argument("--x")`
  ],
  "many branches": [
    "x.py",
    `${head}if x:\n    pass\n${times(5_000, (at) => `elif y:\n    p.add_argument("--a${at}")`)}\n`
  ],
  "a long row of names": ["x.py", `${head}${times(8_000, (at) => `a${at} = a${at + 1}`)}\np.parse_args(a0)\n`],
  "dollars": [
    "x.sh",
    `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n${"${".repeat(30_000)}`
  ],
  "functions of bash": [
    "x.sh",
    `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n${
      times(12_000, (at) => `f${at}() { f${at + 1} "$@"; f${at} "$@"; }`)
    }\nf0 "$@"`
  ],
  "here-documents": [
    "x.sh",
    `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n${
      times(5_000, (at) => `cat <<E${at}`)
    }\n`
  ],
  "calls of JavaScript": [
    "x.mjs",
    `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n${
      times(5_000, (at) => `a${at}(b${at}(c.d.e))`)
    }`
  ],
  "chains of JavaScript": [
    "x.mjs",
    `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\na${
      times(5_000, () => ".b()").replaceAll("\n", "")
    }`
  ]
}

describe("a file that is slow to read", () => {
  for (const [what, [name, text]] of Object.entries(files)) {
    it.live(`is read in time: ${what}`, () =>
      Effect.gen(function*() {
        const before = performance.now()
        yield* Effect.ignore(checkFiles({ [`tools/${name}`]: text }))
        assert.isBelow(performance.now() - before, 10_000)
      }), 60_000)
  }
})
