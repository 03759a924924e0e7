// Attacks on profiles: every way to an item that a profile does not list, and every text that would widen one.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import type { Schema } from "effect"
import * as KernelMemory from "../../../../src/layers/KernelMemory.ts"
import type { ProjectServices } from "../../../../src/layers/projectGraph.ts"
import * as HumanGateNone from "../../../../src/layers/trust/humanGate/HumanGateNone.ts"
import { execute } from "../../../../src/programs/execute.ts"
import { help } from "../../../../src/programs/help.ts"
import { makeKiwiOver } from "../../../../src/programs/Kiwi.ts"
import { load, loadInto } from "../../../../src/programs/load.ts"
import * as Resources from "../../../../src/programs/mcp/resources.ts"
import { search } from "../../../../src/programs/search.ts"
import { sign } from "../../../../src/programs/sign.ts"
import type { Caller } from "../../../../src/services/call/Caller.ts"
import type { KiwiError } from "../../../../src/services/error/KiwiError.ts"
import { toErrorObject } from "../../../../src/services/error/KiwiError.ts"
import type { ItemLocation } from "../../../../src/services/item/Item.ts"
import type { ItemType } from "../../../../src/services/item/ItemId.ts"
import { qualifiedId } from "../../../../src/services/item/ItemPath.ts"
import { ItemStore } from "../../../../src/services/item/ItemStore.ts"
import type { Action } from "../../../../src/services/permission/Action.ts"
import { PermissionGate } from "../../../../src/services/permission/PermissionGate.ts"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { HumanGate } from "../../../../src/services/trust/HumanAct.ts"
import { knowledge, person } from "../../../programs/items.ts"
import { argvProgram, echo, entries, object, tool } from "../../proxy/calls.ts"

const web: Caller = { surface: "mcp", client: "ada", session: "one", profile: "web" }

const secretWord = "hemlock"

const directive = (name: string) =>
  `# ${name}\n\n\`\`\`xml\n<directive name="${name}" version="1.0.0">\n<metadata><description>${name} ${secretWord}` +
  `</description><model tier="general"/><permissions><read resource="filesystem" path="**"/></permissions></metadata>\n` +
  `<process><step name="s"><description>${secretWord}</description><action>run</action></step></process>\n` +
  "</directive>\n```\n"

const hidden = tool({
  description: secretWord,
  input_schema: object({ [secretWord]: { type: "string" } }, secretWord),
  config: { command: "argv", args: [secretWord], output: "json" }
})

const project = {
  "tools/add.yaml": echo,
  "tools/hidden.yaml": hidden,
  "tools/ops/purge.yaml": hidden,
  "tools/broken.yaml": `${secretWord}: [`,
  "tools/both.yaml": hidden,
  "directives/plan.md": directive("plan"),
  "directives/both.md": directive("both"),
  "knowledge/notes.md": knowledge("notes", secretWord)
}

const user = { "tools/deploy.yaml": echo }

interface World {
  readonly profiles?: string
  readonly ofProject?: string
  readonly permissions?: string
  readonly trusted?: boolean
  readonly project?: Readonly<Record<string, string>>
  readonly user?: Readonly<Record<string, string>>
}

const kernel = (world: World) =>
  KernelMemory.layer({
    project: new Map(Object.entries(world.project ?? project)),
    user: new Map(Object.entries(world.user ?? user)),
    programs: new Map(Object.entries({ argv: argvProgram })),
    ...(world.profiles === undefined ? {} : { profiles: world.profiles }),
    ...(world.permissions === undefined ? {} : { permissions: world.permissions }),
    ...(world.trusted === undefined ? {} : { trusted: world.trusted }),
    controlFiles: world.ofProject === undefined ? {} : { ".ai/config/profiles.yaml": world.ofProject }
  })

const run = (id: string, parameters: Schema.JsonObject = { text: "x" }, more: { readonly type?: ItemType } = {}) =>
  execute({ id, parameters, dryRun: false, callId: "call", ...more }, web)

/** What an agent is told: the error as it is sent. */
const told = <A, E extends KiwiError, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.result(effect),
    (result) =>
      Result.isFailure(result)
        ? toErrorObject(result.failure)
        : { code: "none", message: JSON.stringify(result.success) }
  )

const onlyAdd = "profiles: {web: {items: [add]}}"

describe("an item that the profile does not list", () => {
  const ways: Readonly<Record<string, (id: string) => Effect.Effect<unknown, KiwiError, ProjectServices | HumanGate>>> =
    {
      "execute by id": (id) => run(id),
      "execute as a tool": (id) => run(id, {}, { type: "tool" }),
      "execute as a directive": (id) => run(id, {}, { type: "directive" }),
      "execute as knowledge": (id) => run(id, {}, { type: "knowledge" }),
      "execute without what it needs": (id) => run(id, { wrong: 1 }),
      "the proxy itself": (id) =>
        Effect.flatMap(
          ToolProxy,
          (proxy) => proxy.call({ callId: "call", caller: web, item: id, parameters: {}, dryRun: true })
        ),
      "naming the tier": (id) =>
        Effect.flatMap(
          ToolProxy,
          (proxy) =>
            proxy.call({ callId: "call", caller: web, item: id, tier: "project", parameters: {}, dryRun: false })
        ),
      load: (id) => load({ id }, web),
      "load of a tier": (id) => load({ id, tier: "project" }, web),
      "load into the user tier": (id) => loadInto({ id, destination: "user" }, web),
      "load into the project": (id) => loadInto({ id, destination: "project" }, web),
      "resources/read of a tool": (id) => Resources.readItem(`kiwi://tool/${id}`, web),
      "resources/read of a directive": (id) => Resources.readItem(`kiwi://directive/${id}`, web),
      "resources/read of knowledge": (id) => Resources.readItem(`kiwi://knowledge/${id}`, web),
      sign: (id) => sign({ id }, web),
      "sign by a glob": (id) => sign({ id: `${id}*` }, web)
    }
  const ids = ["hidden", "ops/purge", "purge", "plan", "notes", "both", "broken", "deploy", "shell.run"]
  for (const [way, attempt] of Object.entries(ways)) {
    it.effect(`is refused in the words for one that does not exist: ${way}`, () =>
      Effect.gen(function*() {
        const none = yield* told(attempt("nothing"))
        assert.strictEqual(none.code, "PERMISSION_DENIED")
        for (const id of ids) {
          const said = yield* told(attempt(id))
          assert.strictEqual(
            JSON.stringify(said).replaceAll(id, "nothing"),
            JSON.stringify(none),
            `${way}: ${id}`
          )
        }
        const last = (yield* entries).at(-1)
        assert.deepInclude(last, { outcome: "denied" })
      }).pipe(
        Effect.provideService(HumanGate, person("yes")),
        Effect.provide(kernel({ profiles: onlyAdd }))
      ))
  }

  it.effect("is in no search, and what is listed is found, run, and recorded with the profile", () =>
    Effect.gen(function*() {
      for (const query of [secretWord, "hidden", "plan", "deploy", "both", "purge", "shell.run", "broken"]) {
        assert.deepStrictEqual(yield* search({ query, limit: 100 }, web), [], query)
      }
      assert.deepStrictEqual((yield* search({ query: "add" }, web)).map(({ id }) => id as string), ["add"])
      const said = yield* run("add")
      assert.deepInclude(said, { status: "success", data: ["--", "x"] })
      const [request, result] = (yield* entries).slice(-2)
      assert.deepInclude(request, { kind: "request", caller: web })
      assert.deepInclude(result, { kind: "result", outcome: "success", rule: "profile:web, signed-by-you" })
    }).pipe(Effect.provide(kernel({ profiles: onlyAdd }))))

  it.effect("a search finds one among hundreds that match better", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* search({ query: "argv", limit: 3 }, web)).map(({ id }) => id as string), ["last"])
      const { profile: _, ...plain } = web
      assert.lengthOf(yield* search({ query: "argv", limit: 500 }, plain), 100)
    }).pipe(Effect.provide(kernel({
      profiles: "profiles: {web: {items: [last]}}",
      project: {
        ...Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`tools/argv-${n}.yaml`, echo])),
        "tools/last.yaml": tool({ description: "the last of all, about argv", config: { command: "argv" } })
      }
    }))))

  it.effect("help names no file that is no item", () =>
    Effect.gen(function*() {
      assert.notInclude(JSON.stringify(yield* help("overview", web)), "broken")
    }).pipe(Effect.provide(kernel({
      profiles: onlyAdd,
      project: { ...project, "tools/Broken Name.py": secretWord }
    }))))

  it.effect("is refused by the gate, whatever the way to it", () =>
    Effect.gen(function*() {
      const { decide } = yield* PermissionGate
      const all = yield* (yield* ItemStore).list({ tier: "project" })
      const actionsOn = (location: ItemLocation): ReadonlyArray<Action> => [
        { _tag: "Load", item: location },
        { _tag: "Sign", items: [all.find(({ id }) => id === "add")!, location] },
        { _tag: "ChangeLocks", change: "prune", tools: [qualifiedId(location)] }
      ]
      for (const location of all) {
        for (const action of actionsOn(location)) {
          const decided = yield* Effect.result(decide(web, action))
          assert.strictEqual(Result.isSuccess(decided), location.id === "add", `${action._tag} ${location.id}`)
          const rule = Result.isSuccess(decided) ? decided.success.rule : decided.failure.rule
          assert.strictEqual(rule.split(", ")[0], "profile:web")
        }
      }
      const odd = yield* Effect.result(decide(web, { _tag: "ChangeLocks", change: "prune", tools: ["../add"] }))
      assert.isTrue(Result.isFailure(odd))
    }).pipe(Effect.provide(kernel({ profiles: onlyAdd }))))

  it.effect("without a profile everything is as before", () =>
    Effect.gen(function*() {
      const { profile: _, ...plain } = web
      const said = yield* told(execute({ id: "hiden", parameters: {}, dryRun: false, callId: "call" }, plain))
      assert.strictEqual(said.code, "ITEM_NOT_FOUND")
      assert.deepInclude(yield* load({ id: "hidden" }, plain), { state: "ok" })
    }).pipe(Effect.provide(kernel({ profiles: onlyAdd }))))
})

it.effect("a program that embeds Kiwi with a profile runs only what it has", () =>
  Effect.gen(function*() {
    const layer = Layer.provideMerge(HumanGateNone.layer, kernel({ profiles: onlyAdd }))
    const kiwi = makeKiwiOver(layer, "program", "web")
    yield* Effect.addFinalizer(() => Effect.promise(kiwi.close))
    const ran = yield* Effect.promise(() => kiwi.run("add", { text: "x" }))
    assert.strictEqual(ran.status, "success")
    for (const attempt of [() => kiwi.run("hidden"), () => kiwi.follow("plan"), () => kiwi.load({ id: "hidden" })]) {
      const refused = yield* Effect.flip(Effect.tryPromise({ try: attempt, catch: (error) => error }))
      assert.propertyVal(refused, "_tag", "PermissionDenied")
    }
    assert.deepStrictEqual(yield* Effect.promise(() => kiwi.search({ query: "hidden" })), [])
  }).pipe(Effect.scoped))

describe("two tiers", () => {
  const copies = { "tools/deploy.yaml": hidden }
  it.effect("an unlisted item of the project hides no listed one of the user", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* run("deploy"), { data: ["--", "x"] })
      assert.strictEqual((yield* load({ id: "deploy" }, web)).tier, "user")
      assert.strictEqual((yield* told(load({ id: "deploy", tier: "project" }, web))).code, "PERMISSION_DENIED")
      const into = yield* told(loadInto({ id: "deploy", tier: "project", destination: "user" }, web))
      assert.strictEqual(into.code, "PERMISSION_DENIED")
    }).pipe(
      Effect.provide(kernel({ profiles: "profiles: {web: {items: [{id: deploy, tier: user}]}}", project: copies }))
    ))

  it.effect("an id of several types means the one that is listed", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* load({ id: "both" }, web)).type, "directive")
    }).pipe(Effect.provide(kernel({ profiles: "profiles: {web: {items: [{type: directive}]}}" }))))
})

describe("a text that would widen", () => {
  const users = "profiles: {web: {items: [add], lockfile_mode: warn, rules: [{deny: deploy}]}}"
  const outcome = (id: string) => Effect.map(told(run(id)), ({ code }) => code)
  const cases: ReadonlyArray<readonly [name: string, world: World, id: string, code: string]> = [
    [
      "the project's, trusted, lists more",
      { profiles: users, ofProject: "profiles: {web: {items: ['*']}}" },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the project's, trusted, has no list",
      { profiles: users, ofProject: "profiles: {web: {}}" },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the project's, trusted, exposes more",
      { profiles: users, ofProject: "profiles: {web: {expose: [deploy]}}" },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the project's, trusted, allows what is not listed",
      { profiles: users, ofProject: "profiles: {web: {rules: [{allow: deploy}]}}" },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the project's lists less",
      { profiles: users, ofProject: "profiles: {web: {items: []}}" },
      "add",
      "PERMISSION_DENIED"
    ],
    [
      "the project's is not accepted, and lists less",
      { profiles: "profiles: {web: {items: [deploy]}}", ofProject: "profiles: {web: {items: []}}", trusted: false },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the project's is not accepted, and allows what the user's rules ask",
      {
        profiles: "profiles: {web: {}}",
        permissions: "rules: [{ask: deploy}]",
        ofProject: "profiles: {web: {rules: [{allow: deploy}]}}",
        trusted: false
      },
      "deploy",
      "APPROVAL_PENDING"
    ],
    [
      "the profile allows what the user's rules ask",
      {
        profiles: "profiles: {web: {rules: [{allow: deploy}]}}",
        permissions: "rules: [{ask: deploy}]"
      },
      "deploy",
      "APPROVAL_PENDING"
    ],
    [
      "the profile allows what the user's rules deny",
      {
        profiles: "profiles: {web: {rules: [{allow: deploy}]}}",
        permissions: "rules: [{deny: deploy}]"
      },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the profile denies what the user's rules allow",
      {
        profiles: "profiles: {web: {rules: [{deny: deploy}]}}",
        permissions: "rules: [{allow: deploy}]"
      },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the project's, not accepted, denies",
      { profiles: "profiles: {web: {}}", ofProject: "profiles: {web: {rules: [{deny: deploy}]}}", trusted: false },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "only the project's, not accepted, names the profile",
      { ofProject: "profiles: {web: {items: [deploy]}}", trusted: false },
      "deploy",
      "none"
    ],
    ["no file has the profile", { profiles: "profiles: {other: {}}" }, "deploy", "PERMISSION_DENIED"],
    ["the user's file is not valid", { profiles: "profiles: {web: {item: [deploy]}}" }, "deploy", "PERMISSION_DENIED"],
    [
      "the project's file is not valid",
      { profiles: "profiles: {web: {}}", ofProject: "profiles: [" },
      "deploy",
      "PERMISSION_DENIED"
    ],
    [
      "the project's file is not valid, and not accepted",
      { profiles: "profiles: {web: {}}", ofProject: `profiles: {web: {${secretWord}: 1}}`, trusted: false },
      "deploy",
      "PERMISSION_DENIED"
    ],
    ["nothing is wrong", { profiles: "profiles: {web: {items: [deploy]}}" }, "deploy", "none"]
  ]
  for (const [name, world, id, code] of cases) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const said = yield* told(run(id))
        assert.strictEqual(said.code, code, said.message)
        assert.notInclude(said.message, secretWord)
      }).pipe(Effect.provide(kernel(world))))
  }

  it.effect("a lock mode only tightens", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcome("deploy"), "LOCK_MISSING")
    }).pipe(Effect.provide(kernel({
      profiles: "profiles: {web: {lockfile_mode: strict}}",
      ofProject: "profiles: {web: {lockfile_mode: off}}"
    }))))

  it.effect("a profile that cannot be used leaves help, and nothing else", () =>
    Effect.gen(function*() {
      const attempts: ReadonlyArray<Effect.Effect<unknown, KiwiError, ProjectServices>> = [
        search({ query: "add" }, web),
        load({ id: "add" }, web),
        run("add"),
        run("call.result")
      ]
      for (const attempt of attempts) {
        const said = yield* told(attempt)
        assert.match(said.message, /the profile web cannot be used: no file has it any more/)
      }
    }).pipe(Effect.provide(kernel({}))))
})
