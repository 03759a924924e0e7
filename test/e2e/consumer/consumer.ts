// A user's program: pack.test.ts type-checks it against the packed package, in a project of its own, and runs it. What
// it prints is what the test expects.
import * as Effect from "effect/Effect"
import * as Kiwi from "kiwi-mcp"
import * as KiwiTesting from "kiwi-mcp/testing"

const program = Effect.sync(() => ({ library: Kiwi.version, testing: KiwiTesting.version }))

console.log(JSON.stringify(await Effect.runPromise(program)))
