// What every client is asked to do, and how the answers are shown.

export const flows = ["connect", "list", "search", "execute", "progress", "sign", "cancel"] as const
export type Flow = typeof flows[number]

export type Transport = "stdio" | "http"

export type Outcome =
  | { readonly state: "ok"; readonly note?: string }
  | { readonly state: "n/a"; readonly why: string }
  | { readonly state: "FAILED"; readonly why: string }

export const ok = (note?: string): Outcome => note === undefined ? { state: "ok" } : { state: "ok", note }
export const notApplicable = (why: string): Outcome => ({ state: "n/a", why })
export const failed = (why: string): Outcome => ({ state: "FAILED", why })

export interface Row {
  readonly client: string
  readonly version: string
  readonly over: string
  readonly outcomes: Readonly<Record<string, Outcome>>
}

export const oneLine = (value: unknown, length = 200): string => {
  const text = value instanceof Error ? value.message : typeof value === "string" ? value : JSON.stringify(value)
  return (text ?? "").replaceAll(/\s+/g, " ").trim().slice(0, length)
}

/** What a test of a flow throws when the client did not do as it has to. */
export class Wrong extends Error {}

export const expect = (holds: boolean, why: string): void => {
  if (!holds) throw new Wrong(why)
}

/** Ends the wait, not what is waited for. */
export const within = <A>(seconds: number, what: string, promise: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Wrong(`${what} took more than ${seconds} s`)), seconds * 1000)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The outcome of a test: what it returns, or why it failed. */
export const outcomeOf = async (test: () => Promise<Outcome | void>): Promise<Outcome> => {
  try {
    return (await test()) ?? ok()
  } catch (error) {
    return failed(oneLine(error))
  }
}

/** Runs one test of a row, bounded in time, and says on stderr how it went. */
export const record = async (
  row: { readonly client: string; readonly over: string; readonly outcomes: Record<string, Outcome> },
  flow: string,
  test: () => Promise<Outcome | void>,
  seconds = 150
): Promise<void> => {
  const started = performance.now()
  const outcome = await outcomeOf(() => within(seconds, flow, test()))
  row.outcomes[flow] = outcome
  const took = ((performance.now() - started) / 1000).toFixed(1)
  console.error(`${row.client}, ${row.over}, ${flow}: ${outcome.state}, ${took} s`)
}

/**
 * Whether a text tells the model that a person refused. Nobody may say so where nobody was asked: of what a client answers
 * by itself, Kiwi says that it does not know whether a person saw it.
 */
export const saysRefused = (text: string): boolean =>
  /(person|user|human|they|somebody)\W+(has\W+|have\W+)?(said no|declined|refused)/i.test(
    text.replaceAll("HUMAN_DECLINED", "")
  ) ||
  (text.includes("HUMAN_DECLINED") && !text.includes("whether a person saw it is not known"))

export const printTable = (title: string, rows: ReadonlyArray<Row>): void => {
  if (rows.length === 0) return
  const columns = [...new Set(rows.flatMap(({ outcomes }) => Object.keys(outcomes)))]
  const cells = rows.map((row) => [
    `${row.client} ${row.version}`,
    row.over,
    ...columns.map((column) => row.outcomes[column]?.state ?? "")
  ])
  const head = [title, "over", ...columns]
  const widths = head.map((name, at) => Math.max(name.length, ...cells.map((cell) => cell[at]?.length ?? 0)))
  for (const line of [head, ...cells]) {
    console.log(line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd())
  }
  console.log("")
  for (const { client, outcomes, over } of rows) {
    for (const [name, outcome] of Object.entries(outcomes)) {
      const said = outcome.state === "ok" ? outcome.note : outcome.why
      if (said !== undefined) console.log(`  ${client}, ${over}, ${name}: ${outcome.state}: ${said}`)
    }
  }
  console.log("")
}
