// Grants in one line, as `showGrant` writes them: `fs.read(src/**, docs/**)`, `tool.run_tests`, `net.http(*.example.com)`.
import { Result, Schema } from "effect"
import type { Grant } from "./Grant.ts"
import { CapabilityName } from "./Grant.ts"
import * as Scope from "./scopes/Scope.ts"

const form = /^([^\s()]+)(?:\((.*)\))?$/s

const isCapability: (text: string) => boolean = Schema.is(CapabilityName)

/** One grant for each pattern. Fails with what is wrong, as a sentence. */
export const parseGrants = (text: string): Result.Result<ReadonlyArray<Grant>, string> =>
  Result.gen(function*() {
    const [, capability = "", written] = form.exec(text.trim()) ?? []
    if (!isCapability(capability)) {
      return yield* Result.fail(`"${text.slice(0, 80)}" is not a capability with its scope, as fs.read(src/**)`)
    }
    const kind = Scope.kindOf(capability)
    if (written === undefined) {
      return kind === "place" || /^(?:tool|mcp)\./.test(capability)
        ? [{ capability }]
        : yield* Result.fail(
          `"${capability}" does not say what it is about: write it with a scope, as ${capability}(…)`
        )
    }
    const grants: Array<Grant> = []
    for (const pattern of written.split(",")) {
      if (pattern.trim() === "*" && kind !== "path") {
        grants.push({ capability })
        continue
      }
      const parsed = Scope.parse(kind, pattern.trim())
      if (Result.isFailure(parsed)) {
        return yield* Result.fail(`"${pattern.trim().slice(0, 80)}" in ${capability} ${parsed.failure}`)
      }
      grants.push({ capability, scope: [parsed.success] })
    }
    return grants
  })
