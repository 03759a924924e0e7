// Calls that wait for a person, over the built server and an official client, with answers from another process.
import { assert, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach } from "vitest"
import { connect, makeWorld, until } from "../support/mcp/project.ts"
import type { Reply, World } from "../support/mcp/project.ts"
import { describeWith } from "../support/realParts.ts"

const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** `wait`: how long a call waits for an answer elsewhere. */
const world = (wait: string): World => {
  const made = makeWorld()
  ends.push(made.remove)
  made.write("../user/config/kiwi.yaml", `approvals:\n  wait: ${wait}\n`)
  return made
}

const client = async (of: World, options?: Parameters<typeof connect>[1]) => {
  const connected = await connect(of, options)
  ends.push(() => connected.client.close())
  return connected
}

type Connected = Awaited<ReturnType<typeof client>>

/** Writes a file that is not there yet: run a second time, it fails. */
const create = ({ call }: Connected, name = "made.txt") =>
  call("execute", { item_id: "filesystem.write", parameters: { path: name, content: "x", overwrite: false } })

const codeOf = async (answer: ReturnType<typeof create>) => {
  const { error, status } = await answer
  return error?.code ?? status
}

const idOf = async (answer: ReturnType<typeof create>) => {
  const given = await answer as Awaited<ReturnType<typeof create>> & { readonly approval_id?: string }
  assert.strictEqual(given.error?.code, "APPROVAL_PENDING")
  assert.include(given.error?.remediation, `kiwi approve ${given.approval_id}`)
  return given.approval_id ?? ""
}

const kill = async ({ client: of, pid }: Connected) => {
  process.kill(pid()!, "SIGKILL")
  await of.close()
}

const made = ({ project }: World, name = "made.txt") => existsSync(join(project, name))

describeWith(["python3"], "a call that waits for a person", () => {
  const replies: ReadonlyArray<readonly [Reply, code: string, isMade: boolean]> = [
    [{ action: "accept", content: { agree: "once" } }, "success", true],
    [{ action: "accept", content: { agree: "no" } }, "APPROVAL_REJECTED", false],
    [{ action: "decline" }, "APPROVAL_PENDING", false],
    [{ action: "cancel" }, "APPROVAL_PENDING", false]
  ]
  for (const [reply, code, isMade] of replies) {
    it(`is asked about in its client: ${JSON.stringify(reply)} is ${code}`, async () => {
      const here = world("0s")
      const connected = await client(here, { agree: true, reply })
      assert.strictEqual(await codeOf(create(connected)), code)
      assert.strictEqual(made(here), isMade)
      assert.lengthOf(connected.asked, 1)
      for (const text of ["fs.write(made.txt)", "creates made.txt", "comes with Kiwi"]) {
        assert.include(connected.asked[0], text)
      }
    })
  }

  it("goes on as soon as the person has answered in another process", async () => {
    const here = world("40s")
    const running = create(await client(here))
    const waiting = () => JSON.parse(here.run("inbox", "--json").out).waiting
    await until(() => waiting().length === 1)
    const [{ id }] = waiting()
    assert.strictEqual(here.run("approve", id, "--once").status, 0)
    assert.strictEqual((await running).status, "success")
    assert.isTrue(made(here))
  })

  it("survives the server's death before and after the answer, and runs once", async () => {
    const here = world("0s")
    const first = await client(here)
    const id = await idOf(create(first))
    await kill(first)
    const second = await client(here)
    assert.strictEqual(await idOf(create(second)), id)
    await kill(second)
    assert.isFalse(made(here))
    assert.strictEqual(here.run("approve", id, "--once").status, 0)
    const third = await client(here)
    assert.strictEqual(await codeOf(create(third)), "success")
    assert.isTrue(made(here))
    await kill(third)
    const fourth = await client(here)
    assert.strictEqual(await codeOf(create(fourth)), "WRITE_REFUSED")
    rmSync(join(here.project, "made.txt"))
    assert.notStrictEqual(await idOf(create(fourth)), id)
  })

  it("runs once, of two servers that use one answer at the same time", async () => {
    const here = world("0s")
    const servers = [await client(here), await client(here)]
    const id = await idOf(create(servers[0]!))
    assert.strictEqual(here.run("approve", id, "--once").status, 0)
    const codes = await Promise.all(servers.map((server) => codeOf(create(server))))
    assert.lengthOf(codes.filter((code) => code === "success"), 1)
    // The file may be there already when the other one looks.
    assert.include(["APPROVAL_PENDING", "WRITE_REFUSED"], codes.find((code) => code !== "success"))
  })

  it("expires, is told so once, and is asked anew then", async () => {
    const here = world("0s")
    const connected = await client(here)
    const id = await idOf(create(connected))
    const projects = join(here.env["KIWI_HOME"]!, "projects")
    const file = readdirSync(projects).map((name) => join(projects, name, "approvals.json")).find((path) =>
      existsSync(path)
    )!
    const kept = JSON.parse(readFileSync(file, "utf8"))
    for (const one of kept.approvals) Object.assign(one, { at: one.at - 7_200_000, until: one.until - 7_200_000 })
    writeFileSync(file, JSON.stringify(kept))
    assert.include(here.run("approve", id, "--once").out, "has expired")
    assert.strictEqual(await codeOf(create(connected)), "APPROVAL_EXPIRED")
    assert.notStrictEqual(await idOf(create(connected)), id)
    assert.isFalse(made(here))
  })
})
