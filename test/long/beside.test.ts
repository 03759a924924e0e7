// Files that a program looks for beside itself: a single file runs as a copy without them, and in the project's folder.
// Each variant is run alone and beside the files: the verdict is the program's own.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import { basename, dirname, extname, join } from "node:path"
import { Signatures } from "../../src/services/integrity/Signatures.ts"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"
import { checkFiles, invalid } from "../layers/format/parsing.ts"
import type { Files } from "../layers/format/parsing.ts"
import { caller } from "../layers/proxy/calls.ts"
import { describeWith } from "../support/realParts.ts"
import { accept, kernelOf, realProject } from "../support/realProject.ts"
import { temporary } from "../support/temporary.ts"

const heads: Readonly<Record<string, string>> = {
  ".sh": `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n`,
  ".py": `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\n`,
  ".mjs": `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n`,
  ".ts": `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n`,
  ".cjs": `const __version__ = "1.0.0"\nconst __executor_id__ = "node_runtime"\n`
}

const interpreters: Readonly<Record<string, ReadonlyArray<string>>> = {
  ".sh": ["bash", "-e", "-o", "pipefail"],
  ".py": ["python3", "-B"],
  ".mjs": [process.execPath],
  ".ts": [process.execPath, "--no-warnings"],
  ".cjs": [process.execPath]
}

/** What lies beside each variant where it is complete. */
const beside: Readonly<Record<string, string>> = {
  "lib.sh": "echo lib\n",
  "data.json": `{"a": 1}`,
  "sub/lib.sh": "echo sub\n",
  "sub/data.json": "{}",
  "lib.cjs": "module.exports = 1\n",
  "lib.mjs": "export const x = 1\n",
  "other.py": "x = 1\n"
}

const run = (folder: string, name: string) => {
  const [command = "", ...args] = interpreters[extname(name)]!
  const project = join(folder, "..", "project")
  Fs.mkdirSync(project, { recursive: true })
  return spawnSync(command, [...args, join(folder, name)], { cwd: project, encoding: "utf8" }).status
}

const write = (folder: string, files: Readonly<Record<string, string>>) => {
  for (const [path, text] of Object.entries(files)) {
    Fs.mkdirSync(dirname(join(folder, path)), { recursive: true })
    Fs.writeFileSync(join(folder, path), text)
  }
}

/** The code's first line that is named stands behind the mark `@@`. */
const needed: ReadonlyArray<readonly [name: string, code: string]> = [
  ["a.sh", `@@source "$(dirname "$0")/lib.sh"`],
  ["a.sh", `@@. "\${BASH_SOURCE[0]%/*}/lib.sh"`],
  ["a.sh", `@@. "\${0%/*}"/lib.sh`],
  ["a.sh", `@@source $(dirname $0)/lib.sh`],
  ["a.sh", `@@source "\`dirname "$0"\`/lib.sh"`],
  ["a.sh", `@@source "$(dirname -- "\${BASH_SOURCE[0]}")/sub/lib.sh"`],
  ["a.sh", `@@source "$(dirname "$(readlink -f "$0")")/lib.sh"`],
  ["a.sh", `@@source "$(cd "$(dirname "\${BASH_SOURCE[0]}")" && pwd)/lib.sh"`],
  [
    "a.sh",
    `SCRIPT_DIR="$( cd -- "$( dirname -- "\${BASH_SOURCE[0]}" )" &> /dev/null && pwd )"\n@@source "$SCRIPT_DIR/lib.sh"`
  ],
  ["a.sh", `HERE=$(cd "$(dirname "$0")"; pwd -P)\n@@. "\${HERE}/lib.sh"`],
  ["a.sh", `SELF=$(realpath "$0")\nDIR=$(dirname "$SELF")\n\n@@. $DIR/lib.sh`],
  ["a.sh", `readonly HERE="\${BASH_SOURCE%/*}"\n@@cat "$HERE/data.json"`],
  ["a.sh", `here=$(dirname "$0")\nif true; then\n@@  source "$here/lib.sh"; fi`],
  ["a.sh", `cd "$(dirname "$0")"\n@@source ./lib.sh`],
  ["a.sh", `cd "\${0%/*}" || exit 1\n@@. ./sub/lib.sh`],
  ["a.sh", `@@bash "$(dirname "$0")/lib.sh"`],
  ["a.sh", `@@read -r x < "$(dirname "$0")/lib.sh"`],
  ["a.py", `from pathlib import Path\n@@print((Path(__file__).parent / "data.json").read_text())`],
  [
    "a.py",
    `from pathlib import Path\nHERE = Path(__file__).resolve().parent\n@@print(open(HERE / "data.json").read())`
  ],
  ["a.py", `import os\n@@print(open(os.path.join(os.path.dirname(__file__), "data.json")).read())`],
  [
    "a.py",
    `import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n@@with open(os.path.join(HERE, "sub", "data.json")) as f:\n    print(f.read())`
  ],
  [
    "a.py",
    `import os\nHERE: str = os.path.dirname(os.path.realpath(__file__))\n@@print(open(HERE + "/data.json", "r").read())`
  ],
  ["a.py", `import os\nHERE = os.path.dirname(__file__)\n@@print(open(f"{HERE}/data.json", mode="rb").read())`],
  ["a.py", `import pathlib\n@@print(pathlib.Path(__file__).with_name("data.json").read_bytes())`],
  [
    "a.py",
    `from pathlib import Path\nDATA = Path(__file__).parents[0].joinpath("sub", "data.json")\n@@print(DATA.open().read())`
  ],
  [
    "a.py",
    `from pathlib import Path\nROOT = Path(__file__).absolute().parent\ndef load():\n@@    return (ROOT / "sub" / "data.json").read_text()\nload()`
  ],
  [
    "a.py",
    `import io, os.path\n@@print(io.open(str(os.path.dirname(__file__) + "/data.json"), encoding="utf-8").read())`
  ],
  ["a.py", `import os\n@@print(os.listdir(os.path.join(os.path.dirname(__file__), "sub")))`],
  ["a.py", `import runpy, os\n@@runpy.run_path(os.path.join(os.path.dirname(__file__), "other.py"))`],
  [
    "a.mjs",
    `import { readFileSync } from "node:fs"\nimport { join } from "node:path"\n@@console.log(readFileSync(join(import.meta.dirname, "data.json"), "utf8"))`
  ],
  ["a.mjs", `import fs from "node:fs"\n@@fs.readFileSync(\`\${import.meta.dirname}/data.json\`)`],
  [
    "a.mjs",
    `import fs from "node:fs"\nimport path from "node:path"\nimport { fileURLToPath } from "node:url"\nconst __dirname = path.dirname(fileURLToPath(import.meta.url))\n@@fs.readFileSync(path.resolve(__dirname, "./sub", "data.json"))`
  ],
  [
    "a.mjs",
    `import fs from "node:fs/promises"\nconst here = import.meta.dirname\n@@await fs.readFile(here + "/data.json", "utf8")`
  ],
  [
    "a.mjs",
    `import fs from "node:fs"\nimport { fileURLToPath } from "node:url"\nconst here = fileURLToPath(new URL(".", import.meta.url))\nconst file = \`\${here}/data.json\`\n@@fs.readFileSync(file)`
  ],
  ["a.mjs", `@@await import(\`\${import.meta.dirname}/lib.mjs\`)`],
  ["a.mjs", `import fs from "node:fs"\n@@fs.readFileSync(new URL("./data.json", import.meta.url))`],
  [
    "a.ts",
    `import fs from "node:fs"\nimport { join } from "node:path"\nconst here: string = import.meta.dirname\n@@fs.readFileSync(join(here, "data.json"))`
  ],
  ["a.cjs", `const fs = require("fs"), path = require("path")\n@@fs.readFileSync(path.join(__dirname, "data.json"))`],
  ["a.cjs", `@@require(__dirname + "/lib.cjs")`],
  ["a.cjs", `@@require.resolve("./lib.cjs")`],
  ["a.cjs", `const path = require("path")\nconst dir = path.dirname(__filename)\n@@require(path.join(dir, "lib.cjs"))`],
  ["a.cjs", `const { readdirSync } = require("fs")\n@@readdirSync(__dirname + "/sub")`]
]

/** They run alone; `true` where something is said of them. */
const fine: ReadonlyArray<readonly [name: string, code: string, unsure: boolean]> = [
  ["a.sh", `echo "usage: $(basename "$0") FILE"`, false],
  ["a.sh", `echo "\${0##*/}"`, false],
  ["a.sh", `# source "$(dirname "$0")/lib.sh"\necho 'source "$(dirname "$0")/lib.sh"'`, false],
  ["a.sh", `cat <<'END'\nsource "$(dirname "$0")/lib.sh"\nEND`, false],
  ["a.sh", `[ -f "$(dirname "$0")/.env" ] && source "$(dirname "$0")/.env" || true`, false],
  ["a.sh", `HERE="$(dirname "$0")"\nif [[ -r "$HERE/lib.sh" ]]; then . "$HERE/lib.sh"; fi`, false],
  ["a.sh", `source "$(dirname "$0")/lib.sh" 2>/dev/null || true`, true],
  ["a.sh", `cd "$(dirname "$0")"\necho here`, true],
  ["a.sh", `echo "$(cd "$(dirname "$0")/.." && pwd)"`, true],
  ["a.sh", `D=$(dirname "$0")\necho x > "$D/out"\ncat "$D/out"`, true],
  ["a.sh", `if [ "\${BASH_SOURCE[0]}" = "$0" ]; then echo main; fi`, false],
  ["a.sh", `source /etc/os-release\n. ~/.profile 2>/dev/null || true`, false],
  ["a.py", `import os\nprint("usage:", os.path.basename(__file__))`, false],
  ["a.py", `from pathlib import Path\nprint(Path(__file__).name, Path(__file__).stem)`, false],
  ["a.py", `print(open(__file__).read())`, false],
  ["a.py", `# Path(__file__).parent / "x"\nprint("__file__")`, false],
  ["a.py", `from pathlib import Path\nROOT = Path(__file__).parent.parent`, false],
  ["a.py", `from pathlib import Path\nprint(Path(__file__).resolve().parents[1])`, true],
  ["a.py", `import os, sys\nsys.path.insert(0, os.path.dirname(__file__))`, true],
  [
    "a.py",
    `from pathlib import Path\nF = Path(__file__).parent / "data.json"\nprint(F.read_text() if F.exists() else 1)`,
    false
  ],
  [
    "a.py",
    `import os\nF = os.path.join(os.path.dirname(__file__), "x")\nif os.path.isfile(F):\n    print(open(F).read())`,
    false
  ],
  [
    "a.py",
    `from pathlib import Path\ntry:\n    print((Path(__file__).parent / "x").read_text())\nexcept OSError:\n    pass`,
    false
  ],
  ["a.py", `from pathlib import Path\nF = Path(__file__).parent / "cache"\nF.mkdir()\nprint(list(F.iterdir()))`, true],
  ["a.py", `import os\nHERE = os.path.dirname(__file__)\nwith open(HERE + "/log", "w") as f:\n    f.write("x")`, true],
  ["a.py", `import sys, pathlib\nprint(pathlib.Path("data").parent / "x.json")`, false],
  [
    "a.mjs",
    `import { pathToFileURL } from "node:url"\nif (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(1)`,
    false
  ],
  [
    "a.mjs",
    `import { createRequire } from "node:module"\nconst require = createRequire(import.meta.url)\nrequire("node:fs")`,
    false
  ],
  ["a.mjs", `import { basename } from "node:path"\nconsole.log(basename(import.meta.filename))`, false],
  ["a.mjs", `console.log(import.meta.dirname)`, true],
  [
    "a.mjs",
    `import fs from "node:fs"\nconst f = import.meta.dirname + "/x"\nif (fs.existsSync(f)) fs.readFileSync(f)`,
    false
  ],
  [
    "a.mjs",
    `import fs from "node:fs/promises"\nawait fs.readFile(\`\${import.meta.dirname}/x\`).catch(() => "")`,
    false
  ],
  ["a.mjs", `import fs from "node:fs"\ntry { fs.readFileSync(import.meta.dirname + "/x") } catch {}`, false],
  ["a.mjs", `const page = "import.meta.dirname"\n// __dirname + "/x"\nconsole.log(page)`, false],
  ["a.cjs", `console.log(require("path").resolve(__dirname, ".."))`, true],
  ["a.cjs", `console.log(require("path").basename(__filename))`, false]
]

const headOf = (name: string): string => heads[extname(name)]!
const check = (name: string, code: string) => checkFiles({ [`tools/${name}`]: `${headOf(name)}${code}\n` })

describeWith(["python3"], "a single file that looks beside itself", () => {
  it.live("is refused where it cannot run, with the line and that a folder would do", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [index, [name, marked]] of needed.entries()) {
        const code = marked.replace("@@", "")
        const folder = join(yield* temporary, "copy")
        write(folder, { [name]: `${headOf(name)}${code}\n` })
        if (run(folder, name) === 0) wrong.push(`${index} runs alone: ${code}`)
        write(folder, beside)
        if (run(folder, name) !== 0) wrong.push(`${index} does not run at all: ${code}`)
        const result = yield* Effect.result(check(name, code))
        if (result._tag === "Success") {
          wrong.push(`${index} is accepted: ${code}`)
          continue
        }
        const error = yield* invalid(check(name, code))
        const line = `${headOf(name)}${marked.slice(0, marked.indexOf("@@"))}`.split("\n").length
        if (error.line !== line || !error.hint.includes("a/tool.yaml") || !error.issue.includes("runs alone")) {
          wrong.push(`${index}: ${error.message}; ${error.hint}`)
        }
      }
      assert.deepStrictEqual(wrong, [])
    }), 120_000)

  it.live("is not, where it runs without; what is likely to go wrong is said", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [index, [name, code, unsure]] of fine.entries()) {
        const folder = join(yield* temporary, "copy")
        write(folder, { [name]: `${headOf(name)}${code}\n` })
        if (run(folder, name) !== 0) wrong.push(`${index} does not run: ${code}`)
        const result = yield* Effect.result(check(name, code))
        if (result._tag === "Failure") wrong.push(`${index}: ${String(result.failure)}`)
        else {
          const said = result.success._tag === "tool" ? result.success.unsure ?? [] : []
          if ((said.length > 0) !== unsure) wrong.push(`${index} ${code}: ${said.join("; ")}`)
        }
      }
      assert.deepStrictEqual(wrong, [])
    }), 120_000)

  it.live("says all the lines, and is no data of a package", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: 8 }, (_, at) => `source "$(dirname "$0")/${at}.sh"`).join("\n")
      const { issue, line } = yield* invalid(check("a.sh", many))
      assert.strictEqual(line, 5)
      assert.include(issue, "needs 0.sh")
      assert.include(issue, "see also lines 6, 7, 8, 9, 10 and 2 more")
      for (
        const code of [
          `import importlib.resources\nprint(importlib.resources.files(__package__).joinpath("x").read_text())`,
          `from importlib import resources\nprint(resources.read_text(__package__, "data.json"))`,
          `from importlib.resources import files\nprint(files(__package__))`,
          `import pkgutil\nprint(pkgutil.get_data(__package__, "data.json"))`
        ]
      ) {
        const folder = join(yield* temporary, "copy")
        write(folder, { "a.py": code, ...beside })
        assert.notStrictEqual(run(folder, "a.py"), 0, code)
        assert.include((yield* invalid(check("a.py", code))).issue, "package data", code)
      }
    }), 60_000)
})

describe("a folder tool", () => {
  const folder = (main: string, code: string, more: Files = {}): Files => ({
    "tools/f/tool.yaml": `tool_id: f\nversion: "1.0.0"\ntool_type: script\nexecutor_id: ${
      main.endsWith(".sh") ? "bash" : main.endsWith(".py") ? "python" : "node"
    }_runtime\nentrypoint: ${main}\n`,
    [`tools/f/${main}`]: `${code}\n`,
    ...Object.fromEntries(Object.entries(beside).map(([path, text]) => [`tools/f/${path}`, text])),
    ...more
  })

  it.live("has the files that a single file would miss", () =>
    Effect.gen(function*() {
      for (const [name, marked] of needed) {
        const tool = yield* checkFiles(folder(name, marked.replace("@@", "")))
        assert.isUndefined(tool._tag === "tool" ? tool.unsure : [], marked)
      }
    }), 60_000)

  it.live("is refused for a file that it does not have, and for one outside of it", () =>
    Effect.gen(function*() {
      const refused: ReadonlyArray<readonly [main: string, code: string, issue: string]> = [
        ["a.sh", `source "$(dirname "$0")/nothing.sh"`, "no file nothing.sh"],
        ["bin/a.sh", `source "$(dirname "$0")/lib.sh"`, "no file bin/lib.sh"],
        ["a.sh", `source "$(dirname "$0")/../lib.sh"`, "needs ../lib.sh, which is not in the folder"],
        ["a.sh", `R="$(cd "$(dirname "$0")/.." && pwd)"\n. "$R/lib.sh"`, "needs ../lib.sh"],
        ["a.sh", `cd "$(dirname "$0")"\nsource ./nothing.sh`, "no file nothing.sh"],
        ["a.py", `import os\nopen(os.path.join(os.path.dirname(__file__), "no.json"))`, "no file no.json"],
        [
          "src/a.py",
          `from pathlib import Path\n(Path(__file__).parent / "data.json").read_text()`,
          "no file src/data.json"
        ],
        [
          "src/a.py",
          `from pathlib import Path\n(Path(__file__).parents[2] / "x.json").read_text()`,
          "needs ../../x.json"
        ],
        ["a.mjs", `import fs from "fs"\nfs.readFileSync(import.meta.dirname + "/no.json")`, "no file no.json"],
        ["a.cjs", `require(__dirname + "/../lib.cjs")`, "needs ../lib.cjs"]
      ]
      for (const [main, code, issue] of refused) {
        const error = yield* invalid(checkFiles(folder(main, code)))
        assert.include(error.issue, issue, code)
        assert.strictEqual(error.item, `project:tools/f/${main}`)
      }
      yield* checkFiles(
        folder("src/a.py", `from pathlib import Path\n(Path(__file__).parents[1] / "data.json").read_text()`)
      )
      yield* checkFiles(folder("bin/a.sh", `source "$(dirname "$0")/../lib.sh"`))
      yield* checkFiles(folder("bin/a.sh", `cd "$(dirname "$0")/.."\n. ./lib.sh`))
    }), 60_000)
})

describe("a file that is sourced by a path from the working directory", () => {
  it.live(
    "is the project's: refused where it lies beside the tool alone, and said otherwise",
    () =>
      Effect.gen(function*() {
        const tool = (code: string) => `${heads[".sh"]}${code}\n`
        const manifest =
          `tool_id: f\nversion: "1.0.0"\ntool_type: bash\nexecutor_id: bash_runtime\nentrypoint: main.sh\n`
        const refused = {
          ".ai/tools/one.sh": tool("source ./lib.sh"),
          ".ai/tools/two.sh": tool(". lib.sh"),
          ".ai/tools/three.sh": tool("source lib/more.sh"),
          ".ai/tools/f/tool.yaml": manifest,
          ".ai/tools/f/main.sh": "source ./lib.sh\n",
          ".ai/tools/f/lib.sh": "echo lib\n"
        }
        const accepted = {
          ".ai/tools/g/tool.yaml": manifest.replace("tool_id: f", "tool_id: g"),
          ".ai/tools/g/main.sh": "source \"${BASH_SOURCE[0]%/*}/lib.sh\"\n",
          ".ai/tools/g/lib.sh": "echo found\n",
          ".ai/tools/own.sh": tool("source ./ours.sh")
        }
        const project = yield* realProject({
          ...refused,
          ...accepted,
          ".ai/tools/lib.sh": tool("echo lib"),
          ".ai/tools/lib/more.sh": tool("echo more"),
          "ours.sh": "echo ours\n"
        })
        yield* Effect.gen(function*() {
          const { items, refused: found } = yield* (yield* Signatures).plan({ id: "**", tier: "project" })
          assert.sameMembers(found.map(({ item }) => basename(item).replace(".sh", "")), ["one", "two", "three", "f"])
          const effects = items.find(({ location }) => location.id === "own")?.effects.join("; ") ?? ""
          assert.include(effects, "sources ./ours.sh from its working directory (line 5), which no signature covers")
        }).pipe(Effect.provide(kernelOf(project)))
        for (const path of Object.keys(refused)) Fs.rmSync(join(project.project, path))
        yield* Effect.gen(function*() {
          yield* accept
          const proxy = yield* ToolProxy
          const call = (item: string) => proxy.call({ callId: "call", caller, item, parameters: {}, dryRun: false })
          assert.strictEqual((yield* call("g")).data, "found\n")
          assert.strictEqual((yield* call("own")).data, "ours\n")
        }).pipe(Effect.provide(kernelOf(project)))
      }),
    60_000
  )
})
