// Capability tokens, and what they do not allow.
import { Effect, Redacted } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { Grant } from "../../../src/services/capability/Grant.ts"
import { call } from "../../layers/proxy/calls.ts"
import { failing } from "../Example.ts"
import type { Examples } from "../Example.ts"

const grants = { allow: [{ capability: "fs.read", scope: ["src/**"] }], deny: [] }
const thread = { thread: "review-1", directive: "d".repeat(64) }

const mint = (budget?: Readonly<Record<string, number>>) =>
  CapabilityTokens.use((tokens) => tokens.mint({ ...thread, grants, budget }))

const verify = (text: string) =>
  CapabilityTokens.use((tokens) => tokens.verify(Redacted.make(text), { thread: "review-1" }))

export const examples: Examples = {
  TokenMissing: {
    when: "A thread calls a tool without its capability token",
    produce: failing({}, "trusted", () => call("ping", {}, { thread: "review-1" }))
  },
  TokenInvalid: {
    when: "A capability token was changed",
    produce: failing({}, "trusted", () =>
      Effect.flatMap(mint(), (token) => {
        const [header = "", , signature = ""] = Redacted.value(token).split(".")
        return verify(`${header}.e30.${signature}`)
      }))
  },
  TokenRevoked: {
    when: "A thread goes on with a capability token that was revoked",
    produce: failing({}, "trusted", () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const token = yield* mint()
        yield* tokens.revoke((yield* tokens.verify(token, thread)).jti)
        return yield* call("ping", {}, { thread: "review-1", token })
      }))
  },
  PermissionEscalation: {
    when: "A directive that is called by another asks for more than that one has",
    produce: failing({}, "trusted", () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const allow: ReadonlyArray<Grant> = [{ capability: "fs.write", scope: ["infra/**"] }]
        return yield* tokens.attenuate(yield* mint(), thread, {
          thread: "deploy-1",
          directive: "e".repeat(64),
          request: { allow, deny: [] }
        })
      }))
  },
  CapabilityInvalid: {
    when: "A program mints a token for a capability that does not exist",
    produce: failing({}, "trusted", () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const allow: ReadonlyArray<Grant> = [{ capability: "fs.raed", scope: ["src/**"] }]
        return yield* tokens.mint({ ...thread, directive: "d".repeat(64), grants: { allow, deny: [] } })
      }))
  },
  BudgetExceeded: {
    when: "A thread takes more turns than its budget has",
    produce: failing({}, "trusted", () =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const claims = yield* tokens.verify(yield* mint({ turns: 10 }), thread)
        yield* tokens.spend(claims, { turns: 9 })
        return yield* tokens.spend(claims, { turns: 2 })
      }))
  },
  TokensUnavailable: {
    when: "The list of revoked tokens was damaged",
    produce: failing({}, "trusted", ({ home }) =>
      Effect.gen(function*() {
        const token = yield* mint({ turns: 10 })
        for (const name of fs.readdirSync(join(home, "projects"))) {
          const file = join(home, "projects", name, "tokens.json")
          if (fs.existsSync(file)) fs.writeFileSync(file, "{}")
        }
        return yield* call("ping", {}, { thread: "review-1", token })
      }))
  }
}
