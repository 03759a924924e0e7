// What every ApprovalStore does.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Layer, Scope } from "effect"
import * as TestClock from "effect/testing/TestClock"
import type { ApprovalAnswer } from "../../../src/services/approval/Approval.ts"
import type { AnswerOptions, ApprovalRequest } from "../../../src/services/approval/ApprovalStore.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { showAccess } from "../../../src/services/capability/Access.ts"
import type { Ask } from "../../../src/services/permission/PermissionGate.ts"
import { RememberedRules } from "../../../src/services/permission/RememberedRules.ts"
import type { HumanAct, HumanRequest } from "../../../src/services/trust/HumanAct.ts"
import { agent, agreeTo, request, start, writes } from "./approvalRequest.ts"

type Store = ApprovalStore["Service"]

export const answerIt = Effect.fnUntraced(function*(
  store: Store,
  id: string,
  answer: ApprovalAnswer,
  options?: AnswerOptions
) {
  const { question } = yield* store.propose(id, options)
  return yield* store.answer(id, agreeTo(question, answer), options)
})

/** The id under which a request waits. */
export const file = Effect.fnUntraced(function*(store: Store, one: ApprovalRequest = request()) {
  const error = yield* Effect.flip(store.require(one))
  if (error._tag !== "ApprovalPending") return assert.fail(error.message)
  return error.id
})

const tagOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.result(effect), (result) => Result.isSuccess(result) ? "Approved" : result.failure._tag)

/** `make` gives an empty store. */
export const contract = (
  name: string,
  make: Effect.Effect<Layer.Layer<ApprovalStore | RememberedRules>, never, Scope.Scope>
) => {
  const test = <A, E>(title: string, body: (store: Store) => Effect.Effect<A, E, RememberedRules>) =>
    it.effect(title, () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(start)
        return yield* Effect.provide(Effect.flatMap(ApprovalStore, body), yield* make)
      }))

  describe(`${name}:`, () => {
    test("a call that was approved once runs once", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        assert.strictEqual((yield* answerIt(store, id, "once")).state, "approved")
        const approved = yield* store.require(request({ callId: "c2" }))
        assert.deepStrictEqual(approved, { id, by: "answered at /dev/pts/3", answer: "once", rule: "approved once" })
        const [spent] = yield* store.list
        assert.deepInclude(spent, { state: "spent", spent: { call: "c2", at: start } })
        assert.notStrictEqual(yield* file(store, request({ callId: "c3" })), id)
      }))

    test("what a person dismissed waits, and takes no place from other requests", (store) =>
      Effect.gen(function*() {
        const ask = (at: number) => request({ digest: String(at).padStart(64, "0") })
        for (let at = 0; at < 30; at++) yield* store.dismiss(yield* file(store, ask(at)))
        const waiting = (yield* store.list).filter(({ state }) => state === "pending")
        assert.deepStrictEqual([waiting.length, waiting[0]?.digest], [20, ask(10).digest])
        for (let at = 100; at < 120; at++) yield* file(store, ask(at))
        assert.strictEqual(yield* tagOf(store.require(ask(120))), "ApprovalsFull")
        yield* answerIt(store, yield* file(store, ask(29)), "once")
        assert.strictEqual(yield* tagOf(store.require(ask(29))), "Approved")
      }))

    test("a session that has ended is offered no rule for it, and another takes its request over", (store) =>
      Effect.gen(function*() {
        const of = (session: string, at = 1) =>
          request({ digest: String(at).padStart(64, "0"), caller: { ...agent, session } })
        const id = yield* file(store, of("s1"))
        const shown = yield* store.propose(id)
        const offers = (question: HumanRequest) => question.choices?.some(({ value }) => value === "session")
        assert.isTrue(offers(shown.question))
        const other = yield* file(store, of("s2", 2))
        yield* store.endSession("s1")
        yield* store.endSession("unknown")
        const { question } = yield* store.propose(id)
        assert.deepStrictEqual(question.choices?.map(({ value }) => value), ["once", "always", "no", "never"])
        const refused = yield* Effect.flip(store.propose(id, { answers: ["session"] }))
        assert.include(refused.message, "the session that asked has ended")
        // A person who still has the question from before on the screen makes no rule for it.
        const late = yield* Effect.flip(store.answer(id, agreeTo(shown.question, "session")))
        assert.strictEqual(late._tag, "HumanRequired")
        assert.isEmpty(yield* (yield* RememberedRules).current)
        assert.isTrue(offers((yield* store.propose(other)).question))
        assert.strictEqual(yield* file(store, of("s3")), id)
        assert.isTrue(offers((yield* store.propose(id)).question))
        yield* answerIt(store, id, "session")
        assert.deepStrictEqual((yield* (yield* RememberedRules).current).map(({ session }) => session), ["s3"])
        assert.strictEqual(yield* tagOf(store.require(of("s3"))), "Approved")
      }))

    type Ends = (store: Store, id: string) => Effect.Effect<unknown, unknown, RememberedRules>
    const sessionEnds: Ends = (store) => store.endSession("s1")
    const removes = (suffix = ""): Ends => (_, id) =>
      Effect.flatMap(RememberedRules, (rules) => rules.remove([`${id}${suffix}`]))
    const both = [writes("src/a.ts"), writes("lib/b.ts", "allow: fs.write(lib/**)")]
    const narrow = ["allow: fs.write(src/b.ts)"]

    /** What is asked, and how it is answered; what happens then; who repeats the call, and what they get. */
    const endings: ReadonlyArray<
      readonly [
        string,
        ApprovalAnswer,
        Partial<ApprovalRequest>,
        (ReadonlyArray<string> | undefined)?,
        (Ends | undefined)?,
        string?,
        string?
      ]
    > = [
      ["the session that asked", "once", {}, undefined, undefined, "s1", "Approved"],
      ["another session that runs beside it", "once", {}],
      ["another session, once the first has ended", "once", {}, undefined, sessionEnds, "s2", "Approved"],
      ["another session that runs beside it", "session", {}],
      ["another session, once the first has ended", "session", {}, undefined, sessionEnds],
      [
        "the same session, once it has ended and is taken up again",
        "session",
        {},
        undefined,
        sessionEnds,
        "s1",
        "Approved"
      ],
      ["the same session, after the rule was removed", "session", {}, undefined, removes(), "s1"],
      ["another session, after the end and the removal", "session", {}, undefined, removes()],
      ["the same session", "always", {}, undefined, undefined, "s1", "Approved"],
      ["the same session, after the rule was removed", "always", {}, undefined, removes(), "s1"],
      ["another session, after the rule was removed", "always", {}, undefined, removes()],
      ["the same session, after one rule of two was removed", "always", { asks: both }, undefined, removes("-2"), "s1"],
      ["the same session, after another rule was removed", "always", {}, undefined, removes("-2"), "s1", "Approved"],
      ["the same session, by a rule about something else", "session", {}, narrow, undefined, "s1", "Approved"],
      ["another session, by a rule about something else", "session", {}, narrow, sessionEnds],
      ["another session that runs beside it, by a rule about something else", "always", {}, narrow],
      ["the same session, after a rule about something else was removed", "always", {}, narrow, removes(), "s1"]
    ]
    for (const [whose, answer, asked, rules, end, session = "s2", outcome = "ApprovalPending"] of endings) {
      test(`${answer}, not used yet, and the call of ${whose}: ${outcome}`, (store) =>
        Effect.gen(function*() {
          const id = yield* file(store, request(asked))
          yield* answerIt(store, id, answer, rules === undefined ? undefined : { answers: [answer], rules })
          if (end !== undefined) yield* end(store, id)
          const repeated = request({ ...asked, callId: "c2", caller: { ...agent, session } })
          assert.strictEqual(yield* tagOf(store.require(repeated)), outcome)
        }))
    }

    test("once, of a call that was a session of its own, is for the same call later", (store) =>
      Effect.gen(function*() {
        const of = (callId: string) => request({ callId, caller: { ...agent, session: callId } })
        yield* answerIt(store, yield* file(store, of("c1")), "once")
        assert.strictEqual(yield* tagOf(store.require(of("c2"))), "Approved")
        assert.strictEqual(yield* tagOf(store.require(of("c3"))), "ApprovalPending")
      }))

    test("a rule that another answer made is not the rule of this one", (store) =>
      Effect.gen(function*() {
        const elsewhere = { ...writes("src/b.ts"), askedBy: ["user 1"] }
        yield* answerIt(store, yield* file(store, request({ digest: "e".repeat(64), asks: [elsewhere] })), "always")
        const id = yield* file(store)
        yield* answerIt(store, id, "always")
        yield* Effect.flatMap(RememberedRules, (remembered) => remembered.remove([id]))
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalPending")
      }))

    test("one act refuses all that waits, or all of a session, and nothing that came after it was shown", (store) =>
      Effect.gen(function*() {
        const of = (session: string, at: number) =>
          request({ digest: String(at).padStart(64, "0"), caller: { ...agent, session } })
        for (const [session, at] of [["s1", 1], ["s1", 2], ["s2", 3]] as const) yield* file(store, of(session, at))
        const states = Effect.map(store.list, (all) => all.map(({ answered, state }) => answered?.answer ?? state))
        const shown = yield* store.proposeRefusal()
        yield* file(store, of("s2", 4))
        const late = yield* Effect.flip(store.refuse(agreeTo(shown.question, "no")))
        assert.strictEqual(late._tag, "HumanRequired")
        const { question } = yield* store.proposeRefusal("s1")
        assert.include(question.title, "Refuse 2 requests")
        assert.strictEqual(yield* store.refuse(agreeTo(question, "no"), "s1"), 2)
        assert.deepStrictEqual(yield* states, ["no", "no", "pending", "pending"])
        assert.strictEqual((yield* Effect.flip(store.proposeRefusal("s1")))._tag, "ApprovalNotFound")
        const rest = yield* store.proposeRefusal()
        assert.strictEqual(yield* store.refuse(agreeTo(rest.question, "no")), 2)
        assert.strictEqual(yield* tagOf(store.require(of("s2", 4))), "ApprovalRejected")
        assert.strictEqual((yield* Effect.flip(store.proposeRefusal()))._tag, "ApprovalNotFound")
      }))

    test("ten calls at once use one answer once", (store) =>
      Effect.gen(function*() {
        yield* answerIt(store, yield* file(store), "once")
        const calls = Array.from({ length: 10 }, (_, at) => tagOf(store.require(request({ callId: `c${at}` }))))
        const outcomes = yield* Effect.all(calls, { concurrency: "unbounded" })
        assert.deepStrictEqual(outcomes.filter((tag) => tag === "Approved").length, 1)
        assert.deepStrictEqual(new Set(outcomes), new Set(["Approved", "ApprovalPending"]))
        assert.strictEqual((yield* store.list).filter(({ state }) => state === "pending").length, 1)
      }))

    test("the same request of one session is one while it waits, and each live session has its own", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        assert.strictEqual(yield* file(store, request({ callId: "c2" })), id)
        const other = request({ caller: { ...agent, session: "s2", label: "2.0" } })
        const second = yield* file(store, other)
        assert.notStrictEqual(second, id)
        assert.strictEqual(yield* file(store, other), second)
        const { details, caller } = (yield* store.propose(second)).approval
        assert.deepStrictEqual([details, caller], [other.details, other.caller])
      }))

    const askers = [["s1", "s2"], ["s2", "s1"]] as const
    for (const [asks, answers] of askers) {
      for (const answer of ["session", "always", "once", "no", "never"] as const) {
        test(`${answer} in ${answers}, after ${asks} asked the same, is ${answers}'s answer`, (store) =>
          Effect.gen(function*() {
            const of = (session: string) => request({ caller: { ...agent, session } })
            const first = yield* file(store, of(asks))
            const second = yield* file(store, of(answers))
            yield* answerIt(store, second, answer)
            const sessions = (yield* (yield* RememberedRules).current).flatMap(({ session }) => session ?? [])
            assert.deepStrictEqual(sessions, answer === "session" ? [answers] : [])
            const isNo = answer === "no" || answer === "never"
            assert.strictEqual(yield* tagOf(store.require(of(answers))), isNo ? "ApprovalRejected" : "Approved")
            const state = (yield* store.list).find((one) => one.id === first)?.state
            assert.strictEqual(
              state,
              answer === "always" ? "approved" : answer === "never" ? "rejected" : "pending"
            )
          }))
      }
    }

    const others: ReadonlyArray<readonly [string, Partial<ApprovalRequest>]> = [
      ["other arguments, config or another chain or level", { digest: "e".repeat(64) }],
      ["another client", { caller: { ...agent, client: "eve" } }],
      ["another surface of the same name", { caller: { ...agent, surface: "embed" } }],
      ["a client whose name is a label", { caller: { ...agent, client: "eve", label: "ada" } }],
      ["a further access", { asks: [writes("src/a.ts"), writes("infra/b.ts")] }],
      ["another access", { asks: [writes("src/b.ts")] }],
      ["one rule more that asks", { asks: [{ ...writes("src/a.ts"), askedBy: ["default: changes ask", "user 1"] }] }],
      ["another rule that asks", { asks: [{ ...writes("src/a.ts"), rule: "project: ask: fs.write(**)" }] }]
    ]
    for (const [what, more] of others) {
      test(`an answer is not for ${what}`, (store) =>
        Effect.gen(function*() {
          const id = yield* file(store)
          yield* answerIt(store, id, "once")
          assert.notStrictEqual(yield* file(store, request(more)), id)
          assert.strictEqual(yield* tagOf(store.require(request())), "Approved")
        }))
    }

    const moves: ReadonlyArray<readonly [string, string, ReadonlyArray<string>, string]> = [
      ["the rule has moved to another line", "user:7", ["user 1"], "Approved"],
      ["another rule is on its line", "user:4", ["user 2"], "ApprovalPending"],
      ["one more asks", "user:4", ["user 1", "user 2"], "ApprovalPending"]
    ]
    for (const [what, rule, askedBy, outcome] of moves) {
      for (const answer of ["once", "always"] as const) {
        test(`an answer ${answer}, where since then ${what}: ${outcome}`, (store) =>
          Effect.gen(function*() {
            const asks = [{ ...writes("src/a.ts"), rule: "user:4", askedBy: ["user 1"] }]
            const later = request({ asks: [{ ...asks[0]!, rule, askedBy }], callId: "c2" })
            const second = { ...later, digest: "e".repeat(64), caller: { ...agent, session: "s2" } }
            const id = yield* file(store, request({ asks }))
            if (answer === "always") yield* file(store, second)
            yield* answerIt(store, id, answer)
            assert.strictEqual(yield* tagOf(store.require(later)), outcome)
            const [made] = yield* (yield* RememberedRules).current
            assert.deepStrictEqual(made?.answers, answer === "always" ? ["user 1"] : undefined)
            if (answer === "always") assert.strictEqual(yield* tagOf(store.require(second)), outcome)
          }))
      }
    }

    test("what was approved covers what is asked less since", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store, request({ asks: [writes("src/a.ts"), writes("src/b.ts")] }))
        yield* answerIt(store, id, "once")
        assert.strictEqual(yield* tagOf(store.require(request())), "Approved")
      }))

    test("a no holds for the same call until it expires, and asks anew then", (store) =>
      Effect.gen(function*() {
        yield* answerIt(store, yield* file(store), "no")
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalRejected")
        yield* TestClock.adjust("59 minutes")
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalRejected")
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalPending")
      }))

    test("a request that nobody answers expires, is told once and can be asked anew", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual((yield* store.list)[0]?.state, "expired")
        assert.strictEqual((yield* Effect.flip(store.propose(id)))._tag, "ApprovalClosed")
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalExpired")
        assert.notStrictEqual(yield* file(store), id)
      }))

    test("an answer that is not used expires", (store) =>
      Effect.gen(function*() {
        yield* TestClock.adjust("10 minutes")
        const id = yield* file(store)
        yield* TestClock.adjust("59 minutes")
        yield* answerIt(store, id, "once")
        yield* TestClock.adjust("59 minutes")
        assert.strictEqual((yield* store.list)[0]?.state, "approved")
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalExpired")
      }))

    test("a clock that goes back makes no answer live longer", (store) =>
      Effect.gen(function*() {
        yield* TestClock.adjust("2 hours")
        yield* answerIt(store, yield* file(store), "once")
        yield* TestClock.setTime(start)
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalExpired")
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalPending")
      }))

    test("an answer needs an act of a person for exactly this question", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        const other = yield* file(store, request({ digest: "e".repeat(64) }))
        const { question } = yield* store.propose(id)
        const act = agreeTo(question, "once")
        const attempts: ReadonlyArray<readonly [string, string, HumanAct, AnswerOptions?]> = [
          ["another request", other, act],
          ["another kind", id, { ...act, kind: "sign" }],
          ["another digest", id, { ...act, digest: "0".repeat(64) }],
          ["no digest", id, { ...act, digest: "" }],
          ["another rule", id, act, { answers: ["always"], rules: ["allow: fs.write(src/a/**)"] }],
          ["fewer answers", id, act, { answers: ["once"] }]
        ]
        for (const [what, which, given, options] of attempts) {
          assert.strictEqual(yield* tagOf(store.answer(which, given, options)), "HumanRequired", what)
        }
        for (const choice of ["", "yes", "Once", "once ", "approved"]) {
          assert.strictEqual(yield* tagOf(store.answer(id, { ...act, choice })), "AnswerRefused", choice)
        }
        const { choice: _, ...none } = act
        assert.strictEqual(yield* tagOf(store.answer(id, none)), "AnswerRefused")
        assert.deepStrictEqual((yield* store.list).map(({ state }) => state), ["pending", "pending"])
      }))

    for (const refusal of ["no", "never"] as const) {
      test(`a person changes "${refusal}", and no other way undoes it`, (store) =>
        Effect.gen(function*() {
          const again = { again: true }
          const id = yield* file(store)
          const before = yield* store.propose(id, again)
          yield* answerIt(store, id, refusal)
          assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalRejected")
          for (const answer of ["once", "session", "always", "no", "never"] as const) {
            assert.strictEqual(yield* tagOf(answerIt(store, id, answer)), "ApprovalClosed", answer)
            // What was shown before the refusal said nothing of it.
            const late = yield* tagOf(store.answer(id, agreeTo(before.question, answer), again))
            assert.strictEqual(late, refusal === "no" ? "HumanRequired" : "AnswerRefused", answer)
          }
          assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalRejected")
          if (refusal === "never") {
            const error = yield* Effect.flip(store.propose(id, again))
            assert.include(error.remediation, `kiwi permissions remove ${id}`)
            yield* Effect.flatMap(RememberedRules, (rules) => rules.remove([id]))
          }
          const { question } = yield* store.propose(id, again)
          assert.deepStrictEqual(question.choices?.map(({ value }) => value), ["once", "session", "always"])
          assert.include(question.details, `It was refused: "${refusal}", answered at /dev/pts/3`)
          yield* store.answer(id, agreeTo(question, "once"), again)
          assert.strictEqual((yield* store.require(request())).rule, "approved once")
          assert.strictEqual(yield* tagOf(store.propose(id, again)), "ApprovalClosed")
          assert.strictEqual(yield* tagOf(store.require(request())), "ApprovalPending")
        }))
    }

    test("a refusal is changed as long as it holds", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        yield* answerIt(store, id, "no")
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* tagOf(store.propose(id, { again: true })), "ApprovalClosed")
      }))

    test("an answer counts once, and not for a request that was replaced", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        const { question } = yield* store.propose(id)
        yield* store.answer(id, agreeTo(question, "no"))
        assert.strictEqual(yield* tagOf(store.answer(id, agreeTo(question, "once"))), "ApprovalClosed")
        assert.strictEqual((yield* store.list)[0]?.state, "rejected")
        const changed = yield* file(store, request({ digest: "e".repeat(64) }))
        const shown = yield* store.propose(changed)
        yield* file(store, request({ digest: "e".repeat(64), asks: [writes("/etc/passwd")] }))
        assert.strictEqual(yield* tagOf(store.answer(changed, agreeTo(shown.question, "once"))), "ApprovalNotFound")
      }))

    test("what nobody could read whole is agreed to at a terminal, and refused anywhere", (store) =>
      Effect.gen(function*() {
        const ways = ["terminal", "passphrase", "embedder", "elicitation", "approver", "init"] as const
        const answers = ["once", "session", "always", "no", "never"] as const
        for (const [at, by] of ways.entries()) {
          for (const [index, answer] of answers.entries()) {
            const ask = writes(`d${at}${index}/x`, `allow: fs.write(d${at}${index}/**)`)
            const digest = `${at}${index}`.repeat(32)
            const id = yield* file(store, request({ digest, asks: [ask], unreadable: ["parameters"] }))
            const { question } = yield* store.propose(id)
            const tag = yield* tagOf(store.answer(id, { ...agreeTo(question, answer), by }))
            const isSeen = at < 3 || answer === "no" || answer === "never"
            assert.strictEqual(tag, isSeen ? "Approved" : "AnswerRefused", `${answer} by ${by}`)
            if (!isSeen) yield* answerIt(store, id, "no")
          }
        }
        const made = yield* (yield* RememberedRules).current
        assert.deepStrictEqual(made.filter(({ rule }) => /allow: fs.write\(d[345]/.test(rule)), [])
      }))

    test("always makes the offered rules, settles what they cover, and leaves the rest", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        const alike = yield* file(store, request({ digest: "e".repeat(64), asks: [writes("src/b.ts")] }))
        const elsewhere = request({ digest: "f".repeat(64), asks: [writes("infra/b.ts", "allow: fs.write(infra/**)")] })
        yield* file(store, elsewhere)
        yield* file(store, request({ digest: "1".repeat(64), caller: { ...agent, client: "eve" } }))
        yield* file(store, request({ digest: "2".repeat(64), asks: [writes("src/c.ts"), writes("/x", "")] }))
        yield* answerIt(store, id, "always")
        const remembered = yield* RememberedRules
        assert.deepStrictEqual(yield* remembered.current, [{
          id,
          rule: "allow: fs.write(src/**)",
          client: "ada",
          at: "2026-11-22T10:00:00.000Z",
          by: "answered at /dev/pts/3",
          answers: ["default: changes ask"],
          approval: id
        }])
        const states = (yield* store.list).map((one) => [one.id === id || one.id === alike, one.state])
        assert.deepStrictEqual(states, [
          [true, "approved"],
          [true, "approved"],
          [false, "pending"],
          [false, "pending"],
          [false, "pending"]
        ])
      }))

    const runs = (text: string): Ask => ({
      access: { _tag: "Command", capability: "process.exec", words: text.split(" "), text },
      rule: "default: changes ask",
      reason: "runs a program",
      offer: `allow: process.exec(${text})`
    })
    const reaches = (host: string): Ask => ({
      access: { _tag: "Host", capability: "net.http", host, port: 443 },
      rule: "default: changes ask",
      reason: "reaches a server",
      offer: `allow: net.http(${host})`
    })
    const reads = (path: string, below?: true): Ask => ({
      access: { _tag: "Path", capability: "fs.read", path, ...(below === undefined ? {} : { below }) },
      rule: "default: changes ask",
      reason: "reads",
      offer: `allow: fs.read(${path}${below === undefined ? "" : "/**"})`
    })
    const docs = (path: string): Ask => writes(path, "allow: fs.write(docs/**)")
    const doc = docs("docs/x.md")
    type Case = readonly [rule: string, first: Ask, other: ReadonlyArray<Ask>, settled: boolean]
    const changedRules: ReadonlyArray<Case> = [
      ["allow: fs.write(docs/**)", writes("docs/x.md", "allow: fs.write(docs/x.md)"), [
        writes("docs/y.md", "allow: fs.write(docs/y.md)")
      ], true],
      ["allow: fs.write(docs/*.md)", doc, [docs("docs/y.md")], true],
      ["allow: fs.write(docs/*.md)", doc, [docs("docs/y.txt")], false],
      ["allow: fs.write(docs/*.md)", doc, [docs("docs/deep/y.md")], false],
      ["allow: fs.write(docs/*.md)", doc, [docs("docs/[xy].md")], true],
      ["allow: fs.write(docs/x.md)", doc, [docs("docs/y.md")], false],
      ["allow: fs.write(docs/**)", doc, [docs("docs/y.md"), docs("src/y.md")], false],
      ["allow: fs.write(docs/**)", doc, [docs("docs/y.md"), docs("docs/z.md")], true],
      ["allow: fs.write(docs/**)", doc, [{ ...docs("docs/y.md"), rule: "user: ask: fs.write(**)" }], false],
      ["allow: fs.write(docs/**)", doc, [docs("docs/.env")], false],
      ["allow: fs.write(docs/**)", doc, [runs("docs/y.md")], false],
      ["allow: process.exec(npm *)", runs("npm test"), [runs("npm ci")], true],
      ["allow: process.exec(npm *)", runs("npm test"), [runs("pnpm ci")], false],
      ["allow: process.exec(npm test)", runs("npm test"), [runs("npm test x")], false],
      ["allow: net.http(*.x.org)", reaches("a.x.org"), [reaches("b.x.org")], true],
      ["allow: net.http(*.x.org)", reaches("a.x.org"), [reaches("b.y.org")], false],
      ["allow: fs.read(src)", reads("src"), [reads("src", true)], false],
      ["allow: fs.read(src)", reads("src"), [reads("src/a")], false],
      ["allow: fs.read(src/*)", reads("src"), [reads("src", true)], false],
      ["allow: fs.read(src/**)", reads("src"), [reads("src", true)], true],
      ["allow: fs.read(src/**)", reads("src", true), [reads("src")], true],
      ["allow: fs.read(src/**)", reads("src", true), [reads("src/lib", true)], true],
      ["allow: fs.read(src/lib/**)", reads("src", true), [reads("src", true)], false],
      ["allow: fs.read(~/notes/**)", reads("/memory/home/notes/a"), [reads("/memory/home/notes/b")], true],
      ["allow: fs.read(~/notes/**)", reads("/memory/home/notes/a"), [reads("/memory/home/other")], false],
      ["deny: fs.read(src/keys)", reads("src", true), [reads("src/keys", true)], true],
      ["deny: fs.read(src/keys)", reads("src", true), [reads("src/lib", true)], false],
      ["deny: fs.write(docs/**)", doc, [docs("docs/y.md")], true],
      ["deny: fs.write(docs/**)", doc, [docs("src/y.md"), docs("DOCS/y.md")], true],
      ["deny: fs.write(docs/**)", doc, [docs("src/y.md")], false],
      ["deny: process.exec(npm *)", runs("npm test"), [runs("npm ci")], true]
    ]
    for (const [rule, first, asks, settled] of changedRules) {
      const answer = rule.startsWith("deny") ? "never" : "always"
      const shown = asks.map(({ access }) => showAccess(access)).join(", ")
      test(`"${rule}", given as an answer, ${settled ? "settles" : "leaves"} what waits for ${shown}`, (store) =>
        Effect.gen(function*() {
          const id = yield* file(store, request({ asks: [first] }))
          const other = yield* file(store, request({ digest: "e".repeat(64), asks }))
          yield* answerIt(store, id, answer, { answers: [answer], rules: [rule] })
          const state = (yield* store.list).find((one) => one.id === other)?.state
          assert.strictEqual(state, !settled ? "pending" : answer === "never" ? "rejected" : "approved")
        }))
    }

    test("session makes a rule of that session, never a denial, once and no make none", (store) =>
      Effect.gen(function*() {
        const remembered = yield* RememberedRules
        const answers = ["once", "no", "session", "never"] as const
        for (const [at, answer] of answers.entries()) {
          const more = { digest: `${at}`.repeat(64), asks: [writes(`d${at}/x`, `allow: fs.write(d${at}/**)`)] }
          yield* answerIt(store, yield* file(store, request(more)), answer)
        }
        assert.deepStrictEqual(
          (yield* remembered.current).map(({ rule, session }) => [rule, session]),
          [["allow: fs.write(d2/**)", "s1"], ["deny: fs.write(d3/x)", undefined]]
        )
      }))

    test("a person may change the rule, but not to one that is too wide or about something else", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        const narrower = { answers: ["always"], rules: ["allow: fs.write(src/a.ts)"] } as const
        for (
          const rules of [
            [],
            ["allow: fs.write"],
            ["allow: fs.write(**)"],
            ["allow: fs.write(/**)"],
            ["allow: fs.write(*)"],
            ["allow: process.exec(npm test)"],
            ["allow: kiwi.all"],
            ["allow: *"],
            ["ask: fs.write(src/**)"],
            ["deny: fs.write(src/**)"],
            ["fs.write(src/**)"],
            ["allow: fs.write(src/**)\nallow: kiwi.all"],
            ["allow: fs.write(src/**)", "allow: kiwi.all"],
            [""]
          ]
        ) {
          assert.strictEqual(
            yield* tagOf(store.propose(id, { answers: ["always"], rules })),
            "AnswerRefused",
            JSON.stringify(rules)
          )
        }
        assert.strictEqual(yield* tagOf(store.propose(id, { ...narrower, answers: ["once"] })), "AnswerRefused")
        const { question } = yield* store.propose(id, narrower)
        assert.include(question.details, "always in this project: allow: fs.write(src/a.ts)")
        yield* answerIt(store, id, "always", narrower)
        assert.deepStrictEqual(
          (yield* (yield* RememberedRules).current).map(({ rule }) => rule),
          ["allow: fs.write(src/a.ts)"]
        )
      }))

    test("what no rules would settle can be allowed one time only", (store) =>
      Effect.gen(function*() {
        const { offer: _, ...ask } = writes("src/a.ts")
        const { offer: __, ...opaque } = runs("printf %n HOME")
        const known = runs("git status -s")
        const mixed = [[ask], [opaque, known], [known, opaque], [writes("src/b.ts"), ask], [known, opaque, writes("b")]]
        for (const [at, asks] of mixed.entries()) {
          const id = yield* file(store, request({ digest: `${at}`.padStart(64, "9"), asks }))
          const { question } = yield* store.propose(id)
          assert.deepStrictEqual(question.choices?.map(({ value }) => value), ["once", "no", "never"])
          for (const answer of ["session", "always"] as const) {
            assert.strictEqual(yield* tagOf(store.propose(id, { answers: [answer] })), "AnswerRefused")
          }
        }
        const whole = yield* file(store, request({ digest: "8".repeat(64), asks: [known, writes("src/b.ts")] }))
        const { question } = yield* store.propose(whole)
        assert.deepStrictEqual(question.choices?.map(({ value }) => value), [
          "once",
          "session",
          "always",
          "no",
          "never"
        ])
      }))

    test("at most twenty of one caller wait; another's are not kept out, and ten thousand more leave nothing", (store) =>
      Effect.gen(function*() {
        const digest = (at: number) => at.toString(16).padStart(64, "0")
        for (let at = 0; at < 20; at++) yield* file(store, request({ digest: digest(at) }))
        for (let at = 20; at < 10_020; at++) {
          if (at < 40 || at % 1_000 === 0) {
            assert.strictEqual(yield* tagOf(store.require(request({ digest: digest(at) }))), "ApprovalsFull")
          }
        }
        assert.strictEqual((yield* store.list).length, 20)
        yield* file(store, request({ digest: digest(1), caller: { ...agent, client: "eve" } }))
        assert.strictEqual(yield* tagOf(store.require(request({ digest: digest(3) }))), "ApprovalPending")
        yield* answerIt(store, yield* file(store, request({ digest: digest(3) })), "once")
        yield* file(store, request({ digest: digest(77) }))
      }))

    test("a session's id is enough where one of its requests waits", (store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        assert.strictEqual((yield* store.propose("s1")).approval.id, id)
        yield* file(store, request({ digest: "e".repeat(64) }))
        const error = yield* Effect.flip(store.propose("s1"))
        assert.strictEqual(error._tag === "ApprovalNotFound" && error.several?.length, 2)
        for (const unknown of ["", "s", "s2", id.slice(0, 9), `${id} `, "../..", "*"]) {
          assert.strictEqual(yield* tagOf(store.propose(unknown)), "ApprovalNotFound", unknown)
        }
      }))

    test("what was finished is kept for a day", (store) =>
      Effect.gen(function*() {
        yield* answerIt(store, yield* file(store), "once")
        yield* store.require(request())
        yield* TestClock.adjust("24 hours")
        assert.strictEqual((yield* store.list).length, 1)
        yield* TestClock.adjust("2 hours")
        assert.strictEqual((yield* store.list).length, 0)
      }))
  })
}
