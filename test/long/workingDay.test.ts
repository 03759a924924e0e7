// A working day of an agent in a project: how often a person is asked, and that nothing is refused.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { parse } from "yaml"
import { agentWorld, type Answered, auditOf } from "../support/mcp/agentWorld.ts"

type Call = readonly [tool: string, parameters: Readonly<Record<string, string>>]

const script: ReadonlyArray<Call> = parse(fs.readFileSync(new URL("workingDay.yaml", import.meta.url), "utf8")).flatMap(
  (one: Readonly<Record<string, string | Record<string, string>>>) =>
    Object.entries(one).map(([tool, given]) => [tool, typeof given === "string" ? { command: given } : given] as const)
)

const files = {
  "package.json": JSON.stringify({
    name: "units",
    version: "0.1.0",
    type: "module",
    scripts: { test: "node test/all.js", build: "node build.js" }
  }),
  "README.md": "# units\n\n<!-- next -->\n",
  "build.js":
    "import fs from \"node:fs\"\nfs.mkdirSync(\"dist\", { recursive: true })\nfs.copyFileSync(\"src/index.js\", \"dist/index.js\")\n",
  "docs/units.md": "# Units\n\n<!-- next -->\n",
  "src/index.js": "// next\n",
  "test/all.js":
    "import fs from \"node:fs\"\nfor (const name of fs.readdirSync(\"test\")) if (name.endsWith(\".test.js\")) await import(`./${name}`)\nconsole.log(\"ok\")\n",
  ".npmrc": "update-notifier=false\n",
  ".gitignore": "dist\n.ai\n"
}

const teamTool = (says: string, parameters: ReadonlyArray<string>) =>
  JSON.stringify({
    version: "1.0.0",
    tool_type: "script",
    executor_id: "subprocess",
    input_schema: {
      type: "object",
      properties: Object.fromEntries(parameters.map((name) => [name, { type: "string" }])),
      required: parameters
    },
    config: { command: "node", args: ["-e", says, "--", ...parameters.map((name) => `{${name}}`)], output: "text" }
  })

const foreign = {
  "team/team_words.yaml": teamTool(
    "console.log(require('fs').readFileSync(process.argv[1], 'utf8').split(/\\s+/).length)",
    ["path"]
  ),
  "team/team_lint.yaml": teamTool("console.log(process.argv[1] + ': no problems')", ["path"]),
  "team/team_changelog.yaml": teamTool("console.log(process.argv.slice(1).join(': '))", ["kind", "text"])
}

const day = Effect.gen(function*() {
  let polls = 0
  const world = yield* agentWorld({
    files,
    foreign,
    network: ({ url }) =>
      Effect.sync(() => ({
        headers: { "content-type": "application/json" },
        body: JSON.stringify(url.includes("/runs/") ? { status: ++polls < 40 ? "running" : "passed" } : { meter: 1 })
      }))
  })
  const git = (...args: ReadonlyArray<string>) =>
    execFileSync("git", args, { cwd: world.project, encoding: "utf8", env: { PATH: process.env["PATH"] } })
  git("init", "-q", "-b", "main")
  git("config", "user.name", "Ada")
  git("config", "user.email", "ada@example.com")
  git("add", "-A")
  git("commit", "-qm", "Start")
  const answers: Array<
    { readonly call: Call; readonly answer: Answered; readonly questions: ReadonlyArray<string> }
  > = []
  for (const call of script) {
    // A model needs a moment for each call.
    yield* TestClock.adjust("1 second")
    const before = world.asked.length
    const answer = yield* world.call(...call)
    answers.push({ call, answer, questions: world.asked.slice(before) })
  }
  return { ...world, answers, git, audit: yield* auditOf(world) }
})

const shown = ([tool, parameters]: Call) => `${tool} ${JSON.stringify(parameters).slice(0, 120)}`

const programs = (commands: ReadonlyArray<string>) =>
  new Set(commands.flatMap((one) => one.split(/&&|\|\|?/).map((part) => part.trim().split(" ")[0])))

describe("a working day", () => {
  it("is one: what is written, run, polled and called", () => {
    const of = (tool: string | RegExp) =>
      script.filter(([name]) => tool instanceof RegExp ? tool.test(name) : name === tool)
    const commands = of("shell.run").map(([, { command = "" }]) => command)
    const writes = of(/^filesystem\.(write|edit)$/)
    assert.lengthOf(script, 200)
    assert.isAtLeast(writes.length, 60)
    assert.isAtLeast(new Set(writes.map(([, { path }]) => path)).size, 20)
    assert.isAtLeast(commands.length, 60)
    assert.isAtLeast(programs(commands).size, 15)
    assert.lengthOf(commands.filter((one) => one === "npm test"), 30)
    assert.lengthOf(of("http.fetch").filter(([, { url }]) => url?.includes("/runs/")), 40)
    assert.lengthOf(of(/^team_/), 30)
  })

  it.effect("asks at most ten questions in a sandbox, and refuses nothing", () =>
    Effect.gen(function*() {
      const { answers, asked, audit, git } = yield* day
      const questions = answers.flatMap((one) => one.questions.map((text) => `${shown(one.call)}\n${text}`))
      const refused = answers.filter(({ answer }) => answer.status !== "success")
      assert.deepStrictEqual(refused.map(({ answer, call }) => [shown(call), answer.error]), [])
      assert.isAtMost(asked.length, 10, questions.join("\n\n"))
      const tests = answers.filter(({ call: [, { command }] }) => command === "npm test")
      assert.deepStrictEqual(
        tests.map(({ answer }) => answer.data.exit_code),
        tests.map((_, index) => index % 3 === 0 ? 1 : 0)
      )
      assert.lengthOf(git("log", "--format=%h", "HEAD").trim().split("\n"), 4)
      assert.lengthOf(audit.filter(({ kind }) => kind === "request"), 200 + asked.length)
    }), 120_000)
})
