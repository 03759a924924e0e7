// What people do with coding agents, through the whole stack: each call is decided as they would expect. Programs do not run.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { parse } from "yaml"
import { agentWorld, type AgentWorldOptions } from "../../support/mcp/agentWorld.ts"

interface Story {
  readonly name: string
  readonly world: AgentWorldOptions
  readonly calls: ReadonlyArray<{
    readonly call: readonly [tool: string, parameters: object]
    /** `any`: allowed or asked. */
    readonly expect: "allow" | "ask" | "any"
    readonly why?: string
  }>
}

const stories: ReadonlyArray<Story> = parse(
  fs.readFileSync(new URL("../../attacks/legitimate.yaml", import.meta.url), "utf8")
)

const files = {
  "package.json": JSON.stringify({
    name: "units",
    version: "0.1.0",
    scripts: { test: "node -e 0", build: "node -e 0", lint: "node -e 0" }
  }),
  "README.md": "# units\n",
  "CHANGELOG.md": "# Changes\n",
  "tsconfig.json": "{}\n",
  ".github/workflows/ci.yml": "on: push\n",
  ".gitignore": "build\n.ai\n",
  ".env": "TOKEN=secret\n",
  ".env.example": "TOKEN=\n",
  "src/a.js": "// one\n",
  "src/b.js": "// two\n",
  "test/a.test.js": "// one\n",
  "docs/a b.md": "text\n",
  "infra/main.tf": "x\n",
  "migrations/1.sql": "select 1;\n"
}

/** "@tool sql limit": a tool that prints its parameters. */
const toolOf = (text: string): string => {
  const names = text.split(" ").slice(1)
  return JSON.stringify({
    version: "1.0.0",
    tool_type: "script",
    executor_id: "subprocess",
    input_schema: {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      required: names
    },
    config: { command: "printf", args: ["%s\\n", ...names.map((name) => `--${name}={${name}}`)], output: "text" }
  })
}

const toolsOf = (tools: Readonly<Record<string, string>> | undefined) =>
  tools === undefined
    ? undefined
    : Object.fromEntries(Object.entries(tools).map(([path, text]) => [path, toolOf(text)]))

describe("people", () => {
  it("do enough", () => {
    assert.isAtLeast(stories.flatMap(({ calls }) => calls).length, 300)
  })

  for (const { calls, name, world: { foreign, own, ...options } } of stories) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const [mine, theirs] = [toolsOf(own), toolsOf(foreign)]
        const world = yield* agentWorld({
          files,
          runs: false,
          network: () => Effect.succeed({ body: "text" }),
          ...(mine === undefined ? {} : { own: mine }),
          ...(theirs === undefined ? {} : { foreign: theirs }),
          ...options
        })
        const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: world.project, stdio: "pipe" })
        git("init", "-q", "-b", "main")
        git("config", "user.name", "Ada")
        git("config", "user.email", "ada@example.com")
        git("add", "-A")
        git("commit", "-qm", "Start")
        const wrong: Array<string> = []
        for (const { call, expect } of calls) {
          yield* TestClock.adjust("1 second")
          world.asked.length = 0
          const answer = yield* world.call(...call)
          const found = answer.status !== "success"
            ? `${answer.error?.code}: ${answer.error?.message}`
            : world.asked.length > 0
            ? "ask"
            : "allow"
          const isExpected = expect === "any" ? found === "ask" || found === "allow" : found === expect
          if (!isExpected) wrong.push(`${JSON.stringify(call)} is ${found}, and not ${expect}`)
        }
        assert.deepStrictEqual(wrong, [])
      }), 120_000)
  }
})
