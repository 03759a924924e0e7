// `npm run bench`: measures the built program and the sources it is built from. One JSON document on stdout, what
// happens on stderr.
import { cpus, loadavg, totalmem } from "node:os"
import { parseArgs } from "node:util"
import { version } from "../../src/programs/version.ts"
import { person } from "../support/person.ts"
import { bigRows, openingRows, resolvingRows } from "./bigRows.ts"
import { findingRows } from "./finding.ts"
import { governedRows, mcpRows } from "./governed.ts"
import { lockRows } from "./lockRows.ts"
import { permissionRows } from "./permissionRows.ts"
import type { Report, Row } from "./Report.ts"
import { signRows } from "./signRows.ts"
import { startRows } from "./start.ts"
import { tokenRows } from "./tokenRows.ts"
import { toolRows } from "./toolRun.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    quick: { type: "boolean" },
    data: { type: "string" },
    held: { type: "boolean" }
  }
})

const suites = {
  start: startRows,
  governed: governedRows,
  token: tokenRows,
  mcp: mcpRows,
  tool: toolRows,
  lockfile: lockRows,
  opening: openingRows,
  resolve: resolvingRows,
  search: bigRows,
  permission: permissionRows,
  sign: signRows,
  finding: (quick: boolean) => findingRows(quick, values.data, values.held === true)
}
type Suite = keyof typeof suites
const names = Object.keys(suites) as Array<Suite>

const quick = values.quick === true
const unknown = (values.only ?? []).filter((name) => !names.some((suite) => suite === name))
if (unknown.length > 0) {
  process.stderr.write(`There is no ${unknown.join(", ")}. --only takes: ${names.join(", ")}\n`)
  process.exit(2)
}

// Kernels in this process read it too: nothing of the user's keychain is touched.
process.env["KIWI_KEYCHAIN"] = "off"
Object.assign(process.env, person)

const show = ({ measured, met, name, ratio, unit }: Row): string =>
  [
    name.padEnd(28),
    `p50 ${measured.p50} ${unit}`,
    ...(measured.p99 === null ? [] : [`p99 ${measured.p99} ${unit}`]),
    ...(ratio === null ? [] : [`${ratio} × its rival`]),
    ...(met === null ? [] : [met ? "met" : "MISSED"])
  ].join("  ")

const load = (): number => Number(loadavg()[0]?.toFixed(2))
const before = load()
const rows: Array<Row> = []
for (const suite of names) {
  if (values.only !== undefined && !values.only.includes(suite)) continue
  process.stderr.write(`${suite} …\n`)
  const found = await suites[suite](quick)
  rows.push(...found)
  process.stderr.write(`${found.map((row) => `  ${show(row)}`).join("\n")}\n`)
}

const report: Report = {
  kiwi: version,
  quick,
  machine: {
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memory_mb: Math.round(totalmem() / 1e6),
    load_before: before,
    load_after: load()
  },
  rows
}
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
