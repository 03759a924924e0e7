// For every grant of a caller and every directive that it calls, in every dialect: the thread may do nothing that its
// caller may not, and nothing that its directive does not ask for.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as CapabilityTokensMemory from "../../../src/layers/capability/CapabilityTokensMemory.ts"
import { showAccess } from "../../../src/services/capability/Access.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { GrantSet } from "../../../src/services/capability/Grant.ts"
import { covers, isWithin } from "../../../src/services/capability/Grant.ts"
import { accesses, grantsOf, matches, Seeds } from "../../services/capability/grantWorld.ts"
import { parseDirective } from "../format/parsing.ts"

/** `OPT` is where an element may be marked as optional. */
const elements = [
  `<read resource="filesystem" path="src/**" OPT/>`,
  `<read resource="filesystem" path="**" OPT/>`,
  `<write resource="filesystem" path="src/*.ts" OPT/>`,
  `<execute resource="filesystem" action="delete" path="**/*.ts" OPT/>`,
  `<execute resource="shell" commands="git status, npm test" OPT/>`,
  `<execute resource="shell" command="git" OPT/>`,
  `<execute resource="shell" action="*" OPT/>`,
  `<execute resource="tool" id="pay" OPT/>`,
  `<execute resource="tool" action="pa*" OPT/>`,
  `<execute resource="tool" tool_id="pay" tool_type="python" OPT/>`,
  `<execute resource="tool" id="pay" OPT><param name="to" enum="bob, eve"/></execute>`,
  `<execute resource="tool" id="pay" OPT><param name="to" pattern="^b"/><param name="amount" maximum="4"/></execute>`,
  `<execute resource="tool" id="pa*" OPT><param name="to" schema='{"prefix": "src/"}'/></execute>`,
  `<execute resource="mcp" name="github" actions="create_*" OPT/>`,
  `<execute resource="mcp:github" action="*" OPT/>`,
  `<execute resource="github" actions="create_issue" OPT/>`,
  `<mcp name="github" action="create_issue" OPT><param name="to" enum="bob"/></mcp>`,
  `<execute resource="network" endpoint="*.x.com" OPT/>`,
  `<read resource="network" endpoint="https://a.x.com" OPT/>`,
  `<execute resource="kiwi-mcp" action="*" OPT/>`,
  `<execute resource="kiwi" actions="search, load" item_type="directive" OPT/>`,
  `<read resource="secret" name="A_*" OPT/>`,
  `<execute resource="spawn" action="thread" OPT/>`,
  `<allow type="fs.read" scope="src/a.ts" OPT/>`,
  `<allow type="net.http" scope="x.com:443" OPT/>`,
  `<allow type="process.exec" scope="git commit *" OPT/>`,
  `<orchestration enabled="true"><allow_categories>ops</allow_categories></orchestration>`,
  `<orchestration enabled="false"/>`,
  `<knowledge><deny_categories>secret</deny_categories></knowledge>`,
  `<directives><allow_directives>deploy*</allow_directives></directives>`,
  `<deny resource="filesystem" path="**/.env*"/>`,
  `<deny resource="shell" commands="rm"/>`,
  `<deny resource="tool" id="pay"/>`,
  `<deny resource="mcp" name="github" actions="create_*"/>`,
  `<deny type="net.http" scope="*.x.com"/>`
]

const Pick = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: elements.length - 1 }))
const Directive = Schema.Array(Schema.Struct({ element: Pick, optional: Schema.Boolean })).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(5)
)

const fence = "```"
const textOf = (picks: typeof Directive.Type) =>
  `# Go

${fence}xml
<directive name="go" version="1.0.0">
  <metadata><description>Goes</description><permissions>
${picks.map(({ element, optional }) => elements[element]!.replace("OPT", optional ? `optional="true"` : "")).join("\n")}
  </permissions></metadata>
  <process><step name="one"><action>Go</action></step></process>
</directive>
${fence}
`

const covered = (grants: GrantSet) => new Set(accesses.filter((access) => covers(grants, access, matches)))

const assertInside = (inner: GrantSet, outer: GrantSet, why: string) => {
  const allowed = covered(outer)
  for (const access of covered(inner)) {
    assert.isTrue(allowed.has(access), `${why}: ${showAccess(access)} ${JSON.stringify({ access, inner, outer })}`)
  }
}

describe("a thread", () => {
  it.effect.prop(
    "has at most what its caller has and what its directive asks for, however often threads start threads",
    [Seeds, Schema.Array(Directive).check(Schema.isMinLength(1), Schema.isMaxLength(4))],
    ([seeds, directives]) =>
      Effect.gen(function*() {
        const tokens = yield* CapabilityTokens
        const caller = grantsOf(seeds)
        let bearer = { thread: "t0" }
        let token = yield* tokens.mint({ ...bearer, directive: "d", grants: caller })
        let held = caller
        for (const [at, picks] of directives.entries()) {
          const { request } = yield* parseDirective("go.md", textOf(picks))
          const child = { thread: `t${at + 1}` }
          const made = yield* Effect.result(tokens.attenuate(token, bearer, { ...child, directive: "d", request }))
          if (made._tag === "Failure") {
            assert.strictEqual(made.failure._tag, "PermissionEscalation")
            const mustHave = picks.filter(({ element, optional }) => !optional || !elements[element]!.includes("OPT"))
            assert.isAbove(mustHave.length, 0, "what is optional is cut, not refused")
            continue
          }
          const { caps } = yield* tokens.verify(made.success, child)
          assertInside(caps, caller, "its first caller")
          assertInside(caps, held, "its caller")
          assertInside(caps, request, "its directive")
          assert.isTrue(isWithin(caps, held))
          ;[bearer, token, held] = [child, made.success, caps]
        }
      }).pipe(Effect.provide(CapabilityTokensMemory.layer)),
    { arbitrary: { runs: 150 }, timeout: 60_000 }
  )

  it.effect("is tried with every element: each is read, and each grant among them covers something", () =>
    Effect.forEach(elements, (element, at) =>
      Effect.gen(function*() {
        const { request } = yield* parseDirective("go.md", textOf([{ element: at, optional: false }]))
        assert.isAbove(request.allow.length + request.deny.length, 0, element)
        if (request.allow.length > 0) assert.isAbove(covered({ ...request, deny: [] }).size, 0, element)
      })))
})
