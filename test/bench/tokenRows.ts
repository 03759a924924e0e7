// What capability tokens cost: a process sees a token for the first time, or one that it knows. A token names its
// ancestors, so a call verifies one signature, however long the chain is.
import { Effect } from "effect"
import { CapabilityTokens } from "../../src/services/capability/CapabilityTokens.ts"
import type { Token } from "../../src/services/capability/CapabilityTokens.ts"
import type { Grant } from "../../src/services/capability/Grant.ts"
import { openKernel } from "./kernel.ts"
import { makePlace } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

const allow: ReadonlyArray<Grant> = [
  { capability: "fs.write", scope: ["src/**"] },
  { capability: "process.exec", scope: ["git *"] },
  { capability: "tool.send_money", parameters: { recipient: { enum: ["ada", "grace"] } } }
]

const chainOf = (length: number) =>
  Effect.gen(function*() {
    const tokens = yield* CapabilityTokens
    const chain: Array<Token> = [yield* tokens.mint({ thread: "0", directive: "d", grants: { allow, deny: [] } })]
    for (let i = 1; i < length; i++) {
      chain.push(
        yield* tokens.attenuate(chain[i - 1]!, { thread: String(i - 1) }, {
          thread: String(i),
          directive: "d",
          request: { allow, deny: [] }
        })
      )
    }
    return chain
  })

/** How long another process takes to verify the tokens of each chain from `first` on, in milliseconds. */
const verifyFrom = (first: number, chains: ReadonlyArray<ReadonlyArray<Token>>) =>
  Effect.gen(function*() {
    const tokens = yield* CapabilityTokens
    const times: Array<number> = []
    for (const chain of chains) {
      const start = performance.now()
      for (const [thread, token] of [...chain.entries()].slice(first)) {
        yield* tokens.verify(token, { thread: String(thread) })
      }
      times.push(performance.now() - start)
    }
    return times
  })

export const tokenRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const place = makePlace()
  const [minting, verifying] = [openKernel(place.options), openKernel(place.options)]
  try {
    const [count, warm] = quick ? [30, 10] : [400, 100]
    const rows: Array<Row> = []
    for (const [length, p50] of [[2, 0.3], [5, 0.6]] as const) {
      const chains = await minting.runPromise(
        Effect.forEach(Array.from({ length: count + warm }), () => chainOf(length))
      )
      const first = await verifying.runPromise(verifyFrom(length - 1, chains))
      rows.push(makeRow({
        name: `token.chain_of_${length}`,
        what: `the last capability token of a chain of ${length}, at first sight`,
        times: first.slice(warm),
        target: { p50 }
      }))
      if (length === 5) {
        const known = await verifying.runPromise(verifyFrom(length - 1, chains))
        rows.push(makeRow({ name: "token.known", what: "the same, seen before", times: known.slice(warm) }))
      }
    }
    return rows
  } finally {
    await minting.dispose()
    await verifying.dispose()
    place.remove()
  }
}
