// Answers by way of a service to requests of any project of the person, whichever process filed them.
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { Projects } from "../../../src/layers/Projects.ts"
import { makeAnswer } from "../../../src/programs/mcp/approvalRoute.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { request } from "../../layers/approval/approvalRequest.ts"
import { file } from "../../layers/approval/ApprovalStore.contract.ts"
import { realProject } from "../../support/realProject.ts"
import { trustProject } from "../../support/trustWorld.ts"

const body = (digest: string) => JSON.stringify({ answer: "once", digest })

/** Files a request in the open project. */
const asked = Effect.gen(function*() {
  const store = yield* ApprovalStore
  const id = yield* file(store)
  const { question } = yield* store.propose(id)
  return { id, digest: question.digest }
})

const world = Effect.gen(function*() {
  const real = yield* realProject({})
  const places = { home: real.home, userSpace: real.userSpace }
  const folder = (name: string) => {
    const path = join(real.project, "..", name)
    fs.mkdirSync(join(path, ".ai"), { recursive: true })
    return fs.realpathSync(path)
  }
  /** Another process, which has ended: nothing of it is open any more. */
  const elsewhere = <A, E>(project: string | undefined, effect: Effect.Effect<A, E, ApprovalStore>) =>
    Effect.provide(effect, Layer.fresh(Kernel.layer({ ...places, project })))
  return { own: fs.realpathSync(real.project), folder, elsewhere, home: real.home, places }
})

const rows: ReadonlyArray<readonly [string, (at: Effect.Success<typeof world>) => string | undefined]> = [
  ["the server's own project", ({ own }) => own],
  ["another project", ({ folder }) => folder("other")],
  ["a project in the project", ({ folder }) => folder("project/packages/one")],
  ["a project around it", ({ own }) => join(own, "..")],
  ["a project with a blank in its name", ({ folder }) => folder("my shop")],
  ["no project", () => undefined]
]
for (const [title, projectOf] of rows) {
  it.live(`a request of ${title}, filed by a process that has ended, is answered`, () =>
    Effect.gen(function*() {
      const at = yield* world
      const project = projectOf(at)
      const { digest, id } = yield* at.elsewhere(project, asked)
      yield* Effect.gen(function*() {
        const answer = yield* makeAnswer(at.own)
        const wrong = yield* answer(id, "phone", body("0".repeat(64)))
        assert.strictEqual(wrong.status, 409)
        assert.strictEqual((yield* answer(id, "phone", body(digest))).status, 200)
        assert.strictEqual((yield* answer(id, "phone", body(digest))).status, 409)
      }).pipe(Effect.provide(Kernel.layerProjects(at.places)))
      const allowed = yield* at.elsewhere(
        project,
        Effect.flatMap(ApprovalStore, (store) => store.require(request({ callId: "c2" })))
      )
      assert.strictEqual(allowed.id, id)
    }).pipe(Effect.scoped))
}

it.live("a server without a project answers for one that it has open", () =>
  Effect.gen(function*() {
    const at = yield* world
    const other = at.folder("other")
    yield* Effect.gen(function*() {
      const projects = yield* Projects
      yield* projects.use(other)(trustProject)
      const { digest, id } = yield* projects.use(other)(asked)
      const answer = yield* makeAnswer("")
      assert.strictEqual((yield* answer(id, "phone", body(digest))).status, 200)
    }).pipe(Effect.provide(Kernel.layerProjects(at.places)))
  }).pipe(Effect.scoped))

it.live("what is no request, or is one of a folder that is gone, is not answered", () =>
  Effect.gen(function*() {
    const at = yield* world
    const gone = at.folder("gone")
    const lost = yield* at.elsewhere(gone, asked)
    const spoiled = at.folder("spoiled")
    const unread = yield* at.elsewhere(spoiled, asked)
    const state = fs.readdirSync(join(at.home, "projects")).find((name) => {
      const path = join(at.home, "projects", name, "approvals.json")
      return fs.existsSync(path) && fs.readFileSync(path, "utf8").includes(unread.id)
    })
    fs.writeFileSync(join(at.home, "projects", state!, "approvals.json"), `{"v": 1, "approvals": ["${unread.id}"]}`)
    fs.rmSync(gone, { recursive: true })
    fs.writeFileSync(join(at.home, "projects/index/note.json"), "{")
    yield* Effect.gen(function*() {
      const answer = yield* makeAnswer(at.own)
      for (const [id, status] of [["aaaaaaaaaa", 404], [lost.id, 503], [unread.id, 404]] as const) {
        assert.strictEqual((yield* answer(id, "phone", body("0".repeat(64)))).status, status, id)
      }
    }).pipe(Effect.provide(Kernel.layerProjects(at.places)))
  }).pipe(Effect.scoped))
