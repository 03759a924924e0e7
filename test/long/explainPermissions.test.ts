// The explanation of a call says what then happens to it: for what people do with coding agents, under several rules.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import { type ExplainedCall, explainPermissions } from "../../src/programs/explainPermissions.ts"
import type { Caller } from "../../src/services/call/Caller.ts"
import { codeOf, innermost, type KiwiError } from "../../src/services/error/KiwiError.ts"
import { type AgentWorld, agentWorld, type AgentWorldOptions, type Answering } from "../support/mcp/agentWorld.ts"

interface Call {
  readonly call: readonly [tool: string, parameters: Record<string, never>]
}

const stories: ReadonlyArray<{ readonly world: AgentWorldOptions; readonly calls: ReadonlyArray<Call> }> = parse(
  fs.readFileSync(new URL("../attacks/legitimate.yaml", import.meta.url), "utf8")
)

/** Calls of tools that come with Kiwi, each once. */
const calls = [
  ...new Set(
    stories.filter(({ world: { foreign, own } }) => foreign === undefined && own === undefined)
      .flatMap((story) => story.calls.map(({ call }) => JSON.stringify(call)))
  )
].map((text): Call["call"] => JSON.parse(text))

const files = {
  "package.json": JSON.stringify({ name: "units", version: "0.1.0", scripts: { test: "node -e 0" } }),
  "README.md": "# units\n",
  ".gitignore": "build\n.ai\n",
  ".env": "TOKEN=secret\n",
  "src/a.js": "// one\n",
  "src/b.js": "// two\n",
  "test/a.test.js": "// one\n",
  "docs/a b.md": "text\n",
  "infra/main.tf": "x\n"
}

const never: Answering = () => "no"
const always: Answering = (choices) => choices.includes("always") ? "always" : "once"

/** `outcomes`: those that several of the calls must have. */
const worlds: Readonly<Record<string, AgentWorldOptions & { readonly outcomes: ReadonlyArray<string> }>> = {
  "no rules": { answer: never, outcomes: ["allow", "ask"] },
  "no rules, without a sandbox": {
    sandboxed: false,
    settings: "isolation: {tools: {shell.run: standard}}\n",
    answer: never,
    outcomes: ["allow", "ask"]
  },
  "answers that are remembered": {
    sandboxed: false,
    settings: "isolation: {tools: {shell.run: standard}}\n",
    answer: always,
    outcomes: ["allow", "ask"]
  },
  "many rules": {
    rules: `rules:
  - allow: fs.write(src/**, test/**)
  - ask: fs.write(**/*.md)
  - deny: fs.write(infra/**)
  - deny: fs.read(**/*.test.js)
  - allow: fs.delete(src/**)
  - allow: shell.run(npm test, git *)
  - deny: shell.run(git push *)
  - ask: process.exec(npm *)
  - allow: net.http(*.example.com)
  - ask: filesystem.move
  - deny: git.log
    parameters: {limit: {maximum: 3}}
  - ask: "*"
    when: first-run
    caller: nobody
`,
    answer: never,
    outcomes: ["allow", "ask", "deny"]
  },
  "tools that are new": {
    rules: "rules: [{ask: '*', when: first-run}, {ask: 'git.*', when: changed}]",
    answer: always,
    outcomes: ["allow", "ask"]
  }
}

const client = "agent"

/** What is told before anybody is asked. */
const doomed = new Set(["EDIT_UNCLEAR", "FILE_ABSENT", "PATH_UNUSABLE", "WRITE_REFUSED"])

const explainIn = (world: AgentWorld, [tool, parameters]: Call["call"], more: Partial<Caller> = {}) =>
  world.use(
    Effect.result(explainPermissions(tool, parameters, { surface: "mcp", client, session: "none", ...more }))
  ) as Effect.Effect<Result.Result<ExplainedCall, KiwiError>>

describe.each(Object.entries(worlds))("%s", (_, { outcomes, ...options }) => {
  it.effect("each call is decided as it was explained", () =>
    Effect.gen(function*() {
      const world = yield* agentWorld({
        files,
        runs: false,
        network: () => Effect.succeed({ body: "text" }),
        client,
        ...options
      })
      execFileSync("git", ["init", "-q"], { cwd: world.project })
      const wrong: Array<string> = []
      const seen = new Map<string, number>()
      for (const call of calls) {
        yield* TestClock.adjust("10 seconds")
        world.asked.length = 0
        const explained = yield* explainIn(world, call)
        const answer = yield* world.call(...call)
        const code = answer.error?.code
        const found = world.asked.length > 0 ? "ask" : code === "PERMISSION_DENIED" ? "deny" : code ?? "allow"
        const isLater = Result.isSuccess(explained) && explained.success.outcome === "allow" && found !== "ask" &&
          found !== "deny"
        // It would be asked about, and is not since it could not be done.
        const isDoomed = code !== undefined && doomed.has(code) && Result.isSuccess(explained) &&
          explained.success.outcome === "ask"
        const said = Result.isFailure(explained)
          ? codeOf(innermost(explained.failure))
          : isLater || isDoomed
          ? found
          : explained.success.outcome
        seen.set(said, (seen.get(said) ?? 0) + 1)
        if (said !== found) wrong.push(`${JSON.stringify(call)} is explained as ${said}, and is ${found}`)
      }
      assert.deepStrictEqual(wrong, [])
      for (const one of outcomes) assert.isAtLeast(seen.get(one) ?? 0, 3, one)
    }), 120_000)
})

const success = (explained: Result.Result<ExplainedCall, KiwiError>) => Result.getOrThrow(explained)

describe("an explanation", () => {
  it.effect("says which answer settles the question, for whom, and what an answer would allow", () =>
    Effect.gen(function*() {
      const world = yield* agentWorld({ files, runs: false, client, answer: always })
      const edit: Call["call"] = ["filesystem.write", { path: "src/a.js", content: "x" } as never]
      const before = success(yield* explainIn(world, edit))
      assert.strictEqual(before.outcome, "ask")
      assert.strictEqual(before.accesses.at(-1)?.offer, "allow: fs.write(**)")
      yield* world.call(...edit)
      const after = success(yield* explainIn(world, edit))
      assert.strictEqual(after.outcome, "allow")
      assert.match(after.accesses.at(-1)?.settled ?? "", /^remembered /)
      assert.isUndefined(after.accesses.at(-1)?.offer)
      assert.include(after.rule, after.accesses.at(-1)?.settled ?? "nothing")
      assert.strictEqual(success(yield* explainIn(world, edit, { client: "another" })).outcome, "ask")
      world.answerWith((choices) => choices.includes("never") ? "never" : "no")
      const elsewhere: Call["call"] = ["http.fetch", { url: "https://docs.example/" } as never]
      yield* world.call(...elsewhere)
      const refused = success(yield* explainIn(world, elsewhere))
      assert.strictEqual(refused.outcome, "deny")
      assert.include(refused.reason ?? "", "never")
    }))

  it.effect("counts the rules and lists of a profile", () =>
    Effect.gen(function*() {
      const world = yield* agentWorld({ files, runs: false, client })
      fs.mkdirSync(join(world.userSpace, "config"), { recursive: true })
      fs.writeFileSync(
        join(world.userSpace, "config/profiles.yaml"),
        "profiles:\n  review:\n    items: [filesystem.read, filesystem.list]\n    rules: [{deny: fs.read(src)}]\n"
      )
      const outcomeOf = (call: Call["call"], profile?: string) =>
        Effect.map(
          explainIn(world, call, profile === undefined ? {} : { profile }),
          Result.match({
            onSuccess: ({ outcome }) => outcome as string,
            onFailure: (error) => codeOf(innermost(error))
          })
        )
      const read: Call["call"] = ["filesystem.read", { path: "src/a.js" } as never]
      assert.strictEqual(yield* outcomeOf(read), "allow")
      assert.strictEqual(yield* outcomeOf(read, "review"), "deny")
      assert.strictEqual(yield* outcomeOf(["filesystem.read", { path: "README.md" } as never], "review"), "allow")
      assert.strictEqual(yield* outcomeOf(["git.status", {}], "review"), "PERMISSION_DENIED")
      assert.strictEqual(yield* outcomeOf(read, "missing"), "PERMISSION_DENIED")
    }))

  it.effect("without parameters that the tool needs, is about the tool alone", () =>
    Effect.gen(function*() {
      const world = yield* agentWorld({ files, runs: false, client })
      const by: Caller = { surface: "cli", client, session: "s" }
      const explain = (tool: string) =>
        world.use(explainPermissions(tool, undefined, by)) as Effect.Effect<ExplainedCall>
      const write = yield* explain("filesystem.write")
      assert.isTrue(write.toolOnly)
      assert.deepStrictEqual(write.accesses.map(({ access }) => access), ["tool.filesystem.write"])
      const list = yield* explain("filesystem.list")
      assert.isFalse(list.toolOnly)
      assert.deepStrictEqual(list.accesses.map(({ access }) => access), ["tool.filesystem.list", "fs.read(.)"])
    }))
})
