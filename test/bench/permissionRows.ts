// What a decision costs: with 1,000 rules of every kind, and with none.
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import type { Action } from "../../src/services/permission/Action.ts"
import { PermissionGate } from "../../src/services/permission/PermissionGate.ts"
import { runOf, someCaller } from "../support/permissionWorld.ts"
import { openKernel } from "./kernel.ts"
import { makePlace } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

const kinds = [
  (i: number) => `allow: fs.write(src/part${i}/**)`,
  (i: number) => `deny: fs.write(infra/${i}/*.tf)`,
  (i: number) => `ask: fs.read(docs/**/private${i}.md)`,
  (i: number) => `allow: net.http(api${i}.example.com)`,
  (i: number) => `deny: net.http(*.bad${i}.example)`,
  (i: number) => `allow: shell.run(npm run task${i})`,
  (i: number) => `ask: shell.run(tool${i} push *)`,
  (i: number) => `allow: secret.use(TOKEN_${i})`,
  (i: number) => `ask: db${i}.*`,
  (i: number) => `deny: deploy${i}`
]

const actions: ReadonlyArray<Action> = [
  runOf({ tool: "filesystem.write", access: ["fs.write(src/part500/a/b.ts)"] }),
  runOf({ tool: "filesystem.read", access: ["fs.read(docs/a/b/c.md)"] }),
  runOf({ tool: "http.fetch", access: ["net.http(api7.example.com:443)"] }),
  runOf({ tool: "shell.run", access: ["process.exec(npm run task3)"] }),
  runOf({ tool: "deploy", by: ["you"] })
]

const plain = [runOf({ tool: "deploy", by: ["you"] })]

const timesOf = async (rules: number, decided: ReadonlyArray<Action>, quick: boolean) => {
  const place = makePlace()
  if (rules > 0) {
    const lines = Array.from({ length: rules }, (_, i) => `  - ${kinds[i % kinds.length]!(i)}\n`)
    mkdirSync(`${place.options.userSpace}/config`, { recursive: true })
    writeFileSync(`${place.options.userSpace}/config/permissions.yaml`, `rules:\n${lines.join("")}`)
    // A file is believed once a later change would be seen in its times.
    await new Promise((resolve) => {
      setTimeout(resolve, 2_500)
    })
  }
  const kernel = openKernel(place.options)
  try {
    const [count, warm] = quick ? [500, 100] : [20_000, 4_000]
    return await kernel.runPromise(Effect.gen(function*() {
      const gate = yield* PermissionGate
      const found: Array<number> = []
      for (let i = -warm; i < count; i++) {
        const action = decided[(i + warm) % decided.length]!
        const start = performance.now()
        yield* Effect.ignore(gate.decide(someCaller, action))
        if (i >= 0) found.push(performance.now() - start)
      }
      return found
    }))
  } finally {
    await kernel.dispose()
    place.remove()
  }
}

export const permissionRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => [
  makeRow({
    name: "permission.rules",
    what: "one decision with 1,000 rules of ten kinds, the file checked for changes",
    times: await timesOf(1_000, actions, quick),
    target: { p50: 0.03 }
  }),
  makeRow({
    name: "permission.no_rules",
    what: "one decision where nobody wrote a rule",
    times: await timesOf(0, plain, quick)
  })
]
