import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import type { Content } from "../../../src/layers/item/ItemSourcesContent.ts"
import * as ItemSourcesContent from "../../../src/layers/item/ItemSourcesContent.ts"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { fileIdentity } from "../../../src/layers/search/refreshTier.ts"
import { execute } from "../../../src/programs/execute.ts"
import { explain } from "../../../src/programs/explain.ts"
import { explainPermissions } from "../../../src/programs/explainPermissions.ts"
import { load } from "../../../src/programs/load.ts"
import { search } from "../../../src/programs/search.ts"
import { unansweredSources } from "../../../src/programs/unansweredSources.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { showLocation } from "../../../src/services/item/Item.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { Lockfiles } from "../../../src/services/lockfile/Lockfiles.ts"
import { queryOfLock } from "../../../src/services/lockfile/lockReport.ts"
import { ItemIndex } from "../../../src/services/search/ItemIndex.ts"
import { temporary } from "../../support/temporary.ts"
import { call, caller, echo, kernel, object, reasonOf, tool } from "../proxy/calls.ts"
import { bait, makeShelf, shelfRuntime, shelfTool, system } from "./shelf.ts"

const find = (query: string) => search({ query, tier: "user" }, caller)
const run = (id: string) => execute({ id, type: "tool", parameters: {}, dryRun: false, callId: "call" }, caller)
const failed = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.flip(effect)

/** A kernel whose items are also on shelves. */
const over = (contents: ReadonlyArray<Content>, options: Parameters<typeof kernel>[0] = {}) =>
  kernel({ ...system, ...options, replace: ItemSourcesContent.layerWith(contents) } as Parameters<typeof kernel>[0])

describe("an item of another source than files", () => {
  it.effect("has its source's name in what the rules are asked about, with parameters and without", () => {
    const shelf = makeShelf({ "acme/greet": shelfTool({ input_schema: object({ name: { type: "string" } }, "name") }) })
    shelf.approve("acme/greet")
    return Effect.gen(function*() {
      for (const parameters of [undefined, { name: "Ada" }]) {
        const { accesses } = yield* explainPermissions("greet", parameters, caller)
        assert.strictEqual(accesses[0]?.access, "tool.shelf/greet")
      }
    }).pipe(Effect.provide(over([shelf.source])))
  })

  it.effect("is found, read, refused, approved, called, changed and gone", () => {
    const shelf = makeShelf({ "acme/greet": shelfTool() })
    return Effect.gen(function*() {
      const place = "user:tools/shelf:acme/greet.yaml"
      const unapproved = { id: "greet", type: "tool", tier: "user", category: "acme", path: place, state: "untrusted" }
      assert.deepStrictEqual(yield* find("greet"), [unapproved])
      const loaded = yield* load({ id: "acme/greet" }, caller)
      assert.strictEqual(loaded.state, "untrusted")
      assert.isUndefined(loaded.item)
      assert.include(loaded.untrusted?.item.content, bait)
      const explained = yield* explain({ id: "greet" }, undefined, "call", caller)
      assert.deepInclude(explained.blocked, { check: "verifyLinks" })
      const refusal = yield* failed(call("greet"))
      assert.strictEqual(reasonOf(refusal)._tag, "ItemUnapproved")
      assert.deepInclude(toErrorObject(refusal), {
        code: "ITEM_UNAPPROVED",
        message: `Nobody has approved ${place}`,
        remediation: "Ask the person to approve it on the shelf"
      })
      assert.notInclude(JSON.stringify([explained, toErrorObject(refusal)]), "Ignore")

      shelf.approve("acme/greet")
      const [hit] = yield* find("greet")
      assert.deepInclude(hit, { state: "ok", call: "greet(name?: string)" })
      assert.include(hit?.description, "Greets somebody")
      const { data, metadata } = yield* call("greet", { name: "Ada" })
      assert.deepStrictEqual(data, { with: { tool: "greet" }, parameters: { name: "Ada" } })
      assert.deepStrictEqual(metadata.chain, ["greet", "shelf_runtime", "builtin"])
      assert.strictEqual(metadata.isolation, "standard")
      const ready = yield* explain({ id: "greet" }, undefined, "call", caller)
      assert.deepInclude(ready, { ready: true, rule: "approved-items" })

      shelf.items.set("acme/greet", shelfTool({ description: "Changed" }))
      assert.deepInclude((yield* find("greet"))[0], { state: "tampered" })
      assert.match((yield* failed(call("greet"))).message, /has changed since it was approved/)

      shelf.items.delete("acme/greet")
      assert.deepStrictEqual(yield* find("greet"), [])
      assert.strictEqual((yield* failed(run("greet")))._tag, "ItemNotFound")
      assert.strictEqual((yield* failed(load({ id: "acme/greet" }, caller)))._tag, "ItemNotFound")
    }).pipe(Effect.provide(over([shelf.source])))
  })

  it.effect("is indexed once, and again when it changed", () => {
    const shelf = makeShelf({ "acme/greet": shelfTool(), "acme/part": shelfTool() })
    return Effect.gen(function*() {
      const index = yield* ItemIndex
      const first = yield* index.refresh()
      shelf.items.delete("acme/part")
      const second = yield* index.refresh()
      assert.strictEqual(second.items, first.items - 1)
      assert.strictEqual(second.changed, 1)
    }).pipe(Effect.provide(over([shelf.source])))
  })

  it.effect("is not signed, by its name or by a glob", () =>
    Effect.gen(function*() {
      const signatures = yield* Signatures
      const refusal = yield* failed(signatures.plan({ id: "acme/part", type: "tool", tier: "user" }))
      assert.match(refusal.message, /only files of a tier are signed/)
      const { items } = yield* signatures.plan({ id: "**", type: "tool", tier: "user" })
      assert.deepStrictEqual(items.map(({ location }) => showLocation(location)), ["user:tools/own.yaml"])
    }).pipe(
      Effect.provide(over([makeShelf({ "acme/part": shelfTool() }).source], { user: { "tools/own.yaml": echo } }))
    ))
})

it.live("items of another source run in a kernel on disk, and are indexed once", () =>
  Effect.gen(function*() {
    const folder = yield* temporary
    const shelf = makeShelf({ "acme/greet": shelfTool() })
    shelf.approve("acme/greet")
    const program = Effect.gen(function*() {
      const index = yield* ItemIndex
      yield* index.refresh()
      const [hit] = yield* find("greet")
      assert.deepInclude(hit, { state: "ok", path: "user:tools/shelf:acme/greet.yaml" })
      assert.deepInclude((yield* call("greet")).data, { with: { tool: "greet" } })
      assert.strictEqual((yield* index.refresh()).changed, 0)
      // What tells that it need not be looked at again is its digest, and no file of that name in some folder.
      const { location } = yield* (yield* ItemStore).find({ id: "greet" })
      assert.strictEqual(fileIdentity(location)[0], location.source?.digest)
      shelf.items.set("acme/greet", shelfTool({ description: "Changed" }))
      assert.strictEqual((yield* index.refresh()).changed, 1)
      shelf.items.clear()
      assert.deepStrictEqual(yield* find("greet"), [])
      assert.strictEqual((yield* index.refresh()).changed, 0)
    })
    const options = { ...system, home: join(folder, "home"), userSpace: join(folder, "user") }
    yield* Effect.provide(
      program,
      Kernel.layer({ ...options, replace: ItemSourcesContent.layerWith([shelf.source]) })
    )
  }).pipe(Effect.scoped))

it.effect("items of another source are locked as they are", () => {
  const shelf = makeShelf({ "acme/greet": shelfTool() })
  return Effect.gen(function*() {
    const locks = yield* Lockfiles
    shelf.approve("acme/greet")
    const strict = call("greet", {}, { lockfileMode: "strict" })
    assert.strictEqual(reasonOf(yield* failed(strict))._tag, "LockMissing")
    yield* locks.freeze(yield* locks.planFreeze({ id: "greet", scope: "user" }), undefined)
    assert.strictEqual((yield* strict).status, "success")
    const listed = yield* locks.list()
    assert.deepStrictEqual(listed.locks.map(queryOfLock), [{ id: "acme/greet", tier: "user" }])
    shelf.items.set("acme/greet", shelfTool({ description: "Changed" }))
    shelf.approve("acme/greet")
    assert.strictEqual(reasonOf(yield* failed(strict))._tag, "LockMismatch")
  }).pipe(Effect.provide(over([shelf.source], { settings: { lockfileMode: "warn" } })))
})

describe("content", () => {
  const digest = makeShelf().entry("x", shelfTool()).digest
  const answers: ReadonlyArray<readonly [string, Content["read"]]> = [
    ["other text", () => Effect.succeed(shelfTool({ description: "Other" }))],
    ["the same with a line more", () => Effect.succeed(`${shelfTool()}\n`)],
    ["nothing", () => Effect.succeed("")],
    ["what is gone", () => Effect.undefined],
    ["bytes that are no text", () => Effect.succeed(new Uint8Array([0xff, 0xfe, 0]))],
    ["more than 1 MiB", () => Effect.succeed(" ".repeat(1024 * 1024 + 1))],
    ["a defect", () => Effect.die(new Error(bait))],
    ["a failure", () => Effect.fail({ _tag: "Odd", message: bait })],
    ["a thrown error", () => {
      throw new Error(bait)
    }]
  ]
  for (const [what, read] of answers) {
    it.effect(`that answers ${what} in place of what was listed is not used`, () =>
      Effect.gen(function*() {
        const [hit] = yield* find("odd")
        assert.deepInclude(hit, { state: "invalid" })
        const error = yield* failed(call("odd"))
        assert.include(["ItemUnreadable", "ItemInvalid"], error._tag)
        assert.notInclude(error.message, "Ignore")
      }).pipe(Effect.provide(over([
        makeShelf({}, {
          list: Effect.succeed([{ type: "tool", id: "odd", digest }]),
          read,
          believe: () => Effect.void
        }).source
      ]))))
  }

  it.effect("in another than its canonical form is refused: a signature in it says nothing", () => {
    const signed = `# kiwi-mcp:signed:2:20261121T210900Z:p:${"a".repeat(64)}:0123456789abcdef:${
      "b".repeat(85)
    }Q\n${shelfTool()}`
    return Effect.gen(function*() {
      for (const id of ["signed", "windows", "marked"]) {
        const error = yield* failed(call(id))
        assert.strictEqual(error._tag, "ItemUnreadable", id)
      }
    }).pipe(Effect.provide(over([
      makeShelf({ signed, windows: shelfTool().replace(",", ",\r\n"), marked: `\ufeff${shelfTool()}` }, {
        believe: () => Effect.void
      }).source
    ])))
  })

  it.effect("that changes between being listed and being read is not used", () => {
    const shelf = makeShelf({ greet: shelfTool() })
    const source: Content = {
      ...shelf.source,
      list: Effect.tap(
        shelf.source.list,
        () => Effect.sync(() => shelf.items.set("greet", shelfTool({ config: { with: { tool: "evil" } } })))
      ),
      believe: () => Effect.void
    }
    return Effect.gen(function*() {
      const error = yield* failed(call("greet"))
      assert.strictEqual(error._tag, "ItemUnreadable")
      assert.isTrue(toErrorObject(error).retryable)
    }).pipe(Effect.provide(over([source])))
  })

  it.effect("that changes after it was believed is not what is called", () => {
    const shelf = makeShelf({ greet: shelfTool() })
    const source: Content = {
      ...shelf.source,
      believe: (snapshot) =>
        Effect.tap(
          shelf.source.believe(snapshot),
          () => Effect.sync(() => shelf.items.set("greet", shelfTool({ config: { with: { tool: "evil" } } })))
        )
    }
    return Effect.gen(function*() {
      shelf.approve("greet")
      const { data } = yield* call("greet")
      assert.deepStrictEqual(data, { with: { tool: "greet" }, parameters: {} })
      assert.strictEqual(reasonOf(yield* failed(call("greet")))._tag, "ItemUnapproved")
    }).pipe(Effect.provide(over([source])))
  })

  it.effect("whose bytes the source changes afterwards stays what was hashed", () => {
    const bytes = new TextEncoder().encode(shelfTool())
    const shelf = makeShelf({ greet: shelfTool() }, { read: () => Effect.succeed(bytes) })
    return Effect.gen(function*() {
      shelf.approve("greet")
      yield* load({ id: "greet" }, caller)
      bytes.fill(32)
      assert.deepInclude((yield* call("greet")).data, { with: { tool: "greet" } })
    }).pipe(Effect.provide(over([shelf.source])))
  })

  it.effect("that is malformed is not quoted", () =>
    Effect.gen(function*() {
      for (const id of ["a", "b", "c"]) {
        const said = [
          toErrorObject(yield* failed(call(id))),
          yield* explain({ id }, undefined, "call", caller),
          yield* find(id)
        ]
        assert.notInclude(JSON.stringify(said), "Ignore", id)
      }
    }).pipe(Effect.provide(over([
      makeShelf({
        a: `version: "1.0.0"\n${bait}\n`,
        b: shelfTool({ version: bait }),
        c: shelfTool({ input_schema: bait, tool_type: bait })
      }).source
    ]))))
})

describe("an id", () => {
  const odd = [
    "",
    "..",
    "../x",
    "a/../x",
    "/x",
    "x/",
    "a//x",
    "X",
    "x y",
    "x\0",
    "a\\x",
    "x.",
    `${"a".repeat(129)}`,
    "ä"
  ]
  it.effect("that no item can have is left out, and the rest stays", () =>
    Effect.gen(function*() {
      const store = yield* ItemStore
      const found = (yield* store.list({ tier: "user" })).map(({ id }) => id)
      assert.deepStrictEqual(found, ["fine"])
      for (const id of odd) assert.include(["ItemIdInvalid", "ItemNotFound"], (yield* failed(run(id)))._tag)
      const [problem] = yield* store.problems
      assert.match(problem?.message ?? "", new RegExp(`user:shelf: ${odd.length + 3} entries of this source`))
    }).pipe(Effect.provide(over([
      makeShelf({}, {
        list: Effect.succeed([
          ...odd.map((id) => makeShelf().entry(id, shelfTool())),
          makeShelf().entry("fine", shelfTool()),
          makeShelf().entry("fine", shelfTool()),
          { type: "tool", id: "undigested", digest: "x" },
          { type: "nothing" as "tool", id: "untyped", digest: "a".repeat(64) }
        ])
      }).source
    ]))))

  it.effect("of the system's, of a file of its tier, or of a runtime is not taken from it", () => {
    const shelf = makeShelf({
      ping: shelfTool(),
      "x/ping": shelfTool(),
      "x/shelf_runtime": shelfTool(),
      "x/own": shelfTool(),
      "tools/own": shelfTool()
    })
    return Effect.gen(function*() {
      const place = Effect.fnUntraced(function*(id: string) {
        const store = yield* ItemStore
        return showLocation((yield* store.find({ id })).location)
      })
      assert.strictEqual(yield* place("ping"), "system:tools/core/ping.yaml")
      assert.strictEqual(yield* place("shelf_runtime"), "system:tools/acme/shelf_runtime.yaml")
      assert.strictEqual(yield* place("own"), "user:tools/x/own.yaml")
      assert.strictEqual(yield* place("x/own"), "user:tools/x/own.yaml")
      assert.strictEqual(yield* place("tools/own"), "user:tools/shelf:tools/own.yaml")
      assert.strictEqual((yield* call("own", { text: "a" })).status, "success")
      const hits = (yield* find("own")).map(({ path }) => path)
      assert.deepStrictEqual(hits.toSorted(), ["user:tools/shelf:tools/own.yaml", "user:tools/x/own.yaml"])
      const problems = (yield* (yield* ItemStore).problems).map(({ message }) => message)
      assert.isTrue(
        problems.some((text) => text.startsWith("user:tools/shelf:x/own.yaml: \"own\" is the id of a file"))
      )
    }).pipe(Effect.provide(over([shelf.source], { user: { "tools/x/own.yaml": echo } })))
  })

  it.effect("of a user's item hides it: a project's source is refused as its files are", () => {
    const shelf = makeShelf({ add: shelfTool() }, { tier: "project" })
    return Effect.gen(function*() {
      shelf.approve("add")
      const error = yield* failed(call("add"))
      assert.strictEqual(reasonOf(error)._tag, "HidesItem")
      assert.notInclude(toErrorObject(error).remediation ?? "", "kiwi sign")
      assert.strictEqual((yield* call("add", { text: "a" }, { tier: "user" })).status, "success")
    }).pipe(Effect.provide(over([shelf.source], { project: {}, user: { "tools/add.yaml": echo } })))
  })

  it.effect("of a project's item: what nobody approved is not hidden, what somebody did is", () => {
    const shelf = makeShelf({ add: shelfTool() })
    return Effect.gen(function*() {
      assert.strictEqual((yield* call("add", { text: "a" })).status, "success")
      shelf.approve("add")
      assert.strictEqual(reasonOf(yield* failed(call("add", { text: "a" })))._tag, "HidesItem")
    }).pipe(Effect.provide(over([shelf.source], { project: { "tools/add.yaml": echo } })))
  })

  it.effect("that two sources have is ambiguous, unless a category tells them apart", () =>
    Effect.gen(function*() {
      const error = yield* failed(call("greet"))
      assert.strictEqual(error._tag, "ItemAmbiguous")
      assert.include(error.message, "user:tools/one:a/greet.yaml, user:tools/two:b/greet.yaml")
      assert.deepInclude((yield* call("a/greet")).data, { with: { tool: "greet" } })
    }).pipe(Effect.provide(over([
      makeShelf({ "a/greet": shelfTool() }, { name: "one", believe: () => Effect.void }).source,
      makeShelf({ "b/greet": shelfTool() }, { name: "two", believe: () => Effect.void }).source
    ]))))
})

describe("a source", () => {
  const lists: ReadonlyArray<readonly [string, Content["list"], string]> = [
    ["fails", Effect.fail({ _tag: "OutOfOrder", message: bait }), "it failed (OUT_OF_ORDER)"],
    ["dies", Effect.die(new Error(bait)), "it failed unexpectedly"],
    [
      "throws",
      Effect.sync(() => {
        throw new Error(bait)
      }),
      "it failed unexpectedly"
    ],
    ["is interrupted", Effect.interrupt, "it failed unexpectedly"],
    ["lists nonsense", Effect.succeed({} as never), "it failed unexpectedly"],
    ["lists what is nothing", Effect.succeed([undefined as never]), "it failed unexpectedly"],
    ["hangs", Effect.never, "it did not answer within 2 seconds"]
  ]
  for (const [what, list, said] of lists) {
    it.effect(`that ${what} stops nobody from finding other items`, () =>
      Effect.gen(function*() {
        const asking = yield* Effect.forkChild(find("own"))
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual((yield* Fiber.join(asking)).map(({ id }) => id), ["own"])
        // It owes an answer: nobody waits for it again.
        assert.strictEqual((yield* call("own", { text: "a" })).status, "success")
        assert.strictEqual((yield* failed(call("greet")))._tag, "ItemNotFound")
        assert.deepStrictEqual(yield* unansweredSources, { notes: [`user:shelf could not be read: ${said}`] })
      }).pipe(Effect.provide(over([makeShelf({}, { list }).source], { user: { "tools/own.yaml": echo } }))))
  }

  it.effect("that answers late is asked again afterwards", () => {
    const shelf = makeShelf({ greet: shelfTool() })
    let wait = true
    const list = Effect.suspend(() => wait ? Effect.delay(shelf.source.list, "1 minute") : shelf.source.list)
    return Effect.gen(function*() {
      shelf.approve("greet")
      const asking = yield* Effect.forkChild(failed(call("greet")))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(asking))._tag, "ItemNotFound")
      wait = false
      assert.strictEqual((yield* failed(call("greet")))._tag, "ItemNotFound")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* call("greet")).status, "success")
    }).pipe(Effect.provide(over([{ ...shelf.source, list }])))
  })

  const beliefs: ReadonlyArray<readonly [string, Content["believe"]]> = [
    ["dies", () => Effect.die(new Error(bait))],
    ["throws", () => {
      throw new Error(bait)
    }],
    ["hangs", () => Effect.never]
  ]
  for (const [what, believe] of beliefs) {
    it.effect(`whose own step ${what} has nothing believed`, () =>
      Effect.gen(function*() {
        const calling = yield* Effect.forkChild(failed(call("greet")))
        yield* TestClock.adjust("2 seconds")
        const error = yield* Fiber.join(calling)
        assert.strictEqual(reasonOf(error)._tag, "ItemUnapproved")
        assert.notInclude(error.message, "Ignore")
      }).pipe(Effect.provide(over([makeShelf({ greet: shelfTool() }, { believe }).source]))))
  }

  it.effect("whose notices fail is looked at all the same", () =>
    Effect.gen(function*() {
      assert.lengthOf(yield* find("greet"), 1)
    }).pipe(Effect.provide(over([makeShelf({ greet: shelfTool() }, { changes: Stream.die(bait) }).source]))))
})

describe("a runtime of the system that names a builtin", () => {
  const leaf = (fields: Parameters<typeof tool>[0]) =>
    tool({ tool_type: "mcp_tool", executor_id: "shelf_runtime", ...fields })

  it.effect("runs others' tools on it", () =>
    Effect.gen(function*() {
      assert.deepInclude((yield* call("mine")).data, { with: { tool: "x" } })
    }).pipe(Effect.provide(over([], { project: { "tools/mine.yaml": leaf({ config: { with: { tool: "x" } } }) } }))))

  for (
    const [what, files] of [
      ["a tool that names another handler", { "tools/mine.yaml": leaf({ config: { handler: "noop" } }) }],
      ["one that names the same", { "tools/mine.yaml": leaf({ config: { handler: "shelf" } }) }],
      ["one that is right above builtin", { "tools/mine.yaml": leaf({ executor_id: "builtin" }) }],
      ["one above a tool of the system", { "tools/mine.yaml": leaf({ executor_id: "ping" }) }],
      ["a runtime of the project", {
        "tools/mine.yaml": leaf({ executor_id: "own_runtime" }),
        "tools/own_runtime.yaml": shelfRuntime
      }],
      ["a runtime of the project in between that names one", {
        "tools/mine.yaml": leaf({ executor_id: "own_runtime" }),
        "tools/own_runtime.yaml": leaf({ tool_type: "runtime", config: { handler: "noop" } })
      }]
    ] as const
  ) {
    it.effect(`does not run ${what}`, () =>
      Effect.gen(function*() {
        const reason = reasonOf(yield* failed(call("mine")))
        assert.strictEqual(reason._tag, "ChainMalformed")
        assert.include(reason.message, "only system items may")
      }).pipe(Effect.provide(over([], { project: files }))))
  }

  it.effect("runs none that its child_schemas do not take", () =>
    Effect.gen(function*() {
      assert.strictEqual(reasonOf(yield* failed(call("mine")))._tag, "ChildRefused")
    }).pipe(Effect.provide(over([], { project: { "tools/mine.yaml": leaf({ tool_type: "script" }) } }))))
})
