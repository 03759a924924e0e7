// An option of a script's own parser stands before the subcommand: a tool that passes it behind is refused.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller, object } from "../../proxy/calls.ts"
import { checkFiles, invalid } from "../parsing.ts"

const string = { type: "string" }
const boolean = { type: "boolean" }

const head = "import argparse, json"
const made = `p = argparse.ArgumentParser()
p.add_argument("-q", "--quiet", action="store_true")
p.add_argument("--level")
s = p.add_subparsers(dest="what")
m = s.add_parser("make", aliases=["mk"])
m.add_argument("--name")
b = s.add_parser("build")
b.add_argument("--jobs", type=int)`
const print = "print(json.dumps(vars(p.parse_args())))"

const py = (properties: Schema.JsonObject, config: Schema.JsonObject, code = made, required: Array<string> = []) =>
  `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\nINPUT_SCHEMA = ${
    JSON.stringify(object(properties, ...required))
  }\nCONFIG = ${JSON.stringify(config)}\n${head}\n${code}\n${print}\n`

const make = { args: ["make"] }
const changed = (before: string, after: string) => {
  assert.include(made, before)
  return made.replace(before, after)
}

/** `line`: of the option, of which six lines stand above the script's own. */
const refused: Readonly<Record<string, readonly [text: string, line: number, issue: string, hint: string]>> = {
  flag: [py({ quiet: boolean }, make), 7, "passed as --quiet behind the subcommand make", `["--quiet", "make"]`],
  short: [py({ q: boolean }, make), 7, "--quiet behind", "Leave the parameter out"],
  option: [
    py({ quiet: boolean }, { ...make, options: { quiet: { option: "-q" } } }),
    7,
    "passed as -q",
    `["-q", "make"]`
  ],
  value: [
    py({ name: string, level: string }, make),
    8,
    "the script's own parser takes it",
    `CONFIG = {"args": ["--level={level}", "make"]}, with level required or with a default`
  ],
  required: [py({ level: string }, make, made, ["level"]), 8, "--level", `"make"]}, or add it`],
  alias: [py({ quiet: boolean }, { args: ["mk"] }), 7, "behind the subcommand make", "the parser of make too"],
  other: [py({ jobs: { type: "integer" } }, make), 13, "only the subcommand build takes it", "Leave the parameter out"],
  behind_option: [py({ quiet: boolean }, { args: ["--level=1", "make"] }), 7, "--quiet behind", "--quiet"],
  group: [
    py({ quiet: boolean }, make, changed(`p.add_argument("-q"`, `g = p.add_argument_group("g")\ng.add_argument("-q"`)),
    8,
    "--quiet behind",
    ""
  ],
  chained: [
    py({ quiet: boolean }, make, changed(`m = s.add_parser("make", aliases=["mk"])\nm`, `s.add_parser("make")`)),
    7,
    "--quiet behind",
    ""
  ],
  parents: [
    py(
      { quiet: boolean },
      make,
      changed(
        `m = s.add_parser("make",`,
        `c = argparse.ArgumentParser(add_help=False)\nm = s.add_parser("make", parents=[c],`
      )
    ),
    7,
    "--quiet behind",
    ""
  ],
  undeclared: [
    `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\nCONFIG = {"args": ["make"]}\n${head}\n${made}\n${print}\n`,
    6,
    "--quiet behind",
    "INPUT_SCHEMA with what make takes"
  ],
  in_main: [
    py(
      { quiet: boolean },
      make,
      `def main():\n    ${made.replaceAll("\n", "\n    ")}\n    return p\np = argparse.ArgumentParser`.replace(
        "\n    return p\np = argparse.ArgumentParser",
        `\n    ${print}\nmain()\nimport sys; sys.exit()`
      )
    ),
    8,
    "--quiet behind",
    ""
  ]
}

const signed: Readonly<
  Record<string, readonly [text: string, given: Schema.JsonObject, got?: Readonly<Record<string, Schema.Json>>]>
> = {
  own: [py({ name: string }, make), { name: "a" }, { name: "a", quiet: false, what: "make" }],
  before: [
    py({ level: string, name: string }, { args: ["--level={level}", "make"] }, made, ["level"]),
    { level: "3", name: "a" },
    { level: "3", name: "a" }
  ],
  always: [py({ name: string }, { args: ["--quiet", "make"] }), { name: "a" }, { quiet: true, name: "a" }],
  both: [
    py({ quiet: boolean }, make, changed(`m.add_argument("--name")`, `m.add_argument("--quiet", action="store_true")`)),
    { quiet: true },
    { quiet: true }
  ],
  common: [
    py(
      { quiet: boolean },
      make,
      changed(
        `m = s.add_parser("make",`,
        `c = argparse.ArgumentParser(add_help=False)\nc.add_argument("--quiet", action="store_true")\nm = s.add_parser("make", parents=[c],`
      )
    ),
    { quiet: true },
    { quiet: true }
  ],
  helper: [
    py(
      { quiet: boolean },
      make,
      changed(`b = `, `def common(q):\n    q.add_argument("--quiet", action="store_true")\ncommon(m)\nb = `)
    ),
    { quiet: true },
    { quiet: true }
  ],
  loop: [
    py(
      { quiet: boolean },
      make,
      `${made}\nfor one in (m, b):\n    one.add_argument("--quiet", action="store_true")`
    ),
    { quiet: true },
    { quiet: true }
  ],
  prefix: [
    py({ level: string }, make, changed(`"--name"`, `"--levels"`)),
    { level: "1" },
    { levels: "1", level: null }
  ],
  known: [
    py({ quiet: boolean }, make, made).replace("p.parse_args()", "p.parse_known_args()[0]"),
    { quiet: true },
    { quiet: false }
  ],
  no_subcommand: [py({ quiet: boolean }, {}), { quiet: true }, { quiet: true, what: null }],
  imported: [
    py(
      { quiet: boolean },
      make,
      `${made}\nfrom functools import partial\npartial(lambda q: q.add_argument("--quiet", action="store_true"), m)()`
    ),
    { quiet: true },
    { quiet: true }
  ]
}

describe("an option that another parser than the subcommand's takes", () => {
  it.live("is refused at its line, and the hint says where it can stand", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [name, [text, line, issue, hint]] of Object.entries(refused)) {
        const error = yield* Effect.match(invalid(checkFiles({ "tools/x.py": text })), {
          onFailure: () => undefined,
          onSuccess: (one) => one
        })
        const isRight = error?.line === line && error.issue.includes(issue) && error.hint.includes(hint)
        if (!isRight) wrong.push(`${name}: ${error?.message ?? "is signed"} at ${error?.line} (${error?.hint ?? ""})`)
      }
      assert.deepStrictEqual(wrong, [])
    }), 60_000)
})

describeWith(["python3"], "an option that may be the subcommand's own", () => {
  it.live("is signed and arrives", () =>
    Effect.gen(function*() {
      const project = yield* realProject(
        Object.fromEntries(Object.entries(signed).map(([name, [text]]) => [`.ai/tools/${name}.py`, text]))
      )
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        for (const [item, [, parameters, got]] of Object.entries(signed)) {
          const printed = yield* Effect.match(
            proxy.call({ callId: "call", caller, item, parameters, dryRun: false }),
            { onFailure: ({ message }) => message, onSuccess: ({ data }) => String(data) }
          )
          assert.isTrue(printed.startsWith("{"), `${item}: ${printed}`)
          assert.deepInclude(JSON.parse(printed) as object, got ?? {}, item)
        }
      }).pipe(Effect.provide(kernelOf(project)))
    }), 120_000)
})
