// Config that no call gets past its primitive: named with the key's own line, in each of the formats.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkFiles, invalid } from "../parsing.ts"

const tool = (config: string, executor = "subprocess", more = "") =>
  `version: "1.0.0"
tool_type: ${executor === "http_client" ? "http" : executor.includes("runtime") ? "bash" : "script"}
executor_id: ${executor}
${more}input_schema: {type: object, properties: {a: {type: string}}}
config:
${config.split("\n").map((line) => `  ${line}`).join("\n")}
`

const http = (config: string) => tool(`url: https://a.example/x\n${config}`, "http_client")

/** Lines count from the config's first, which is 1. */
const refused: ReadonlyArray<readonly [text: string, line: number, issue: string]> = [
  [tool("command: ls\ntimeout: abc"), 2, "config.timeout"],
  [tool("command: ls\ntimeout: 0"), 2, "config.timeout"],
  [tool("command: ls\ntimeout: 1000000"), 2, "config.timeout"],
  [tool("command: ls\noptions:\n  a: {as: nonsense}"), 3, "config.options.a.as"],
  [tool("command: ls\noptions: {a: {option: name}}"), 2, "config.options.a.option"],
  [tool("command: ls\nargs: ls"), 2, "config.args"],
  [tool("command: ls\nargs: [{x: 1}]"), 2, "config.args"],
  [tool("command: ls\nlimits: {memory: lots}"), 2, "config.limits.memory"],
  [tool("command: ls\nlimits: {cpu: 1.5}"), 2, "config.limits.cpu"],
  [tool("command: ls\ninput: arguments"), 2, "config.input"],
  [tool("command: ls\noutput: yaml"), 2, "config.output"],
  [tool("command: ls\nenv: {A: [1]}"), 2, "config.env.A"],
  [tool("command: \"\""), 1, "config.command"],
  [tool("command: [ls]"), 1, "config.command"],
  [tool("command: \"{a}\""), 1, "config.command lets its caller"],
  [tool("command: \"/opt/{a}/run\""), 1, "config.command lets its caller"],
  [tool("command: bash\nargs: [\"-c\", \"{a}\"]"), 2, "config.args[1] lets its caller"],
  [tool("command: bash\nargs: [\"-c\", \"echo {a} | wc\"]"), 2, "config.args[1] lets its caller"],
  [tool("command: env\nargs: [sh, \"-c\", \"echo {a}\"]"), 2, "config.args[2] lets its caller"],
  [tool("command: python3\nargs:\n  - -c\n  - print('{a}')"), 2, "config.args[1] lets its caller"],
  [tool("command: node\nargs: [\"-e\", \"{a}\"]"), 2, "config.args[1] lets its caller"],
  [tool("command: ls\ncalls: [\"fs.raed(x)\"]"), 2, "calls/0: there is no capability fs.raed; fs.read is there"],
  [tool("command: ls\ncalls:\n  - fs.read(src/**)\n  - registry.write"), 2, "calls/1: "],
  [tool("command: ls\ncalls: [\"fs.read(/etc/**)\"]"), 2, "calls/0: only system items may ask for paths outside"],
  [tool("command: ls\ncalls: [fs.read]"), 2, "calls/0: \"fs.read\" does not say what it is about"],
  [tool("command: ls\ncalls: [\"fs.read({a})\"]"), 2, "calls/0: "],
  [tool("command: ls\ncalls: [\"fs.read(../x)\"]"), 2, "calls/0: "],
  [tool("command: ls\ncalls: [\"read files\"]"), 2, "calls/0: "],
  [tool("command: ls\ncalls: [\"process.exec(git; id)\"]"), 2, "calls/0: "],
  [tool("command: ls\ncalls: [\"net.http(*)\", \"net.http(a b)\"]"), 2, "calls/1: "],
  [tool("command: ls\ncalls: [\"fs.raed(x)\", \"fs.read(a)\", \"nothing\"]"), 2, "; calls/2: "],
  [tool("output: text\ncalls: [\"fs.raed(x)\"]", "bash_runtime"), 2, "calls/0: "],
  [tool("command: ls\nenv: {LD_PRELOAD: ./x.so}"), 2, "sets LD_PRELOAD"],
  [tool("command: ls\nenv:\n  A: b\n  NODE_OPTIONS: --require ./x.js"), 4, "sets NODE_OPTIONS"],
  [tool("command: ls\nenv: {ld_library_path: x}"), 2, "sets ld_library_path"],
  [tool("command: ls\nenv: {PYTHONPATH: lib}"), 2, "sets PYTHONPATH"],
  [tool("command: ls\nenv: {BASH_ENV: x}"), 2, "sets BASH_ENV"],
  [tool("command: ls\nenv: {DYLD_INSERT_LIBRARIES: x}"), 2, "sets DYLD_INSERT_LIBRARIES"],
  [tool("command: ls\nenv: {PATH: .}"), 2, "sets PATH"],
  [tool("command: ls\nenv: {GCONV_PATH: .}"), 2, "sets GCONV_PATH"],
  [tool("command: ls\nenv: {BASH_FUNC_ls%%: \"() { id; }\"}"), 2, "sets BASH_FUNC_ls%%"],
  [tool("command: ls\nenv: {PERL5LIB: .}"), 2, "sets PERL5LIB"],
  [tool("command: ls\nenv: {DOTNET_STARTUP_HOOKS: x}"), 2, "sets DOTNET_STARTUP_HOOKS"],
  [tool("own: 1\nenv: {LD_AUDIT: x}", "my_runtime"), 2, "sets LD_AUDIT"],
  [tool("command: ls\ninput: stdin\noptions: {a: {as: words}}"), 3, "config.options is about arguments"],
  [
    tool("command: ls\noptions: {b: {as: positional}}"),
    2,
    "how the parameter b is passed, and the tool declares no such"
  ],
  [tool("command: ls\noptions:\n  a: {option: -a}\n  A: {option: -b}"), 4, "how the parameter A is passed"],
  [tool("input: args\noptions:\n  aa: {as: words}", "bash_runtime"), 3, "how the parameter aa is passed"],
  [
    tool("command: ls\noptions: {b: {as: value}}").replace("properties: {a: {type: string}}", "properties: {}"),
    2,
    "how the parameter b is passed"
  ],
  [tool("command: ls\ncomand: ls"), 2, "nothing reads config.comand"],
  [tool("command: ls\nlimits:\n  ram: 1GiB"), 3, "nothing reads config.limits.ram"],
  [http("method: FETCH"), 2, "config.method"],
  [http("timeout: soon"), 2, "config.timeout"],
  [http("retry: {max_attempts: many}"), 2, "config.retry.max_attempts"],
  [http("headers: [A]"), 2, "config.headers"],
  [http("auth: {type: bearer}"), 2, "config.auth"],
  [http("auth: {type: magic}"), 2, "unknown type"],
  [tool("url: \"{a}\"", "http_client"), 1, "no http(s) address"]
]

const accepted: ReadonlyArray<string> = [
  tool("command: ls\ntimeout: 1.5\nargs: [1, true, \"{a}\"]\nenv: {A: \"{a}\", B: 1}"),
  tool("command: ls\ntimeout: \"{a}\""),
  tool("command: \"${PROGRAM}\""),
  tool("command: ls\ncwd: \"{a}\""),
  tool("command: bash\nargs: [\"-c\", 'echo \"$1\"', _, \"{a}\"]"),
  tool("command: env\nargs: [\"LANG=C\", sort, \"{a}\"]"),
  tool("command: ls\noptions: {a: {as: positional}}\nlimits: {memory: 1GiB}"),
  tool("command: ls\noptions: {b: {as: positional}}").replace(
    "{type: object,",
    "{type: object, additionalProperties: true,"
  ),
  tool("options: {b: {as: positional}}", "my_runtime"),
  tool("own: {timeout: abc}", "my_runtime"),
  tool(
    "command: ls\ncalls: [\"fs.read(src/**, docs/**)\", tool.run_tests, \"process.exec(git status)\", \"net.http(*.example.com)\"]"
  ),
  http("method: POST\nbody: {a: \"{a}\"}\nretry: {max_attempts: 2}\nprivate_hosts: [\"localhost:1\"]"),
  http("query: {a: \"{a}\", b: null}\nauth: {type: bearer, token: \"${TOKEN}\"}")
]

describe("config that cannot work", () => {
  it.live("is refused when it is signed, with the line of its key", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [text, line, issue] of refused) {
        const error = yield* Effect.match(invalid(checkFiles({ "tools/x.yaml": text })), {
          onFailure: () => undefined,
          onSuccess: (one) => one
        })
        const at = text.slice(0, text.indexOf("config:")).split("\n").length
        if (error === undefined || error.line !== at + line || !error.issue.includes(issue)) {
          wrong.push(`${text.slice(text.indexOf("config:"))}: ${error?.message ?? "is signed"}`)
        }
      }
      assert.deepStrictEqual(wrong, [])
    }), 30_000)

  it.live("is no config that a call can fill, nor that of another executor", () =>
    Effect.forEach(accepted, (text) => checkFiles({ "tools/x.yaml": text })))

  it.live("has its line in Python, JavaScript, bash and a folder too", () =>
    Effect.gen(function*() {
      const files: ReadonlyArray<readonly [Readonly<Record<string, string>>, number, item?: string]> = [
        [{
          "tools/x.py":
            `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\nCONFIG = {\n  "output": "json",\n  "timeout": "abc"\n}\n`
        }, 5],
        [{
          "tools/x.mjs":
            `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\nexport const CONFIG = {\n  env: {\n    LD_PRELOAD: "x"\n  }\n}\n`
        }, 5],
        [{
          "tools/x.sh":
            `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n#   config:\n#     timeout: abc\necho 1\n`
        }, 6],
        [
          {
            "tools/f/tool.yaml":
              `version: "1.0.0"\ntool_type: bash\nexecutor_id: bash_runtime\nentrypoint: x.sh\nconfig:\n  timeout: abc\n`,
            "tools/f/x.sh": "#!/bin/bash\necho 1\n"
          },
          6,
          "project:tools/f/tool.yaml"
        ],
        [{
          "tools/x.yaml":
            `version: "1.0.0"\ntool_type: script\nexecutor_id: my_runtime\nenv_config:\n  env: {LD_PRELOAD: x}\n`
        }, 5]
      ]
      for (const [texts, line, item] of files) {
        const error = yield* invalid(checkFiles(texts))
        assert.strictEqual(error.line, line, error.message)
        if (item !== undefined) assert.strictEqual(error.item, item)
      }
    }), 30_000)
})
