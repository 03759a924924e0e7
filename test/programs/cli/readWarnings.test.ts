// What could not be recorded is said on stderr, and the answer stands.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as fs from "node:fs"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { AuditLog, AuditUnavailable } from "../../../src/services/audit/AuditLog.ts"
import { temporary } from "../../support/temporary.ts"
import { runCli } from "./runCli.ts"

const full = Layer.succeed(
  AuditLog,
  AuditLog.of({
    append: () => Effect.fail(new AuditUnavailable({ detail: "the disk is full" })),
    read: () => Effect.succeed([]),
    stream: () => Stream.empty,
    follow: () => Stream.empty,
    verify: Effect.die("unused"),
    verifyAgainst: () => Effect.die("unused"),
    anchor: Effect.die("unused"),
    prune: Effect.die("unused")
  })
)

describe("a command that reads, while nothing can be recorded", () => {
  for (const args of [["search", "overview"], ["load", "knowledge", "help/overview"]]) {
    for (const json of [[], ["--json"]]) {
      it.live(["kiwi", ...args, ...json].join(" "), () =>
        Effect.gen(function*() {
          const folder = yield* temporary
          fs.mkdirSync(`${folder}/project`)
          const kernel = Kernel.layerProjects({ home: `${folder}/home`, userSpace: `${folder}/user`, replace: full })
          const done = yield* runCli([...args, ...json, "--project", `${folder}/project`], { kernel })
          assert.strictEqual(done.code, 0, done.stderr)
          assert.include(done.stderr, "warning: This lookup could not be recorded: the disk is full")
          assert.include(done.stdout, "overview")
          if (json.length > 0) JSON.parse(done.stdout)
        }).pipe(Effect.scoped))
    }
  }
})
