// The tool itself as an access: the same for rules, grants and questions, whatever is known of its parameters.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { accessesOf, toolAccess } from "../../../src/layers/permission/ruleQuery.ts"
import { covers } from "../../../src/services/capability/Grant.ts"
import type { Grant } from "../../../src/services/capability/Grant.ts"
import type { Action } from "../../../src/services/permission/Action.ts"
import { decideIn, runOf } from "../../support/permissionWorld.ts"

const github = runOf({ tool: "github/create_issue", by: ["github"] })
const own = runOf({ tool: "ops/deploy", by: ["you"], toolType: "python" })

const chainOf = (action: Action) => {
  assert(action._tag === "Run")
  return action.chain
}

describe("the access of the tool", () => {
  it("has its type, with and without parameters, and where only something else is asked about", () => {
    const { chain } = { chain: chainOf(own) }
    const expected = { _tag: "Tool", capability: "tool.deploy", id: "deploy", toolType: "python" }
    assert.deepStrictEqual(toolAccess(chain, {}), { ...expected, parameters: {} } as never)
    assert(own._tag === "Run")
    for (const accesses of [[], [{ _tag: "Path", capability: "fs.read", path: "a" } as const]]) {
      assert.deepStrictEqual(
        accessesOf({ ...own, accesses }),
        [{ ...expected, parameters: undefined }, ...accesses] as never
      )
    }
  })

  const rows: ReadonlyArray<readonly [grant: Grant, own: boolean, github: boolean]> = [
    [{ capability: "tool.deploy" }, true, false],
    [{ capability: "tool.*" }, true, false],
    [{ capability: "tool.*", scope: ["python"] }, true, false],
    [{ capability: "tool.*", scope: ["script"] }, false, false],
    [{ capability: "tool.create_issue" }, false, false],
    [{ capability: "tool.create_*" }, false, false],
    [{ capability: "tool.github" }, false, false],
    [{ capability: "mcp.github" }, false, true],
    [{ capability: "mcp.github", scope: ["create_issue"] }, false, true],
    [{ capability: "mcp.github", scope: ["create_*"] }, false, true],
    [{ capability: "mcp.github", scope: ["list"] }, false, false],
    [{ capability: "mcp.gitlab" }, false, false]
  ]
  for (const [grant, coversOwn, coversGithub] of rows) {
    it(`${grant.capability}(${grant.scope?.join() ?? ""}) covers it by the server that it is from`, () => {
      const grants = { allow: [grant], deny: [] }
      assert.strictEqual(covers(grants, toolAccess(chainOf(own), {})), coversOwn)
      assert.strictEqual(covers(grants, toolAccess(chainOf(github), {})), coversGithub)
    })
  }

  for (const line of ["create_issue", "create_*", "github/create_issue", "github/*", "'*'"]) {
    it.effect(`a rule finds a server's tool as ${line}`, () =>
      Effect.gen(function*() {
        const { outcome, rule } = yield* decideIn({ user: `rules:\n  - deny: ${line}\n` }, github)
        assert.deepStrictEqual([outcome, rule], ["deny", "user:config/permissions.yaml:2"])
      }))
  }
})
