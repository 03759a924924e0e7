// Files of a folder tool that nobody can read, and that an interpreter takes for the source that a person is shown:
// the interpreter says itself what it finds, and Kiwi does not sign it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { temporary } from "../../support/temporary.ts"
import { checkFiles, invalid } from "./parsing.ts"

const yaml = (entrypoint: string, more = "") =>
  `tool_id: f\ntool_type: x\nversion: '1.0.0'\nexecutor_id: ${
    entrypoint.endsWith(".py") ? "python" : entrypoint.endsWith("js") ? "node" : "bash"
  }_runtime\nentrypoint: ${entrypoint}\n${more}`

type Files = Readonly<Record<string, string>>

/** Strings are bytes, one a character. */
const asItem = (files: Files, more = "") => ({
  "tools/f/tool.yaml": yaml(Object.keys(files)[0]!, more),
  ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`tools/f/${path}`, Buffer.from(text, "latin1")]))
})

const write = (folder: string, files: Files) => {
  for (const [path, text] of Object.entries(files)) {
    fs.mkdirSync(dirname(join(folder, path)), { recursive: true })
    fs.writeFileSync(join(folder, path), text, "latin1")
  }
}

const nuls = "\0".repeat(8)
/** JavaScript, bash and Perl that no person is shown. */
const js = `/*${nuls}*/console.log("STAND-IN")`
const bash = `echo STAND-IN\n# ${nuls}\n`
const perl = `print "STAND-IN\\n";1;\n__END__\n${nuls}`
const elf = `\x7fELF\x02\x01\x01${nuls}`
const said = `console.log("SOURCE")\n`

/** With the code in `__main__` and `helper`, as Python's own zipfile writes it. */
const zip = (() => {
  const made = spawnSync("python3", [
    "-c",
    `import io, sys, zipfile
out = io.BytesIO()
with zipfile.ZipFile(out, "w") as z:
    z.writestr("helper.py", "print('STAND-IN')")
    z.writestr("__main__.py", "print('STAND-IN')")
sys.stdout.buffer.write(out.getvalue())`
  ])
  return made.stdout.toString("latin1")
})()

/** Prints where Python finds a module, and imports nothing. */
const pythonFinds = (module: string) =>
  `import sys, importlib.machinery as m\n` +
  `sys.path.insert(0, ".")\nprint(m.PathFinder.find_spec("${module}", ["."]).origin)\n`
const nodeFinds = (name: string) => `console.log(require.resolve("${name}"))`

interface StandIn {
  readonly what: string
  /** The first is the entrypoint. */
  readonly files: Files
  /** A program and its arguments, in the folder of the tool; the entrypoint where it is absent. */
  readonly run?: readonly [program: string, ...args: ReadonlyArray<string>]
  /** What it prints; "STAND-IN" where it is absent. */
  readonly prints?: string
  /** In the refusal; the stand-in, where it is absent. */
  readonly named: string
  readonly more?: string
}

const library = (name: string, module: string, source: Files, asks = module): StandIn => ({
  what: `Python: ${name} for ${Object.keys(source).join()}`,
  files: { "main.py": `import ${module}\n`, ...source, [name]: elf },
  run: ["python3", "-c", pythonFinds(asks)],
  prints: name,
  named: name
})

const tag = spawnSync("python3", ["-c", "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"], {
  encoding: "utf8"
}).stdout.trim()

const standIns: ReadonlyArray<StandIn> = [
  library("helper.so", "helper", { "helper.py": "" }),
  library(`helper${tag}`, "helper", { "helper.py": "" }),
  library("helper.abi3.so", "helper", { "helper.py": "" }),
  library("helper.so", "helper", { "helper/a.py": "" }),
  library("selectors.so", "json", {}, "selectors"),
  {
    what: "Python: __init__.so for __init__.py",
    files: { "main.py": "import helper\n", "helper/__init__.py": "", "helper/__init__.abi3.so": elf },
    run: ["python3", "-c", pythonFinds("helper")],
    prints: "helper/__init__.abi3.so",
    named: "helper/__init__.abi3.so"
  },
  {
    what: "Python: a package that is declared",
    files: { "main.py": "import requests\n", "requests.so": elf },
    run: ["python3", "-c", pythonFinds("requests")],
    prints: "requests.so",
    named: "the package requests",
    more: "dependencies: [\"requests==2.32.0\"]\n"
  },
  {
    what: "Python: a zip file on the path",
    files: { "main.py": "import sys\nsys.path.insert(0, 'helper.zip')\nimport helper\n", "helper.zip": zip },
    named: "helper.zip"
  },
  {
    what: "Python: a zip file that is called otherwise, named on another line",
    files: { "main.py": "import sys\nlogo = 'logo.png'\nsys.path.insert(0, logo)\nimport helper\n", "logo.png": zip },
    named: "logo.png"
  },
  {
    what: "Python: a zip file with a __main__",
    files: { "main.py": "import runpy\nrunpy.run_path('data.bin')\n", "data.bin": zip },
    named: "data.bin"
  },
  {
    what: "Python: a zip file that it starts",
    files: { "main.py": "import subprocess\nsubprocess.run(['python3', 'data.bin'])\n", "data.bin": zip },
    named: "data.bin"
  },
  {
    what: "Python: a script that it starts",
    files: { "main.py": "import subprocess\nsubprocess.run(['bash', 'data.bin'])\n", "data.bin": bash },
    named: "data.bin"
  },
  ...[".js", ".json"].map((ending): StandIn => ({
    what: `Node: a file without an ending for ${ending}`,
    files: { "main.cjs": `require("./helper")\n`, [`helper${ending}`]: ending === ".js" ? said : "{}", helper: js },
    named: "helper"
  })),
  {
    what: "Node: a file without an ending for .cjs",
    files: { "main.cjs": `require("./helper")\n`, "helper.cjs": said, helper: js },
    named: "helper"
  },
  {
    what: "Node: a name with a dot",
    files: { "main.cjs": `require("./a.min")\n`, "a.min.js": said, "a.min": js },
    named: "a.min"
  },
  {
    what: "Node: a file without an ending alone",
    files: { "main.cjs": `require("./helper")\n`, helper: js },
    named: "helper"
  },
  {
    what: "Node: an image that is required",
    files: { "main.cjs": `require("./logo.png")\n`, "logo.png": js },
    named: "logo.png"
  },
  {
    what: "Node: by a package.json's main",
    files: {
      "main.cjs": `require("./lib")\n`,
      "lib/package.json": `{"main":"blob"}`,
      "lib/index.js": said,
      "lib/blob": js
    },
    named: "lib/blob"
  },
  {
    what: "Node: by a package.json's imports",
    files: { "main.cjs": `require("#x")\n`, "package.json": `{"imports":{"#x":"./blob.bin"}}`, "blob.bin": js },
    named: "blob.bin"
  },
  {
    what: "Node: a file of node_modules for a package",
    files: { "main.cjs": `require("x")\n`, "node_modules/x": js },
    named: "node_modules/x"
  },
  {
    what: "Node: in a module, by createRequire",
    files: {
      "main.mjs": `import { createRequire } from "node:module"\ncreateRequire(import.meta.url)("./helper")\n`,
      helper: js
    },
    named: "helper"
  },
  {
    what: "Node: .node for .mjs",
    files: { "main.cjs": `require("./helper")\n`, "helper.mjs": said, "helper.node": elf },
    run: ["node", "-e", nodeFinds("./helper")],
    prints: "helper.node",
    named: "helper.node"
  },
  {
    what: "Node: .node for a folder",
    files: { "main.cjs": `require("./helper")\n`, "helper/index.js": said, "helper.node": elf },
    run: ["node", "-e", nodeFinds("./helper")],
    prints: "helper.node",
    named: "helper.node"
  },
  {
    what: "Node: index.node for index.mjs",
    files: { "main.cjs": `require("./lib")\n`, "lib/index.mjs": said, "lib/index.node": elf },
    run: ["node", "-e", nodeFinds("./lib")],
    prints: "lib/index.node",
    named: "lib/index.node"
  },
  {
    what: "Node: a worker",
    files: {
      "main.cjs": `new (require("node:worker_threads").Worker)("./w.cjs.bin".slice(0, 0) + __dirname + "/w.bin")\n`,
      "w.bin": js
    },
    run: ["node", "-e", `require("./w.bin")`],
    named: "w.bin"
  },
  {
    what: "Node: code that is evaluated",
    files: { "main.cjs": `eval(require("node:fs").readFileSync(__dirname + "/w.bin", "utf8"))\n`, "w.bin": js },
    named: "w.bin"
  },
  ...["Helper.pmc", "lib/Helper.pmc"].map((path): StandIn => ({
    what: `Perl: ${path}, compiled`,
    files: {
      "main.sh": `perl -I"\${0%/*}" -I"\${0%/*}/lib" -e 'use Helper;'\n`,
      [path.slice(0, -1)]: "print 'SOURCE'; 1;\n",
      [path]: path.startsWith("lib") ? perl.replace(`__END__\n${nuls}`, "") : perl
    },
    named: path
  })),
  {
    what: "Perl: a file that it does",
    files: { "main.sh": "perl -I. \"${0%/*}/main.pl\"\n", "main.pl": "do './logo.png';\n", "logo.png": perl },
    named: "logo.png"
  },
  {
    what: "bash: a file without an ending for .sh",
    files: { "main.sh": "source \"${BASH_SOURCE[0]%/*}/helper\"\n", "helper.sh": "echo SOURCE\n", helper: bash },
    named: "helper"
  },
  {
    what: "bash: a file without an ending alone",
    files: { "main.sh": ". \"$(cd \"$(dirname \"$0\")\" && pwd)/helper\"\n", helper: bash },
    named: "helper"
  },
  {
    what: "bash: a file without an ending, by a variable",
    files: { "main.sh": "name=helper\n. \"${0%/*}/$name\"\n", helper: bash },
    named: "helper"
  },
  {
    what: "Node: a file without an ending, by another require",
    files: { "main.cjs": `const load = require\nload("./helper")\n`, helper: js },
    named: "helper"
  },
  {
    what: "bash: an image that is sourced",
    files: { "main.sh": "here=${0%/*}; true && source \"$here\"/logo.png\n", "logo.png": bash },
    named: "logo.png"
  },
  {
    what: "bash: a script for another bash",
    files: { "main.sh": "bash -e \"${0%/*}/data.bin\"\n", "data.bin": bash },
    named: "data.bin"
  }
]

const programs: Readonly<Record<string, string>> = { py: "python3", sh: "bash" }

describe("a file that nobody can read, and that runs where a source is shown", () => {
  for (const { files, more, named, prints = "STAND-IN", run, what } of standIns) {
    it.live(`is what the interpreter takes, and is not signed: ${what}`, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        write(folder, files)
        const entrypoint = Object.keys(files)[0]!
        const [program, ...args] = run ?? [programs[entrypoint.split(".")[1]!] ?? "node", `./${entrypoint}`]
        const { stderr, stdout } = spawnSync(program === "node" ? process.execPath : program!, args, {
          cwd: folder,
          encoding: "utf8"
        })
        assert.include(stdout, prints, stderr)
        assert.notInclude(stdout, "SOURCE")
        const error = yield* invalid(checkFiles(asItem(files, more)))
        assert.include(`${error.message}`, named)
        assert.match(error.message, /not readable text|compiled code/)
      }))
  }

  it.live("is not signed where no interpreter of this machine says so", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [path: string, source: string]> = [
        ["helper.pyd", "helper.py"],
        ["helper.cp312-win_amd64.pyd", "helper.py"],
        ["helper.dll", "helper.py"],
        ["HELPER.SO", "helper.py"],
        ["helper.pyc", "other.py"],
        ["helper.pyo", "helper.py"],
        ["helper.elc", "helper.el"],
        ["helper.zsh.zwc", "helper.zsh"],
        ["helper", "helper.ts"],
        ["helper", "helper.rb"],
        ["helper.node", "helper.ts"],
        ["__main__.so", "other.py"]
      ]
      for (const [path, source] of cases) {
        assert.include((yield* invalid(checkFiles(asItem({ "main.py": "", [source]: "", [path]: elf })))).message, path)
      }
    }))
})

describe("data", () => {
  const signed: ReadonlyArray<Files> = [
    { "main.py": "open('draw.png')\n", "draw.py": "", "draw.png": elf, "draw.sqlite": elf, "draw.onnx": elf },
    { "main.py": "import ctypes\nctypes.CDLL('./libdraw.so')\n", "libdraw.so": elf, "vendor/selectors/a.so": elf },
    { "main.py": "import sys\nsys.path.append('lib')\n", "lib/a.py": "", "template.docx": zip },
    { "main.py": "import zipfile\nzipfile.ZipFile('a.zip')\n", "a.zip": zip },
    { "main.py": "import subprocess\nsubprocess.run(['./tool', 'logo.png'])\n", tool: elf, "logo.png": elf },
    { "main.py": "import re\nre.compile('x'), open('logo.png')\n", "logo.png": elf },
    { "main.cjs": `require("node:fs").readFileSync(require.resolve("./logo.png"))\n`, "logo.png": elf },
    { "main.mjs": `new URL("./logo.png", import.meta.url)\n`, "logo.png": elf, "logo.svg": "<svg/>\n" },
    { "main.sh": "python3 \"${0%/*}/draw.py\" --logo \"${0%/*}/logo.png\"\n", "draw.py": "", "logo.png": elf },
    { "main.sh": "source \"${0%/*}/lib.sh\"; cat \"${0%/*}/logo.png\"\n", "lib.sh": "", "logo.png": elf },
    { "main.sh": "exec \"${0%/*}/bin/tool\" --logo\n", "bin/tool": elf }
  ]
  for (const files of signed) {
    it.live(`is signed: ${Object.values(files)[0]!.trim()}`, () => Effect.asVoid(checkFiles(asItem(files))))
  }

  it.live("is named with what loads it, where that is a library of machine code", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [files: Files, said: RegExp]> = [
        [
          { "main.cjs": `require("./build/fast.node")\n`, "build/fast.node": elf },
          /loads build\/fast\.node.*main\.cjs/
        ],
        [{ "main.cjs": `require("./fast")\n`, "fast.node": elf }, /loads fast\.node.*main\.cjs/],
        [{ "main.py": "import fast\n", "fast.abi3.so": elf }, /imports fast\.abi3\.so.*main\.py/]
      ]
      for (const [files, says] of cases) {
        const found = yield* Effect.exit(checkFiles(asItem(files)))
        assert.isTrue(Exit.isSuccess(found), String(found))
        if (Exit.isSuccess(found) && found.value._tag === "tool") assert.match(found.value.unsure?.join() ?? "", says)
      }
    }))
})
