// Going back to a branch whose items a person has signed: one question for all of them, and none for what was accepted.
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Schema } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { sign } from "../../../src/programs/sign.ts"
import { codeOf, innermost } from "../../../src/services/error/KiwiError.ts"
import { ItemHistory } from "../../../src/services/integrity/ItemHistory.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import type { SigningPlan } from "../../../src/services/integrity/Signatures.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { commentSyntax, withSignature } from "../../../src/services/item/SignatureLine.ts"
import { HumanGate } from "../../../src/services/trust/HumanAct.ts"
import type { HumanRequest } from "../../../src/services/trust/HumanAct.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import { kernelOf, realProject } from "../../support/realProject.ts"
import type { RealProject } from "../../support/realProject.ts"
import { claimFor, fileSnapshot, locationOf, makeSigner, signText } from "../../support/snapshots.ts"
import { agree, trustProject } from "../../support/trustWorld.ts"
import { call, caller, kernel, object, tool } from "../proxy/calls.ts"

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `t${String(index).padStart(2, "0")}`)
const pathOf = (id: string): string => `.ai/tools/${id}.yaml`
const textOf = (version: string, says = version): string =>
  tool({ version, input_schema: object({}), config: { command: "echo", args: [says] } })

/** A repository with some tools, on a real disk under the real kernel, trusted; `asked` is what a person saw. */
const repository = Effect.fnUntraced(function*(ids: ReadonlyArray<string>, home?: RealProject) {
  const made = yield* realProject({ ".ai/.gitignore": "logs/\n" })
  const of = home === undefined ? made : { ...made, home: home.home, userSpace: home.userSpace }
  const asked: Array<HumanRequest> = []
  const gate = Layer.succeed(HumanGate, {
    ask: (request) =>
      Effect.sync(() => {
        asked.push(request)
        return agree(request)
      })
  })
  const context = yield* Layer.build(Layer.merge(kernelOf(of), gate))
  const file = (id: string): string => join(of.project, pathOf(id))
  const git = (...args: ReadonlyArray<string>): string =>
    execFileSync("git", ["-c", "user.name=ada", "-c", "user.email=ada@example.com", ...args], {
      cwd: of.project,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "", HOME: of.home, GIT_CONFIG_NOSYSTEM: "1" },
      stdio: ["ignore", "pipe", "pipe"]
    })
  git("init", "-q", "-b", "main")
  yield* Effect.provideContext(trustProject, context)
  const signing = (id: string) => Effect.provideContext(sign({ id, type: "tool" }, caller), context)
  const planned = (id: string) =>
    Effect.provideContext(Effect.flatMap(Signatures, (signatures) => signatures.plan({ id, type: "tool" })), context)
  const performed = (plan: SigningPlan) =>
    Effect.provideContext(
      Effect.flatMap(Signatures, (signatures) => signatures.sign(plan, agree(plan.request))),
      context
    )
  /** Why a tool does not run; `undefined`: it has run. */
  const refusal = (id: string, rest: Parameters<typeof call>[2] = {}) =>
    call(id, {}, rest).pipe(
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(codeOf(innermost(error)))),
      Effect.provideContext(context)
    )
  const refusals = Effect.forEach(ids, (id) => refusal(id))
  /** Does what an agent does: runs each, and asks the person where it is told to. */
  const useAll = Effect.gen(function*() {
    for (const id of ids) {
      const code = yield* refusal(id)
      if (code === undefined) continue
      assert.strictEqual(code, "GOES_BACK", id)
      yield* signing(id)
      assert.isUndefined(yield* refusal(id), id)
    }
  })
  /** All tools at a version, signed, committed and run, on a branch of that name. */
  const branch = Effect.fnUntraced(function*(name: string, version: string) {
    if (name !== "main") git("checkout", "-q", "-b", name)
    for (const id of ids) of.write(pathOf(id), textOf(version))
    yield* signing("**")
    git("add", "-A")
    git("commit", "-q", "-m", name)
    yield* useAll
  })
  return { ...of, asked, branch, context, file, git, performed, planned, refusal, refusals, signing, useAll }
})

/** At `main`, whose tools are 1.0.0, after `next` has run with 2.0.0: all of it signed. */
const backAtMain = Effect.fnUntraced(function*(ids: ReadonlyArray<string>) {
  const of = yield* repository(ids)
  yield* of.branch("main", "1.0.0")
  yield* of.branch("next", "2.0.0")
  of.git("checkout", "-q", "main")
  of.asked.length = 0
  return of
})

const idsIn = (plan: SigningPlan): ReadonlyArray<string> => plan.items.map(({ location }) => location.id)

describe("going back to a branch whose items a person has signed", () => {
  it.live(
    "asks once for all of them, however often one goes to and fro, and leaves the files alone",
    () =>
      Effect.gen(function*() {
        const { asked, git, useAll } = yield* backAtMain(idsOf(20))
        for (let turn = 0; turn < 3; turn++) {
          for (const name of ["main", "next"]) {
            git("checkout", "-q", name)
            yield* useAll
            assert.strictEqual(git("status", "--porcelain"), "", name)
          }
          assert.lengthOf(asked, 1)
        }
        const [{ command, details, title, verdict }] = asked as [HumanRequest]
        assert.strictEqual(title, "Let 20 items go back to what was signed (project)")
        assert.strictEqual(command, "kiwi sign tool t00")
        assert.match(verdict![0], /^T00 goes back from 2\.0\.0 to 1\.0\.0; .*\d+ more below$/)
        assert.match(verdict![1], /^20 signed before: 20 lines added, 20 lines removed; sha256 [0-9a-f]{16}$/)
        assert.strictEqual(details.split("goes back from 2.0.0 to 1.0.0").length - 1, 20)
        assert.strictEqual(details.split("-{\"version\":\"2.0.0\"").length - 1, 20)
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "asks once for each state that nobody has accepted, of three branches that go on",
    () =>
      Effect.gen(function*() {
        const ids = idsOf(3)
        const { asked, branch, git, refusals, signing, useAll, write } = yield* repository(ids)
        yield* branch("main", "1.0.0")
        yield* branch("next", "2.0.0")
        yield* branch("later", "3.0.0")
        asked.length = 0
        for (const name of ["main", "next", "later", "main", "next", "later"]) {
          git("checkout", "-q", name)
          yield* useAll
        }
        assert.deepStrictEqual(asked.map(({ title }) => title), [
          "Let 3 items go back to what was signed (project)",
          "Let 3 items go back to what was signed (project)"
        ])
        git("checkout", "-q", "main")
        write(pathOf("t01"), textOf("1.0.1"))
        yield* signing("t01")
        git("commit", "-aqm", "mend")
        git("checkout", "-q", "later")
        write(pathOf("t02"), textOf("4.0.0"))
        yield* signing("t02")
        git("commit", "-aqm", "on")
        asked.length = 0
        for (const name of ["later", "next", "main", "main~1", "later", "main"]) {
          git("checkout", "-q", name)
          assert.deepStrictEqual(yield* refusals, ids.map(() => undefined), name)
        }
        assert.lengthOf(asked, 0)
      }).pipe(Effect.scoped),
    60_000
  )

  it.live("asks no more for what also hides an item of the person's own", () =>
    Effect.gen(function*() {
      const of = yield* repository(idsOf(3))
      fs.mkdirSync(join(of.userSpace, "tools"), { recursive: true })
      for (const id of idsOf(2)) fs.writeFileSync(join(of.userSpace, "tools", `${id}.yaml`), textOf("0.1.0"))
      yield* of.branch("main", "1.0.0")
      yield* of.branch("next", "2.0.0")
      of.asked.length = 0
      for (const name of ["main", "next", "main", "next"]) {
        of.git("checkout", "-q", name)
        yield* of.useAll
      }
      assert.lengthOf(of.asked, 1)
      assert.include(of.asked[0]!.details, "hides the user's tool t01 (user:tools/t01.yaml)")
    }).pipe(Effect.scoped), 60_000)

  it.live("changes no lock, so that strict refuses what is not locked as it is", () =>
    Effect.gen(function*() {
      const { asked, project, refusal, signing } = yield* backAtMain(idsOf(3))
      for (const name of fs.globSync(".ai/**/t0*.lock.json", { cwd: project })) fs.rmSync(join(project, name))
      const done = yield* signing("t00")
      assert.deepStrictEqual(done.signed, [])
      assert.deepStrictEqual(done.went_back?.map(({ from, id, version }) => [id, from, version]), [
        ["t00", "2.0.0", "1.0.0"],
        ["t01", "2.0.0", "1.0.0"],
        ["t02", "2.0.0", "1.0.0"]
      ])
      for (const id of idsOf(3)) {
        assert.strictEqual(yield* refusal(id, { lockfileMode: "strict" }), "LOCK_MISSING")
        assert.isUndefined(yield* refusal(id))
      }
      assert.lengthOf(asked, 1)
    }).pipe(Effect.scoped), 60_000)

  it.live("signs what is new beside it, in the same question", () =>
    Effect.gen(function*() {
      const { file, performed, planned, refusals, write } = yield* backAtMain(idsOf(3))
      const before = fs.readFileSync(file("t00"), "utf8")
      write(pathOf("t02"), textOf("1.5.0"))
      const plan = yield* planned("t0*")
      assert.strictEqual(plan.request.title, "Sign 1 item, let 2 items go back to what was signed (project)")
      const signed = yield* performed(plan)
      assert.deepStrictEqual(signed.map(({ location }) => location.id), ["t02"])
      assert.strictEqual(fs.readFileSync(file("t00"), "utf8"), before)
      assert.deepStrictEqual(yield* refusals, [undefined, undefined, undefined])
    }).pipe(Effect.scoped), 60_000)
})

describe("the one question covers", () => {
  const text = textOf("1.0.0", "grace")
  type Friend = ReturnType<typeof makeSigner>
  const trusting = (friend: Friend, as: "me" | "other") =>
    Effect.flatMap(SignerTrust, (trust) => {
      const signer = { keyId: friend.keyId, publicKey: friend.pair.publicKey, name: "Grace" }
      const grant = { signer, as, project: undefined }
      return Effect.orDie(trust.add(grant, agree(trust.proposeAdd(grant))))
    })

  /** What lies at `own`, which was signed there, as `other` was at its place. */
  const cases: ReadonlyArray<{
    readonly name: string
    readonly of: (friend: Friend, at: ReturnType<typeof locationOf>, own: string, other: string) => string
    readonly trusted?: "me" | "other"
    readonly code: string | undefined
  }> = [
    {
      name: "bytes signed by a colleague who counts as the person",
      of: (friend, at) => signText(friend, at, text),
      trusted: "me",
      code: undefined
    },
    { name: "no bytes of a stranger", of: (friend, at) => signText(friend, at, text), code: "SIGNER_UNTRUSTED" },
    {
      name: "no bytes of somebody else, trusted as such",
      of: (friend, at) => signText(friend, at, text),
      trusted: "other",
      code: "GOES_BACK"
    },
    {
      name: "no signature of an agent",
      of: (friend, at) =>
        withSignature(text, commentSyntax("x.yaml")!, claimFor(friend, at, fileSnapshot(at, text)!.digest, "agent")),
      trusted: "me",
      code: "SIGNER_UNTRUSTED"
    },
    { name: "no unsigned bytes", of: () => text, code: "UNSIGNED" },
    { name: "no bytes that were changed", of: (_f, _at, own) => own.replace("1.0.0", "1.0.1"), code: "TAMPERED" },
    { name: "no bytes that were signed as another item", of: (_f, _at, _own, other) => other, code: "TAMPERED" },
    {
      name: "no signature for another place",
      of: (friend, { id }) => signText(friend, locationOf(`tools/other/${id}.yaml`), text),
      trusted: "me",
      code: "TAMPERED"
    },
    { name: "nothing that is no item", of: () => "version: [", code: "ITEM_INVALID" },
    {
      name: "no signature that is not in its form",
      of: (_f, _at, own) => own.replace(":signed:2:", ":signed:3:"),
      code: "SIGNATURE_MALFORMED"
    }
  ]
  it.live(
    "of all that lie side by side, what is signed by somebody who counts as the person, and nothing else",
    () =>
      Effect.gen(function*() {
        const [asking, other, ...ids] = idsOf(cases.length + 2)
        const { asked, context, file, refusal, signing } = yield* backAtMain([asking!, other!, ...ids])
        const lying = new Map<string, string>()
        for (const [index, { of, trusted }] of cases.entries()) {
          const id = ids[index]!
          const friend = makeSigner()
          if (trusted !== undefined) yield* Effect.provideContext(trusting(friend, trusted), context)
          const read = (one: string) => fs.readFileSync(file(one), "utf8")
          lying.set(id, of(friend, locationOf(`tools/${id}.yaml`), read(id), read(other!)))
        }
        for (const [id, there] of lying) fs.writeFileSync(file(id), there)
        yield* signing(asking!)
        assert.deepStrictEqual([yield* refusal(asking!), yield* refusal(other!)], [undefined, undefined])
        for (const [index, { code, name }] of cases.entries()) {
          const id = ids[index]!
          assert.strictEqual(yield* refusal(id), code, name)
          assert.strictEqual(asked[0]!.details.includes(`tools/${id}.yaml`), code === undefined, name)
          assert.strictEqual(fs.readFileSync(file(id), "utf8"), lying.get(id), name)
        }
        assert.lengthOf(asked, 1)
      }).pipe(Effect.scoped),
    60_000
  )

  it.live("nothing of another tier, or of another project of the same home", () =>
    Effect.gen(function*() {
      const one = yield* backAtMain(idsOf(2))
      const two = yield* repository(idsOf(2), one)
      yield* two.branch("main", "1.0.0")
      yield* two.branch("next", "2.0.0")
      two.git("checkout", "-q", "main")
      yield* one.signing("t00")
      assert.deepStrictEqual(yield* one.refusals, [undefined, undefined])
      assert.deepStrictEqual(yield* two.refusals, ["GOES_BACK", "GOES_BACK"])

      const own = join(one.userSpace, "tools/own.yaml")
      fs.mkdirSync(join(one.userSpace, "tools"), { recursive: true })
      fs.writeFileSync(own, textOf("1.0.0"))
      yield* one.signing("own")
      const older = fs.readFileSync(own)
      fs.writeFileSync(own, textOf("2.0.0"))
      yield* one.signing("own")
      assert.isUndefined(yield* one.refusal("own"))
      fs.writeFileSync(own, older)
      assert.deepStrictEqual(idsIn(yield* two.planned("t00")), ["t00", "t01"])
      assert.deepStrictEqual(idsIn(yield* two.planned("own")), ["own"])
    }).pipe(Effect.scoped), 60_000)

  it.live(
    "nothing else where the item that is asked about goes forward, or is signed anew",
    () =>
      Effect.gen(function*() {
        const { planned, signing, write } = yield* backAtMain(idsOf(3))
        write(pathOf("t00"), textOf("1.5.0"))
        assert.deepStrictEqual(idsIn(yield* planned("t00")), ["t00"])
        write(pathOf("fresh"), textOf("1.0.0"))
        assert.deepStrictEqual(idsIn(yield* planned("fresh")), ["fresh"])
        yield* signing("t01")
        assert.deepStrictEqual((yield* planned("t02")).items.map(({ change }) => change), ["same"])
      }).pipe(Effect.scoped),
    60_000
  )
})

describe("nothing is accepted where something changed between the question and the answer:", () => {
  type World = Effect.Success<ReturnType<typeof backAtMain>>
  const changes: Readonly<Record<string, (of: World) => Effect.Effect<unknown, unknown>>> = {
    "bytes of an item": ({ file }) => Effect.sync(() => fs.appendFileSync(file("t01"), " ")),
    "its signature is gone": ({ write }) => Effect.sync(() => write(pathOf("t01"), textOf("1.0.0"))),
    "its signature is somebody else's": ({ write }) =>
      Effect.sync(() => write(pathOf("t01"), signText(makeSigner(), locationOf("tools/t01.yaml"), textOf("1.0.0")))),
    "an item is gone": ({ file }) => Effect.sync(() => fs.rmSync(file("t02"))),
    "the branch": ({ git }) => Effect.sync(() => git("checkout", "-q", "next")),
    "something newer has run": ({ context }) =>
      Effect.gen(function*() {
        const { location } = yield* (yield* ItemStore).find({ id: "t01" })
        yield* (yield* ItemHistory).ran(location, "3.0.0", "three")
      }).pipe(Effect.provideContext(context))
  }
  it.live(Object.keys(changes).join(", "), () =>
    Effect.gen(function*() {
      const of = yield* backAtMain(idsOf(3))
      for (const [name, change] of Object.entries(changes)) {
        const plan = yield* of.planned("t00")
        assert.deepStrictEqual(idsIn(plan), idsOf(3), name)
        yield* change(of)
        assert.strictEqual((yield* Effect.flip(of.performed(plan)))._tag, "PlanStale", name)
        of.git("checkout", "-qf", "main")
        assert.deepStrictEqual(yield* of.refusals, ["GOES_BACK", "GOES_BACK", "GOES_BACK"], name)
      }
    }).pipe(Effect.scoped), 60_000)

  it.live(
    "or where the question was for other items, or the plan says that they do not go back",
    () =>
      Effect.gen(function*() {
        const { performed, planned, refusals } = yield* backAtMain(idsOf(3))
        const plan = yield* planned("t00")
        const forged: ReadonlyArray<SigningPlan> = [
          { ...plan, items: plan.items.slice(1) },
          { ...plan, items: [{ ...plan.items[0]!, change: "same" }, ...plan.items.slice(1)] },
          { ...plan, items: [{ ...plan.items[0]!, goesBackFrom: undefined }, ...plan.items.slice(1)] }
        ]
        for (const other of forged) {
          assert.strictEqual((yield* Effect.flip(performed(other)))._tag, "HumanRequired")
        }
        assert.deepStrictEqual(yield* refusals, ["GOES_BACK", "GOES_BACK", "GOES_BACK"])
      }).pipe(Effect.scoped),
    60_000
  )
})

describe("what is remembered", () => {
  it.live(
    "is whole for each item after a crash, and what is missing is one more question",
    () =>
      Effect.gen(function*() {
        const of = yield* backAtMain(idsOf(6))
        const history = Context.get(of.context, ItemHistory)
        const crashing = Layer.succeed(ItemHistory, {
          ...history,
          signed: (answers) => Effect.andThen(history.signed(answers.slice(0, 3)), Effect.die("the machine stopped"))
        })
        const exit = yield* Effect.exit(
          Effect.gen(function*() {
            const signatures = yield* Signatures
            const plan = yield* signatures.plan({ id: "t00" })
            return yield* signatures.sign(plan, agree(plan.request))
          }).pipe(Effect.provide(Kernel.layer({ ...of, replace: crashing })))
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        const none = [undefined, undefined, undefined]
        assert.deepStrictEqual(yield* of.refusals, [...none, "GOES_BACK", "GOES_BACK", "GOES_BACK"])
        yield* of.useAll
        assert.deepStrictEqual(of.asked.map(({ title }) => title), ["Let 3 items go back to what was signed (project)"])
      }).pipe(Effect.scoped),
    60_000
  )

  it.live("is asked about again where it was forgotten, all at once", () =>
    Effect.gen(function*() {
      const of = yield* backAtMain(idsOf(3))
      yield* of.useAll
      for (const name of fs.globSync("projects/*/history/*.json", { cwd: of.home })) {
        const past = JSON.parse(fs.readFileSync(join(of.home, name), "utf8"))
        // What a Kiwi before this one wrote.
        fs.writeFileSync(join(of.home, name), JSON.stringify({ ...past, agreed: undefined, accepted: "x" }))
      }
      assert.deepStrictEqual(yield* of.refusals, ["GOES_BACK", "GOES_BACK", "GOES_BACK"])
      yield* of.useAll
      assert.lengthOf(of.asked, 2)
    }).pipe(Effect.scoped), 60_000)
})

const item = Schema.Literals([0, 1, 2])
const Step = Schema.Union([
  Schema.Struct({ does: Schema.Literal("write"), item, minor: Schema.Literals([0, 1, 2, 3]) }),
  Schema.Struct({ does: Schema.Literal("run") }),
  Schema.Struct({ does: Schema.Literal("ask"), item }),
  Schema.Struct({ does: Schema.Literal("switch"), to: Schema.Literals([0, 1, 2, 3, 4, 5]) })
])

describe("any order of signing, running and going back", () => {
  it.effect.prop(
    "refuses what is older and nobody has accepted, and one answer accepts exactly all of that",
    [Schema.Array(Step).check(Schema.isMinLength(40))],
    ([steps]) => {
      const ids = idsOf(3)
      const files = new Map<string, string | Uint8Array>()
      const fileOf = (id: string) => `tools/${id}.yaml`
      // The model.
      const now = new Map<string, number>()
      const newest = new Map<string, number>()
      const accepted = new Set<string>()
      const isOlder = (id: string) => now.get(id)! < (newest.get(id) ?? -1)
      const isRefused = (id: string) => isOlder(id) && !accepted.has(`${id} ${now.get(id)}`)
      const states: Array<readonly [ReadonlyMap<string, string | Uint8Array>, ReadonlyMap<string, number>]> = []
      return Effect.gen(function*() {
        const [history, signatures, store] = yield* Effect.all([ItemHistory, Signatures, ItemStore])
        const say = Effect.fnUntraced(function*(id: string, expected: ReadonlyArray<string>) {
          const plan = yield* signatures.plan({ id, type: "tool" })
          assert.sameMembers([...idsIn(plan)], [...expected])
          yield* signatures.sign(plan, agree(plan.request))
          for (const one of expected) if (isOlder(one)) accepted.add(`${one} ${now.get(one)}`)
        })
        const write = Effect.fnUntraced(function*(id: string, minor: number) {
          files.set(fileOf(id), textOf(`1.${minor}.0`))
          now.set(id, minor)
          yield* say(id, [id])
        })
        const look = Effect.fnUntraced(function*(id: string) {
          const { location } = yield* store.find({ id })
          const { digest } = yield* store.read(location)
          const version = `1.${now.get(id)}.0`
          const exit = yield* Effect.exit(history.checkForward(location, version, digest))
          assert.strictEqual(Exit.isFailure(exit), isRefused(id), id)
          return { location, version, digest }
        })
        for (const id of ids) yield* write(id, 0)
        for (const step of steps) {
          if (step.does === "switch") {
            const [bytes, versions] = states[step.to % states.length] ?? [files, now]
            for (const id of ids) {
              files.set(fileOf(id), bytes.get(fileOf(id))!)
              now.set(id, versions.get(id)!)
            }
          } else if (step.does === "write") {
            yield* write(ids[step.item]!, step.minor)
            states.push([new Map(files), new Map(now)])
          } else if (step.does === "ask") {
            const id = ids.find(isRefused) ?? ids[step.item]!
            yield* say(id, isRefused(id) ? ids.filter(isRefused) : [id])
          }
          for (const id of ids) {
            const { digest, location, version } = yield* look(id)
            if (step.does !== "run" || isRefused(id)) continue
            yield* history.ran(location, version, digest)
            newest.set(id, Math.max(newest.get(id) ?? -1, now.get(id)!))
          }
        }
      }).pipe(Effect.provide(kernel({ project: files, signatures: "checked" })))
    },
    { timeout: 120_000, arbitrary: { runs: 30 } }
  )
})
