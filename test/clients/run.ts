// `npm run clients`: Kiwi, as it is built, with clients and agents that nobody here wrote. Prints tables, or with
// `--json` one document; exits with 1 when something failed. `--only WORD` takes the clients whose name has it in it, in any case,
// `--parts DIR` (or KIWI_CLIENTS_DIR) a folder with packages that are installed already.
import { delimiter } from "node:path"
import { parseArgs } from "node:util"
import { claudeCode } from "./agents/claudeCode.ts"
import { codex } from "./agents/codex.ts"
import { driveAgent } from "./agents/drive.ts"
import { checkGemini, geminiPackages } from "./agents/geminiCli.ts"
import { opencode } from "./agents/opencode.ts"
import { qwenCode } from "./agents/qwenCode.ts"
import { printTable } from "./flows.ts"
import type { Row, Transport } from "./flows.ts"
import { commands } from "./libraries/commands.ts"
import { drive } from "./libraries/drive.ts"
import { frameworks } from "./libraries/frameworks.ts"
import { official } from "./libraries/official.ts"
import { only } from "./only.ts"
import { findPart } from "./parts.ts"
import type { Part } from "./parts.ts"
import { driveSigning } from "./signing/drive.ts"
import { makeWorld } from "./world.ts"

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    parts: { type: "string", multiple: true, default: [] }
  }
})
const subjects = [...official, ...commands, ...frameworks]
const driven = [claudeCode, codex, opencode, qwenCode]
const geminiCli = "Gemini CLI"
const chooseWanted = () => {
  try {
    return only([...[...subjects, ...driven].map(({ client }) => client), geminiCli], values.only)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return process.exit(1)
  }
}
const wanted = chooseWanted()
const folders = [...values.parts, ...(process.env["KIWI_CLIENTS_DIR"] ?? "").split(delimiter)].filter((at) => at !== "")

const transports = ["stdio", "http"] as const
const missing: Array<{ readonly client: string; readonly over?: Transport; readonly why: string }> = []
const libraries: Array<Row> = []
const agents: Array<Row> = []
const signing: Array<Row> = []

/** Tests one client over each transport, if it is wanted and there. */
const withPart = async (
  client: string,
  packages: readonly [string, ...ReadonlyArray<string>],
  over: ReadonlyArray<Transport>,
  test: (part: Part, transport: Transport) => Promise<void>
) => {
  if (!wanted.has(client)) return
  const part = await findPart(packages, folders)
  if ("missing" in part) {
    missing.push({ client, why: part.missing })
    return
  }
  for (const transport of transports) {
    if (over.includes(transport)) await test(part, transport)
    else missing.push({ client, over: transport, why: `it cannot reach a server over ${transport}` })
  }
}

const world = await makeWorld()
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void world.close().finally(() => process.exit(1)))
}
try {
  for (const subject of subjects) {
    await withPart(subject.client, subject.packages, subject.over, async (part, transport) => {
      libraries.push(await drive(subject, part, transport, world))
    })
  }
  // Agents wait more than they work.
  await Promise.all(
    driven.map((agent) =>
      withPart(agent.client, agent.packages, transports, async (part, transport) => {
        agents.push(await driveAgent(agent, part, transport, world))
        if (transport === "stdio") signing.push(await driveSigning(agent, part, world))
      })
    )
  )
  await withPart(geminiCli, geminiPackages, transports, async (part, transport) => {
    agents.push(await checkGemini(part, transport, world))
  })
} finally {
  await world.close()
}

if (values.json) console.log(JSON.stringify({ clients: libraries, agents, signing, missing }, null, 2))
else {
  printTable("client", libraries)
  printTable("agent", agents)
  printTable("an agent's shell tries to sign", signing)
  for (const { client, over, why } of missing) {
    console.log(`${client} was left out${over === undefined ? "" : ` over ${over}`}: ${why}`)
  }
}
const outcomes = [...libraries, ...agents, ...signing].flatMap((row) => Object.values(row.outcomes))
process.exitCode = outcomes.some(({ state }) => state === "FAILED") ? 1 : 0
