// A second process for auditProcesses.test.ts: `write FOLDER ENTRIES BYTES` says on stdout which entries it has handed
// over, one a line, and ends; with 0 entries it goes on until it is killed.
import { Effect } from "effect"
import { request, session, worldIn } from "./auditWorld.ts"

const [, , folder, entries, bytes] = process.argv
const text = "z".repeat(Number(bytes))

await Effect.runPromise(session(worldIn(folder!), (audit) =>
  Effect.gen(function*() {
    for (let i = 0; Number(entries) === 0 || i < Number(entries); i++) {
      yield* audit.append(request(`${process.pid}-${i}`, "add", { text }))
      process.stdout.write(`${process.pid}-${i}\n`)
      if (i % 50 === 0) yield* Effect.sleep(0)
    }
  })))
