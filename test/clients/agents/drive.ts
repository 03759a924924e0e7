// The flows, as agents go through them: three runs without a person, and one with a person at a terminal.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, failed, notApplicable, ok, oneLine, record, saysRefused } from "../flows.ts"
import type { Outcome, Row, Transport } from "../flows.ts"
import { plain, sumOf } from "../libraries/drive.ts"
import { isOfKiwi } from "../model/script.ts"
import type { Part } from "../parts.ts"
import { pause } from "../terminal.ts"
import type { Fresh, Target, World } from "../world.ts"
import type { Agent, Saw } from "./Agent.ts"
import { headless, interactive } from "./session.ts"

const five = ["execute", "help", "load", "search", "sign"]

const signing = ({ id }: Fresh) => [
  { tool: "sign", input: { item_id: id } },
  { tool: "execute", input: { item_id: id } }
]

/** A server whose messages are kept in two files; a shell between an agent and its server is nothing unusual. */
const recorded = (world: World): { readonly target: Target; readonly read: () => string } => {
  const { home } = world.home("recorded")
  const file = join(home, "messages")
  const { args, command } = world.target
  const pipe = `tee -a "$0.in" | "$@" | tee -a "$0.out"`
  return {
    target: { ...world.target, command: "sh", args: ["-c", pipe, file, command, ...args] },
    read: () => readFileSync(`${file}.out`, "utf8")
  }
}

const signedOrNot = (fresh: Fresh, results: ReadonlyArray<string>, saw: Saw | undefined): Outcome => {
  const [asked = "", ran = ""] = results
  expect(results.length === 2, `the agent made ${results.length} of 2 calls: ${oneLine(results)}`)
  if (saw === "all of it") {
    expect(fresh.hasRun(), `the person agreed, and it did not run: ${oneLine(asked)} ${oneLine(ran)}`)
    return ok("shown, agreed, ran")
  }
  expect(asked.includes("HUMAN_REQUIRED"), `the answer was ${oneLine(asked)}`)
  expect(ran.includes("UNSIGNED") && !fresh.hasRun(), "it ran all the same")
  return ok(`${saw === undefined ? "cannot ask" : "does not show the end"}: HUMAN_REQUIRED, and it did not run`)
}

export const driveAgent = async (agent: Agent, part: Part, transport: Transport, world: World): Promise<Row> => {
  const outcomes: Record<string, Outcome> = { connect: failed("it did not end") }
  const row = { client: agent.client, version: part.version, over: transport, outcomes }
  const about = { agent, part, world, transport }

  await record(row, "connect", async () => {
    const recording = transport === "stdio" ? recorded(world) : undefined
    const steps = [
      { tool: "search", input: { query: "add" } },
      { tool: "execute", input: { item_id: "add", parameters: { a: 19, b: 23 } } },
      { tool: "execute", input: { item_id: "slow" } }
    ]
    const { model, said } = await headless({ ...about, steps, target: recording?.target ?? world.target })
    const names = model.offered().filter(isOfKiwi).map(({ name }) => name.split("_").at(-1) ?? "")
    expect(names.length > 0, `no tool of Kiwi reached the model: ${oneLine(said)}`)
    const [search = "", execute = "", slow = ""] = model.results()
    outcomes["list"] = names.toSorted().join() === five.join()
      ? ok()
      : failed(`the model was shown ${names.join(", ")}`)
    outcomes["search"] = /"id"\s*:\s*"add"/.test(plain(search)) ? ok() : failed(`no add in ${oneLine(search)}`)
    outcomes["execute"] = sumOf(execute) === "42" ? ok() : failed(`19 + 23 came back as ${oneLine(execute)}`)
    const reports = recording?.read().split("notifications/progress").length ?? 0
    outcomes["progress"] = recording === undefined
      ? notApplicable("looked at over stdio")
      : !slow.includes("success")
      ? failed(`the slow tool came back as ${oneLine(slow)}`)
      : reports > 1
      ? ok(`${reports - 1} steps`)
      : notApplicable("it asks for none")
  })
  if (outcomes["list"] === undefined) return row

  await record(row, "cancel", async () => {
    const { gone, mark, started } = world.sleeper()
    const steps = [{ tool: "execute", input: { item_id: "sleeper", parameters: { mark } } }]
    await headless({ ...about, steps }, async ({ interrupt }) => {
      await started()
      interrupt()
      await gone()
    })
    return ok("by Ctrl-C")
  })

  await record(row, "sign, nobody there", async () => {
    const fresh = world.fresh()
    const { model } = await headless({ ...about, steps: signing(fresh) })
    const [asked = "", ran = ""] = model.results()
    expect(ran.includes("UNSIGNED") && !fresh.hasRun(), `it ran, or was not called: ${oneLine(ran)}`)
    expect(!saysRefused(asked), `nobody was asked, and the model reads: ${oneLine(asked, 300)}`)
    return ok(/HUMAN_[A-Z]+/.exec(asked)?.[0])
  })

  const inTerminal = async (sitsAt: Agent, wanted: Saw | undefined) => {
    const fresh = world.fresh()
    const steps = signing(fresh)
    return interactive({ ...about, agent: sitsAt, steps }, async (terminal, model) => {
      let saw: Saw | undefined
      if (sitsAt.question !== undefined) {
        await terminal.waitFor(sitsAt.question.shown, 60)
        await pause(1000)
        saw = await sitsAt.question.agree(terminal)
      }
      for (const end = Date.now() + 60_000; model.results().length < 2 && Date.now() < end;) await pause(200)
      expect(saw === wanted, `the person saw ${saw} of the question, not ${wanted}`)
      return signedOrNot(fresh, model.results(), saw)
    })
  }
  await record(row, "sign, in a terminal", () => inTerminal(agent, agent.question && "all of it"))
  const { cutting } = agent
  if (cutting !== undefined) await record(row, "sign, cut", () => inTerminal(cutting, "a part"))
  return row
}
