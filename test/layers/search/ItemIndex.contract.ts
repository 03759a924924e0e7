import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, type Scope } from "effect"
import type { ItemParser } from "../../../src/services/format/ItemParser.ts"
import type { Tier } from "../../../src/services/item/ItemId.ts"
import type { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { type IndexHit, ItemIndex, type SearchQuery } from "../../../src/services/search/ItemIndex.ts"
import { temporary } from "../../support/temporary.ts"
import { type Fields, type OnDisk, onDisk } from "./itemsOnDisk.ts"

export type MakeIndex = (
  root: string
) => Layer.Layer<ItemIndex, never, ItemStore | ItemParser>

export interface Setup {
  readonly index: ItemIndex["Service"]
  readonly disk: OnDisk
  /** Found ids, best first. */
  readonly ids: (query: string, options?: Omit<SearchQuery, "query">) => Effect.Effect<ReadonlyArray<string>>
}

export const setup = (
  make: MakeIndex,
  items: Readonly<Record<string, Fields | string>>,
  present?: ReadonlyArray<Tier>
): Effect.Effect<Setup, never, Scope.Scope> =>
  Effect.gen(function*() {
    const root = yield* temporary
    const disk = yield* onDisk(root, present)
    for (const [path, fields] of Object.entries(items)) disk.put(path, fields)
    const context = yield* Layer.build(make(root).pipe(Layer.provide(disk.layer)))
    const index = yield* Effect.provide(ItemIndex, context)
    return {
      index,
      disk,
      ids: (query, options) =>
        Effect.orDie(Effect.map(index.search({ query, ...options }), (hits) => hits.map((hit) => hit.id)))
    }
  })

const tool = (name: string) => `project/tools/${name}`
const note = (name: string) => `project/knowledge/${name}`

const corpus: Readonly<Record<string, Fields | string>> = {
  [tool("mail/send_email")]: {
    title: "Send email",
    description: "Sends a message to a customer by SMTP",
    tags: ["mail"]
  },
  [tool("mail/read_mail")]: { title: "Read a mailbox", description: "Lists messages", tags: ["mail", "Inbox"] },
  [tool("math/add")]: { title: "Add", description: "Adds two numbers" },
  [tool("math/add_all")]: { title: "Sum", description: "Adds many numbers" },
  [tool("math/stats/median")]: { title: "Median", description: "The middle of many numbers" },
  [tool("files/filesystem.read")]: { title: "Read", description: "Reads a file", body: "maxBytes" },
  [tool("net/http_fetch")]: { description: "Fetches a URL; parses the HTTPResponse headers and sha256 digest" },
  [note("deploy-guide")]: {
    title: "How we deploy",
    body: "Run the release script, then watch the customer dashboards"
  },
  [note("naive")]: { title: "Naïve Bayes", description: "Über die Größe", body: "Élan vital" },
  [note("database")]: { title: "数据库查询", description: "データベースの検索", body: "Поиск по базе данных" },
  [note("broken")]: "this is not JSON",
  ["user/tools/mail/send_sms"]: { title: "Send a text message", description: "To a phone" },
  ["system/tools/core/add"]: { title: "Add", description: "Adds" }
}

export const contract = (name: string, make: MakeIndex) =>
  describe(`${name} satisfies ItemIndex`, () => {
    const test = <A, E>(title: string, body: (s: Setup) => Effect.Effect<A, E, Scope.Scope>) =>
      it.effect(title, () => Effect.flatMap(setup(make, corpus), body))

    test("a hit says where the item is", ({ index }) =>
      Effect.gen(function*() {
        const [hit] = yield* index.search({ query: "median" })
        const { score, ...place } = hit!
        assert.deepStrictEqual<unknown>(place, {
          type: "tool",
          id: "median",
          tier: "project",
          category: "math/stats",
          path: "math/stats/median.json"
        })
        assert.isAbove(score, 0)
      }))

    test("exact ids come first, in lookup order, then longer ids, then words", ({ ids, index }) =>
      Effect.gen(function*() {
        const hits = yield* index.search({ query: "add" })
        assert.deepStrictEqual(hits.slice(0, 3).map((hit) => `${hit.tier}:${hit.id}`), [
          "project:add",
          "system:add",
          "project:add_all"
        ])
        assert.strictEqual(hits[0]!.score, hits[1]!.score, "equal matches have equal scores")
        assert.deepStrictEqual((yield* ids("math/add"))[0], "add")
        assert.deepStrictEqual((yield* ids("core/add", { tier: "system" }))[0], "add")
        assert.deepStrictEqual((yield* ids("FILESYSTEM.read"))[0], "filesystem.read")
      }))

    test("an id is found by its words, in any spelling", ({ ids }) =>
      Effect.gen(function*() {
        for (
          const query of ["send_email", "send-email", "send email", "sendEmail", "SendEmail", "sendemail", "email send"]
        ) {
          assert.strictEqual((yield* ids(query))[0], "send_email", query)
        }
        assert.strictEqual((yield* ids("filesystem read"))[0], "filesystem.read")
      }))

    test("identifiers in texts are split", ({ ids }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ids("http response"), ["http_fetch"])
        assert.deepStrictEqual(yield* ids("HTTPResponse"), ["http_fetch"])
        assert.deepStrictEqual(yield* ids("sha256"), ["http_fetch"])
        assert.deepStrictEqual(yield* ids("max bytes"), ["filesystem.read"])
      }))

    test("what has all words stands above what has some", ({ ids }) =>
      Effect.gen(function*() {
        const found = yield* ids("customer message")
        assert.strictEqual(found[0], "send_email")
        assert.include(found, "send_sms")
        assert.strictEqual((yield* ids("many numbers median"))[0], "median")
      }))

    test("a match in the name weighs more than one in the text", (s) =>
      Effect.gen(function*() {
        s.disk.put(tool("a_in_body"), { body: "zebra", title: "x", description: "y" })
        s.disk.put(tool("b_zebra_name"), { body: "z", title: "x", description: "y" })
        s.disk.put(tool("c_in_description"), { body: "z", title: "x", description: "zebra" })
        assert.deepStrictEqual(yield* s.ids("zebra"), ["b_zebra_name", "c_in_description", "a_in_body"])
      }))

    test("the last word may be unfinished", ({ ids }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ids("dashb"), ["deploy-guide"])
        assert.strictEqual((yield* ids("customer dashb"))[0], "deploy-guide")
        assert.deepStrictEqual(yield* ids("dashb xyzzy"), [])
      }))

    test("finds nothing when nothing matches", ({ ids }) =>
      Effect.gen(function*() {
        for (const query of ["xyzzy", "", "   ", "*", "\"", "()", "-", "\0", "☃", "'; DROP TABLE items; --xyzzy"]) {
          assert.deepStrictEqual(yield* ids(query), [], JSON.stringify(query))
        }
      }))

    test("operators of the search engine are words", ({ ids }) =>
      Effect.gen(function*() {
        const queries = [
          "email NEAR customer",
          "email AND",
          "NOT email",
          "email OR OR",
          "-email",
          "\"email",
          "email\"",
          "name:email",
          "{name} : email",
          "^email",
          "email*",
          "(email",
          "email)",
          "NEAR(email customer)",
          "email + customer",
          "email\u0000customer"
        ]
        for (const query of queries) assert.include(yield* ids(query), "send_email", query)
      }))

    test("accents, case and scripts without spaces", ({ ids }) =>
      Effect.gen(function*() {
        for (const query of ["naive", "NAÏVE bayes", "uber große", "elan", "ÉLAN"]) {
          assert.strictEqual((yield* ids(query))[0], "naive", query)
        }
        for (
          const query of [
            "数据库",
            "查询",
            "数据库查询",
            "库",
            "検索",
            "データベース",
            "поиск",
            "БАЗЕ данных",
            "база данных"
          ]
        ) {
          assert.deepStrictEqual(yield* ids(query), ["database"], query)
        }
        assert.deepStrictEqual(yield* ids("询数"), [])
      }))

    test("filters by type, tier, category with what is below it, and tags", ({ ids }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ids("customer", { type: "knowledge" }), ["deploy-guide"])
        assert.deepStrictEqual(yield* ids("message", { tier: "user" }), ["send_sms"])
        assert.sameMembers([...yield* ids("numbers", { category: "math" })], ["add", "add_all", "median"])
        assert.deepStrictEqual(yield* ids("numbers", { category: "math/stats" }), ["median"])
        assert.deepStrictEqual(yield* ids("numbers", { category: "mat" }), [])
        assert.deepStrictEqual(yield* ids("numbers", { category: "ma%" }), [])
        assert.sameMembers([...yield* ids("mail", { tags: ["mail"] })], ["send_email", "read_mail"])
        assert.deepStrictEqual(yield* ids("mail", { tags: ["mail", "inbox"] }), ["read_mail"])
        assert.deepStrictEqual(yield* ids("read_mail", { tags: ["none"] }), [])
      }))

    test("without words, a filter lists what passes it", ({ ids }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ids("", { category: "math" }), ["add", "add_all", "median"])
        assert.deepStrictEqual(yield* ids("*", { type: "knowledge", limit: 2 }), ["broken", "database"])
      }))

    test("limits: ten by default, at least one", (s) =>
      Effect.gen(function*() {
        for (let i = 0; i < 120; i++) s.disk.put(tool(`many/item_${i}`), { description: "gizmo" })
        assert.strictEqual((yield* s.ids("gizmo")).length, 10)
        assert.strictEqual((yield* s.ids("gizmo", { limit: 1 })).length, 1)
        assert.strictEqual((yield* s.ids("gizmo", { limit: 0 })).length, 1)
        assert.strictEqual((yield* s.ids("gizmo", { limit: 5000 })).length, 120)
        assert.deepStrictEqual(yield* s.ids("gizmo", { limit: 50 }), yield* s.ids("gizmo", { limit: 50 }))
      }))

    test("an item that cannot be parsed is found by its id", ({ ids }) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ids("broken"), ["broken"])
        assert.deepStrictEqual(yield* ids("JSON"), [])
      }))

    test("a hit covers enough of what a short question means", (s) =>
      Effect.gen(function*() {
        for (let i = 0; i < 30; i++) s.disk.put(tool(`many/item_${i}`), { description: i < 3 ? "gizmo red" : "gizmo" })
        assert.sameMembers([...yield* s.ids("gizmo red xyzzy")], ["item_0", "item_1", "item_2"])
        assert.strictEqual((yield* s.ids("gizmo")).length, 10)
        assert.deepStrictEqual(yield* s.ids("gizmo xyzzy"), [])
        assert.deepStrictEqual(yield* s.ids("call the xyzzy"), [], "a common word is no sign")
      }))

    test("words are found in any form", ({ ids }) =>
      Effect.gen(function*() {
        for (const query of ["deploying", "deploys", "deployed releases", "released scripts"]) {
          assert.deepStrictEqual(yield* ids(query), ["deploy-guide"], query)
        }
        assert.strictEqual((yield* ids("sending emails"))[0], "send_email")
      }))

    test("two words are found where they are written as one, with a hyphen or apart", (s) =>
      Effect.gen(function*() {
        s.disk.put(tool("oncall"), { description: "Tells who is there" })
        s.disk.put(tool("lookup"), { description: "Finds somebody by e-mail" })
        s.disk.put(tool("zones"), { description: "Any timezone" })
        assert.strictEqual((yield* s.ids("who is on call today"))[0], "oncall")
        assert.strictEqual((yield* s.ids("on call engineer"))[0], "oncall")
        assert.include(yield* s.ids("find somebody by email"), "lookup")
        assert.include(yield* s.ids("find somebody by e-mail"), "send_email")
        assert.include(yield* s.ids("time zone"), "zones")
      }))

    test("a word of its name is enough, however much else is asked", (s) =>
      Effect.gen(function*() {
        s.disk.put(tool("slug"), { description: "Makes a text fit for an address" })
        assert.deepStrictEqual(yield* s.ids("slug for a blog post"), ["slug"])
        assert.include(yield* s.ids("add up invoices"), "add")
      }))

    test("what a word means is taken from all tiers together", (s) =>
      Effect.gen(function*() {
        for (let i = 0; i < 40; i++) s.disk.put(tool(`many/item_${i}`), { description: "gizmo" })
        s.disk.put("user/tools/alone", { description: "a gizmo for the desk" })
        s.disk.put(tool("many/giraffe_house"), { description: "where it lives" })
        assert.strictEqual((yield* s.ids("gizmo giraffe"))[0], "giraffe_house")
      }))

    test("a slip in a word that nothing has, its plain form, and a usual synonym are found", (s) =>
      Effect.gen(function*() {
        for (
          const [query, id] of [
            ["custmer mesage", "send_email"],
            ["mesages of a mailbox", "read_mail"],
            ["dashbaords", "deploy-guide"],
            ["numbering the medians", "median"],
            ["relaese script", "deploy-guide"],
            ["retrieve url headers", "http_fetch"],
            ["post a text message", "send_sms"],
            ["fetchable url", "http_fetch"],
            ["customerless dashboards", "deploy-guide"],
            ["display messages of the mailbox", "read_mail"]
          ] as const
        ) assert.strictEqual((yield* s.ids(query))[0], id, query)
        s.disk.put(tool("mesage"), { description: "What is spelt so on purpose" })
        assert.strictEqual((yield* s.ids("mesage"))[0], "mesage", "a word that something has is no slip")
      }))

    test("a word in a question of many is no beginning if it is short, nor an answer far down in a long text", (s) =>
      Effect.gen(function*() {
        s.disk.put(tool("thinker"), { description: `Thinks hard about ${"one thing and another ".repeat(60)} okapi` })
        assert.deepStrictEqual(yield* s.ids("is there life on med"), [])
        assert.strictEqual((yield* s.ids("med"))[0], "median")
        assert.deepStrictEqual(yield* s.ids("which zebra eats with an okapi at noon"), [])
        assert.deepStrictEqual(yield* s.ids("okapi"), ["thinker"])
      }))

    test("what comes near to an answer stands beside it, and nothing else", (s) =>
      Effect.gen(function*() {
        for (const verb of ["feed", "wash", "walk"]) s.disk.put(tool(`giraffe.${verb}`), { description: `${verb} it` })
        s.disk.put(tool("zookeeper"), { description: "The person who opens its house" })
        const found = yield* s.ids("feed the giraffe")
        assert.strictEqual(found[0], "giraffe.feed")
        assert.sameMembers([...found], ["giraffe.feed", "giraffe.wash", "giraffe.walk"])
      }))

    test("words that say nothing do not decide", ({ ids }) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* ids("how do I send an email to a customer"))[0], "send_email")
        assert.strictEqual((yield* ids("how we deploy"))[0], "deploy-guide")
      }))

    test("takes in what changed on disk", (s) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* s.ids("giraffe"), [])
        s.disk.put(tool("giraffe"), { title: "Long neck" })
        assert.deepStrictEqual(yield* s.ids("giraffe"), ["giraffe"])
        s.disk.put(tool("giraffe"), { title: "Tall neck" })
        assert.deepStrictEqual(yield* s.ids("tall"), ["giraffe"])
        assert.deepStrictEqual(yield* s.ids("long"), [])
        s.disk.remove(tool("giraffe"))
        assert.deepStrictEqual(yield* s.ids("neck"), [])
      }))

    test("refresh says how many items there are and how many changed", (s) =>
      Effect.gen(function*() {
        const progress: Array<readonly [number, number]> = []
        const report = (done: number, total: number) => Effect.sync(() => progress.push([done, total]))
        assert.deepStrictEqual(yield* s.index.refresh(report), { items: 13, changed: 13 })
        assert.deepStrictEqual(progress.at(-1), [13, 13])
        assert.deepStrictEqual(yield* s.index.refresh(), { items: 13, changed: 0 })
        s.disk.put(tool("math/add"), { title: "Plus" })
        s.disk.remove(tool("math/add_all"))
        assert.deepStrictEqual(yield* s.index.refresh(), { items: 12, changed: 2 })
      }))

    test("near ids of a slip of the fingers", ({ index }) =>
      Effect.gen(function*() {
        const near = (id: string, type?: "tool" | "knowledge") => index.near(id, type)
        assert.deepStrictEqual((yield* near("send_emial"))[0], "send_email")
        assert.deepStrictEqual((yield* near("sendemail"))[0], "send_email")
        assert.deepStrictEqual((yield* near("filesystem.raed"))[0], "filesystem.read")
        assert.deepStrictEqual((yield* near("mail/read-mail"))[0], "read_mail")
        assert.deepStrictEqual((yield* near("medain"))[0], "median")
        assert.deepStrictEqual((yield* near("ad"))[0], "add")
        assert.deepStrictEqual((yield* near("databse", "knowledge"))[0], "database")
        assert.deepStrictEqual(yield* near("databse", "tool"), [])
        assert.deepStrictEqual(yield* near("completely-different"), [])
        assert.deepStrictEqual(yield* near("\0'\"%"), [])
        assert.isAtMost((yield* near("add")).length, 3)
      }))

    it.effect.prop("any text is a query, and finds the same again", [Schema.String, Schema.Boolean], ([text, mix]) =>
      Effect.gen(function*() {
        const s = yield* setup(make, { [tool("send_email")]: { title: "Send", description: "email" } }, ["project"])
        const query = mix ? `email ${text}` : text
        const hits: ReadonlyArray<IndexHit> = yield* s.index.search({ query })
        assert.deepStrictEqual(yield* s.index.search({ query }), hits)
        yield* s.index.near(text)
      }).pipe(Effect.scoped), { arbitrary: { runs: 30 } })
  })
