import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { asHuman } from "../../src/programs/humanAct.ts"
import { sign } from "../../src/programs/sign.ts"
import { trustProject, trustSigner, untrustSigner } from "../../src/programs/trust.ts"
import { AuditLog, AuditUnavailable } from "../../src/services/audit/AuditLog.ts"
import type { HumanRequest } from "../../src/services/trust/HumanAct.ts"
import { HumanDeclined, HumanGate, HumanRequired } from "../../src/services/trust/HumanAct.ts"
import { noProject, ProjectRestricted, ProjectTrust } from "../../src/services/trust/ProjectTrust.ts"
import { SignerTrust } from "../../src/services/trust/SignerTrust.ts"
import { call, caller, echo, entries, kernel } from "../layers/proxy/calls.ts"
import { makeSigner } from "../support/snapshots.ts"
import { person } from "./items.ts"

/** What `ProjectTrust` is where there is no project. */
const ProjectTrustNone = Layer.effect(
  ProjectTrust,
  Effect.map(Effect.service(ProjectTrust), (trust) =>
    ProjectTrust.of({
      ...trust,
      state: Effect.succeed({ _tag: "NoProject" }),
      require: Effect.fail(new ProjectRestricted({ reason: noProject }))
    }))
)

const project = () => new Map([["tools/echo.yaml", echo], ["tools/again.yaml", echo]])
const checked = () => kernel({ project: project(), signatures: "checked" })

const acts = Effect.map(entries, (all) => all.flatMap((e) => e.kind === "act" ? [[e.act, e.by, e.outcome]] : []))

describe("signing", () => {
  it.effect("asks about exactly what it then signs, and records both", () =>
    Effect.gen(function*() {
      const asked: Array<HumanRequest> = []
      const { refused, signed } = yield* sign({ id: "echo" }, caller).pipe(
        Effect.provideService(HumanGate, person("yes", asked))
      )
      assert.lengthOf(asked, 1)
      assert.include(asked[0]?.details, "argv")
      assert.deepStrictEqual(signed.map((item) => item.path), ["project:tools/echo.yaml"])
      assert.deepStrictEqual(refused, [])
      assert.strictEqual((yield* call("echo", { text: "x" })).status, "success")
      assert.deepStrictEqual(yield* acts, [["sign", "terminal", "agreed"], ["sign", "terminal", "done"]])
      const [agreed] = yield* entries
      if (agreed?.kind === "act") assert.strictEqual(agreed.digest, asked[0]?.digest)
    }).pipe(Effect.provide(checked())))

  it.effect("signs nothing that a person declines, and records that they did", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(sign({ id: "echo" }, caller)).pipe(
        Effect.provideService(HumanGate, person("no"))
      )
      assert.strictEqual(error._tag, "HumanDeclined")
      assert.deepStrictEqual(yield* acts, [["sign", "embed", "declined"]])
      assert.strictEqual((yield* Effect.flip(call("echo", { text: "x" })))._tag, "ToolChainError")
    }).pipe(Effect.provide(checked())))

  it.effect("leaves no trace of consent where nobody could be asked", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(sign({ id: "echo" }, caller)).pipe(
        Effect.provideService(HumanGate, person("nobody"))
      )
      assert.strictEqual(error._tag, "HumanRequired")
      if (error._tag === "HumanRequired") assert.match(error.remediation, /kiwi sign tool echo/)
      assert.deepStrictEqual(yield* acts, [["sign", "embed", "refused"]])
    }).pipe(Effect.provide(checked())))

  it.effect("asks nobody about a glob of which nothing can be signed", () =>
    Effect.gen(function*() {
      const asked: Array<HumanRequest> = []
      const { refused, signed } = yield* sign({ id: "bad*" }, caller).pipe(
        Effect.provideService(HumanGate, person("yes", asked))
      )
      assert.deepStrictEqual([signed, asked, yield* acts], [[], [], []])
      assert.deepStrictEqual(refused.map(({ path }) => path), ["project:tools/bad.yaml"])
    }).pipe(Effect.provide(kernel({ project: new Map([["tools/bad.yaml", "version: ["]]), signatures: "checked" }))))

  it.effect("records that it failed, when it did after the person had agreed", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(sign({ id: "echo" }, caller)).pipe(
        Effect.provideService(HumanGate, person("yes"))
      )
      assert.strictEqual(error._tag, "WriteRefused")
      assert.deepStrictEqual(yield* acts, [["sign", "terminal", "agreed"], ["sign", "terminal", "failed"]])
    }).pipe(Effect.provide(kernel({ project: { "tools/echo.yaml": echo }, signatures: "checked" }))))
})

describe("trusting", () => {
  it.effect("a project takes effect at once", () =>
    Effect.gen(function*() {
      yield* trustProject(caller).pipe(Effect.provideService(HumanGate, person("yes")))
      const trust = yield* ProjectTrust
      assert.strictEqual((yield* trust.state)._tag, "Trusted")
      assert.deepStrictEqual((yield* acts).at(-1), ["trust-project", "terminal", "done"])
    }).pipe(Effect.provide(kernel({ trusted: false }))))

  it.effect("asks nothing where there is no project", () =>
    Effect.gen(function*() {
      const asked: Array<HumanRequest> = []
      const error = yield* Effect.flip(trustProject(caller)).pipe(
        Effect.provideService(HumanGate, person("yes", asked))
      )
      assert.deepStrictEqual([error._tag, asked], ["ProjectRestricted", []])
      assert.include(error.message, "There is no project here")
    }).pipe(Effect.provide(Layer.provideMerge(ProjectTrustNone, kernel()))))

  it.effect("names the signers that there are, where a name is none of theirs", () =>
    Effect.gen(function*() {
      const gate = Effect.provideService(HumanGate, person("yes"))
      const unknown = Effect.map(Effect.flip(gate(trustSigner({ who: "Eve" }, caller))), ({ message }) => message)
      assert.include(yield* unknown, "neither you nor the project's trust.yaml, as you accepted it, name anybody")
      for (const name of ["Grace", "Ada"]) {
        yield* gate(trustSigner({ who: makeSigner().pair.publicKey, name }, caller))
      }
      assert.match(yield* unknown, /There are: "(Grace", "Ada|Ada", "Grace)"$/)
    }).pipe(Effect.provide(kernel())))

  it.effect("a signer, and no longer", () =>
    Effect.gen(function*() {
      const signers = yield* SignerTrust
      const { keyId, pair } = makeSigner()
      const signer = { keyId, publicKey: pair.publicKey, name: "Grace" }
      const asked: Array<HumanRequest> = []
      const gate = Effect.provideService(HumanGate, person("yes", asked))
      yield* gate(trustSigner({ who: signer.publicKey, name: "Grace" }, caller))
      assert.lengthOf(yield* signers.candidates(keyId, "project"), 1)
      assert.strictEqual(yield* gate(untrustSigner(keyId, caller)), keyId)
      assert.strictEqual(asked.at(-1)?.title, `Stop trusting "Grace" (${keyId})`)
      assert.strictEqual((yield* Effect.flip(gate(untrustSigner(keyId, caller))))._tag, "SignerNotTrusted")
      assert.deepStrictEqual(yield* signers.candidates(keyId, "project"), [])
    }).pipe(Effect.provide(kernel())))

  it.effect("trusts a signer no longer by whatever name they were added", () =>
    Effect.gen(function*() {
      const signers = yield* SignerTrust
      const asked: Array<HumanRequest> = []
      const gate = Effect.provideService(HumanGate, person("yes", asked))
      const [grace, ada, other] = [makeSigner(), makeSigner(), makeSigner()]
      const trust = (signer: typeof grace, name: string) =>
        gate(trustSigner({ who: signer.pair.publicKey, name, as: "me" }, caller))
      for (const who of ["Grace", grace.keyId, grace.pair.publicKey]) {
        yield* trust(grace, "Grace")
        assert.strictEqual(yield* gate(untrustSigner(who, caller)), grace.keyId)
        assert.deepStrictEqual(yield* signers.candidates(grace.keyId, "project"), [])
      }
      const refused = (who: string) =>
        Effect.map(Effect.flip(gate(untrustSigner(who, caller))), ({ message }) => message)
      assert.include(yield* refused("Grace"), "You trust nobody")
      yield* trust(grace, "Grace")
      yield* trust(ada, grace.keyId)
      yield* trust(other, "Grace")
      const before = asked.length
      for (const who of ["Eve", "grace", "Grace ", "", "-", grace.keyId.slice(1), `${grace.pair.publicKey}A`]) {
        assert.include(yield* refused(who), `${ada.keyId} "${grace.keyId}"`, who)
      }
      assert.include(yield* refused("Grace"), "is the name of 2 signers")
      assert.lengthOf(asked, before)
      assert.strictEqual(yield* gate(untrustSigner(grace.keyId, caller)), grace.keyId, "a key id before a name")
      assert.lengthOf(yield* signers.candidates(ada.keyId, "project"), 1)
    }).pipe(Effect.provide(kernel())))
})

describe("a refusal", () => {
  const last = Effect.map(entries, (all) => all.findLast((entry) => entry.kind === "act"))
  const title = "Sign tool echo 1.0.0 (project)"
  const refusals = [
    [
      new HumanDeclined({ kind: "sign", title, answer: "no", by: "terminal", seen: "answered no at /dev/pts/3" }),
      ["terminal", "answered no at /dev/pts/3", "declined"]
    ],
    [
      new HumanDeclined({ kind: "sign", title, answer: "cancel", by: "elicitation", seen: "cancel, answered in x" }),
      ["elicitation", "cancel, answered in x", "declined"]
    ],
    [new HumanDeclined({ kind: "sign", title }), ["embed", undefined, "declined"]],
    [
      new HumanRequired({ kind: "sign", title, command: "kiwi sign tool echo", why: "stdin is not a terminal" }),
      ["embed", "stdin is not a terminal", "refused"]
    ]
  ] as const
  for (const [error, expected] of refusals) {
    it.effect(`is recorded: ${expected.join(", ")}`, () =>
      Effect.gen(function*() {
        const gate = HumanGate.of({ ask: () => Effect.fail(error) })
        yield* Effect.flip(Effect.provideService(sign({ id: "echo" }, caller), HumanGate, gate))
        const entry = yield* last
        if (entry?.kind !== "act") return assert.fail("nothing was recorded")
        assert.deepStrictEqual([entry.by, entry.seen, entry.outcome], [...expected])
      }).pipe(Effect.provide(checked())))
  }
})

describe("a human act", () => {
  const request: HumanRequest = {
    kind: "sign",
    title: "Sign",
    details: "",
    digest: "0".repeat(64),
    command: "kiwi sign"
  }

  const failing = (outcome: string) =>
    Layer.succeed(
      AuditLog,
      AuditLog.of({
        append: (record) =>
          record.kind === "act" && record.outcome === outcome
            ? Effect.fail(new AuditUnavailable({ detail: "full" }))
            : Effect.void,
        read: () => Effect.succeed([]),
        stream: () => Stream.empty,
        follow: () => Stream.empty,
        verify: Effect.die("unused"),
        verifyAgainst: () => Effect.die("unused"),
        anchor: Effect.die("unused"),
        prune: Effect.die("unused")
      })
    )
  const perform = (done: Array<string>) => asHuman(request, caller, () => Effect.sync(() => done.push("done")))

  it.effect("is not performed where the consent cannot be recorded", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const error = yield* Effect.flip(perform(done))
      assert.strictEqual(error._tag, "AuditUnavailable")
      assert.deepStrictEqual(done, [])
    }).pipe(Effect.provide([failing("agreed"), Layer.succeed(HumanGate, person("yes"))])))

  it.effect("is no failure for a record that is lost after it was performed", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      yield* perform(done)
      assert.deepStrictEqual(done, ["done"])
    }).pipe(Effect.provide([failing("done"), Layer.succeed(HumanGate, person("yes"))])))

  it.effect("that is interrupted has failed", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const fiber = yield* asHuman(request, caller, () =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never)).pipe(Effect.forkChild)
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* acts, [["sign", "terminal", "agreed"], ["sign", "terminal", "failed"]])
    }).pipe(Effect.provide(Layer.provideMerge(Layer.succeed(HumanGate, person("yes")), kernel()))))
})
