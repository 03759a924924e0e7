// Attacks by calls, as data: families of cases, each in a world with files, tools, rules and links of its own. A case is
// one call, several, or steps between calls. See test/attacks/calls.
// oxlint-disable typescript/no-explicit-any -- an attack is data, and each assertion says what it is
import { assert } from "@effect/vitest"
import { Cause, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { getuid } from "node:process"
import { parse } from "yaml"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { answerIt } from "../../layers/approval/ApprovalStore.contract.ts"
import { agree } from "../trustWorld.ts"
import { type AgentWorld, agentWorld, type AgentWorldOptions, auditOf } from "./agentWorld.ts"

const folder = new URL("../../attacks/calls/", import.meta.url)
/** What no answer, no question and no entry of the audit may have. */
export const canary = "canary-7d1f"

export interface Family {
  readonly world: AgentWorldOptions & {
    readonly links?: Readonly<Record<string, string>>
    readonly git?: boolean | "committed"
  }
  readonly cases: ReadonlyArray<any>
}

export const families = fs.readdirSync(folder).map((file): readonly [string, Family] => [
  file,
  parse(fs.readFileSync(new URL(file, folder), "utf8"))
])

/** Everything in the project and beside it, but what Kiwi and git keep for themselves. */
export const snapshot = ({ outside, project }: AgentWorld): ReadonlyArray<string> =>
  [project, outside].flatMap((root) =>
    fs.readdirSync(root, { recursive: true, withFileTypes: true })
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
      .filter(({ path }) => !path.includes("/.ai/") && !path.startsWith(`${project}/.git/`))
      .map(({ entry, path }) => `${path} ${entry.isFile() ? fs.readFileSync(path, "utf8") : entry.name}`)
  ).toSorted()

const put = (path: string, text: string): void => {
  fs.mkdirSync(dirname(path), { recursive: true })
  fs.writeFileSync(path, text)
}

const link = (world: AgentWorld, path: string, target: string): void => {
  fs.rmSync(join(world.project, path), { recursive: true, force: true })
  fs.symlinkSync(target.replace("{outside}", world.outside), join(world.project, path))
}

export const prepare = Effect.fnUntraced(function*({ world: { git, links = {}, ...options } }: Family) {
  const requests: Array<string> = []
  const world = yield* agentWorld({
    answer: () => "no",
    network: ({ url }) => Effect.sync(() => (requests.push(url), { body: "sent" })),
    ...options
  })
  put(join(world.outside, "secret"), canary)
  fs.mkdirSync(join(world.outside, "dir"))
  for (const file of ["etc/f", "etc/sub/f"]) put(join(world.outside, file), canary)
  for (const [path, target] of Object.entries(links)) link(world, path, target)
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

export type World = Effect.Success<ReturnType<typeof prepare>>

/** A number is a line of the user's `permissions.yaml`; an answer has another id each time. */
const isRule = (found: string | undefined, expected: string | number | undefined): boolean =>
  typeof expected === "number"
    ? found === `user:config/permissions.yaml:${expected}`
    : found === expected || (expected === "remembered" && found?.startsWith("remembered ") === true)

/** Refused by a rule or a person: such a case says by which rule. */
const isByRule = (code: string): boolean => code === "PERMISSION_DENIED" || code.startsWith("APPROVAL_")

/** The call's entries: a request, and the result with the rule by which it was refused. */
export const checkAudit = Effect.fnUntraced(function*(
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

const signAll = Effect.gen(function*() {
  const signatures = yield* Signatures
  const plan = yield* signatures.plan({ id: "**", tier: "project" })
  yield* signatures.sign(plan, agree(plan.request))
})

export const countEntries = (world: World) => Effect.map(auditOf(world), (entries) => entries.length)

/** One call, and what has to be true of it: nothing has changed, and a refusal is the expected one. */
const check = Effect.fnUntraced(function*(
  world: World,
  call: World["call"],
  [tool, parameters]: readonly [string, object],
  one: any
) {
  const [before, entries] = [snapshot(world), yield* countEntries(world)]
  world.requests.length = 0
  world.asked.length = 0
  const answer = yield* Fiber.join(yield* Effect.forkChild(call(tool, parameters, one.dry === true)))
  const text = JSON.stringify(answer)
  const code = answer.error?.code ?? answer.status
  assert.strictEqual(code, one.expect, text)
  assert.notInclude(text, canary)
  assert.deepStrictEqual(snapshot(world), before)
  for (const says of [one.says ?? []].flat()) assert.include(answer.error?.message ?? String(answer.data), says)
  for (const shows of [one.shows ?? []].flat()) assert.include(world.asked.join("\n"), shows)
  const hidden = one.hides === true ? canary : one.hides
  if (hidden !== undefined) assert.notInclude(world.asked.join("\n"), hidden)
  // A person sees what would run as it is; the audit keeps no secret of it.
  if (hidden !== undefined || one.unlogged === true) {
    assert.notInclude(JSON.stringify((yield* auditOf(world)).slice(entries)), hidden ?? canary)
  }
  assert.deepStrictEqual(world.requests, one.sends === undefined ? [] : [one.sends])
  if (one.expect !== "success") yield* checkAudit(world, entries, code, one.rule)
})

const placed = (world: World, value: unknown): any =>
  JSON.parse(JSON.stringify(value).replaceAll("{outside}", world.outside))

/** The last call of a case, after others that have to succeed. */
export const attempt = Effect.fnUntraced(function*(world: World, one: any) {
  const call = yield* world.connect()
  const calls: ReadonlyArray<readonly [string, object]> = placed(world, one.calls ?? [one.call])
  const answers: ReadonlyArray<string> = one.answers ?? []
  for (const [index, earlier] of calls.slice(0, -1).entries()) {
    world.answerWith(() => answers[index] ?? "no")
    assert.strictEqual((yield* call(...earlier)).status, "success", JSON.stringify(earlier))
  }
  world.answerWith(() => answers[calls.length - 1] ?? "no")
  yield* check(world, call, calls.at(-1)!, one)
})

/** Where a path of a step is: in the project, `user:` in the user space, or `home:` in `$KIWI_HOME`, with wildcards. */
const stepPath = ({ home, project, userSpace }: World, path: string): string => {
  const [, where, rest] = /^(?:(user|home):)?(.*)$/su.exec(path) ?? []
  if (where !== "home") return join(where === "user" ? userSpace : project, rest ?? "")
  const found = rest === "" ? [""] : fs.globSync(rest ?? "", { cwd: home })
  assert.lengthOf(found, 1, path)
  return join(home, found[0] ?? "")
}

/** A case in steps: calls, and what happens between them. The last call must not get through. */
export const runSteps = Effect.fnUntraced(function*(world: World, family: Family, { name, steps }: any) {
  const { files = {}, links = {}, own = {}, rules = "", settings = "" } = family.world
  for (const [path, text] of Object.entries(files)) put(join(world.project, path), text)
  for (const [path, text] of Object.entries(own)) put(join(world.project, ".ai/tools", path), text)
  for (const [path, target] of Object.entries(links)) link(world, path, target)
  const userFile = (path: string, text: string) => put(join(world.userSpace, "config", path), text)
  userFile("permissions.yaml", rules)
  userFile("kiwi.yaml", settings)
  if (family.world.own !== undefined) yield* world.use(signAll)
  // What earlier cases had is believed no longer.
  yield* TestClock.adjust("1 second")
  // Answers are kept by client.
  const client = name.replaceAll(/[^a-z]/g, "-").slice(0, 40)
  let call = yield* world.connect(client)
  let waiting: string | undefined
  let person = "no"
  const last = steps.findLastIndex(({ call: made }: any) => made !== undefined)
  for (const [index, step] of steps.entries()) {
    if (step.call !== undefined) {
      person = step.person ?? person
      world.answerWith(() => person)
      const run = step.client === undefined ? call : yield* world.connect(`${step.client}-${client}`)
      if (index === last) {
        yield* check(world, run, placed(world, step.call), step)
        continue
      }
      const answer = yield* Fiber.join(yield* Effect.forkChild(run(step.call[0], step.call[1], step.dry === true)))
      assert.strictEqual(answer.error?.code ?? answer.status, step.expect, JSON.stringify(answer))
      waiting = answer.approval_id ?? waiting
    } else if (step.approve !== undefined) {
      const answering = world.use(Effect.flatMap(ApprovalStore, (store) => answerIt(store, waiting!, step.approve)))
      if (step.refused === true) yield* Effect.flip(answering as Effect.Effect<void, unknown>)
      else yield* answering
    } else if (step.after !== undefined) yield* TestClock.adjust(step.after)
    else if (step.rules !== undefined) userFile("permissions.yaml", step.rules)
    else if (step.settings !== undefined) userFile("kiwi.yaml", step.settings)
    else if (step.connect !== undefined) call = yield* world.connect(client)
    else if (step.put !== undefined) put(stepPath(world, step.put), step.text)
    else if (step.append !== undefined) fs.appendFileSync(stepPath(world, step.append), step.text)
    else if (step.copy !== undefined) {
      put(stepPath(world, step.to), fs.readFileSync(stepPath(world, step.copy), "utf8"))
    } else if (step.remove !== undefined) fs.rmSync(stepPath(world, step.remove), { recursive: true })
    else if (step.link !== undefined) link(world, step.link, step.to)
    else if (step.mode !== undefined) fs.chmodSync(stepPath(world, step.mode), Number.parseInt(step.to, 8))
    else if (step.owner !== undefined) {
      // Only root can give a file to somebody else.
      if (getuid?.() !== 0) return
      fs.chownSync(stepPath(world, step.owner), step.to, -1)
    } else if (step.sign !== undefined) {
      put(join(world.project, ".ai/tools", step.sign), step.text)
      yield* world.use(signAll)
    } else throw new Error(`no step: ${JSON.stringify(step)}`)
  }
})

/** Everything that goes wrong in a family, by the case. */
export const each = Effect.fnUntraced(function*(family: Family, run: (one: any) => Effect.Effect<void, any, any>) {
  const wrong: Array<string> = []
  for (const one of family.cases) {
    yield* run(one).pipe(
      Effect.catchCause((cause) =>
        Effect.sync(() => wrong.push(`${one.name}: ${(Cause.squash(cause) as Error).message}`))
      )
    )
  }
  assert.deepStrictEqual(wrong, [])
})

export const checkLog = (world: World) =>
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
