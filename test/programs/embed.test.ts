import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Embed from "../../src/programs/embed.ts"
import type {
  ApprovalError,
  AuditUnavailable,
  CallsTooDeep,
  ConcurrencyLimited,
  HomeRefused,
  ItemAmbiguous,
  ItemIdInvalid,
  ItemInvalid,
  ItemNotFound,
  ItemUnreadable,
  KernelOptionInvalid,
  LoopDetected,
  PermissionDenied,
  PermissionEscalation,
  ProjectNotFound,
  ProjectRestricted,
  RateLimited,
  TokenError,
  TokenMissing,
  ToolCallError,
  ToolChainError,
  ToolProxy,
  ToolResult
} from "../../src/programs/embed.ts"
import { Kernel, makeKiwi, ResultUnexpected, runTool, runToolAs } from "../../src/programs/embed.ts"
import { makeTestKiwi } from "../../src/programs/testing.ts"
import { argvProgram, echo, kernel, tool } from "../layers/proxy/calls.ts"
import { accept, kernelOf, realProject } from "../support/realProject.ts"

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** Compiles only if both are the same type: neither wider, nor `any`. */
const same = <A, B>(answer: Same<A, B>) => assert.isTrue(answer)

const Sum = Schema.Struct({ sum: Schema.Finite })
const run = runTool("add", { a: 1, b: 2 })
const runAs = runToolAs(Sum)("add", { a: 1, b: 2 })

it("running a tool has a closed union of errors, a typed result and one requirement", () => {
  same<Effect.Error<typeof run>, ToolCallError>(true)
  same<
    ToolCallError,
    | ToolChainError
    | ItemNotFound
    | ItemAmbiguous
    | ItemIdInvalid
    | ItemInvalid
    | ItemUnreadable
    | ProjectRestricted
    | PermissionDenied
    | ApprovalError
    | RateLimited
    | ConcurrencyLimited
    | LoopDetected
    | TokenMissing
    | TokenError
    | PermissionEscalation
    | CallsTooDeep
    | AuditUnavailable
  >(true)
  same<Effect.Success<typeof run>, ToolResult>(true)
  same<Effect.Services<typeof run>, ToolProxy>(true)
  same<Effect.Error<typeof runAs>, ToolCallError | ResultUnexpected>(true)
  same<Effect.Success<typeof runAs>, { readonly sum: number }>(true)
  same<Effect.Services<typeof runAs>, ToolProxy>(true)
  const layer = Kernel.layer({ project: "." })
  const provided = Effect.provide(run, layer)
  same<Effect.Error<typeof provided>, ToolCallError | HomeRefused | KernelOptionInvalid | ProjectNotFound>(true)
  same<Effect.Services<typeof provided>, never>(true)
})

it("every error of the union is told apart by its tag, and every reason of a chain's by its own", () => {
  const told = run.pipe(
    Effect.catchTag("ToolChainError", (error) => {
      switch (error.reason._tag) {
        case "Unsigned":
          return Effect.succeed(error.reason.command)
        case "ParametersInvalid":
          return Effect.succeed(error.reason.issues[0]?.field)
        default:
          return Effect.succeed(error.remediation)
      }
    }),
    Effect.catchTag(
      ["ItemNotFound", "ItemAmbiguous", "ItemIdInvalid", "ItemInvalid", "ItemUnreadable"],
      ({ remediation }) => Effect.succeed(remediation)
    ),
    Effect.catchTag(
      [
        "ProjectRestricted",
        "PermissionDenied",
        "ApprovalPending",
        "ApprovalRejected",
        "ApprovalExpired",
        "RateLimited",
        "ConcurrencyLimited",
        "LoopDetected",
        "ApprovalsFull",
        "ApprovalsUnavailable",
        "TokenMissing",
        "TokenInvalid",
        "TokenRevoked",
        "TokensUnavailable",
        "PermissionEscalation",
        "CallsTooDeep",
        "AuditUnavailable"
      ],
      ({ remediation }) => Effect.succeed(remediation)
    )
  )
  same<Effect.Error<typeof told>, never>(true)
})

describe("runToolAs", () => {
  const layer = kernel({
    project: { "tools/say.yaml": tool({ config: { command: "say", output: "json" } }) },
    programs: { say: () => Effect.succeed({ stdout: `{"sum": 3}` }) }
  })
  it.effect("decodes what the tool answers", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* runToolAs(Sum)("say"), { sum: 3 })
    }).pipe(Effect.provide(layer)))

  it.effect("fails where it is something else", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(runToolAs(Schema.Struct({ total: Schema.Finite }))("say"))
      assert.instanceOf(error, ResultUnexpected)
      assert.include(error.message, "total")
    }).pipe(Effect.provide(layer)))
})

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(() => assert.fail("it was to be rejected"), (error: unknown) => error)

describe("makeKiwi", () => {
  const items = { "tools/echo.yaml": echo, "tools/hang.yaml": tool({ config: { command: "hang" } }) }
  const programs = new Map([["argv", argvProgram], ["hang", () => Effect.never]])

  it("answers with promises, and rejects with the errors that the Effect API has", async () => {
    await using kiwi = makeTestKiwi({ project: items, programs })
    const { data } = await kiwi.run("echo", { text: "x" })
    assert.deepStrictEqual(data, ["--", "x"])
    assert.instanceOf(await rejection(kiwi.run("nothing")), Embed.ItemNotFound)
    const error = await rejection(kiwi.run("echo", { text: 1 }))
    assert.instanceOf(error, Embed.ToolChainError)
    if (error instanceof Embed.ToolChainError) assert.instanceOf(error.reason, Embed.ParametersInvalid)
    assert.deepStrictEqual(
      (await kiwi.search({ query: "echo" })).map((hit) => [hit.id, hit.state]),
      [["echo", "ok"]]
    )
    assert.strictEqual((await kiwi.load({ id: "echo" })).item?.call, "echo(text: string)")
    assert.isTrue((await kiwi.explain({ id: "echo" })).ready)
    assert.deepStrictEqual((await kiwi.chain({ id: "echo" })).links.map((link) => link.state), ["ok", "ok"])
    assert.instanceOf(await rejection(kiwi.sign({ id: "echo" })), Embed.HumanRequired)
    assert.instanceOf(await rejection(kiwi.follow("echo")), Embed.ItemNotFound)
  })

  it("asks the person whom it was given", async () => {
    const asked: Array<string> = []
    await using kiwi = makeTestKiwi({
      project: new Map([["tools/echo.yaml", echo]]),
      programs,
      signatures: "checked",
      askPerson: ({ title }) => {
        asked.push(title)
        return true
      }
    })
    assert.instanceOf(await rejection(kiwi.run("echo", { text: "x" })), Embed.ToolChainError)
    assert.lengthOf((await kiwi.sign({ id: "echo" })).signed, 1)
    assert.lengthOf(asked, 1)
    assert.isTrue((await kiwi.lockfile.validate({ id: "echo" })).ok)
    assert.deepStrictEqual((await kiwi.lockfile.list()).locks.map(({ chain }) => chain[0]), ["echo@1.0.0"])
    assert.isTrue((await kiwi.lockfile.diff({ id: "echo" })).same)
    assert.isTrue((await kiwi.lockfile.verify()).ok)
    assert.deepStrictEqual((await kiwi.lockfile.outdated()).outdated, [])
    assert.lengthOf((await kiwi.lockfile.freeze({ id: "echo", variant: true })).locks, 1)
    assert.deepStrictEqual(asked.slice(1), ["Lock echo 1.0.0 as it is now"], "it would outlive the other")
    assert.deepStrictEqual((await kiwi.lockfile.update()).locks, [])
    assert.lengthOf((await kiwi.lockfile.prune({ dryRun: true })).removed, 0)
    assert.strictEqual((await kiwi.run("echo", { text: "x" })).status, "success")
  })

  describe("a call that a rule asks about", () => {
    const asking = "rules:\n  - ask: echo\n  - ask: kiwi.search\n  - ask: kiwi.load\n  - ask: kiwi.help\n"
    const asks = (answers: ReadonlyArray<boolean | string>) => {
      const asked: Array<string> = []
      const askPerson: Embed.AskPerson = ({ title }) => answers[asked.push(title.replace(/ \w{10}:/, "")) - 1] ?? false
      return { asked, kiwi: makeTestKiwi({ project: items, programs, permissions: asking, askPerson }) }
    }
    const pending = async (promise: Promise<unknown>) =>
      assert.strictEqual((await rejection(promise) as { readonly _tag: string })._tag, "ApprovalPending")

    for (const answer of [true, "once", "session", "always"]) {
      it(`runs once the person has answered ${answer}`, async () => {
        const { asked, kiwi } = asks([answer])
        assert.deepStrictEqual((await kiwi.run("echo", { text: "x" })).data, ["--", "x"])
        assert.deepStrictEqual(asked, ["Allow run tool echo"])
        // What was answered for one call is asked about again, what is remembered is not.
        if (answer === true || answer === "once") await pending(kiwi.run("echo", { text: "x" }))
        else assert.strictEqual((await kiwi.run("echo", { text: "y" })).status, "success")
        await kiwi.close()
      })
    }

    for (const answer of [false, "", "yes", "Once", "true"]) {
      it(`does not run if the answer is ${JSON.stringify(answer)}, and waits`, async () => {
        const { asked, kiwi } = asks([answer])
        await pending(kiwi.run("echo", { text: "x" }))
        assert.lengthOf(asked, 1)
        const waiting = await kiwi.runPromise(Effect.flatMap(Embed.ApprovalStore, (store) => store.list))
        assert.deepStrictEqual(waiting.map(({ state }) => state), ["pending"])
        await kiwi.close()
      })
    }

    it("is refused if the answer is no", async () => {
      const { kiwi } = asks(["no"])
      const error = await rejection(kiwi.run("echo", { text: "x" })) as { readonly _tag: string }
      assert.strictEqual(error._tag, "ApprovalRejected")
      await kiwi.close()
    })

    it("is asked about in every method", async () => {
      const { asked, kiwi } = asks([true, true, true])
      assert.deepStrictEqual((await kiwi.search({ query: "echo" })).map(({ id }) => id), ["echo"])
      assert.strictEqual((await kiwi.load({ id: "echo" })).item?.call, "echo(text: string)")
      await pending(kiwi.search({ query: "other" }).then(() => kiwi.search({ query: "more" })))
      assert.lengthOf(asked, 4)
      await kiwi.close()
    })

    it("waits in the inbox where nobody can be asked", async () => {
      await using kiwi = makeTestKiwi({ project: items, programs, permissions: asking })
      await pending(kiwi.run("echo", { text: "x" }))
    })

    it("is asked about in a program of Effect, too", () =>
      Effect.gen(function*() {
        const titles: Array<string> = []
        const gate = Embed.HumanGate.of({
          ask: ({ digest, kind, title }) => {
            titles.push(title)
            return Effect.succeed({ kind, digest, choice: "once", by: "embedder" } as const)
          }
        })
        const { data } = yield* Embed.withApproval(runTool("echo", { text: "x" }), Embed.embedder("mine", "s"), 0).pipe(
          Effect.provideService(Embed.HumanGate, gate)
        )
        assert.deepStrictEqual(data, ["--", "x"])
        assert.lengthOf(titles, 1)
      }).pipe(Effect.provide(kernel({ project: items, permissions: asking })), Effect.runPromise))
  })

  it("gives all calls of one Kiwi the same session and client, and each its own id", async () => {
    await using kiwi = makeTestKiwi({ project: items, programs })
    await kiwi.run("echo", { text: "x" })
    await kiwi.run("echo", { text: "y" })
    const found = await kiwi.runPromise(Effect.flatMap(Embed.AuditLog, (audit) => audit.read()))
    const requests = found.flatMap((entry) => entry.kind === "request" ? [entry] : [])
    assert.lengthOf(new Set(requests.map((entry) => entry.caller.session)), 1)
    assert.lengthOf(new Set(requests.map((entry) => entry.call)), 2)
    assert.deepInclude(requests[0]?.caller, { surface: "embed", client: "embedder" })
  })

  it("rejects with the signal's reason when it is aborted, before or during the call", async () => {
    await using kiwi = makeTestKiwi({ project: items, programs })
    const reason = new Error("enough")
    assert.strictEqual(await rejection(kiwi.run("hang", {}, { signal: AbortSignal.abort(reason) })), reason)
    const controller = new AbortController()
    const running = kiwi.run("hang", {}, { signal: controller.signal })
    setTimeout(() => controller.abort(), 20)
    const error = await rejection(running)
    assert.instanceOf(error, DOMException)
    if (error instanceof DOMException) assert.strictEqual(error.name, "AbortError")
  })

  it("rejects what still runs when it is closed, and what comes after", async () => {
    const started = Deferred.makeUnsafe<void>()
    const kiwi = makeTestKiwi({
      project: items,
      programs: new Map([["hang", () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)]])
    })
    const running = rejection(kiwi.run("hang"))
    await kiwi.runPromise(Deferred.await(started))
    await kiwi.close()
    assert.instanceOf(await running, Embed.KiwiClosed)
    assert.instanceOf(await rejection(kiwi.run("echo")), Embed.KiwiClosed)
    await kiwi.close()
  })

  it.live("stops the child's tree when a call is aborted, tells what it says meanwhile, and a callback stops nothing", () =>
    Effect.gen(function*() {
      const world = yield* realProject({
        ".ai/tools/wait.sh": [
          "#!/usr/bin/env bash",
          "# kiwi:",
          "#   version: \"1.0.0\"",
          "#   tool_type: bash",
          "#   executor_id: bash_runtime",
          "sleep 300 &",
          "echo \"$!\"",
          "wait",
          ""
        ].join("\n")
      })
      yield* Effect.provide(accept, kernelOf(world))
      yield* Effect.promise(async () => {
        await using kiwi = makeKiwi({ project: world.project, home: world.home, userSpace: world.userSpace })
        const controller = new AbortController()
        let grandchild = 0
        const error = await rejection(kiwi.run("wait", {}, {
          signal: controller.signal,
          onEvent: (event) => {
            if (event._tag === "Chunk") grandchild = Number(event.text)
            controller.abort()
            throw new Error("the callback's own")
          }
        }))
        assert.strictEqual(error, controller.signal.reason)
        assert.isAbove(grandchild, 0)
        const state = fs.existsSync(`/proc/${grandchild}`)
          ? fs.readFileSync(`/proc/${grandchild}/stat`, "utf8").split(") ")[1]?.[0]
          : "gone"
        assert.include(["gone", "Z"], state)
      })
    }))

  it.live(
    "lets no agent and no tool sign or trust by its own answer, nor anybody past the key's passphrase",
    () =>
      Effect.gen(function*() {
        const world = yield* realProject({ ".ai/tools/echo.yaml": echo, ".ai/config/trust.yaml": "signers: []\n" })
        const embedding = (env: Record<string, string>, acts: string): unknown =>
          JSON.parse(
            execFileSync(process.execPath, [
              "--disable-warning=ExperimentalWarning",
              "--input-type=module",
              "-e",
              `import * as Effect from "effect/Effect"
          import * as Embed from ${JSON.stringify(new URL("../../src/programs/embed.ts", import.meta.url).href)}
          const { project, home, userSpace } = ${JSON.stringify(world)}
          const kiwi = Embed.makeKiwi({ project, home, userSpace, askPerson: () => true })
          const caller = Embed.embedder("test", "one")
          const who = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
          const said = []
          for (const act of [${acts}]) {
            said.push(await kiwi.runPromise(act()).then(() => "done", (error) => error._tag + ": " + error.why))
          }
          await kiwi.close()
          console.log(JSON.stringify(said))`
            ], { encoding: "utf8", env: { ...process.env, ...env } }).trim().split("\n").at(-1) ?? ""
          )
        const trusting = "() => Embed.trustProject(caller), " +
          "() => Embed.trustSigner({ who, as: 'me', everywhere: true, name: 'Eve' }, caller)"
        const all = `${trusting}, () => Embed.sign({ id: "echo" }, caller)`
        const refused = (why: string, count: number) => Array.from({ length: count }, () => `HumanRequired: ${why}`)

        assert.deepStrictEqual(
          embedding({ KIWI_CALL: "1" }, all),
          refused("KIWI_CALL is set: a tool runs this command", 3)
        )
        for (const why of embedding({ CLAUDECODE: "1" }, all) as ReadonlyArray<string>) assert.include(why, "is set")

        const passphrase = { KIWI_PASSPHRASE: "open sesame" }
        const ensure = "() => Effect.flatMap(Embed.Identity, (identity) => identity.ensure())"
        assert.deepStrictEqual(embedding(passphrase, ensure), ["done"])
        const isLocked = "your signing key has a passphrase, and KIWI_PASSPHRASE is not"
        assert.deepStrictEqual(embedding({ KIWI_PASSPHRASE: "" }, trusting), refused(`${isLocked} set`, 2))
        assert.deepStrictEqual(embedding({ KIWI_PASSPHRASE: "another" }, trusting), refused(`${isLocked} it`, 2))
        assert.isFalse(fs.existsSync(`${world.home}/signers.json`))
        assert.deepStrictEqual(embedding({ ...passphrase, CLAUDECODE: "1" }, all), ["done", "done", "done"])
      }).pipe(Effect.scoped),
    120_000
  )

  it("rejects with ProjectNotFound where there is none", async () => {
    await using kiwi = makeKiwi({ project: "/no/such/folder" })
    assert.instanceOf(await rejection(kiwi.run("add")), Embed.ProjectNotFound)
  })
})

describe("the library", () => {
  it("exports services, errors, schemas and use cases by name, and nothing besides", () => {
    assert.deepStrictEqual(
      Object.keys(Embed).filter((name) => /^[a-z]/.test(name)).toSorted(),
      [
        "answerApproval",
        "chain",
        "codeOf",
        "diffLock",
        "embedder",
        "execute",
        "explain",
        "follow",
        "freezeLocks",
        "inbox",
        "innermost",
        "isItemId",
        "listLocks",
        "load",
        "makeKiwi",
        "makeKiwiOver",
        "outdatedLocks",
        "proposeYourself",
        "pruneLocks",
        "runTool",
        "runToolAs",
        "search",
        "showAccess",
        "showAction",
        "showLocation",
        "sign",
        "toErrorObject",
        "trustProject",
        "trustSigner",
        "untrustSigner",
        "updateLocks",
        "validateLocks",
        "verifyFrozen",
        "verifyLocks",
        "version",
        "withApproval"
      ]
    )
  })

  it("exports every error that a call can end with", () => {
    const source = fs.readFileSync(join(root, "src/services/proxy/ToolProxy.ts"), "utf8")
    const union = source.slice(source.indexOf("export type ChainReason ="), source.indexOf("/** Anything that goes"))
    const names = [...union.matchAll(/^ {2}\| ([A-Za-z]+)$/gm)].map(([, name]) => name ?? "")
    assert.isAbove(names.length, 8)
    const unions = new Set([
      "ApprovalError",
      "ChainError",
      "TokenError",
      "VerifyError",
      "TemplateError",
      "PrimitiveError",
      "LockProblem"
    ])
    assert.deepStrictEqual(names.filter((name) => !unions.has(name) && !Object.hasOwn(Embed, name)), [])
  })

  const root = new URL("../../", import.meta.url).pathname
  const loaded = (entry: string): ReadonlyArray<string> => {
    const script = `
      import { registerHooks } from "node:module"
      const seen = new Set()
      registerHooks({ resolve: (specifier, context, next) => {
        const found = next(specifier, context)
        seen.add(found.url)
        return found
      } })
      await import(${JSON.stringify(join(root, entry))})
      process.stdout.write(JSON.stringify([...seen]))`
    return JSON.parse(
      execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script], {
        encoding: "utf8"
      })
    )
  }
  const heavy = /\/node_modules\/(?:ajv|yaml|@lezer|@napi-rs|@cfworker|re2js|@modelcontextprotocol)\/|^node:sqlite$/

  for (const entry of ["src/programs/embed.ts", "src/programs/testing.ts"]) {
    it(`${entry} loads none of the heavy packages`, () => {
      const modules = loaded(entry)
      assert.isAbove(modules.length, 50)
      assert.deepStrictEqual(modules.filter((url) => heavy.test(url)), [])
    })
  }
})
