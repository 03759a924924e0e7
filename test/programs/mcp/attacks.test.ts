// oxlint-disable typescript/no-explicit-any -- an attack is data, and each assertion says what it is
// Attacks by calls, through the whole stack: none gets through, and each that is refused is in the audit, with the rule.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import { generateKeyPairSync, sign } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import type { Token } from "../../../src/services/capability/CapabilityTokens.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import { codeOf, innermost } from "../../../src/services/error/KiwiError.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { answerIt } from "../../layers/approval/ApprovalStore.contract.ts"
import { call as callProxy } from "../../layers/proxy/calls.ts"
import { type AgentWorld, agentWorld, type AgentWorldOptions, auditOf } from "../../support/mcp/agentWorld.ts"
import { agree } from "../../support/trustWorld.ts"

const folder = new URL("../../attacks/calls/", import.meta.url)
const canary = "canary-7d1f"

interface Family {
  readonly world: AgentWorldOptions & {
    readonly links?: Readonly<Record<string, string>>
    readonly git?: boolean | "committed"
  }
  readonly cases: ReadonlyArray<any>
}

const families = fs.readdirSync(folder).map((file): readonly [string, Family] => [
  file,
  parse(fs.readFileSync(new URL(file, folder), "utf8"))
])

/** Everything in the project and beside it, but what Kiwi and git keep for themselves. */
const snapshot = ({ outside, project }: AgentWorld): ReadonlyArray<string> =>
  [project, outside].flatMap((root) =>
    fs.readdirSync(root, { recursive: true, withFileTypes: true })
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
      .filter(({ path }) => !path.includes("/.ai/") && !path.startsWith(`${project}/.git/`))
      .map(({ entry, path }) => `${path} ${entry.isFile() ? fs.readFileSync(path, "utf8") : entry.name}`)
  ).toSorted()

const prepare = Effect.fnUntraced(function*({ world: { git, links = {}, ...options } }: Family) {
  const requests: Array<string> = []
  const world = yield* agentWorld({
    answer: () => "no",
    network: ({ url }) => Effect.sync(() => (requests.push(url), { body: "sent" })),
    ...options
  })
  fs.writeFileSync(join(world.outside, "secret"), canary)
  for (const inside of ["dir", "etc/sub"]) fs.mkdirSync(join(world.outside, inside), { recursive: true })
  for (const file of ["etc/f", "etc/sub/f"]) fs.writeFileSync(join(world.outside, file), canary)
  for (const [path, target] of Object.entries(links)) {
    fs.symlinkSync(target.replace("{outside}", world.outside), join(world.project, path))
  }
  fs.mkdirSync(join(world.project, ".git/hooks"), { recursive: true })
  const run = (...args: ReadonlyArray<string>) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: world.project })
  if (git !== undefined) run("init", "-q")
  if (git === "committed") {
    run("add", "-A", ":!.ai")
    run("commit", "-qm", "start")
    fs.appendFileSync(join(world.project, ".npmrc"), canary)
  }
  return { ...world, requests }
})

type World = Effect.Success<ReturnType<typeof prepare>>

/** A number is a line of the user's `permissions.yaml`; an answer has another id each time. */
const isRule = (found: string | undefined, expected: string | number | undefined): boolean =>
  typeof expected === "number"
    ? found === `user:config/permissions.yaml:${expected}`
    : found === expected || (expected === "remembered" && found?.startsWith("remembered ") === true)

/** The call's entries: a request, and the result with the rule by which it was refused. */
const checkAudit = Effect.fnUntraced(function*(
  world: World,
  before: number,
  refused: string,
  rule: string | number | undefined
) {
  const entries = (yield* auditOf(world)).slice(before)
  const results = entries.filter(({ kind }) => kind === "result")
  assert.lengthOf(results, entries.filter(({ kind }) => kind === "request").length)
  const last = results.at(-1)
  assert.strictEqual(last?.kind === "result" && last.error?.code, refused)
  assert.notStrictEqual(last?.kind === "result" && last.outcome, "success")
  const by = last?.kind === "result" ? last.rule : undefined
  if (rule !== undefined || isByRule(refused)) assert.isTrue(isRule(by, rule), `by ${by}, not ${rule}`)
})

/** Refused by a rule or a person: such a case says by which rule. */
const isByRule = (code: string): boolean =>
  code === "PERMISSION_DENIED" || code.startsWith("APPROVAL_")

const signAll = Effect.gen(function*() {
  const signatures = yield* Signatures
  const plan = yield* signatures.plan({ id: "**", tier: "project" })
  yield* signatures.sign(plan, agree(plan.request))
})

const count = (world: World) => Effect.map(auditOf(world), (entries) => entries.length)

const placed = (world: World, value: unknown): any =>
  JSON.parse(JSON.stringify(value).replaceAll("{outside}", world.outside))

const attempt = Effect.fnUntraced(function*(world: World, one: any) {
  const call = yield* world.connect()
  const calls: ReadonlyArray<readonly [string, object]> = placed(world, one.calls ?? [one.call])
  const answers: ReadonlyArray<string> = one.answers ?? []
  for (const [index, earlier] of calls.slice(0, -1).entries()) {
    world.answerWith(() => answers[index] ?? "no")
    assert.strictEqual((yield* call(...earlier)).status, "success", JSON.stringify(earlier))
  }
  world.answerWith(() => answers[calls.length - 1] ?? "no")
  const [before, entries] = [snapshot(world), yield* count(world)]
  world.requests.length = 0
  world.asked.length = 0
  const answer = yield* call(...calls.at(-1)!)
  const text = JSON.stringify(answer)
  assert.notInclude(text, canary)
  assert.deepStrictEqual(snapshot(world), before)
  if (one.expect === "success") {
    assert.strictEqual(answer.status, "success", text)
    if (one.says !== undefined) assert.include(String(answer.data), one.says)
    if (one.sends !== undefined) assert.deepStrictEqual(world.requests, [one.sends])
    return
  }
  const code = answer.error?.code ?? answer.status
  if (process.env["KIWI_SHOW"]) console.log(`${code}\t${one.name}\t${answer.error?.message}`)
  assert.strictEqual(answer.status, "error", text)
  assert.strictEqual(code, one.expect, text)
  if (one.says !== undefined) assert.include(answer.error?.message, one.says)
  assert.isEmpty(world.requests)
  if (one.shows !== undefined) assert.include(world.asked.join("\n"), one.shows)
  if (one.hides === true) {
    assert.notInclude(world.asked.join("\n"), canary)
    assert.notInclude(JSON.stringify((yield* auditOf(world)).slice(entries)), canary)
  }
  yield* checkAudit(world, entries, code, one.rule)
})

/** Everything that goes wrong in a family, by the case. */
const each = Effect.fnUntraced(function*(family: Family, run: (one: any) => Effect.Effect<void, any, any>) {
  const wrong: Array<string> = []
  for (const one of family.cases) {
    yield* run(one).pipe(
      Effect.catchDefect((defect) => Effect.sync(() => wrong.push(`${one.name}: ${(defect as Error).message}`)))
    )
  }
  assert.deepStrictEqual(wrong, [])
})

const checkLog = (world: World) =>
  Effect.gen(function*() {
    const report = yield* world.use(Effect.flatMap(AuditLog, ({ verify }) => verify))
    assert.deepStrictEqual(report.problems, [])
    const logs = join(world.project, ".ai/logs/audit")
    for (const entry of fs.readdirSync(logs, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith(".jsonl")) continue
      const text = fs.readFileSync(join(entry.parentPath, entry.name), "utf8")
      assert.notMatch(text, /[^\n\P{Cc}\x80-\x9f]/u)
      assert.notInclude(text, canary)
      for (const line of text.trimEnd().split("\n")) assert.isNumber(JSON.parse(line).n)
    }
  })

const familyOf = (name: string): Family => families.find(([file]) => file === name)![1]

const bySteps = new Set(["approvals.yaml", "tokens.yaml"])

describe.each(families.filter(([file]) => !bySteps.has(file)))("%s", (_, family) => {
  it.effect("none of it gets through", () =>
    Effect.gen(function*() {
      const world = yield* prepare(family)
      yield* each(family, (one) => attempt(world, one))
      yield* checkLog(world)
    }), 120_000)
})

describe("approvals.yaml", () => {
  it.effect("none of it gets through", () => {
    const family = familyOf("approvals.yaml")
    const restore = (world: World) => {
      const { files = {}, own = {}, rules = "" } = family.world
      for (const [path, text] of Object.entries(files)) fs.writeFileSync(join(world.project, path), text)
      for (const [path, text] of Object.entries(own)) fs.writeFileSync(join(world.project, ".ai/tools", path), text)
      fs.writeFileSync(join(world.userSpace, "config/permissions.yaml"), rules)
      return world.use(signAll)
    }
    return Effect.flatMap(prepare(family), (world) =>
      each(family, ({ name, steps }) =>
        Effect.gen(function*() {
          yield* restore(world)
          // Answers are kept by client.
          const client = name.replaceAll(/[^a-z]/g, "-").slice(0, 40)
          let call = yield* world.connect(client)
          let waiting: string | undefined
          let person = "no"
          for (const [index, step] of steps.entries()) {
            const isLast = index === steps.length - 1
            if (step.call !== undefined) {
              person = step.person ?? person
              world.answerWith(() => person)
              const run = step.client === undefined ? call : yield* world.connect(`${step.client}-${client}`)
              const [before, entries] = [snapshot(world), yield* count(world)]
              world.requests.length = 0
              const fiber = yield* Effect.forkChild(run(step.call[0], step.call[1], step.dry === true))
              const answer = yield* Fiber.join(fiber)
              const code = answer.error?.code ?? answer.status
              if (process.env["KIWI_SHOW"]) console.log(`${code}\t${isLast}\t${answer.error?.message}`)
              waiting = answer.approval_id ?? waiting
              assert.strictEqual(code, step.expect, JSON.stringify(answer))
              if (!isLast) continue
              assert.notStrictEqual(code, "success")
              assert.deepStrictEqual(snapshot(world), before)
              assert.isEmpty(world.requests)
              yield* checkAudit(world, entries, code, step.rule)
            } else if (step.approve !== undefined) {
              const answering = world.use(
                Effect.flatMap(ApprovalStore, (store) => answerIt(store, waiting!, step.approve))
              )
              if (step.refused === true) yield* Effect.flip(answering as Effect.Effect<void, unknown>)
              else yield* answering
            } else if (step.after !== undefined) yield* TestClock.adjust(step.after)
            else if (step.rules !== undefined) {
              fs.writeFileSync(join(world.userSpace, "config/permissions.yaml"), step.rules)
            } else if (step.connect !== undefined) call = yield* world.connect(client)
            else if (step.put !== undefined) fs.writeFileSync(join(world.project, step.put), step.text)
            else if (step.sign !== undefined) {
              fs.writeFileSync(join(world.project, ".ai/tools", step.sign), step.text)
              yield* world.use(signAll)
            }
          }
        })))
  }, 120_000)
})

/** What an attacker makes of a token that they have. */
const spoilt: Readonly<Record<string, (token: string, other: string) => string>> = {
  payload: (token) => {
    const [header, payload, signature] = token.split(".")
    const claims = JSON.parse(Buffer.from(payload!, "base64url").toString())
    const wider = { ...claims, caps: { allow: [{ capability: "fs.read", scope: ["**"] }], deny: [] } }
    return [header, Buffer.from(JSON.stringify(wider)).toString("base64url"), signature].join(".")
  },
  "no-algorithm": (token) => withHeader(token, { alg: "none" }),
  "key-name": (token) => withHeader(token, { kid: "0000000000000000" }),
  cut: (token) => token.slice(0, -8),
  "no-signature": (token) => `${token.split(".").slice(0, 2).join(".")}.`,
  swapped: (token, other) => [...token.split(".").slice(0, 2), other.split(".")[2]].join("."),
  "own-key": (token) => {
    const text = token.split(".").slice(0, 2).join(".")
    const { privateKey } = generateKeyPairSync("ed25519")
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`
  }
}

const withHeader = (token: string, change: object): string => {
  const [header, ...rest] = token.split(".")
  const changed = { ...JSON.parse(Buffer.from(header!, "base64url").toString()), ...change }
  return [Buffer.from(JSON.stringify(changed)).toString("base64url"), ...rest].join(".")
}

describe("tokens.yaml", () => {
  it.effect("none of it gets through", () =>
    Effect.gen(function*() {
      const family = familyOf("tokens.yaml")
      const world = yield* prepare(family)
      yield* each(family, (one) => {
        const whole = Effect.gen(function*() {
          const tokens = yield* CapabilityTokens
          const mint = (thread: string, allow: any) =>
            tokens.mint({ thread, directive: "d", grants: { allow, deny: one.denies ?? [] } })
          let [thread, token] = ["t", yield* mint("t", one.parent ?? one.grants)] as [
            string | undefined,
            Token | undefined
          ]
          const { jti } = yield* tokens.verify(token!, { thread: "t" })
          if (one.child !== undefined) {
            const request = {
              allow: one.child.map(({ optional, ...grant }: any) => ({ ...grant, ...(optional ? { optional } : {}) })),
              deny: []
            }
            token = yield* tokens.attenuate(token!, { thread: "t" }, { thread: "child", directive: "e", request })
            thread = "child"
          }
          const spoil = spoilt[one.spoil]
          if (spoil !== undefined) {
            token = Redacted.make(spoil(Redacted.value(token!), Redacted.value(yield* mint("t", [])))) as Token
          }
          if (one.spoil === "no-thread") thread = undefined
          if (one.spoil === "no-token") token = undefined
          if (one.spoil === "other-thread") thread = "other"
          if (one.spoil === "revoked" || one.spoil === "parent-revoked") yield* tokens.revoke(jti)
          if (one.spoil === "late") yield* TestClock.adjust("2 hours")
          if (one.spoil === "forgotten") yield* tokens.rotate({ forget: true })
          return yield* callProxy(one.call[0], one.call[1], {
            caller: { surface: "mcp", client: "agent", session: `s${one.name}` },
            ...(thread === undefined ? {} : { thread }),
            ...(token === undefined ? {} : { token })
          })
        })
        return Effect.gen(function*() {
          const [before, entries] = [snapshot(world), yield* count(world)]
          world.requests.length = 0
          const error = innermost(yield* Effect.flip(world.use(whole) as Effect.Effect<unknown, any>))
          if (process.env["KIWI_SHOW"]) console.log(`${error._tag}\t${one.name}\t${error.message}`)
          assert.strictEqual(error._tag, one.expect, error.message)
          if (one.says !== undefined) assert.include(error.message, one.says)
          assert.deepStrictEqual(snapshot(world), before)
          assert.isEmpty(world.requests)
          // An escalation is refused before there is a call.
          if (error._tag !== "PermissionEscalation") yield* checkAudit(world, entries, codeOf(error), one.rule)
        })
      })
      yield* checkLog(world)
    }), 120_000)
})

it("there are enough of them, and each is another", () => {
  const all = families.flatMap(([, { cases }]) => cases.map((one) => JSON.stringify({ ...one, name: "" })))
  assert.isAtLeast(all.length, 200)
  assert.strictEqual(new Set(all).size, all.length)
})
