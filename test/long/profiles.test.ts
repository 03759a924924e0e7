// kiwi serve --profile, by the built program and a client that nobody here wrote.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { type Connection, type Json, makeWorld, type World } from "../support/builtKiwi.ts"

const own = ["search", "load", "execute", "sign", "help"]

const profiles = `profiles:
  math:
    description: for the calculating agent
    items: [add]
    expose: [add, nothing]
  wide:
    rules:
      - deny: add
  asking:
    expose: [add]
    rules:
      - ask: add
`

const dataOf = (result: unknown) => (result as { readonly structuredContent: Json }).structuredContent

let world: World
let project: string
beforeAll(async () => {
  world = makeWorld()
  project = await world.init()
  world.write("user/config/profiles.yaml", profiles, 0o600)
})
afterAll(() => world.close())

const serve = (transport: "stdio" | "http", era: "legacy" | "auto", profile = "math") =>
  world.connect({ project, transport, era, serve: ["--profile", profile] })

const close = ({ client }: Connection) => client.close()

describe.each([["stdio", "legacy"], ["stdio", "auto"], ["http", "auto"]] as const)("over %s (%s)", (transport, era) => {
  it("lists and runs an exposed tool, and shows nothing else", async () => {
    const connected = await serve(transport, era)
    const { call, client, execute } = connected
    const { tools } = await client.listTools()
    assert.deepStrictEqual(tools.map(({ name }) => name), [...own, "add"])
    const ran = await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })
    assert.deepInclude(dataOf(ran), { status: "success" })
    assert.hasAllKeys(dataOf(ran)["metadata"], ["call_id"])
    assert.deepStrictEqual(dataOf(ran)["data"], (await execute("add", { a: 1, b: 2 })).data)
    const wrong = await client.callTool({ name: "add", arguments: { a: "one" } })
    assert.isTrue(wrong.isError)
    const others = fs.readdirSync(join(project, ".ai/directives"), { recursive: true }).map(String)
    const other = others.find((name) => name.endsWith(".md"))
    const id = other!.slice(other!.lastIndexOf("/") + 1, -3)
    for (
      const answer of [await execute(id), await call("load", { item_id: id }), await call("sign", { item_id: id })]
    ) {
      assert.strictEqual(answer.code, "PERMISSION_DENIED", answer.text)
      assert.include(answer.text, "the profile math has no such item")
    }
    assert.notInclude((await call("search", { query: id })).text, `"${id}"`)
    if (transport === "stdio") assert.include(connected.said(), "nothing: ")
    await close(connected)
  })
})

it("a server is refused at its start if there is no such profile, and says which there are", async () => {
  for (const name of ["mth", "../../etc/passwd", "constructor", "__proto__"]) {
    const { code, stderr } = await world.run(["serve", "--project", project, "--profile", name])
    assert.strictEqual(code, 1, stderr)
    assert.include(stderr, "there are: math, wide, asking")
  }
  const { stderr } = await world.run(["serve", "--project", project, "--profile", "mth"])
  assert.include(stderr, `Did you mean "math"? kiwi profile show math`)
  const http = await world.run(["serve", "--project", project, "--http", "--no-auth", "--profile", "mth"])
  assert.deepStrictEqual([http.code, http.stderr.includes("KIWI_MCP_URL")], [1, false])
})

it("profile list and show say what there is, and doctor what is not listed", async () => {
  const listed = await world.json(["profile", "list", "--project", project])
  assert.deepStrictEqual(listed.value.profiles, [
    { name: "math", description: "for the calculating agent", places: ["user:config/profiles.yaml:2"] },
    { name: "wide", places: ["user:config/profiles.yaml:6"] },
    { name: "asking", places: ["user:config/profiles.yaml:9"] }
  ])
  const { value } = await world.json(["profile", "show", "math", "--project", project])
  assert.deepStrictEqual(value.exposed.map(({ name }: Json) => name), ["add"])
  assert.deepStrictEqual(value.left_out.map(({ id }: Json) => id), ["nothing"])
  const text = await world.run(["profile", "show", "math", "--project", project])
  assert.include(text.stdout, "kiwi serve --profile math")
  const doctor = await world.run(["doctor", "--project", project])
  assert.match(doctor.stdout, /math does not list nothing/)
  const init = await world.run(["init", project, "--profile", "math"])
  assert.include(init.stdout, "--profile math")
  assert.strictEqual((await world.run(["init", project, "--profile", "a b"])).code, 2)
})

it("rules of a profile hold, and the audit names the profile and the rule", async () => {
  const connected = await serve("stdio", "auto", "wide")
  assert.deepStrictEqual((await connected.client.listTools()).tools.map(({ name }) => name), own)
  const denied = await connected.execute("add", { a: 1, b: 2 })
  assert.strictEqual(denied.code, "PERMISSION_DENIED")
  await close(connected)
  const folder = join(project, ".ai/logs/audit")
  const entries = fs.readdirSync(folder, { recursive: true }).map(String).filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => fs.readFileSync(join(folder, name), "utf8").trim().split("\n").map((line) => JSON.parse(line)))
  const last = entries.filter(({ rule }: Json) => rule === "user:config/profiles.yaml:8")
  assert.isAtLeast(last.length, 1, JSON.stringify(entries.slice(-4)))
  assert.isTrue(entries.some(({ caller, kind }) => kind === "request" && caller.profile === "wide"))
  assert.strictEqual((await world.run(["audit", "verify", "--project", project])).code, 0)
})

describe.each(["legacy", "auto"] as const)("a person is asked about an exposed tool (%s)", (era) => {
  it("and their answer runs it once", async () => {
    const asks = async (answer: string) => {
      const name = `${answer}-${era}`
      const added = await world.run(["client", "add", name])
      assert.strictEqual(added.code, 0, added.stderr)
      return world.connect({
        project,
        era,
        serve: ["--profile", "asking", "--client", name],
        person: () => ({ action: "accept", content: { agree: answer } })
      })
    }
    const once = await asks("once")
    const ran = dataOf(await once.client.callTool({ name: "add", arguments: { a: 1, b: 2 } }))
    assert.strictEqual(ran["status"], "success", JSON.stringify(ran))
    assert.lengthOf(once.asked, 1)
    assert.include(once.asked.join(), "with the profile asking")
    await close(once)
    const no = await asks("no")
    const refused = dataOf(await no.client.callTool({ name: "add", arguments: { a: 1, b: 2 } }))
    assert.deepInclude(refused["error"], { code: "APPROVAL_REJECTED" })
    await close(no)
  })
})

it("a file that an agent writes in the project only narrows, and no tool can write it", async () => {
  const connected = await world.connect({ project })
  const wrote = await connected.execute("filesystem.write", {
    path: ".ai/config/profiles.yaml",
    content: "profiles: {math: {items: ['*']}}"
  })
  assert.strictEqual(wrote.code, "PATH_PROTECTED", wrote.text)
  await close(connected)
  world.write("project/.ai/config/profiles.yaml", "profiles: {math: {items: ['*'], expose: [hello]}}")
  const again = await serve("stdio", "auto")
  assert.notInclude((await again.client.listTools()).tools.map(({ name }) => name), "hello")
  assert.strictEqual((await again.execute("hello")).code, "PERMISSION_DENIED")
  await close(again)
  fs.rmSync(join(project, ".ai/config/profiles.yaml"))
})

it("a changed tool is no longer listed, the client is told, and it is back once it is signed", async () => {
  const connected = await serve("stdio", "legacy")
  const told = new Promise<void>((resolve) =>
    connected.client.setNotificationHandler("notifications/tools/list_changed", () => resolve())
  )
  await connected.client.listTools()
  const file = fs.readdirSync(join(project, ".ai/tools"), { recursive: true }).map(String)
    .find((name) => /(?:^|\/)add\.\w+$/.test(name))!
  const path = join(project, ".ai/tools", file)
  const before = fs.readFileSync(path, "utf8")
  fs.writeFileSync(path, before.replace("two numbers", "three numbers"))
  await told
  assert.deepStrictEqual((await connected.client.listTools()).tools.map(({ name }) => name), own)
  fs.writeFileSync(path, before)
  await close(connected)
})
