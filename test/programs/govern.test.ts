// Every action goes through one door: recorded before anything is read, asked about, performed, and recorded again.
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as AuditLogMemory from "../../src/layers/audit/AuditLogMemory.ts"
import * as PermissionGateDefault from "../../src/layers/permission/PermissionGateDefault.ts"
import { withApproval } from "../../src/programs/approvals.ts"
import { copyItem } from "../../src/programs/copyItem.ts"
import { envSync } from "../../src/programs/envSync.ts"
import { execute } from "../../src/programs/execute.ts"
import { help } from "../../src/programs/help.ts"
import { signalHelp } from "../../src/programs/helpSignals.ts"
import { load } from "../../src/programs/load.ts"
import { freezeLocks, pruneLocks, updateLocks } from "../../src/programs/lockfile.ts"
import { readItem, readOutput } from "../../src/programs/mcp/resources.ts"
import { search } from "../../src/programs/search.ts"
import { sign } from "../../src/programs/sign.ts"
import type { AuditEntry } from "../../src/services/audit/AuditEntry.ts"
import { AuditLog, AuditUnavailable } from "../../src/services/audit/AuditLog.ts"
import type { CallWarning } from "../../src/services/call/CallWarning.ts"
import { CallWarnings } from "../../src/services/call/CallWarning.ts"
import { ChainResolver } from "../../src/services/chain/ChainResolver.ts"
import { codeOf, innermost } from "../../src/services/error/KiwiError.ts"
import type { KiwiError } from "../../src/services/error/KiwiError.ts"
import { ItemParser } from "../../src/services/format/ItemParser.ts"
import { Signatures } from "../../src/services/integrity/Signatures.ts"
import { Verifier } from "../../src/services/integrity/Verifier.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { Lockfiles } from "../../src/services/lockfile/Lockfiles.ts"
import type { Action } from "../../src/services/permission/Action.ts"
import { showAction } from "../../src/services/permission/Action.ts"
import { PermissionDenied, PermissionGate } from "../../src/services/permission/PermissionGate.ts"
import { Outputs } from "../../src/services/primitive/Outputs.ts"
import { ItemIndex } from "../../src/services/search/ItemIndex.ts"
import { Settings } from "../../src/services/settings/Settings.ts"
import { HumanGate, HumanRequired } from "../../src/services/trust/HumanAct.ts"
import { ProjectTrust } from "../../src/services/trust/ProjectTrust.ts"
import { caller, kernel, object, tool } from "../layers/proxy/calls.ts"
import { directive, inputs, knowledge, person } from "./items.ts"

const words = "Nobody but its reader may see this"
const secret = "ghp_0123456789abcdef"

const python = `"""Says hello."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
DEPENDENCIES = ["greet>=1"]
CONFIG = {"output": "json"}
`
const say = (version: string) =>
  tool({ version, description: words, input_schema: object({}), config: { command: "say", output: "json" } })

const items = {
  "tools/say.yaml": say("1.0.0"),
  "tools/secret.yaml": tool({
    config: { command: "say", output: "json" },
    requires: { environment: ["TOKEN"] }
  }),
  "tools/hello.py": python,
  "directives/greet.md": directive("greet", words, inputs),
  "knowledge/note.md": knowledge("A note", words)
}

/** A kernel in memory with a gate that denies one action, an audit that a disk may refuse, and a person who says yes. */
const world = () => {
  const project = new Map<string, string>(Object.entries(items))
  const user = new Map<string, string>()
  const lockfiles = { project: new Map<string, string>(), user: new Map<string, string>() }
  const made = {
    project,
    user,
    lockfiles,
    denies: undefined as Action["_tag"] | undefined,
    refuses: undefined as AuditEntry["kind"] | undefined,
    asked: [] as Array<Action>,
    warned: [] as Array<CallWarning>,
    lines: [] as Array<string>,
    ran: 0,
    /** What actions change. */
    state: () => JSON.stringify([[...project], [...user], [...lockfiles.project], made.ran])
  }
  const gate = Layer.succeed(
    PermissionGate,
    PermissionGate.of({
      decide: (by, action) => {
        made.asked.push(action)
        return action._tag === made.denies
          ? Effect.fail(
            new PermissionDenied({ what: showAction(action), rule: "not-today", reason: "not today", hint: "Wait" })
          )
          : PermissionGateDefault.make.decide(by, action)
      }
    })
  )
  const audit = Layer.effect(
    AuditLog,
    Effect.map(AuditLogMemory.make(made.lines), (log) =>
      AuditLog.of({
        ...log,
        append: (record, secrets) =>
          record.kind === made.refuses
            ? Effect.fail(new AuditUnavailable({ detail: "the disk is full" }))
            : log.append(record, secrets)
      }))
  )
  const options = {
    signatures: "checked" as const,
    project,
    user,
    lockfiles,
    packages: new Map([["greet", "1.0.0"]]),
    controlFiles: { ".env": "TOKEN=keychain:github\n" },
    secrets: { github: secret },
    programs: {
      say: () =>
        Effect.sync(() => {
          made.ran++
          return { stdout: "{}" }
        })
    }
  }
  const layer = (replace: Layer.Layer<never> = Layer.empty) =>
    Layer.mergeAll(
      kernel({ ...options, replace: Layer.mergeAll(gate, audit, replace) }),
      Layer.succeed(CallWarnings, { warn: (warning) => Effect.sync(() => made.warned.push(warning)) }),
      Layer.succeed(HumanGate, person("yes"))
    )
  return { made, layer }
}

const prepare = sign({ id: "**" }, caller)

const run = (id: string, parameters = {}, type?: "tool") =>
  execute({ id, type, parameters, dryRun: false, callId: "call" }, caller)

const sync = Effect.flatMap(
  envSync(
    { tool: "hello", upgrade: true, allowBuild: false, plan: () => Effect.void, progress: () => Effect.void },
    caller
  ),
  ([synced]) =>
    synced?.error === undefined
      ? Effect.succeed(synced)
      : Effect.fail({ _tag: synced.error.code, message: synced.error.message } satisfies KiwiError)
)

const keepOutput = Effect.gen(function*() {
  const output = yield* (yield* Outputs).create
  yield* output.append(new TextEncoder().encode("0123456789"))
  yield* output.close
  return output
})

type World = ReturnType<typeof world>["made"]

interface Row {
  readonly tag: Action["_tag"]
  readonly use: Effect.Effect<unknown, KiwiError, Layer.Success<ReturnType<ReturnType<typeof world>["layer"]>>>
  /** What makes it change something. */
  readonly before?: (made: World) => void
  /** How it is recorded. */
  readonly recorded: "result" | "read"
  readonly operation?: string
  /** Whether it changes `state`. */
  readonly acts: boolean
}

const change = (made: World) => made.project.set("tools/say.yaml", say("1.0.1"))

const rows: Readonly<Record<string, Row>> = {
  "running a tool": { tag: "Run", use: run("say", {}, "tool"), recorded: "result", acts: true },
  "running a tool that is named without a type": { tag: "Run", use: run("say"), recorded: "result", acts: true },
  "giving a tool a secret": { tag: "UseSecret", use: run("secret"), recorded: "result", acts: true },
  "following a directive": {
    tag: "Follow",
    use: run("greet", { who: "Ada" }),
    recorded: "result",
    operation: "follow",
    acts: false
  },
  "reading knowledge to act by": {
    tag: "Follow",
    use: run("note"),
    recorded: "result",
    operation: "follow",
    acts: false
  },
  searching: {
    tag: "Search",
    use: search({ query: "say" }, caller),
    recorded: "read",
    operation: "search",
    acts: false
  },
  loading: { tag: "Load", use: load({ id: "say" }, caller), recorded: "read", operation: "load", acts: false },
  "copying an item": {
    tag: "Copy",
    // Asked about by the shipped rules.
    use: withApproval(copyItem({ id: "say", destination: "user" }, caller), caller, 0),
    recorded: "result",
    operation: "load",
    acts: true
  },
  "reading an item as a resource": {
    tag: "Load",
    use: readItem("kiwi://tool/say", caller),
    recorded: "read",
    operation: "load",
    acts: false
  },
  "reading kept output": {
    tag: "ReadOutput",
    use: Effect.flatMap(keepOutput, ({ uri }) => readOutput(uri, caller)),
    recorded: "read",
    operation: "output",
    acts: false
  },
  "reading kept output by a tool": {
    tag: "ReadOutput",
    use: Effect.flatMap(keepOutput, ({ uri }) => run("output_read", { id: uri }, "tool")),
    recorded: "result",
    acts: false
  },
  "asking for help": { tag: "Help", use: help("overview", caller), recorded: "read", operation: "help", acts: false },
  "leaving a decision to a person": {
    tag: "SignalHelp",
    use: signalHelp({ action: "escalate", reason: "Which of the two?" }, caller),
    recorded: "result",
    operation: "help escalate",
    acts: false
  },
  signing: {
    tag: "Sign",
    use: sign({ id: "say" }, caller),
    before: change,
    recorded: "result",
    operation: "sign",
    acts: true
  },
  "installing packages": {
    tag: "SyncPackages",
    use: sync,
    recorded: "result",
    operation: "env sync",
    acts: true
  },
  "locking a tool": {
    tag: "ChangeLocks",
    use: freezeLocks({ id: "say", variant: true }, caller),
    recorded: "result",
    operation: "lockfile freeze",
    acts: true
  },
  "renewing locks": {
    tag: "ChangeLocks",
    use: updateLocks({ id: "hello" }, caller),
    recorded: "result",
    operation: "lockfile update",
    acts: false
  },
  "removing locks": {
    tag: "ChangeLocks",
    use: Effect.andThen(TestClock.adjust("1 day"), pruneLocks({ olderThan: 0 }, caller)),
    recorded: "result",
    operation: "lockfile prune",
    acts: true
  },
  "locking a tool by a tool": {
    tag: "ChangeLocks",
    use: run("lockfile_freeze", { tool: "say" }, "tool"),
    before: ({ lockfiles }) => lockfiles.project.clear(),
    recorded: "result",
    acts: true
  },
  "removing locks by a tool": {
    tag: "ChangeLocks",
    use: Effect.andThen(TestClock.adjust("1000 days"), run("lockfile_prune", {}, "tool")),
    recorded: "result",
    acts: true
  }
}

const codeFrom = (error: KiwiError) => /^[A-Z_]+$/.test(error._tag) ? error._tag : codeOf(innermost(error))

const lastOf = (made: World) => JSON.parse(made.lines.at(-1) ?? "{}")

const everyAction: { readonly [Tag in Action["_tag"]]: true } = {
  Run: true,
  UseSecret: true,
  Follow: true,
  Search: true,
  Load: true,
  Copy: true,
  ReadOutput: true,
  Help: true,
  SignalHelp: true,
  Sign: true,
  SyncPackages: true,
  ChangeLocks: true
}

it("every action has a row", () => {
  assert.deepStrictEqual(
    Object.keys(everyAction).toSorted(),
    [...new Set(Object.values(rows).map(({ tag }) => tag))].toSorted()
  )
})

describe("a gate that denies", () => {
  for (const [name, { acts, before, operation, recorded, tag, use }] of Object.entries(rows)) {
    it.effect(`${name}: it is asked, nothing happens, and the audit says denied`, () => {
      const { layer, made } = world()
      return Effect.gen(function*() {
        yield* prepare
        before?.(made)
        const state = made.state()
        made.denies = tag
        made.asked.length = 0
        assert.strictEqual(codeFrom(yield* Effect.flip(use)), "PERMISSION_DENIED")
        assert.include(made.asked.map((action) => action._tag), tag)
        assert.strictEqual(made.state(), state)
        const entry = lastOf(made)
        assert.deepInclude(entry, { kind: recorded, outcome: "denied", rule: "not-today" })
        assert.strictEqual(entry.operation, operation)
        assert.strictEqual(entry.error.code, "PERMISSION_DENIED")

        made.denies = undefined
        yield* use
        assert.strictEqual(made.state() !== state, acts, "so that the test can fail")
        assert.deepInclude(lastOf(made), { kind: recorded, outcome: "success" })
        assert.isString(lastOf(made).rule)
      }).pipe(Effect.provide(layer()))
    })
  }
})

describe("a disk that refuses the audit", () => {
  for (const [name, { before, recorded, use }] of Object.entries(rows)) {
    const outcome = recorded === "read" ? "is answered, with a warning" : "does nothing, and nobody is asked"
    it.effect(`${name} ${outcome}`, () => {
      const { layer, made } = world()
      return Effect.gen(function*() {
        yield* prepare
        before?.(made)
        const state = made.state()
        made.asked.length = 0
        made.refuses = recorded === "read" ? "read" : "request"
        const done = yield* Effect.result(use)
        assert.strictEqual(made.state(), state)
        if (recorded === "read") {
          assert.isTrue(Result.isSuccess(done))
          assert.deepStrictEqual(made.warned.map(({ code }) => code), ["AUDIT_READ_LOST"])
          return
        }
        assert.strictEqual(Result.isFailure(done) ? codeFrom(done.failure) : "done", "AUDIT_UNAVAILABLE")
        // Who syncs packages is told first which tools may run.
        if (!name.includes("packages")) assert.deepStrictEqual(made.asked, [])
      }).pipe(Effect.provide(layer()))
    })

    if (recorded === "read") continue
    it.effect(`${name}: what was done and cannot be recorded is told, and what was not is not handed over`, () => {
      const { layer, made } = world()
      return Effect.gen(function*() {
        yield* prepare
        before?.(made)
        made.refuses = "result"
        const done = yield* Effect.result(use)
        if (Result.isFailure(done)) {
          assert.strictEqual(codeFrom(done.failure), "AUDIT_UNAVAILABLE")
          assert.match(name, /^(?:following|reading)/)
          return
        }
        const told = [...made.warned, ...(done.success as { warnings?: ReadonlyArray<CallWarning> }).warnings ?? []]
        assert.include(told.map(({ code }) => code), "AUDIT_RESULT_LOST")
      }).pipe(Effect.provide(layer()))
    })
  }
})

describe("the request is recorded before anything is read:", () => {
  const readers = [
    ItemIndex,
    ItemParser,
    ItemStore,
    ChainResolver,
    Lockfiles,
    ProjectTrust,
    Settings,
    Signatures,
    Verifier
  ] as const
  // Named with their location, or with the chain that was resolved to say what would be installed.
  const known = new Set(["following a directive", "reading knowledge to act by", "installing packages"])
  for (const [name, { before, recorded, use }] of Object.entries(rows)) {
    if (recorded === "read" || known.has(name) || name.includes("without a type") || name.includes("secret")) continue
    it.effect(name, () => {
      const { layer, made } = world()
      return Effect.gen(function*() {
        const own = yield* Layer.build(layer())
        yield* Effect.provideContext(prepare, own)
        before?.(made)
        let beforeRequest = 0
        let requests = 0
        const noting = readers.map((service) => {
          const key = service as unknown as Context.Key<never, object>
          const real = Context.getUnsafe(own, key)
          const note = () => {
            if (made.lines.length === requests) beforeRequest++
          }
          return Layer.succeed(
            key,
            new Proxy(real, {
              get: (target, property) => {
                const value = Reflect.get(target, property)
                if (typeof value === "function") {
                  return (...args: ReadonlyArray<unknown>) => (note(), value.apply(target, args))
                }
                return Effect.isEffect(value) ? Effect.suspend(() => (note(), value)) : value
              }
            })
          )
        })
        const context = yield* Layer.build(layer(Layer.mergeAll(...noting as unknown as [Layer.Layer<never>])))
        requests = made.lines.length
        beforeRequest = 0
        yield* Effect.provideContext(use, context)
        assert.isAbove(made.lines.length, requests)
        assert.strictEqual(beforeRequest, 0)
      }).pipe(Effect.scoped)
    })
  }
})

it.effect("a question that is on its way is no refusal", () => {
  const { layer, made } = world()
  const gates: ReadonlyArray<readonly [HumanGate["Service"], outcome: string]> = [
    [
      HumanGate.of({
        ask: ({ command, kind, title }) => Effect.fail(new HumanRequired({ kind, title, command, asked: true }))
      }),
      "asked"
    ],
    [person("nobody"), "denied"],
    [person("no"), "failure"],
    [person("yes"), "success"]
  ]
  return Effect.gen(function*() {
    for (const [gate, outcome] of gates) {
      yield* Effect.exit(Effect.provideService(sign({ id: "say" }, caller), HumanGate, gate))
      assert.deepInclude(lastOf(made), { kind: "result", operation: "sign", outcome })
    }
  }).pipe(Effect.provide(layer()))
})

describe("what is only read", () => {
  const readEntries = Effect.map(
    Effect.flatMap(AuditLog, (audit) => audit.read()),
    (all) => all.flatMap((entry) => entry.kind === "read" ? [entry] : [])
  )

  it.effect("leaves one entry: what was asked, and ids and states in the order in which they were shown", () => {
    const { layer, made } = world()
    return Effect.gen(function*() {
      yield* sign({ id: "say" }, caller)
      const before = made.lines.length
      const hits = yield* search({ query: "reader may see", type: "tool", tags: [], limit: 5 }, caller)
      yield* load({ id: "note", tier: "project" }, caller)
      yield* help("trust", caller)
      assert.strictEqual(made.lines.length, before + 3)
      const [searched, loaded, helped] = yield* readEntries
      assert.deepInclude(searched, {
        operation: "search",
        query: "reader may see",
        filters: { type: "tool", tags: [], limit: 5 },
        outcome: "success",
        rule: "all-may-read",
        caller,
        shown: hits.map(({ id, state, tier, type }) => ({ type, id, tier, state }))
      })
      assert.deepStrictEqual(searched?.shown[0], { type: "tool", id: "say", tier: "project", state: "ok" })
      assert.deepInclude(loaded, {
        operation: "load",
        query: "note",
        filters: { tier: "project" },
        shown: [{ type: "knowledge", id: "note", tier: "project", state: "unsigned" }]
      })
      assert.deepInclude(helped, { operation: "help", query: "trust", shown: [] })
    }).pipe(Effect.provide(layer()))
  })

  it.effect("no entry holds what an item says, nor a secret that was named in the words", () => {
    const { layer, made } = world()
    return Effect.gen(function*() {
      made.project.set("tools/broken.yaml", `version: "1.0.0"\ndescription: ${words}\n  - [`)
      yield* prepare
      const before = made.lines.length
      const asked = [
        `password=${secret}`,
        `--token ${secret} say`,
        `Authorization: Bearer ${secret}`,
        `{"api_key": "${secret}"}`,
        "reader",
        "hello"
      ]
      for (const query of asked) yield* search({ query }, caller)
      for (const id of ["say", "greet", "note", "broken", "secret"]) yield* load({ id }, caller)
      for (const id of ["none", "../etc", ""]) yield* Effect.flip(load({ id }, caller))
      yield* help("overview", caller)
      assert.strictEqual(made.lines.length - before, asked.length + 9)
      const text = made.lines.slice(before).join("\n")
      assert.include(text, "ITEM_NOT_FOUND")
      for (const part of [secret, words, "Nobody", "description", "\"message\""]) assert.notInclude(text, part)
    }).pipe(Effect.provide(layer()))
  })

  it.effect("is found by the item and by the outcome", () => {
    const { layer, made } = world()
    return Effect.gen(function*() {
      const audit = yield* AuditLog
      yield* search({ query: "hello" }, caller)
      yield* load({ id: "say" }, caller)
      made.denies = "Load"
      yield* Effect.flip(load({ id: "note" }, caller))
      const operations = (filter: { readonly item?: string; readonly outcome?: string }) =>
        Effect.map(
          audit.read(filter),
          (all) => all.map((entry) => entry.kind === "read" ? entry.operation : entry.kind)
        )
      assert.deepStrictEqual(yield* operations({ item: "hello" }), ["search"])
      assert.deepStrictEqual(yield* operations({ item: "say" }), ["load"])
      assert.deepStrictEqual(yield* operations({ item: "note" }), ["load"])
      assert.deepStrictEqual(yield* operations({ outcome: "denied" }), ["load"])
    }).pipe(Effect.provide(layer()))
  })
})

describe("execute", () => {
  it.effect("looks a tool up once, whatever it is called by", () => {
    const { layer } = world()
    return Effect.gen(function*() {
      const own = yield* Layer.build(layer())
      const looked: Array<string> = []
      const store = Context.get(own, ItemStore)
      const noting = (find: typeof store.find): typeof store.find => (query) => {
        looked.push(query.id)
        return find(query)
      }
      const replace = Layer.succeed(ItemStore, {
        ...store,
        find: noting(store.find),
        atOnce: Effect.map(store.atOnce, ({ find }) => ({ find: noting(find) }))
      })
      const context = yield* Layer.build(layer(replace as unknown as Layer.Layer<never>))
      yield* Effect.provideContext(prepare, context)
      for (const [id, type] of [["say"], ["say", "tool"]] as const) {
        looked.length = 0
        yield* Effect.provideContext(run(id, {}, type), context)
        assert.strictEqual(looked.filter((one) => one === id).length, 1)
      }
    }).pipe(Effect.scoped)
  })

  it.effect("runs what the call names, whatever is handed on beside it", () => {
    const { layer } = world()
    return Effect.gen(function*() {
      yield* prepare
      const store = yield* ItemStore
      const chains = yield* ChainResolver
      const named = (query: { readonly id: string; readonly tier?: "user" | "project" }, found: string) =>
        Effect.gen(function*() {
          const handed = yield* store.find({ id: found })
          const { chain } = yield* chains.resolve(query, handed)
          return chain.leaf.tool.location.id as string
        })
      assert.strictEqual(yield* named({ id: "say" }, "say"), "say")
      for (const other of ["secret", "hello", "greet", "note"]) {
        assert.strictEqual(yield* named({ id: "say" }, other), "say")
      }
      const error = yield* Effect.flip(named({ id: "say", tier: "user" }, "say"))
      assert.strictEqual(error._tag, "ItemNotFound")
    }).pipe(Effect.provide(layer()))
  })

  it.effect("records who asked for what is not there", () => {
    const { layer, made } = world()
    return Effect.gen(function*() {
      for (const id of ["none", "x/none", "Not An Id"]) {
        yield* Effect.flip(run(id))
        assert.deepInclude(lastOf(made), { kind: "result", operation: "execute", outcome: "failure" })
        assert.strictEqual(lastOf(made).subject.item, id)
      }
      made.refuses = "request"
      assert.strictEqual((yield* Effect.flip(run("none")))._tag, "AuditUnavailable")
    }).pipe(Effect.provide(layer()))
  })
})
