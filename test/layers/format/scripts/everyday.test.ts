// Ten programs in the shape in which people have them: each is signed and does its work. What cannot be known of one is
// said when it is signed, and by explain.
import { assert, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { explain } from "../../../../src/programs/explain.ts"
import { Signatures } from "../../../../src/services/integrity/Signatures.ts"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller } from "../../proxy/calls.ts"

const files: Readonly<Record<string, string>> = {
  "people.csv": "name,age\nAda,36\nBob,17\n",
  ".ai/tools/csv_filter.py": `#!/usr/bin/env python3
"""Prints the rows of a CSV file whose column is at least a number."""
from __future__ import annotations

__version__ = "1.0.0"

import argparse
import csv
import sys
from pathlib import Path


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="the CSV file")
    parser.add_argument("-c", "--column", required=True)
    parser.add_argument("--at-least", type=float, default=0.0, metavar="N")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--count", action="store_true", help="only count")
    output.add_argument("--columns", nargs="+", metavar="NAME")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    with args.file.open(newline="", encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle) if float(row[args.column]) >= args.at_least]
    if args.count:
        print(len(rows))
        return 0
    writer = csv.DictWriter(sys.stdout, args.columns or rows[0].keys(), extrasaction="ignore", lineterminator="\\n")
    writer.writeheader()
    writer.writerows(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
`,
  ".ai/tools/git_helper.py": `"""Says which branch would be made for a ticket."""
import argparse
import logging
import re
import subprocess

__version__ = "1.0.0"
log = logging.getLogger(__name__)


class Git:
    def __init__(self, dry_run):
        self.dry_run = dry_run

    def run(self, *args):
        log.info("git %s", " ".join(args))
        if self.dry_run:
            return "git " + " ".join(args)
        return subprocess.run(["git", *args], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="git-helper", formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ticket", help="like KIWI-12")
    parser.add_argument("words", nargs="*", help="what it is about")
    parser.add_argument("--prefix", choices=["feature", "fix"], default="feature")
    parser.add_argument("-n", "--dry-run", action="store_true")
    parser.add_argument("-v", "--verbose", action="count", default=0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO if args.verbose else logging.WARNING)
    slug = re.sub(r"[^a-z0-9]+", "-", " ".join(args.words).lower())
    print(Git(args.dry_run).run("switch", "-c", f"{args.prefix}/{args.ticket}-{slug}"))
`,
  ".ai/tools/changelog.py": `#!/usr/bin/env python3
"""Adds an entry to a changelog, and prints it."""
import argparse, datetime, json, sys, textwrap
from dataclasses import dataclass, field, asdict

__version__ = "2.1.0"
KINDS = ("added", "changed", "fixed")

@dataclass
class Entry:
    version: str
    kind: str
    lines: list = field(default_factory=list)

    def render(self):
        return textwrap.dedent(f"## {self.version} ({self.kind})\\n") + "".join(f"- {line}\\n" for line in self.lines)

def build_parser():
    p = argparse.ArgumentParser(epilog="One line per change.")
    p.add_argument("--version", dest="release", required=True)
    p.add_argument("--kind", choices=("added", "changed", "fixed"), default="changed")
    p.add_argument("--line", "-l", dest="lines", action="append", default=[])
    p.add_argument("--json", action=argparse.BooleanOptionalAction, default=False)
    return p

args = build_parser().parse_args()
entry = Entry(args.release, args.kind, args.lines)
sys.stdout.write(json.dumps(asdict(entry)) if args.json else entry.render())
`,
  ".ai/tools/fetch.sh": `#!/usr/bin/env bash
# Gets an address, a few times if need be.
#
# kiwi:
#   version: "1.0.0"
#   executor_id: bash_runtime
#   parameters:
#     - {name: url, type: string, required: true}
#     - {name: header, type: string}
#     - {name: tries, type: integer, default: 3}
set -euo pipefail
IFS=$'\\n\\t'

log() { printf '%s\\n' "$*" >&2; }

fetch() {
  local url="$1" tries="$2" args=(--silent --show-error --fail --location)
  [[ -n "\${KIWI_PARAM_HEADER:-}" ]] && args+=(--header "$KIWI_PARAM_HEADER")
  for ((i = 1; i <= tries; i++)); do
    if echo curl "\${args[@]}" -- "$url" | awk '{ print $1, $NF }'; then return 0; fi
    log "try $i of $tries failed"
  done
  return 1
}

fetch "$KIWI_PARAM_URL" "\${KIWI_PARAM_TRIES}"
`,
  ".ai/tools/video.sh": `#!/bin/bash
# Says how ffmpeg would be called.
# kiwi:
#   version: "1.0.0"
#   executor_id: bash_runtime
#   parameters: [{name: input, type: string, required: true}, {name: width, type: integer, default: 640}]
#   config: {args: ["{input}", "{width}"]}
set -e
usage() { echo "Usage: $(basename "$0") INPUT WIDTH" >&2; exit 2; }
[ $# -ge 2 ] || usage
in=$1
out="\${in%.*}-$2.mp4"
case "$in" in
  *.mov | *.avi) codec=libx264 ;;
  *) codec=copy ;;
esac
echo ffmpeg -i "$in" -vf "scale=$2:-2" -c:v "$codec" "$out"
`,
  ".ai/tools/words.mjs": `#!/usr/bin/env node
/** Counts words. */
import { parseArgs } from "node:util"
import { EOL } from "node:os"

export const __version__ = "1.0.0"
export const __executor_id__ = "node_runtime"
export const INPUT_SCHEMA = {
  type: "object",
  properties: {
    text: { type: "array", items: { type: "string" } },
    least: { type: "integer", default: 1 },
    upper: { type: "boolean" }
  },
  required: ["text"]
}
export const CONFIG = { options: { text: { as: "positional" } } }

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { least: { type: "string", short: "l" }, upper: { type: "boolean" } }
})
const counts = new Map()
for (const word of positionals.flatMap((one) => one.split(/\\W+/)).filter(Boolean)) {
  const key = values.upper ? word.toUpperCase() : word
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
for (const [word, count] of counts) if (count >= Number(values.least)) process.stdout.write(\`\${word} \${count}\${EOL}\`)
`,
  ".ai/tools/totals.ts": `/** Adds up amounts by their currency. */
import { parseArgs } from "node:util"
import type { ParseArgsConfig } from "node:util"

export const __version__ = "1.0.0" as const
export const __executor_id__ = "node_runtime"
export const INPUT_SCHEMA = {
  type: "object",
  properties: { amount: { type: "array", items: { type: "string", pattern: "^[A-Z]{3} [0-9]+$" } } },
  required: ["amount"]
} as const
export const CONFIG = { output: "json" } satisfies Record<string, unknown>

interface Amount { readonly currency: string; readonly value: number }
type Totals = Record<Amount["currency"], number>

const options: ParseArgsConfig["options"] = { amount: { type: "string", multiple: true } }
const read = (text: string): Amount => {
  const [currency, value] = text.split(" ") as [string, string]
  return { currency, value: Number(value) }
}

class Sum<T extends Amount> {
  private totals: Totals = {}
  declare readonly name?: string
  add({ currency, value }: T): this {
    this.totals[currency] = (this.totals[currency] ?? 0) + value
    return this
  }
  get all(): Totals { return this.totals! }
}

const sum = new Sum()
for (const text of (parseArgs({ options }).values.amount ?? []) as string[]) sum.add(read(text))
console.log(JSON.stringify(sum.all))
`,
  ".ai/tools/report/tool.yaml": `tool_id: report
version: "1.0.0"
tool_type: python
executor_id: python_runtime
description: Writes a report
entrypoint: __main__.py
`,
  ".ai/tools/report/__main__.py": `import sys

from reporting.cli import main

if __name__ == "__main__":
    sys.exit(main())
`,
  ".ai/tools/report/reporting/__init__.py": "",
  ".ai/tools/report/reporting/cli.py": `import argparse

from . import render
from .model import Row


def main(argv=None):
    parser = argparse.ArgumentParser(prog="report")
    parser.add_argument("--title", default="Report")
    parser.add_argument("rows", nargs="+", metavar="NAME=VALUE")
    args = parser.parse_args(argv)
    print(render.text(args.title, [Row.parse(row) for row in args.rows]))
`,
  ".ai/tools/report/reporting/model.py": `from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str
    value: int

    @classmethod
    def parse(cls, text):
        name, _, value = text.partition("=")
        return cls(name, int(value))


if __name__ == "__main__":
    import sys
    print(Row.parse(sys.argv[1]))
`,
  ".ai/tools/report/reporting/render.py": `def text(title, rows):
    return title + ": " + ", ".join(f"{row.name} {row.value}" for row in rows)
`,
  ".ai/tools/logs.py": `"""Counts the lines of a log by their level."""
__version__ = "1.0.0"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
CONFIG = {"input_data": "{text}", "input": "none", "output": "json"}

import collections
import json
import logging
import sys

logging.basicConfig(stream=sys.stderr)
levels = collections.Counter(line.split(" ", 1)[0] for line in sys.stdin if line.strip())
logging.getLogger().warning("read %d levels", len(levels))
json.dump(dict(levels), sys.stdout)
`,
  ".ai/tools/filter.py": `import sys
__version__ = "1.0.0"
for line in sys.stdin:
    print(line.strip())
`,
  ".ai/tools/wrapper.py": `"""Hands everything else on to echo."""
__version__ = "1.0.0"
import argparse
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("--times", type=int, default=1)
args, rest = parser.parse_known_args()
for _ in range(args.times):
    subprocess.run(["echo", "hi", *rest], check=True)
`
}

const calls: ReadonlyArray<readonly [item: string, parameters: Schema.JsonObject, got: Schema.Json]> = [
  ["csv_filter", { file: "people.csv", column: "age", "at-least": 18 }, "name,age\nAda,36"],
  ["csv_filter", { file: "people.csv", column: "age", columns: ["name"] }, "name\nAda\nBob"],
  ["csv_filter", { file: "people.csv", column: "age", count: true }, "2"],
  [
    "git_helper",
    { ticket: "KIWI-12", words: ["Be", "quick!"], "dry-run": true, prefix: "fix", verbose: 1 },
    "git switch -c fix/KIWI-12-be-quick-"
  ],
  ["changelog", { version: "1.2.0", line: ["-a", "b"] }, "## 1.2.0 (changed)\n- -a\n- b"],
  ["changelog", { version: "1", json: true }, "{\"version\": \"1\", \"kind\": \"changed\", \"lines\": []}"],
  ["fetch", { url: "https://a.example/x", header: "A: b" }, "curl https://a.example/x"],
  ["video", { input: "a b.mov" }, "ffmpeg -i a b.mov -vf scale=640:-2 -c:v libx264 a b-640.mp4"],
  ["words", { text: ["a b a", "-c"], least: 2, upper: true }, "A 2"],
  ["totals", { amount: ["EUR 1", "EUR 2", "USD 3"] }, { EUR: 3, USD: 3 }],
  ["report", { title: "Sales", rows: ["a=1", "b=2"] }, "Sales: a 1, b 2"],
  ["logs", { text: "INFO a\nWARN b\nINFO c\n" }, { INFO: 2, WARN: 1 }],
  ["filter", {}, ""],
  ["wrapper", { times: 2 }, "hi\nhi"]
]

/** What is said of those of which not everything can be known. */
const unsure: Readonly<Record<string, string>> = {
  filter: "reads sys.stdin, which is empty",
  wrapper: "uses arguments that its argparse does not know (rest)"
}

describeWith(["python3"], "programs in the shape in which people have them", () => {
  it.live("are signed and do their work", () =>
    Effect.gen(function*() {
      const project = yield* realProject({})
      for (const [path, text] of Object.entries(files)) project.write(path, text)
      yield* Effect.gen(function*() {
        yield* accept
        const { items } = yield* (yield* Signatures).plan({ id: "**", tier: "project" })
        const proxy = yield* ToolProxy
        const wrong: Array<string> = []
        for (const [item, parameters, got] of calls) {
          const data = yield* Effect.match(
            proxy.call({ callId: "call", caller, item, parameters, dryRun: false }),
            { onFailure: ({ message }) => message, onSuccess: (result) => result.data }
          )
          const said = typeof data === "string" ? data.trimEnd() : data
          if (JSON.stringify(said) !== JSON.stringify(got)) wrong.push(`${item}: ${JSON.stringify(said)}`)
          const { ready, warnings = [] } = yield* explain({ id: item }, undefined, "explain", caller)
          if (!ready) wrong.push(`${item} is not ready`)
          const doubt = warnings.find(({ code }) => code === "ARGUMENTS_UNSURE")
          const planned = items.find(({ location }) => location.id === item)?.effects.join("; ") ?? ""
          const expected = unsure[item]
          if (expected === undefined ? doubt !== undefined : doubt?.message.includes(expected) !== true) {
            wrong.push(`${item} is explained by: ${doubt?.message ?? "nothing"}`)
          }
          if (expected !== undefined && !planned.includes(expected)) wrong.push(`${item} is signed for: ${planned}`)
        }
        assert.deepStrictEqual(wrong, [])
      }).pipe(Effect.provide(kernelOf(project)))
    }), 120_000)
})
