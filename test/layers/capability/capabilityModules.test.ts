// The capability modules decide: what is not in them cannot be asked for, required or granted.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { generateModules } from "../../../build/systemManifest.ts"
import { capabilities, findCapability, refusalOf } from "../../../src/services/capability/CapabilityModule.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { Grant } from "../../../src/services/capability/Grant.ts"
import { kindOf } from "../../../src/services/capability/scopes/Scope.ts"
import { ItemParser } from "../../../src/services/format/ItemParser.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { call, kernel, reasonOf, tool } from "../proxy/calls.ts"

const root = new URL("../../../", import.meta.url).pathname

const ask = (capability: string, ...scope: ReadonlyArray<string>) => ({
  allow: [{ capability, ...(scope.length === 0 ? {} : { scope }) }],
  deny: []
})

const directive = (permissions: string) =>
  `# Deploy

\`\`\`xml
<directive name="deploy" version="1.0.0">
  <metadata>
    <description>Deploys</description>
    <category></category>
    <model tier="general">Deploys</model>
    <permissions>${permissions}</permissions>
  </metadata>
  <process><step name="one"><action>Deploy</action></step></process>
</directive>
\`\`\`
`

describe("the capabilities that ship", () => {
  it("are those of the items, with the scopes that grants have", () => {
    const generated = readFileSync(`${root}src/services/capability/shippedModules.generated.ts`, "utf8")
    assert.strictEqual(generateModules(`${root}.ai`), generated)
    for (const module of ["fs", "net", "db", "git", "process", "mcp", "spawn", "registry", "kiwi", "thread"]) {
      assert.isTrue([...capabilities.keys()].some((name) => name.startsWith(`${module}.`)), module)
    }
    for (const { name, scope } of capabilities.values()) assert.strictEqual(kindOf(name), scope, name)
    assert.strictEqual(findCapability("tool.deploy")?.name, "tool.*")
    assert.strictEqual(findCapability("tool.github_*")?.name, "tool.*")
    assert.strictEqual(findCapability("mcp.github")?.name, "mcp.*")
    assert.isUndefined(findCapability("fs.fly"))
    assert.isUndefined(findCapability("constructor.name"))
  })

  it("are all that may be asked for", () => {
    assert.isUndefined(refusalOf(ask("fs.read", "src/**"), false))
    assert.include(refusalOf(ask("fs.raed"), true), "fs.read is there")
    assert.include(refusalOf({ allow: [], deny: [{ capability: "net.htpp" }] }, true), "net.http is there")
    assert.include(refusalOf(ask("fs.read", "../x"), true), "fs.read")
    assert.include(refusalOf(ask("net.http", "https://a.b/c"), true), "net.http")
    assert.include(
      refusalOf({ allow: [{ capability: "fs.read", parameters: { path: { enum: ["a"] } } }], deny: [] }, true),
      "no parameters"
    )
    for (const capability of ["registry.write", "registry.read", "spawn.process", "fs.absolute", "thread.inject"]) {
      assert.include(refusalOf(ask(capability), false), capability)
      assert.isUndefined(refusalOf(ask(capability), true))
      assert.isUndefined(refusalOf({ allow: [], deny: ask(capability).allow }, false))
    }
    assert.include(refusalOf(ask("fs.read", "/etc/**"), false), "outside of the project")
    assert.isUndefined(refusalOf(ask("fs.read", "/etc/**"), true))
  })

  it.effect("are not run", () =>
    Effect.map(Effect.flip(call("fs_capabilities")), (error) => assert.notStrictEqual(error._tag, "ItemNotFound")).pipe(
      Effect.provide(kernel())
    ))
})

describe("an item that asks for what is not there, or not for it", () => {
  const requires: ReadonlyArray<readonly [capability: string, issue: RegExp | undefined]> = [
    ["fs.read", undefined],
    ["tool.deploy", undefined],
    ["mcp.github", undefined],
    ["fs.wirte", /fs\.write is there/],
    ["network.http", /no capability network\.http/],
    ["kiwi-mcp.execute", /no capability kiwi-mcp\.execute/],
    ["fs.read.all", /no capability fs\.read\.all/],
    ["registry.write", /only system items/],
    ["spawn.process", /only system items/],
    ["__proto__.x", /no capability/]
  ]
  for (const [capability, issue] of requires) {
    it.effect(`requires ${capability}: ${issue?.source ?? "may"}`, () =>
      Effect.gen(function*() {
        const done = yield* Effect.result(call("deploy"))
        if (issue === undefined) assert.strictEqual(done._tag, "Success")
        else {
          assert.strictEqual(done._tag === "Failure" ? done.failure._tag : "", "ItemInvalid")
          assert.match(done._tag === "Failure" ? done.failure.message : "", issue)
        }
      }).pipe(Effect.provide(kernel({
        project: {
          "tools/deploy.yaml": tool({ requires: { capabilities: [capability] }, config: { command: "argv" } })
        }
      }))))
  }

  const permissions: ReadonlyArray<readonly [permission: string, issue: RegExp | undefined]> = [
    [`<read resource="filesystem" path="src/**"/>`, undefined],
    [`<deny resource="registry" action="write"/><read resource="filesystem" path="src/**"/>`, undefined],
    [`<allow type="fs.raed" scope="src/**"/>`, /fs\.read is there/],
    [`<allow type="made.up"/>`, /no capability made\.up/],
    [`<deny type="fs.wirte" scope="src/**"/>`, /fs\.write is there/],
    [`<write resource="registry"/>`, /only system items/],
    [`<execute resource="spawn" action="process"/>`, /only system items/],
    [`<read resource="filesystem" path="/etc/**"/>`, /outside of the project/]
  ]
  for (const [permission, issue] of permissions) {
    it.effect(`${permission}: ${issue?.source ?? "may"}`, () =>
      Effect.gen(function*() {
        const store = yield* ItemStore
        const parser = yield* ItemParser
        const { location } = yield* store.find({ id: "deploy", type: "directive" })
        const found = yield* Effect.result(Effect.flatMap(store.read(location), parser.parse))
        const message = found._tag === "Failure" ? found.failure.message : "found"
        if (issue === undefined) assert.strictEqual(message, "found")
        else assert.match(message, issue)
      }).pipe(Effect.provide(kernel({ project: { "directives/deploy.md": directive(permission) } }))))
  }

  for (const wrong of ["fs.raed(src/**)", "registry.read", "fs.read(/etc/**)", "made.up"]) {
    it.effect(`may not make calls with ${wrong}`, () =>
      Effect.map(Effect.flip(call("deploy")), (error) => assert.strictEqual(reasonOf(error)._tag, "ConfigInvalid"))
        .pipe(
          Effect.provide(
            kernel({ project: { "tools/deploy.yaml": tool({ config: { command: "argv", calls: [wrong] } }) } })
          )
        ))
  }

  it.effect("gets no token", () =>
    Effect.gen(function*() {
      const tokens = yield* CapabilityTokens
      const mint = (grant: Grant) => tokens.mint({ thread: "t", directive: "d", grants: { allow: [grant], deny: [] } })
      const misspelt = yield* Effect.flip(mint({ capability: "fs.raed" }))
      assert.strictEqual(misspelt._tag, "CapabilityInvalid")
      assert.include(misspelt.message, "fs.read is there")
      assert.strictEqual(
        (yield* Effect.flip(mint({ capability: "fs.read", scope: ["../.."] })))._tag,
        "CapabilityInvalid"
      )
      const parent = yield* mint({ capability: "fs.read" })
      const child = yield* Effect.flip(
        tokens.attenuate(parent, { thread: "t" }, {
          thread: "u",
          directive: "d",
          request: { allow: [{ capability: "fs.raed", optional: true }], deny: [] }
        })
      )
      assert.strictEqual(child._tag, "CapabilityInvalid")
    }).pipe(Effect.provide(kernel())))
})
