// The real process tree of these tests, and what ps says of it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import * as LineageMemory from "../../../src/layers/presence/LineageMemory.ts"
import * as LineageNode from "../../../src/layers/presence/LineageNode.ts"
import * as LineagePs from "../../../src/layers/presence/LineagePs.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { Lineage } from "../../../src/services/presence/Lineage.ts"
import { temporary } from "../../support/temporary.ts"

const read = Effect.flatMap(Lineage, (lineage) => lineage.read)

describe("Lineage", () => {
  it.live("of this machine begins here and goes on with the parent", () =>
    Effect.gen(function*() {
      const lineage = yield* Effect.provide(read, LineageNode.layer)
      assert.deepStrictEqual(lineage?.slice(0, 2).map(({ pid }) => pid), [process.pid, process.ppid])
      assert.isAbove(lineage?.[0]?.group ?? 0, 0)
      assert.isUndefined(lineage?.find(({ pid }) => pid <= 0))
    }))

  it.live.runIf(process.platform === "linux")(
    "by /proc has programs, arguments and sessions",
    () =>
      Effect.gen(function*() {
        const lineage = yield* Effect.provide(read, LineageNode.layer)
        const [self] = lineage ?? []
        assert.strictEqual(self?.program, process.execPath)
        // In a container the leader of the session may be outside of it, and then has no number here.
        assert.strictEqual(self?.session, Number(readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ")[3]))
      })
  )

  /** A script whose child says what `expression` gives of the lineage that it reads. */
  const scriptOfParent = (name: string, expression: string) => {
    const own = (path: string) => new URL(`../../../src/${path}`, import.meta.url).href
    return `const child = require("child_process").spawnSync(process.execPath, ["--input-type=module", "-e", ${
      JSON.stringify(`
            import * as Effect from "effect/Effect"
            import { make } from ${JSON.stringify(own("layers/presence/LineageProc.ts"))}
            import { ${name} } from ${JSON.stringify(own("services/presence/presence.ts"))}
            const lineage = await Effect.runPromise(Effect.flatMap(make, (one) => one.read))
            console.log(JSON.stringify(lineage === undefined ? {} : { sees: ${expression} }))`)
    }], { cwd: ${JSON.stringify(process.cwd())}, encoding: "utf8" })
          process.stdout.write(child.stdout || child.stderr)`
  }

  for (
    const [name, options, sees] of [
      ["an option that is not known", ["--no-deprecation"], true],
      ["many options", Array.from({ length: 200 }, (_, at) => `--stack-trace-limit=${at + 1}`), true],
      ["a long option", [`--conditions=${"x".repeat(60_000)}`], true],
      ["more arguments than are read", Array.from({ length: 2 }, () => `--conditions=${"x".repeat(70_000)}`), undefined]
    ] as const
  ) {
    it.live.runIf(process.platform === "linux")(
      `by /proc sees the Kiwi above that was started with ${name}`,
      () =>
        Effect.gen(function*() {
          const folder = `${yield* temporary}/kiwi/bin`
          mkdirSync(folder, { recursive: true })
          writeFileSync(`${folder}/kiwi.cjs`, scriptOfParent("callSeen", "callSeen({}, lineage) !== undefined"))
          const said = execFileSync(process.execPath, [...options, "kiwi.cjs", "serve"], {
            cwd: folder,
            encoding: "utf8"
          })
          assert.strictEqual(JSON.parse(said).sees, sees)
        }).pipe(Effect.scoped)
    )
  }

  for (const script of ["./qwen-code/cli", "./qwen-code/cli.js", "./qwen-code", "./other/cli", "./other", "./linked"]) {
    it.live.runIf(process.platform === "linux")(
      `by /proc sees the agent that was started as node ${script}`,
      () =>
        Effect.gen(function*() {
          const scope = `${yield* temporary}/@qwen-code`
          mkdirSync(`${scope}/qwen-code`, { recursive: true })
          writeFileSync(`${scope}/qwen-code/package.json`, JSON.stringify({ main: "cli.js" }))
          writeFileSync(
            `${scope}/qwen-code/cli.js`,
            scriptOfParent("agentSeen", "agentSeen({}, lineage.slice(0, 2))?.split(\" \")[0]")
          )
          symlinkSync(`${scope}/qwen-code`, `${scope}/other`)
          symlinkSync(`${scope}/qwen-code/cli.js`, `${scope}/linked.js`)
          const said = execFileSync(process.execPath, [script], { cwd: scope, encoding: "utf8" })
          assert.strictEqual(JSON.parse(said).sees, "Qwen")
        }).pipe(Effect.scoped)
    )
  }

  it.live.runIf(existsSync("/bin/ps"))("by ps says the same", () =>
    Effect.gen(function*() {
      const byPs = yield* Effect.provide(
        Effect.flatMap(LineagePs.make(process.pid), (lineage) => lineage.read),
        ChildProcessesNode.layer
      )
      assert.deepStrictEqual(byPs?.slice(0, 2).map(({ pid }) => pid), [process.pid, process.ppid])
      const byProc = process.platform === "linux" ? yield* Effect.provide(read, LineageNode.layer) : byPs
      assert.deepStrictEqual(byPs?.map(({ group, pid }) => [pid, group]), byProc?.map(({ group, pid }) => [pid, group]))
    }))

  it("by ps of a Mac", () => {
    const text = [
      "    1     0     1 /sbin/launchd",
      "  500     1   500 /System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal",
      "  600   500   600 -zsh",
      "  700   600   700 claude --resume",
      "  800   700   800 /bin/zsh -c kiwi sign tool add",
      "  801   800   800 node /opt/homebrew/bin/kiwi sign tool add",
      ""
    ].join("\n")
    const lineage = LineagePs.parseList(text, 801)
    assert.deepStrictEqual(lineage?.map(({ pid }) => pid), [801, 800, 700, 600, 500, 1])
    assert.deepStrictEqual(lineage?.[2]?.argv, ["claude", "--resume"])
    assert.isUndefined(LineagePs.parseList(text, 802))
    assert.isUndefined(LineagePs.parseList(text.replace("  600 ", "  601 "), 801), "a parent is missing")
    assert.isUndefined(LineagePs.parseList("  5 6 1 a\n  6 5 1 b", 5), "a ring")
    assert.isUndefined(LineagePs.parseList("", 1))
  })

  it("by ps has the leader of a group whose child has ended", () => {
    const text = "1 0 1 /sbin/launchd\n700 1 700 claude\n710 700 710 bash -c x\n720 1 710 node kiwi.cjs sign"
    const [self] = LineagePs.parseList(text, 720) ?? []
    assert.deepStrictEqual(self?.leaders?.map(({ pid }) => pid), [710, 700])
  })

  it.effect("in memory is what it is told", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* Effect.provide(read, LineageMemory.layerWith(undefined)))
      const lineage = yield* Effect.provide(read, LineageMemory.layerWith([{}, { name: "claude" }]))
      assert.deepStrictEqual(lineage?.map(({ name }) => name), ["", "claude"])
    }))
})
