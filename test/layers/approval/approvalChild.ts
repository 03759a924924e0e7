// A process that repeats an approved call: `FOLDER CALL_ID`. Says what came of it.
import { Effect, Result } from "effect"
import { writeSync } from "node:fs"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { request } from "./approvalRequest.ts"
import { worldIn } from "./approvalWorld.ts"

const [, , folder = "", callId = ""] = process.argv

const program = Effect.gen(function*() {
  const store = yield* ApprovalStore
  const result = yield* Effect.result(store.require(request({ callId })))
  writeSync(1, Result.isSuccess(result) ? "Approved" : result.failure._tag)
}).pipe(Effect.provide(worldIn(folder).storeOf("one")))

if (import.meta.main) await Effect.runPromise(program)
