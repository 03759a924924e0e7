import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as TestClock from "effect/testing/TestClock"
import type { MemoryFile } from "../../../src/layers/item/ItemStoreMemory.ts"
import * as LockfileStoreMemory from "../../../src/layers/lockfile/LockfileStoreMemory.ts"
import { planUpdateLocks } from "../../../src/layers/lockfile/uses/changeLocks.ts"
import { outdatedLocks, validateLocks } from "../../../src/layers/lockfile/uses/checkLocks.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { codeOf, innermost, toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { WriteRefused } from "../../../src/services/files/SafeFiles.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { Lockfiles } from "../../../src/services/lockfile/Lockfiles.ts"
import { LockfileStore } from "../../../src/services/lockfile/LockfileStore.ts"
import type { LockMode } from "../../../src/services/lockfile/LockMode.ts"
import type { HumanAct } from "../../../src/services/trust/HumanAct.ts"
import { agree } from "../../support/trustWorld.ts"
import { call, echo, kernel, tool, trace } from "../proxy/calls.ts"
import { lockText } from "./locks.ts"

const say = { text: "hello" }
const runtime = (version: string, more = {}) =>
  tool({
    version,
    tool_type: "runtime",
    config: { command: "argv", output: "json" },
    validation: { child_schemas: [{ match: {} }] },
    ...more
  })
const interpreter = { interpreter: { type: "system_binary", binary: "python3", var: "PY" } }
const onRuntime = (version = "1.0.0") => tool({ version, executor_id: "shared", config: { args: ["--", version] } })

/** A kernel over files and lockfiles that a test looks at and changes. */
const world = (
  project: Readonly<Record<string, MemoryFile>>,
  options: Parameters<typeof kernel>[0] & { readonly mode?: LockMode } = {}
) => {
  const files = new Map(Object.entries(project))
  const { mode, ...rest } = options
  const lockfiles = options.lockfiles ?? { project: new Map<string, string>(), user: new Map<string, string>() }
  return {
    files,
    lockfiles,
    layer: kernel({
      signatures: "checked",
      ...rest,
      project: files,
      lockfiles,
      settings: { lockfileMode: mode ?? "warn" }
    })
  }
}

/** A person signs what a glob names. */
const sign = (id = "**", tier: "project" | "user" = "project") =>
  Effect.gen(function*() {
    const signatures = yield* Signatures
    const plan = yield* signatures.plan({ id, tier, changedOnly: true })
    const act = agree(plan.request)
    return { signed: yield* signatures.sign(plan, act), act }
  })

/** And has it locked, as the command does. */
const signAndLock = (id = "**", tier: "project" | "user" = "project") =>
  Effect.gen(function*() {
    const lockfiles = yield* Lockfiles
    const { act, signed } = yield* sign(id, tier)
    return yield* lockfiles.lockSigned(signed, act)
  })

type Uses = Layer.Success<ReturnType<typeof world>["layer"]>

const compare = (id: string) =>
  Effect.gen(function*() {
    const { chain } = yield* (yield* ChainResolver).resolve({ id })
    return yield* (yield* Lockfiles).check(chain, undefined, undefined)
  })

const codesOf = (warnings: ReadonlyArray<{ readonly code: string }>) => warnings.map(({ code }) => code)

const codeOfCall = (item: string, parameters = {}, rest = {}) =>
  Effect.map(
    Effect.result(call(item, parameters, rest)),
    (result) => Result.isSuccess(result) ? "ran" : codeOf(innermost(result.failure))
  )

describe("a call and its lock", () => {
  it.effect("runs in silence where the chain is as it was locked", () => {
    const { layer, lockfiles } = world({ "tools/text/echo.yaml": echo })
    return Effect.gen(function*() {
      yield* signAndLock()
      assert.deepStrictEqual([...lockfiles.project.keys()], ["text/echo@1.0.0.lock.json"])
      const { warnings } = yield* call("echo", say)
      assert.deepStrictEqual(warnings, [])
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "ran")
    }).pipe(Effect.provide(layer))
  })

  it.effect("a tool without a lock runs with a warning, and not in strict", () => {
    const { layer } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      yield* sign()
      assert.deepStrictEqual(codesOf((yield* call("echo", say)).warnings), ["LOCK_MISSING"])
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "LOCK_MISSING")
      assert.deepStrictEqual(codesOf((yield* trace("echo")).warnings), ["LOCK_MISSING"])
    }).pipe(Effect.provide(layer))
  })

  const uses: ReadonlyArray<readonly [what: string, use: Effect.Effect<unknown, unknown, Uses>, held: boolean]> = [
    ["a trace", trace("echo"), false],
    ["a dry run", call("echo", say, { dryRun: true }), false],
    ["a dry run in strict", call("echo", say, { dryRun: true, lockfileMode: "strict" }), false],
    ["the comparison alone", compare("echo"), false],
    ["a trace of a tool that is not there", Effect.result(trace("none")), false],
    ["a refused call", Effect.result(call("echo", {})), false],
    ["a call", call("echo", say), true],
    ["a call in strict", call("echo", say, { lockfileMode: "strict" }), true],
    ["a call of another tool", call("other", say), false],
    ["a validation", validateLocks({ id: "echo" }), true]
  ]
  for (const [what, use, held] of uses) {
    it.effect(`${what} ${held ? "counts" : "does not count"} as a time when its lock held`, () => {
      const { layer } = world({ "tools/echo.yaml": echo, "tools/other.yaml": echo })
      return Effect.gen(function*() {
        yield* signAndLock()
        yield* TestClock.adjust("1 day")
        yield* use
        const [lock] = (yield* (yield* Lockfiles).list({ toolId: "echo" })).locks
        assert.strictEqual(lock?.lastValidated !== undefined, held)
      }).pipe(Effect.provide(layer))
    })
  }

  it.effect("a call tightens the mode and never loosens it", () => {
    const ask = (mode: LockMode, asked: LockMode) => {
      const { layer } = world({ "tools/echo.yaml": echo }, { mode })
      return Effect.gen(function*() {
        yield* sign()
        const result = yield* Effect.result(call("echo", say, { lockfileMode: asked }))
        return Result.isFailure(result) ? "refused" : result.success.warnings.length > 0 ? "warned" : "silent"
      }).pipe(Effect.provide(layer))
    }
    return Effect.gen(function*() {
      assert.strictEqual(yield* ask("off", "off"), "silent")
      assert.strictEqual(yield* ask("off", "warn"), "warned")
      assert.strictEqual(yield* ask("off", "strict"), "refused")
      assert.strictEqual(yield* ask("warn", "off"), "warned")
      assert.strictEqual(yield* ask("warn", "strict"), "refused")
      assert.strictEqual(yield* ask("strict", "off"), "refused")
      assert.strictEqual(yield* ask("strict", "warn"), "refused")
    })
  })

  it.effect("names the link that differs, what was locked and what is there", () => {
    const { files, layer } = world({ "tools/run.yaml": onRuntime(), "tools/shared.yaml": runtime("1.0.0") })
    return Effect.gen(function*() {
      yield* signAndLock()
      files.set("tools/shared.yaml", runtime("1.1.0"))
      yield* sign()
      const error = toErrorObject(yield* Effect.flip(call("run", {}, { lockfileMode: "strict" })))
      assert.strictEqual(error.code, "LOCK_MISMATCH")
      assert.deepStrictEqual(error.chain, ["run", "shared", "subprocess"])
      assert.strictEqual(error.failed_at?.tool_id, "shared")
      assert.strictEqual(error.failed_at?.config_path, "project:tools/shared.yaml")
      assert.deepStrictEqual(error.failed_at?.validation_errors.map(({ field }) => field), ["version", "integrity"])
      assert.include(error.failed_at?.validation_errors[0]?.error, "1.0.0 was locked, 1.1.0 is there")
      assert.strictEqual(error.remediation, "kiwi lockfile diff run")
      const { warnings } = yield* call("run")
      assert.deepStrictEqual(codesOf(warnings), ["LOCK_MISMATCH"])
      assert.include(warnings[0]?.message, "kiwi lockfile diff run")
    }).pipe(Effect.provide(layer))
  })

  it.effect("what comes with Kiwi is locked by its package", () => {
    const { layer } = world({}, { mode: "strict" })
    return Effect.provide(Effect.map(call("ping"), ({ warnings }) => assert.deepStrictEqual(warnings, [])), layer)
  })

  it.effect("a lock that cannot be read refuses, whatever the other scope says", () => {
    const { layer, lockfiles } = world({}, { user: new Map([["tools/echo.yaml", echo]]) })
    return Effect.gen(function*() {
      yield* signAndLock("**", "user")
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "ran")
      lockfiles.project.set("tools/echo@1.0.0.lock.json", "{")
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "LOCK_INVALID")
    }).pipe(Effect.provide(layer))
  })

  it.effect("a project's lock wins over yours where you trust the project, and can only refuse where you do not", () => {
    const shared = { project: new Map<string, string>(), user: new Map<string, string>() }
    const user = new Map<string, MemoryFile>([["tools/echo.yaml", echo]])
    const assumed = { user, lockfiles: shared, signatures: "assumed" } as const
    const strict = codeOfCall("echo", say, { lockfileMode: "strict" })
    const whereTrusted = Effect.provide(strict, world({}, assumed).layer)
    const whereRestricted = Effect.provide(strict, world({}, { ...assumed, trusted: false }).layer)
    const lockInProject = Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* lockfiles.freeze(yield* lockfiles.planFreeze({ id: "echo", scope: "project" }), undefined)
    })
    return Effect.gen(function*() {
      yield* Effect.provide(lockInProject, world({}, assumed).layer)
      const [[name, lock]] = [...shared.project] as [[string, string]]
      assert.strictEqual(yield* whereTrusted, "ran")
      assert.strictEqual(yield* whereRestricted, "LOCK_MISSING")
      shared.user.set(name, lock)
      assert.strictEqual(yield* whereRestricted, "ran")
      user.set("tools/echo.yaml", echo.replace("--", "-"))
      assert.strictEqual(yield* whereRestricted, "LOCK_MISMATCH")
    })
  })
})

describe("updating a lock that is there and cannot be used", () => {
  const broken: ReadonlyArray<readonly [what: string, change: (text: string) => string, issue: string]> = [
    [
      "its chain_hash is wrong",
      (text) => text.replace(/("chain_hash": ")[0-9a-f]{12}/, "$1000000000000"),
      "chain_hash"
    ],
    ["it is not JSON", () => "{", "JSON"],
    ["it is empty", () => "", "JSON"],
    ["it has another version", (text) => text.replace("\"lockfile_version\": 1", "\"lockfile_version\": 2"), "version"],
    ["a field is missing", (text) => text.replace("\"runtime\"", "\"other\""), "runtime"]
  ]
  for (const [what, change, issue] of broken) {
    it.effect(`says so, and what to do: ${what}`, () => {
      const { layer, lockfiles } = world({ "tools/text/echo.yaml": echo, "tools/other.yaml": echo })
      const update = (id: string) => Effect.flip(planUpdateLocks({ id }))
      return Effect.gen(function*() {
        yield* signAndLock()
        const [name, text] = [...lockfiles.project].find(([path]) => path.startsWith("text/echo@"))!
        lockfiles.project.set(name, change(text))
        for (const id of ["echo", "text/echo"]) {
          const error = toErrorObject(yield* update(id))
          assert.strictEqual(error.code, "LOCK_INVALID")
          assert.include(error.message, "project:lockfiles/text/echo@1.0.0.lock.json is no lockfile that can be used")
          assert.include(error.message, issue)
          assert.strictEqual(error.remediation, "kiwi lockfile freeze echo")
        }
        for (const id of ["none", "math/echo", "xt/echo", "text/ech"]) {
          assert.strictEqual(toErrorObject(yield* update(id)).code, "LOCK_MISSING", id)
        }
      }).pipe(Effect.provide(layer))
    })
  }
})

describe("the packages that a lock names", () => {
  it.effect("a project that nobody trusts names none", () => {
    const lockfiles = { project: new Map<string, string>(), user: new Map<string, string>() }
    const assumed = { user: { "tools/echo.yaml": echo }, lockfiles, signatures: "assumed" } as const
    const named = Effect.gen(function*() {
      const { chain } = yield* (yield* ChainResolver).resolve({ id: "echo" })
      return yield* (yield* Lockfiles).packagesOf(chain)
    })
    return Effect.gen(function*() {
      yield* Effect.gen(function*() {
        const service = yield* Lockfiles
        yield* service.freeze(yield* service.planFreeze({ id: "echo", scope: "project" }), undefined)
      }).pipe(Effect.provide(world({}, assumed).layer))
      const [[name, text]] = [...lockfiles.project] as [[string, string]]
      const packages = [{ name: "evil", version: "1.0.0", hash: null }]
      lockfiles.project.set(
        name,
        JSON.stringify({ ...JSON.parse(text), dependencies: { ecosystem: "python", packages } })
      )
      assert.deepStrictEqual(yield* Effect.provide(named, world({}, assumed).layer), packages)
      assert.isUndefined(yield* Effect.provide(named, world({}, { ...assumed, trusted: false }).layer))
    })
  })
})

describe("signing locks", () => {
  it.effect("locks anew what differs by the signed item alone, and leaves the rest", () => {
    const { files, layer } = world({
      "tools/one.yaml": onRuntime(),
      "tools/two.yaml": onRuntime(),
      "tools/shared.yaml": runtime("1.0.0")
    })
    return Effect.gen(function*() {
      yield* signAndLock()
      // Two changes, and only one of them is signed and locked by the person.
      files.set("tools/two.yaml", tool({ executor_id: "shared", config: { args: ["--", "other"] } }))
      yield* sign("two")
      files.set("tools/shared.yaml", runtime("1.1.0"))
      const { dependents, tools } = yield* signAndLock("shared")
      assert.deepStrictEqual([...tools.values()].map((lock) => lock._tag), ["Locked"])
      assert.deepStrictEqual(dependents.map(({ path }) => path), ["tools/one@1.0.0.lock.json"])
      assert.strictEqual(yield* codeOfCall("one", {}, { lockfileMode: "strict" }), "ran")
      assert.strictEqual(yield* codeOfCall("two", {}, { lockfileMode: "strict" }), "LOCK_MISMATCH")
    }).pipe(Effect.provide(layer))
  })

  it.effect("keeps what this machine cannot tell", () => {
    const { files, layer, lockfiles } = world({ "tools/one.yaml": onRuntime(), "tools/shared.yaml": runtime("1.0.0") })
    const name = "tools/one@1.0.0.lock.json"
    const dependencies = { ecosystem: "python", packages: [{ name: "requests", version: "2.0.0", hash: null }] }
    return Effect.gen(function*() {
      yield* signAndLock()
      const lock = JSON.parse(lockfiles.project.get(name)!)
      lockfiles.project.set(name, JSON.stringify({ ...lock, dependencies }))
      files.set("tools/shared.yaml", runtime("1.1.0"))
      yield* signAndLock("shared")
      const after = JSON.parse(lockfiles.project.get(name)!)
      assert.strictEqual(after.resolved_chain[1].version, "1.1.0")
      assert.deepStrictEqual(after.dependencies, dependencies)
    }).pipe(Effect.provide(layer))
  })

  it.effect("leaves a lock that another interpreter differs from too", () => {
    const { files, layer, lockfiles } = world({
      "tools/one.yaml": onRuntime(),
      "tools/shared.yaml": runtime("1.0.0", { env_config: interpreter })
    })
    const name = "tools/one@1.0.0.lock.json"
    return Effect.gen(function*() {
      yield* signAndLock()
      const text = lockfiles.project.get(name)!
      assert.include(text, "\"kind\": \"system\"")
      lockfiles.project.set(name, text.replace("\"kind\": \"system\"", "\"kind\": \"pyenv\""))
      files.set("tools/shared.yaml", runtime("1.1.0", { env_config: interpreter }))
      const { dependents } = yield* signAndLock("shared")
      assert.deepStrictEqual(dependents, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("leaves the lock of an earlier version where it is", () => {
    const { files, layer, lockfiles } = world({ "tools/one.yaml": onRuntime(), "tools/shared.yaml": runtime("1.0.0") })
    return Effect.gen(function*() {
      yield* signAndLock()
      files.set("tools/one.yaml", onRuntime("1.1.0"))
      files.set("tools/shared.yaml", runtime("1.1.0"))
      yield* signAndLock()
      assert.includeMembers([...lockfiles.project.keys()], ["tools/one@1.0.0.lock.json", "tools/one@1.1.0.lock.json"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("finds the tool of a lock by its path: a folder named tools is one", () => {
    const { files, layer } = world({
      "tools/tools/one.yaml": onRuntime(),
      "tools/math/one.yaml": onRuntime(),
      "tools/shared.yaml": runtime("1.0.0")
    })
    return Effect.gen(function*() {
      yield* signAndLock()
      assert.deepStrictEqual(yield* outdatedLocks({}), { outdated: [] })
      files.set("tools/shared.yaml", runtime("1.1.0"))
      const { dependents } = yield* signAndLock("shared")
      assert.deepStrictEqual(dependents.map(({ path }) => path), [
        "math/one@1.0.0.lock.json",
        "tools/one@1.0.0.lock.json"
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("says so where nothing had to be written, and keeps when it was made", () => {
    const { layer, lockfiles } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const { act, signed } = yield* sign()
      const service = yield* Lockfiles
      yield* service.lockSigned(signed, act)
      const before = [...lockfiles.project]
      const { tools } = yield* service.lockSigned(signed, act)
      assert.deepStrictEqual([...tools.values()].map((lock) => lock._tag), ["Unchanged"])
      assert.deepStrictEqual([...lockfiles.project], before)
    }).pipe(Effect.provide(layer))
  })

  it.effect("says what else is in the chain that the lock before had otherwise", () => {
    const { files, layer } = world({ "tools/one.yaml": onRuntime(), "tools/shared.yaml": runtime("1.0.0") })
    return Effect.gen(function*() {
      yield* signAndLock()
      files.set("tools/shared.yaml", runtime("1.1.0"))
      yield* sign("shared")
      files.set("tools/one.yaml", tool({ executor_id: "shared", config: { args: ["--", "other"] } }))
      const { tools } = yield* signAndLock("one")
      const [lock] = [...tools.values()]
      const besides = lock?._tag === "Locked" ? lock.besides : []
      assert.deepStrictEqual(besides.map(({ field, tool: id }) => [id, field]), [
        ["shared", "version"],
        ["shared", "integrity"]
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("a tool whose executor nobody signed is signed and not locked", () => {
    const { layer } = world({ "tools/one.yaml": onRuntime(), "tools/shared.yaml": runtime("1.0.0") })
    return Effect.gen(function*() {
      const { tools } = yield* signAndLock("one")
      const [lock] = [...tools.values()]
      assert.strictEqual(lock?._tag === "Failed" ? codeOf(lock.error) : lock?._tag, "UNSIGNED")
    }).pipe(Effect.provide(layer))
  })
})

describe("signing where some locks cannot be made anew", () => {
  const ids = ["one", "two", "three"]
  const pathOf = (id: string) => `tools/${id}@1.0.0.lock.json`

  /**
   * Signs the runtime of three locked tools. `atSave`: what another process does to the files before the locks of the
   * three are saved. `refuse`: whose locks cannot be written.
   */
  const signRuntime = (
    { atSave = () => {}, refuse = () => false }: {
      readonly atSave?: (texts: Map<string, string>) => void
      readonly refuse?: (id: string) => boolean
    }
  ) => {
    const texts = { project: new Map<string, string>(), user: new Map<string, string>() }
    let isSigning = false
    const refused = new WriteRefused({ path: "lockfiles/x", issue: "exists", detail: "a test refuses it" })
    const store = Layer.effect(
      LockfileStore,
      Effect.map(
        LockfileStoreMemory.make(texts),
        (inner): LockfileStore["Service"] =>
          LockfileStore.of({
            ...inner,
            save: (frozen, options) =>
              Effect.suspend(() => {
                if (!isSigning) return inner.save(frozen, options)
                atSave(texts.project)
                return refuse(frozen.root.tool_id) ? Effect.fail(refused) : inner.save(frozen, options)
              }),
            saveAll: (locks) =>
              Effect.suspend(() => {
                if (!isSigning || locks.some(({ frozen }) => frozen.root.tool_id === "shared")) {
                  return inner.saveAll(locks)
                }
                atSave(texts.project)
                return Effect.map(
                  inner.saveAll(locks.filter(({ frozen }) => !refuse(frozen.root.tool_id))),
                  (saved) => {
                    const answers = saved.values()
                    return locks.map(({ frozen }) =>
                      refuse(frozen.root.tool_id) ? Result.fail(refused) : answers.next().value!
                    )
                  }
                )
              })
          })
      )
    ).pipe(Layer.provide(WorkspaceMemory.layerWith("/memory/project")), Layer.provide(KiwiHomeMemory.layer))
    const { files, layer } = world({
      ...Object.fromEntries(ids.map((id) => [`tools/${id}.yaml`, onRuntime()])),
      "tools/shared.yaml": runtime("1.0.0")
    }, { replace: store })
    return Effect.gen(function*() {
      yield* signAndLock()
      files.set("tools/shared.yaml", runtime("1.1.0"))
      isSigning = true
      const { dependents } = yield* signAndLock("shared")
      return {
        named: dependents.map(({ lockfile }) => lockfile.root.tool_id).toSorted(),
        texts: texts.project,
        renewed: ids.filter((id) => texts.project.get(pathOf(id))?.includes("\"version\": \"1.1.0\"")).toSorted()
      }
    }).pipe(Effect.provide(layer))
  }

  for (const bad of [[], ["one"], ["two"], ["three"], ["one", "three"], ids]) {
    it.effect(`names those that were written though these were not: ${bad.join(", ") || "none"}`, () =>
      Effect.gen(function*() {
        const { named, renewed } = yield* signRuntime({ refuse: (id) => bad.includes(id) })
        const good = ids.filter((id) => !bad.includes(id)).toSorted()
        assert.deepStrictEqual([named, renewed], [good, good])
      }))
  }

  const meanwhile: ReadonlyArray<readonly [what: string, change: (text: string) => string | undefined]> = [
    ["was made anew", (text) => text.replace(/("generated_at": ")[^"]+/, "$12027-03-02T10:00:00.000Z")],
    ["says something else", (text) => text.replace("\"commands\": [", "\"commands\": [\"git\"")],
    ["cannot be read any more", () => "{"],
    ["was removed", () => undefined]
  ]
  for (const [what, change] of meanwhile) {
    it.effect(`leaves a lock that ${what} by another process meanwhile`, () =>
      Effect.gen(function*() {
        let after: string | undefined
        let isDone = false
        const { named, renewed, texts } = yield* signRuntime({
          atSave: (project) => {
            if (isDone) return
            isDone = true
            after = change(project.get(pathOf("two"))!)
            if (after === undefined) project.delete(pathOf("two"))
            else project.set(pathOf("two"), after)
          }
        })
        assert.strictEqual(texts.get(pathOf("two")), after)
        assert.deepStrictEqual(named, ["one", "three"])
        assert.sameMembers(renewed.filter((id) => id !== "two"), ["one", "three"])
      }))
  }
})

describe("who may replace a lock", () => {
  const other: HumanAct = { kind: "sign", digest: "0".repeat(64), by: "terminal" }

  it.effect("a first lock needs nobody, one that says something else needs a person who saw what", () => {
    const { files, layer } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* sign()
      const first = yield* lockfiles.planFreeze({ id: "echo" })
      assert.isUndefined(first.request)
      yield* lockfiles.freeze(first, undefined)
      files.set("tools/echo.yaml", echo.replace("--", "-"))
      yield* sign()
      const second = yield* lockfiles.planFreeze({ id: "echo" })
      assert.deepStrictEqual(second.replaces?.map(({ field }) => field), ["integrity"])
      const { request } = second
      assert.isDefined(request)
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(second, undefined))), "HUMAN_REQUIRED")
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(second, other))), "HUMAN_REQUIRED")
      yield* lockfiles.freeze(second, agree(request!))
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "ran")
    }).pipe(Effect.provide(layer))
  })

  it.effect("a plan that was made before another lock came does not replace that unseen", () => {
    const { files, layer } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* sign()
      const early = yield* lockfiles.planFreeze({ id: "echo" })
      files.set("tools/echo.yaml", echo.replace("--", "-"))
      yield* signAndLock()
      assert.isUndefined(early.request)
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(early, undefined))), "HUMAN_REQUIRED")
    }).pipe(Effect.provide(layer))
  })

  it.effect("where locks are strict, the first one is a person's too", () => {
    const { layer } = world({ "tools/echo.yaml": echo }, { mode: "strict" })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* sign()
      const plan = yield* lockfiles.planFreeze({ id: "echo" })
      assert.strictEqual(plan.request?.kind, "loosen-lock")
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(plan, undefined))), "HUMAN_REQUIRED")
    }).pipe(Effect.provide(layer))
  })

  it.effect("nothing is locked that would not run", () => {
    const { layer } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.planFreeze({ id: "echo" }))), "UNSIGNED")
    }).pipe(Effect.provide(layer))
  })

  it.effect("a variant stays beside the lock, by a person too, and either chain is one that was locked", () => {
    const { files, layer, lockfiles: stored } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* signAndLock()
      files.set("tools/echo.yaml", echo.replace("--", "-"))
      yield* sign()
      const plan = yield* lockfiles.planFreeze({ id: "echo", variant: true })
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(plan, undefined))), "HUMAN_REQUIRED")
      assert.strictEqual(stored.project.size, 1)
      yield* lockfiles.freeze(plan, agree(plan.request!))
      assert.strictEqual(stored.project.size, 2)
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "ran")
      files.set("tools/echo.yaml", echo)
      yield* sign()
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "ran")
    }).pipe(Effect.provide(layer))
  })

  it.effect("a lock of the project that would count before one of yours that says something else is a person's", () => {
    const user = new Map<string, MemoryFile>([["tools/echo.yaml", echo]])
    const { layer, lockfiles: stored } = world({}, { user })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* signAndLock("**", "user")
      user.set("tools/echo.yaml", echo.replace("--", "-"))
      yield* sign("**", "user")
      const plan = yield* lockfiles.planFreeze({ id: "echo", scope: "project" })
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(plan, undefined))), "HUMAN_REQUIRED")
      assert.strictEqual(stored.project.size, 0)
      assert.strictEqual(yield* codeOfCall("echo", say, { lockfileMode: "strict" }), "LOCK_MISMATCH")
      stored.user.set("tools/echo@1.0.0.lock.json", "{")
      assert.isDefined((yield* lockfiles.planFreeze({ id: "echo", scope: "project" })).request)
    }).pipe(Effect.provide(layer))
  })

  it.effect("a lock that would forget packages or the interpreter is a person's, and shows what it forgets", () => {
    const { layer, lockfiles: stored } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* signAndLock()
      const [[name, text]] = [...stored.project] as [[string, string]]
      const lock = {
        ...JSON.parse(text),
        dependencies: { ecosystem: "python", packages: [{ name: "requests", version: "2.0.0", hash: null }] },
        runtime: { interpreter: { variable: "PY", kind: "system", version: "3.11" }, commands: [], variables: [] }
      }
      stored.project.set(name, JSON.stringify(lock))
      const plan = yield* lockfiles.planFreeze({ id: "echo" })
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(plan, undefined))), "HUMAN_REQUIRED")
      assert.include(plan.request?.details, "requests 2.0.0")
      assert.include(plan.request?.details, "PY from system 3.11")
    }).pipe(Effect.provide(layer))
  })

  it.effect("a variant of what is locked already is a person's too, since it outlives that lock", () => {
    const { layer, lockfiles: stored } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* signAndLock()
      const plan = yield* lockfiles.planFreeze({ id: "echo", variant: true })
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.freeze(plan, undefined))), "HUMAN_REQUIRED")
      yield* lockfiles.freeze(plan, agree(plan.request!))
      assert.strictEqual(stored.project.size, 2)
      assert.isUndefined((yield* lockfiles.planFreeze({ id: "echo", variant: true })).request)
    }).pipe(Effect.provide(layer))
  })
})

describe("pruning", () => {
  /** A lock that nobody has made here, as a checkout or another process brings one. */
  const other = lockText({ id: "other", category: "tools" }, "2020-01-01T00:00:00Z")
  const otherPath = "tools/other@1.0.0.lock.json"
  const echoPath = "tools/echo@1.0.0.lock.json"
  type Texts = Map<string, string>

  /** Prunes as a person agreed to, with something happening once the locks were listed so often after that. */
  const prune = (
    change: (texts: Texts) => void,
    options: { readonly listings: number; readonly act?: "none" | "agreed"; readonly olderThan?: number }
  ) => {
    let left = Infinity
    class Listed extends Map<string, string> {
      override [Symbol.iterator]() {
        const all = super[Symbol.iterator]()
        if (--left !== 0) return all
        const seen = [...all]
        change(this)
        return seen.values() as typeof all
      }
    }
    const project: Texts = new Listed()
    const { layer } = world({ "tools/echo.yaml": echo }, { lockfiles: { project, user: new Map() } })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* TestClock.setTime(Date.parse("2026-11-22T10:00:00Z"))
      yield* signAndLock()
      yield* TestClock.adjust("100 days")
      const plan = yield* lockfiles.planPrune({ olderThan: options.olderThan })
      assert.deepStrictEqual(plan.stale.map(({ path }) => path), [echoPath])
      left = options.listings
      if (left === 0) change(project)
      const act = options.act === "agreed" && plan.request !== undefined ? agree(plan.request) : undefined
      const removed = yield* lockfiles.prune(plan, act)
      return { removed: removed.map(({ path }) => path), left: [...project.keys()] }
    }).pipe(Effect.provide(layer))
  }

  const addOther = (texts: Texts) => void texts.set(otherPath, other)
  for (const listings of [0, 1]) {
    it.effect(`removes what was shown, not a lock that came after ${listings} more listings`, () =>
      Effect.gen(function*() {
        const shown = { removed: [echoPath], left: [otherPath] }
        const { left, removed } = yield* prune(addOther, { listings })
        assert.deepStrictEqual(removed, shown.removed)
        assert.notInclude(left, echoPath)
        const agreed = yield* prune(addOther, { listings, act: "agreed", olderThan: 0 })
        assert.deepStrictEqual(agreed.removed, shown.removed)
      }))
  }

  const replaced: ReadonlyArray<readonly [what: string, change: (text: string) => string | undefined]> = [
    ["was made anew", (text) => text.replace(/("generated_at": ")[^"]+/, "$12027-03-02T10:00:00.000Z")],
    ["says something else", (text) => text.replace("\"commands\": [", "\"commands\": [\"git\"")],
    ["cannot be read any more", () => "{"],
    ["is gone", () => undefined]
  ]
  for (const [what, change] of replaced) {
    it.effect(`leaves a lock that ${what} since it was shown`, () =>
      Effect.gen(function*() {
        const { removed } = yield* prune((texts) => {
          const text = change(texts.get(echoPath)!)
          if (text === undefined) texts.delete(echoPath)
          else texts.set(echoPath, text)
        }, { listings: 0, act: "agreed", olderThan: 0 })
        assert.deepStrictEqual(removed, [])
      }))
  }

  it.effect("leaves a lock that held since it was shown", () => {
    const { layer } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* signAndLock()
      yield* TestClock.adjust("100 days")
      const plan = yield* lockfiles.planPrune({})
      assert.lengthOf(plan.stale, 1)
      yield* call("echo", say)
      assert.deepStrictEqual(yield* lockfiles.prune(plan, undefined), [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("sooner than lockfile.keep takes a person who saw these locks", () => {
    const { layer, lockfiles: stored } = world({ "tools/echo.yaml": echo })
    return Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* signAndLock()
      yield* TestClock.adjust("1 day")
      const plan = yield* lockfiles.planPrune({ olderThan: 0 })
      const more = { ...plan, stale: [...plan.stale, ...plan.stale], request: undefined }
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.prune(plan, undefined))), "HUMAN_REQUIRED")
      assert.strictEqual(codeOf(yield* Effect.flip(lockfiles.prune(more, agree(plan.request!)))), "HUMAN_REQUIRED")
      assert.strictEqual(stored.project.size, 1)
      assert.lengthOf(yield* lockfiles.prune(plan, agree(plan.request!)), 1)
    }).pipe(Effect.provide(layer))
  })
})
