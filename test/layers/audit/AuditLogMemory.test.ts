import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as AuditLogMemory from "../../../src/layers/audit/AuditLogMemory.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { contract } from "../../services/audit/AuditLog.contract.ts"
import { request } from "./auditWorld.ts"

contract("AuditLogMemory", Effect.sync(() => Layer.fresh(AuditLogMemory.layer)))

describe("AuditLogMemory", () => {
  it.effect("shows its lines, and notices when they are changed", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const use = Effect.gen(function*() {
        const audit = yield* AuditLog
        yield* audit.append(request("c1"))
        assert.strictEqual(lines.length, 2)
        lines[1] = lines[1]!.replace("c1", "c2")
        assert.deepStrictEqual((yield* audit.verify).problems.map(({ line, problem }) => [line, problem]), [[
          2,
          "changed"
        ]])
      })
      yield* Effect.provide(use, AuditLogMemory.layerWith(lines))
    }))
})
