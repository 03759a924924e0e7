import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { showGrant } from "../../../../src/services/capability/Grant.ts"
import { invalid, parseDirective } from "../../../layers/format/parsing.ts"

const fence = "```"

/** The first permission is on line 7. */
const directive = (permissions: string) =>
  `# Go

${fence}xml
<directive name="go" version="1.0.0">
  <metadata><description>Goes</description><permissions>

${permissions}
  </permissions></metadata>
  <process><step name="one"><action>Go</action></step></process>
</directive>
${fence}
`

const request = (permissions: string) =>
  Effect.map(parseDirective("go.md", directive(permissions)), ({ request: { allow, deny } }) => [
    ...allow.map((grant) => `${showGrant(grant)}${grant.optional ? " optional" : ""}`),
    ...deny.map((grant) => `not ${showGrant(grant)}`)
  ])

describe("permissions mean", () => {
  const dialects: ReadonlyArray<readonly [xml: string, ...grants: ReadonlyArray<string>]> = [
    [`<read resource="filesystem" path="src/**"/>`, "fs.read(src/**)"],
    [`<write resource="filesystem" path="./dist/"/>`, "fs.write(dist/**)"],
    [`<execute resource="filesystem" path="bin/*"/>`, "fs.exec(bin/*)"],
    [`<execute resource="filesystem" action="delete" path="tmp/**"/>`, "fs.delete(tmp/**)"],
    [`<read resource="network" endpoint="api.github.com"/>`, "net.http(api.github.com)"],
    [
      `<execute resource="network" endpoint="https://api.x.com, http://y.com:8080/"/>`,
      "net.http(api.x.com:443)",
      "net.http(y.com:8080)"
    ],
    [`<write resource="network" endpoint="*.x.com"/>`, "net.http(*.x.com)"],
    [`<execute resource="network" endpoint="*"/>`, "net.http"],
    [`<execute resource="shell" commands="git,npm"/>`, "process.exec(git *)", "process.exec(npm *)"],
    [
      `<execute resource="shell" commands="git status, npm test"/>`,
      "process.exec(git status)",
      "process.exec(npm test)"
    ],
    [`<execute resource="shell" command="git commit *"/>`, "process.exec(git commit *)"],
    [`<execute resource="shell" action="git"/>`, "process.exec(git *)"],
    [`<execute resource="shell" action="*"/>`, "process.exec"],
    [`<execute resource="tool" id="github_*"/>`, "tool.github_*"],
    [`<execute resource="tool" id="git.*"/>`, "tool.git.*"],
    [`<execute resource="tool" action="read_file"/>`, "tool.read_file"],
    [`<execute resource="tool" tool_id="a, b"/>`, "tool.a", "tool.b"],
    [`<execute resource="tool" id="*"/>`, "tool.*"],
    [`<execute resource="tool" tool_type="python"/>`, "tool.*(python)"],
    [`<execute resource="mcp" name="supabase" actions="query,insert"/>`, "mcp.supabase(query)", "mcp.supabase(insert)"],
    [`<execute resource="mcp:github" action="create_issue"/>`, "mcp.github(create_issue)"],
    [`<execute resource="mcp:github" action="*"/>`, "mcp.github"],
    [`<execute resource="supabase" action="query"/>`, "mcp.supabase(query)"],
    [`<execute resource="github" actions="list_*"/>`, "mcp.github(list_*)"],
    [`<mcp name="github" action="list_*"/>`, "mcp.github(list_*)"],
    [`<execute resource="kiwi-mcp" action="*"/>`, "kiwi.all"],
    [`<execute resource="kiwi" actions="search, load"/>`, "kiwi.search", "kiwi.load"],
    [`<execute resource="kiwi-mcp" action="load" item_type="knowledge"/>`, "kiwi.load(knowledge/**)"],
    [`<deny resource="registry" actions="read, write"/>`, "not registry.read", "not registry.write"],
    [`<execute resource="spawn" action="thread"/>`, "spawn.thread"],
    [`<read resource="env" var="CI, HOME"/>`, "env.read(CI)", "env.read(HOME)"],
    [`<execute resource="python" module="requests"/>`, "python.import(requests)"],
    [`<read resource="secret" name="GITHUB_*"/>`, "secret.use(GITHUB_*)"],
    [`<read resource="git"/>`, "git.read"],
    [`<execute resource="git" action="push"/>`, "git.push"],
    [`<read resource="db"/>`, "db.query"],
    [`<allow type="fs.read" scope="src/**"/>`, "fs.read(src/**)"],
    [`<allow type="spawn.thread" optional="true"/>`, "spawn.thread optional"],
    [`<read resource="filesystem" path="a/**" optional="true"/>`, "fs.read(a/**) optional"],
    [
      `<deny resource="filesystem" path="**/.env*"/>`,
      "not fs.read(**/.env*)",
      "not fs.write(**/.env*)",
      "not fs.delete(**/.env*)",
      "not fs.exec(**/.env*)"
    ],
    [`<deny resource="filesystem" action="write" path="infra/**"/>`, "not fs.write(infra/**)"],
    [`<deny resource="shell" command="rm"/>`, "not process.exec(rm *)"],
    [`<deny resource="shell"/>`, "not process.exec"],
    [`<deny resource="tool" id="deploy*"/>`, "not tool.deploy*"],
    [`<deny resource="mcp:github" action="delete_*"/>`, "not mcp.github(delete_*)"],
    [`<deny type="net.http"/>`, "not net.http"],
    [`<orchestration enabled="true"/>`, "spawn.thread(directive/**)"],
    [
      `<orchestration enabled="true"><allow_categories>ops, docs</allow_categories><allow_directives>deploy_*</allow_directives>` +
      `<deny_directives>deploy_prod, ops/x</deny_directives></orchestration>`,
      "spawn.thread(directive/**/deploy_* and directive/ops/**)",
      "spawn.thread(directive/**/deploy_* and directive/docs/**)",
      "not spawn.thread(directive/**/deploy_prod)",
      "not spawn.thread(directive/ops/x)"
    ],
    [`<orchestration enabled="false"/>`, "not spawn.thread"],
    [
      `<knowledge><deny_categories>secret</deny_categories></knowledge>`,
      "kiwi.load(knowledge/**)",
      "not kiwi.load(knowledge/secret/**)"
    ],
    [`<directives allow_categories="ops"/>`, "kiwi.load(directive/ops/**)", "kiwi.execute(directive/ops/**)"],
    [
      `<execute resource="tool" id="send_money"><param name="recipient" enum="ada, grace"/><param name="amount" maximum="100"/></execute>`,
      `tool.send_money(recipient: {"enum":["ada","grace"]} and amount: {"maximum":100})`
    ],
    [
      `<execute resource="tool" id="t"><param name="n" type="integer" enum="1,2"/><param name="p" prefix="src/"/>` +
      `<param name="q" pattern="^a$"/><param name="s" schema='{"const": true}'/><param name="e" enum='["a,b"]'/></execute>`,
      `tool.t(n: {"type":"integer","enum":[1,2]} and p: {"prefix":"src/"} and q: {"pattern":["^a$"]} and s: {"enum":[true]} and e: {"enum":["a,b"]})`
    ],
    [
      `<execute resource="mcp" name="bank" action="pay"><param name="to" const="ada"/></execute>`,
      `mcp.bank(pay and to: {"enum":["ada"]})`
    ]
  ]
  for (const [xml, ...grants] of dialects) {
    it.effect(xml, () => Effect.map(request(xml), (found) => assert.deepStrictEqual(found, grants)))
  }
})

describe("a permission is refused", () => {
  const wrong: ReadonlyArray<readonly [xml: string, issue: string]> = [
    [`<raed resource="filesystem" path="**"/>`, "<raed> is no permission"],
    [`<READ resource="filesystem" path="**"/>`, "<READ> is no permission"],
    [`<read path="**"/>`, "names no resource"],
    [`<read resource="filesytem" path="**"/>`, `"filesytem" is unknown`],
    [`<execute resource="shel" action="git"/>`, `"shel" is unknown`],
    [`<read resource="supabase" table="x"/>`, `"supabase" is unknown`],
    [`<read resource="filesystem" paths="**"/>`, `unknown attribute "paths"`],
    [`<read resource="filesystem" path="**" endpoint="x"/>`, `unknown attribute "endpoint"`],
    [`<read resource="filesystem"/>`, "does not say what it is about"],
    [`<read resource="filesystem" path=""/>`, "does not say what it is about"],
    [`<read resource="filesystem" path="../x"/>`, "has `..`"],
    [`<read resource="filesystem" path="a{b,c}"/>`, `has "{"`],
    [`<read resource="filesystem" action="write" path="**"/>`, "has another action"],
    [`<execute resource="filesystem" action="format" path="**"/>`, `no action "format"`],
    [`<read resource="network" endpoint="https://x.com/path"/>`, "is not a host"],
    [`<read resource="network"/>`, "does not say what it is about"],
    [`<execute resource="shell"/>`, "does not say what it is about"],
    [`<execute resource="shell" command="git; rm"/>`, "a pattern is one command"],
    [`<execute resource="shell" command="gi*"/>`, "stands for whole words"],
    [`<execute resource="tool"/>`, "names no tool"],
    [`<execute resource="tool" id="a*b"/>`, "is no capability"],
    [`<execute resource="tool" id="github/x"/>`, "is no capability"],
    [`<execute resource="mcp" action="x"/>`, "names no server"],
    [`<execute resource="mcp" name="github"/>`, "does not say what it is about"],
    [`<execute resource="mcp" name="*" action="x"/>`, "is no capability"],
    [`<execute resource="kiwi-mcp" action="fly"/>`, `no action "fly"`],
    [`<execute resource="kiwi-mcp" action="load" item_type="skill"/>`, `no item type "skill"`],
    [`<execute resource="registry"/>`, "names no action"],
    [`<execute resource="spawn" action="threads"/>`, `no action "threads"`],
    [`<read resource="env" var="A B"/>`, "is not a name"],
    [`<allow type="src" scope="x"/>`, `"src" is no capability`],
    [`<allow type="fs.read"/>`, "does not say what it is about"],
    [`<allow type="fs.read" scope="**" path="x"/>`, `unknown attribute "path"`],
    [`<read resource="filesystem" path="**" optional="yes"/>`, `optional is neither`],
    [`<deny resource="filesystem" path="**" optional="true"/>`, `unknown attribute "optional"`],
    [`<deny resource="tool" id="pay"><param name="to" enum="eve"/></deny>`, "<param> is not allowed in <deny>"],
    [`<read resource="filesystem" path="**"><param name="a" enum="b"/></read>`, "<param> is not allowed in <read>"],
    [`<execute resource="tool" id="t"><parm name="a"/></execute>`, "<parm> is not allowed"],
    [`<execute resource="tool" id="t"><param enum="a"/></execute>`, "no usable name"],
    [`<execute resource="tool" id="t"><param name="__proto__" enum="a"/></execute>`, "no usable name"],
    [`<execute resource="tool" id="t"><param name="a" format="x"/></execute>`, `unknown attribute "format"`],
    [`<execute resource="tool" id="t"><param name="a" schema='{"anyOf":[]}'/></execute>`, "keyword anyOf"],
    [
      `<execute resource="tool" id="t"><param name="a" schema='{"enum":["x"]}' maximum="3"/></execute>`,
      "other keywords"
    ],
    [
      `<execute resource="tool" id="t"><param name="a" maximum="many"/></execute>`,
      "value that its keyword cannot have"
    ],
    [`<execute resource="tool" id="t"><param name="a"/></execute>`, "says nothing"],
    [
      `<execute resource="tool" id="t"><param name="a" enum="b"/><param name="a" enum="c"/></execute>`,
      "second <param> for a"
    ],
    [`<orchestration enabled="maybe"/>`, "enabled is neither"],
    [`<orchestration enabled="true" allow="x"/>`, `unknown attribute "allow"`],
    [`<knowledge><allow_category>x</allow_category></knowledge>`, "<allow_category> is not allowed"],
    [`<knowledge allow_categories="../x"/>`, "has `..`"]
  ]
  for (const [xml, issue] of wrong) {
    it.effect(xml, () =>
      Effect.map(invalid(parseDirective("go.md", directive(xml))), (error) => {
        assert.include(error.issue, issue)
        assert.strictEqual(error.line, 7)
        assert.notStrictEqual(error.hint, "")
      }))
  }

  it.effect("at its own line, and beyond a number", () =>
    Effect.gen(function*() {
      const good = `<read resource="filesystem" path="src/**"/>\n`
      const error = yield* invalid(parseDirective("go.md", directive(`${good}${good}<reed x="1"/>`)))
      assert.strictEqual(error.line, 9)
      const many = yield* invalid(parseDirective("go.md", directive(good.repeat(129))))
      assert.include(many.issue, "more than 128")
      assert.isTrue(Result.isSuccess(yield* Effect.result(parseDirective("go.md", directive(good.repeat(128))))))
    }))
})
