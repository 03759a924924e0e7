// The flows, as every client that is no agent goes through them.
import { expect, failed, flows, notApplicable, ok, oneLine, outcomeOf, saysRefused, within } from "../flows.ts"
import type { Flow, Outcome, Row, Transport } from "../flows.ts"
import type { Part } from "../parts.ts"
import type { World } from "../world.ts"
import { makePerson } from "./Subject.ts"
import type { Person, Session, Subject } from "./Subject.ts"

const five = ["execute", "help", "load", "search", "sign"]

/** A text that may be JSON in JSON, without the escapes. */
export const plain = (text: string): string => text.replaceAll(/\\+"/g, "\"")

export const sumOf = (text: string): string | undefined => /"sum"\s*:\s*(-?\d+)/.exec(plain(text))?.[1]

interface Driving {
  readonly session: Session
  readonly person: Person
  readonly subject: Subject
  readonly transport: Transport
  readonly world: World
}

const tests: Readonly<Record<Exclude<Flow, "connect">, (driving: Driving) => Promise<Outcome | void>>> = {
  list: async ({ session }) => {
    const names = (await session.names()).map((name) => name.replace(/^kiwi_/, ""))
    expect(names.toSorted().join() === five.join(), `it lists ${names.join(", ")}`)
  },
  search: async ({ session }) => {
    const found = await session.call("search", { query: "add" })
    expect(/"id"\s*:\s*"add"/.test(plain(found)), `no add in ${oneLine(found)}`)
  },
  execute: async ({ session }) => {
    const answer = await session.call("execute", { item_id: "add", parameters: { a: 19, b: 23 } })
    expect(sumOf(answer) === "42", `19 + 23 came back as ${oneLine(answer)}`)
  },
  progress: async ({ session }) => {
    let heard = 0
    await session.call("execute", { item_id: "slow" }, { onProgress: () => heard++ })
    expect(heard > 0, "no progress was reported")
    return ok(`${heard} steps`)
  },
  cancel: async ({ session, subject, transport, world }) => {
    const { gone, mark, started } = world.sleeper()
    const stop = new AbortController()
    const ended = session.call("execute", { item_id: "sleeper", parameters: { mark } }, { signal: stop.signal })
      .then(oneLine, oneLine)
    await Promise.race([
      started(),
      ended.then((said) => Promise.reject(new Error(`the slow tool ended by itself: ${said}`)))
    ])
    stop.abort()
    const byClosing = subject.cancelsByClosing?.includes(transport) === true
    if (byClosing) await session.close()
    await gone()
    return byClosing ? ok("by closing: it sends no cancellation") : ok()
  },
  sign: async ({ person, session, subject, world }) => {
    const { hasRun, id } = world.fresh()
    const asked = await session.call("sign", { item_id: id })
    const ran = await session.call("execute", { item_id: id })
    if (subject.asks) {
      expect(person.asked.length === 1, `the person was asked ${person.asked.length} times: ${oneLine(asked)}`)
      expect(hasRun(), `the person agreed, and it did not run: ${oneLine(ran)}`)
      return ok("asked, agreed, ran")
    }
    expect(asked.includes("HUMAN_REQUIRED"), `the answer was ${oneLine(asked)}`)
    expect(!saysRefused(asked), `nobody was asked, and it says that somebody refused: ${oneLine(asked)}`)
    expect(ran.includes("UNSIGNED") && !hasRun(), `it ran all the same: ${oneLine(ran)}`)
    return ok("cannot ask: HUMAN_REQUIRED, and it did not run")
  }
}

/** All flows of one client over one transport. */
export const drive = async (subject: Subject, part: Part, transport: Transport, world: World): Promise<Row> => {
  const outcomes: Partial<Record<Flow, Outcome>> = {}
  const person = makePerson()
  const row = { client: subject.client, version: part.version, over: transport, outcomes: outcomes as Row["outcomes"] }
  let session: Session | undefined
  outcomes.connect = await outcomeOf(async () => {
    session = await within(60, "connecting", subject.open({ part, target: world.target, transport, world, person }))
  })
  for (const flow of flows) {
    if (flow === "connect") continue
    const lacks = subject.lacks?.[flow]
    const running = session
    outcomes[flow] = lacks !== undefined
      ? notApplicable(lacks)
      : running === undefined
      ? failed("it did not connect")
      : await outcomeOf(() => within(100, flow, tests[flow]({ session: running, person, subject, transport, world })))
  }
  await within(20, "closing", session?.close() ?? Promise.resolve()).catch(() => {})
  return row
}
