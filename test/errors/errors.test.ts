// Every error there is, made for real: what it says, what it must not say, and docs/errors.md, which shows it.
// KIWI_WRITE_DOCS=1 writes the page anew.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import type { Schema } from "effect"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { renderError } from "../../src/programs/cli/failure.ts"
import { uncolored } from "../../src/programs/cli/text.ts"
import * as embed from "../../src/programs/embed.ts"
import { outcomeOf } from "../../src/services/call/callOutcome.ts"
import { agentRemedy } from "../../src/services/error/agentRemedy.ts"
import type { ErrorCause, ErrorObject, KiwiError } from "../../src/services/error/KiwiError.ts"
import { codeOf, innermost, isKiwiError, stateOf, toErrorObject } from "../../src/services/error/KiwiError.ts"
import type { PathProtected } from "../../src/services/filesystem/fileErrors.ts"
import type { LockMissing, LockQueryError } from "../../src/services/lockfile/Lockfiles.ts"
import type { LockWriteError } from "../../src/services/lockfile/LockfileStore.ts"
import type { ChainReason, ToolCallError } from "../../src/services/proxy/ToolProxy.ts"
import { ToolChainError } from "../../src/services/proxy/ToolProxy.ts"
import type { HumanRequired } from "../../src/services/trust/HumanAct.ts"
import { errorClasses, stringsOf } from "./catalog.ts"
import { environment, loadExamples, planted } from "./Example.ts"
import { render, shownOf } from "./page.ts"
import { commandsIn, isUnderstood } from "./remedies.ts"

const root = new URL("../../", import.meta.url)
const examples = await loadExamples()
const shown = new Map<string, ErrorObject>()

it("every class has one sentence about what it stands for", () => {
  assert.deepStrictEqual(errorClasses.filter(({ doc }) => !/^[A-Z].{15,}\.$/.test(doc)).map(({ name }) => name), [])
})

it("every class has exactly one example, and every example a class", () => {
  const names = errorClasses.filter(({ wraps }) => !wraps).map(({ name }) => name).toSorted()
  assert.deepStrictEqual(examples.map(({ name }) => name).toSorted(), names, "examples are in test/errors/examples")
})

it("programs that embed Kiwi can name every error of a service", () => {
  const ofServices = errorClasses.filter(({ path }) => path.startsWith("src/services/"))
  assert.deepStrictEqual(ofServices.filter(({ name }) => !(name in embed)).map(({ name }) => name), [])
})

/** Those of the lock tools and the file tools are causes of `BuiltinFailed`. */
type CallErrorName =
  | (Exclude<ToolCallError, ToolChainError> | ChainReason | PathProtected)["_tag"]
  | (LockQueryError | LockWriteError | LockMissing | HumanRequired)["_tag"]
  // Of threads.
  | "BudgetExceeded"

/** What search shows of an item that a call of it fails with each, and whether the audit says `denied`. */
const refused: Readonly<Record<CallErrorName, ReturnType<typeof stateOf>>> = {
  Unsigned: "unsigned",
  SignerUntrusted: "untrusted",
  ItemUnapproved: "untrusted",
  Tampered: "tampered",
  SignatureMalformed: "tampered",
  SystemItemAltered: "tampered",
  ProjectRestricted: "restricted",
  PermissionDenied: "denied",
  RateLimited: "denied",
  ConcurrencyLimited: "denied",
  LoopDetected: "denied",
  CallsTooDeep: "denied",
  GoesBack: "denied",
  HistoryDamaged: "denied",
  HidesItem: "denied",
  ChildRefused: "denied",
  ChildSchemasMissing: "denied",
  SandboxUnavailable: "denied",
  ApprovalPending: "denied",
  ApprovalRejected: "denied",
  ApprovalExpired: "denied",
  ApprovalsFull: "denied",
  ApprovalsUnavailable: "invalid",
  PermissionEscalation: "denied",
  BudgetExceeded: "denied",
  TokenMissing: "denied",
  TokenInvalid: "denied",
  TokenRevoked: "denied",
  LockMissing: "denied",
  LockMismatch: "denied",
  LockInvalid: "denied",
  HumanRequired: "denied",
  PathProtected: "denied",
  RequestRefused: "denied",
  RequirementsMissing: "missing_command",
  DependenciesMissing: "missing_command",
  AuditUnavailable: "invalid",
  BuiltinFailed: "invalid",
  ChainCycle: "invalid",
  ChainLinkBroken: "invalid",
  ChainLinkMissing: "invalid",
  ChainMalformed: "invalid",
  ChainTooDeep: "invalid",
  ChainVersionMismatch: "invalid",
  ConfigInvalid: "invalid",
  DependenciesInvalid: "invalid",
  EnvConfigInvalid: "invalid",
  ItemAmbiguous: "invalid",
  ItemIdInvalid: "invalid",
  ItemInvalid: "invalid",
  ItemNotFound: "invalid",
  ItemUnreadable: "invalid",
  LockScopeMissing: "invalid",
  LockTimeout: "invalid",
  LockUnavailable: "invalid",
  ParametersInvalid: "invalid",
  ParametersUnpassable: "invalid",
  PrimitiveConfigInvalid: "invalid",
  PrimitiveUnknown: "invalid",
  RequestFailed: "invalid",
  ResponsePathMissing: "invalid",
  SchemaUnusable: "invalid",
  SecretMissing: "invalid",
  SecretUnavailable: "invalid",
  StreamFailed: "invalid",
  TemplateUnresolved: "invalid",
  TemplateUnsafe: "invalid",
  TokensUnavailable: "invalid",
  ToolFailed: "invalid",
  ToolOutputInvalid: "invalid",
  ToolTimeout: "invalid",
  ToolUnstartable: "invalid",
  UploadRefused: "invalid",
  WriteRefused: "invalid"
}

const isOfCalls = (name: string): name is CallErrorName => Object.hasOwn(refused, name)

/** What the class itself says to search and to the audit, by itself and inside a chain's error. */
const assertSays = (name: string, error: KiwiError) => {
  const expected = isOfCalls(name) ? refused[name] : "invalid"
  const inner = innermost(error)
  const inChain = new ToolChainError({
    chain: [],
    failedAt: { toolId: "", configPath: "", validationErrors: [] },
    reason: inner as ChainReason
  })
  for (const one of [error, inner, inChain]) {
    const { error: recorded, outcome } = outcomeOf(Exit.fail(one))
    assert.strictEqual(recorded?.code, codeOf({ _tag: name }))
    if (inner.asked === true) assert.strictEqual(outcome, "asked")
    else assert.strictEqual(outcome, expected === "invalid" || expected === "missing_command" ? "failure" : "denied")
    assert.strictEqual(stateOf(one), expected)
    assert.strictEqual(toErrorObject(one).retryable, toErrorObject(inner).retryable)
  }
}

describe("only the class knows", () => {
  const sources = new Map(
    globSync("src/**/*.ts", { cwd: root.pathname }).map((path) => [path, readFileSync(new URL(path, root), "utf8")])
  )
  /** Files that have one of the words as a string, but for those that may. */
  const naming = (words: ReadonlyArray<string>, allowed: RegExp): ReadonlyArray<string> =>
    [...sources].flatMap(([path, source]) =>
      allowed.test(path)
        ? []
        : words.some((word) => source.includes(`"${word}"`))
        ? stringsOf(path, source).filter((text) => words.includes(text)).map((text) => `${path}: ${text}`)
        : []
    )

  it("its code: nothing else lists codes, but what plays an agent", () => {
    const codes = errorClasses.map(({ code }) => code)
    assert.deepStrictEqual(naming(codes, /^src\/programs\/demo\//), [
      // Of a defect, which has no class.
      "src/services/call/callOutcome.ts: INTERNAL_ERROR"
    ])
  })

  it("what a step is called: nothing but the pipeline lists steps", () => {
    const pipeline = "src/layers/proxy/ToolProxyPipeline.ts"
    const steps = [...sources.get(pipeline)!.matchAll(/\.(?:traced|called)\(\s*"(\w+)"/g)].map(([, name]) => name!)
    assert.isAbove(steps.length, 10)
    assert.deepStrictEqual(naming(steps, /\/ToolProxyPipeline\.ts$/), [
      // The two that refuse what can be refused without a call.
      "src/programs/explain.ts: validateConfig",
      "src/programs/explain.ts: validateParameters"
    ])
  })
})

const causes = (cause: ErrorCause | undefined): ReadonlyArray<ErrorCause> =>
  cause === undefined ? [] : [cause, ...causes(cause.cause)]

describe("the example of", () => {
  for (const { file, name, produce } of examples) {
    it.live(`${name} (${file})`, () =>
      Effect.gen(function*() {
        const produced = yield* produce
        if (isKiwiError(produced)) assertSays(name, produced)
        else assert.isFalse(isOfCalls(name), "what a call fails with is made as the error itself")
        const error = shownOf(produced)
        shown.set(name, error)
        assert.strictEqual(error.code, codeOf({ _tag: name }), error.message)
        assert.isNotEmpty(error.message)
        assert.notMatch(error.message, /undefined|\[object|NaN/)
        assert.isNotEmpty(error.remediation, "what can be done?")

        // What a program reads and what a person does.
        const said = `${JSON.stringify(error)}\n${renderError(error, uncolored)}`
        for (const secret of Object.values(planted)) assert.notInclude(said, secret)
        assert.notMatch(said, /\bat (?:async )?(?:\S+ \()?(?:file:|node:|\/)\S*:\d+/, "a stack trace")
        const outside = [...said.matchAll(new RegExp(`${tmpdir()}/[^\\s"',;)]*`, "g"))].map(([path]) => path)
          .filter((path) => !/^\/[^ ]*?\/kiwi-(?:test|cli)-[^/]+\/project(?:\/|$)/.test(path))
        assert.deepStrictEqual(outside, [], "a path outside the project")
        for (const path of [process.env["HOME"] ?? "/root", process.cwd(), process.execPath]) {
          assert.notInclude(said, `${path}/`)
        }
        for (const { code } of causes(error.cause)) assert.notStrictEqual(code, "UNKNOWN")
        if (error.failed_at !== undefined) {
          assert.match(error.failed_at.config_path, /^(?:project|user|system):|^arguments$/)
        }
      }).pipe(Effect.provide(environment), Effect.scoped))
  }
})

describe("remedies", () => {
  it.effect("name only commands that there are", () =>
    Effect.gen(function*() {
      const commands = [...shown.values()].flatMap(({ remediation }) => commandsIn(remediation ?? ""))
      assert.isAbove(commands.length, 10)
      const wrong = yield* Effect.filter(commands, (args) => Effect.map(isUnderstood(args), (is) => !is))
      assert.deepStrictEqual(wrong.map((args) => args.join(" ")), [])
    }))

  it("leave an agent nothing to type into a shell of its own", () => {
    for (const [name, { remediation = "" }] of shown) {
      const told = agentRemedy(remediation)
      if (/^(?:Tell|Ask) the person/.test(told)) continue
      assert.notMatch(told, /\bkiwi (?!.*\bkiwi-mcp\b)|`|\bKIWI_|\s--[a-z]/, name)
      assert.deepStrictEqual(commandsIn(told), [], name)
    }
  })

  it("say what to do, and no more than that", () => {
    for (const [name, { remediation = "" }] of shown) {
      assert.match(remediation, /^(?:[A-Z]|kiwi |install |set )/, name)
      assert.notMatch(remediation, /\.$/, name)
    }
  })
})

const page = new URL("../../docs/errors.md", import.meta.url)

it("docs/errors.md says all of it", async () => {
  const classes = new Map(
    await Promise.all(errorClasses.map(async ({ name, path }) => {
      const module: Readonly<Record<string, { readonly fields: Readonly<Record<string, Schema.Top>> } | undefined>> =
        await import(new URL(path, root).href)
      const found = module[name]
      assert.isDefined(found, `${path} exports ${name}`)
      return [name, found!.fields] as const
    }))
  )
  const exemplified = errorClasses.filter(({ name }) => shown.has(name))
  const text = render(exemplified, ({ name }) => ({
    fields: classes.get(name)!,
    produced: { when: examples.find((example) => example.name === name)!.when, error: shown.get(name)! }
  }))
  if (process.env["KIWI_WRITE_DOCS"] === "1") writeFileSync(page, text)
  assert.strictEqual(readFileSync(page, "utf8"), text, "KIWI_WRITE_DOCS=1 writes it anew")
})
