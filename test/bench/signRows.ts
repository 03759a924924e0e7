// Signing many small tools with one answer, and as many more in the same project.
import { millis } from "./measure.ts"
import type { Place } from "./place.ts"
import { makePlace } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

const python = (category: string, i: number): string =>
  `#!/usr/bin/env python3
"""Counts to ${i}."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "${category}"
import argparse

parser = argparse.ArgumentParser(description="Counts to ${i}")
parser.add_argument("--name", required=True, help="whom to greet")
parser.add_argument("--count", type=int, default=${i})
args = parser.parse_args()
print(args.name * args.count)
`

const bash = (category: string, i: number): string =>
  `#!/usr/bin/env bash
# kiwi:
#   version: "1.0.0"
#   tool_type: bash
#   executor_id: bash_runtime
#   category: ${category}
set -euo pipefail
echo "number ${i}"
`

const http = (category: string, i: number): string =>
  `tool_id: tool_${i}
tool_type: http
version: "1.0.0"
executor_id: http_client
category: ${category}
description: Asks for item ${i}
config:
  method: GET
  url: https://api.example.com/items/${i}
`

const kinds = [[python, "py"], [bash, "sh"], [http, "yaml"]] as const

const writeTools = (place: Place, folder: string, count: number): void => {
  for (let i = 0; i < count; i++) {
    const [text, extension] = kinds[i % kinds.length]!
    const category = `${folder}/group_${i % 20}`
    place.write(
      `.ai/tools/${category}/${folder}_${i}.${extension}`,
      text(category, i).replace(`tool_${i}`, `${folder}_${i}`)
    )
  }
}

export const signRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const count = quick ? 50 : 1_000
  const place = makePlace()
  const sign = (folder: string) => {
    writeTools(place, folder, count)
    return millis(async () => place.kiwi("sign", "tool", `${folder}/**`, "--project", place.project, "--yes"))
  }
  try {
    return [
      makeRow({
        name: `sign.${count}`,
        what:
          "small tools in Python, bash and YAML signed and locked by one command, the start of the program included",
        times: [await sign("first")],
        target: { p50: 8_000 }
      }),
      makeRow({
        name: `sign.${count}_more`,
        what: "as many more, in a project that has so many already",
        times: [await sign("second")],
        target: { p50: 8_000 }
      })
    ]
  } finally {
    place.remove()
  }
}
