// A rule lets a tool of another signer run, and still nothing of it runs without a sandbox.
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Verifier } from "../../../src/services/integrity/Verifier.ts"
import { signers } from "../../support/permissionWorld.ts"
import { call, echo, kernel, reasonOf, tool } from "../proxy/calls.ts"

/** Everything but the system's items is signed by Grace. */
const byGrace = Layer.succeed(
  Verifier,
  (() => {
    const verify: Verifier["Service"]["verify"] = (snapshot) =>
      Effect.succeed({ snapshot, by: snapshot.location.tier === "system" ? signers.system : signers.grace })
    return Verifier.of({
      verify,
      verifyAll: (snapshots) => Effect.forEach(snapshots, (snapshot) => Effect.result(verify(snapshot)))
    })
  })()
)

const project = {
  "tools/echo.yaml": echo,
  "tools/fetch.yaml": tool({ executor_id: "http_client", config: { url: "https://a.example/", method: "GET" } })
}

for (const id of ["echo", "fetch"]) {
  it.effect(`${id} of another signer`, () =>
    Effect.gen(function*() {
      const run = Effect.flip(call(id, id === "echo" ? { text: "x" } : {}))
      const denied = yield* Effect.provide(run, kernel({ project, replace: byGrace }))
      assert.strictEqual(denied._tag, "PermissionDenied")
      const permissions = `rules: [{allow: ${id}, signer: Grace}]`
      const isolated = yield* Effect.provide(run, kernel({ project, replace: byGrace, permissions }))
      assert.strictEqual(reasonOf(isolated)._tag, "SandboxUnavailable")
    }))
}
