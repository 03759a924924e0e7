import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import * as Fs from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import * as ChildProcessesMemory from "../../../src/layers/process/ChildProcessesMemory.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { makeRunOwnChild, type OwnChild } from "../../../src/layers/process/ownChild.ts"
import { systemPath, thisNode } from "../../../src/layers/process/ownPrograms.ts"
import { temporary } from "../../support/temporary.ts"

const sh = { file: "/bin/sh", as: "/bin/sh" }

const runOwnChild = (child: OwnChild) =>
  Effect.provide(Effect.flatMap(makeRunOwnChild, (start) => start(child)), ChildProcessesNode.layer)

const run = (script: string, options: Partial<OwnChild> = {}) =>
  runOwnChild({ program: sh, args: ["-c", script], within: "10 seconds", most: 65_536, ...options })

/** Every one of them makes some program run another. */
const hostile = `
  NODE_OPTIONS NODE_PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PS4 PYTHONPATH PYTHONHOME
  PYTHONSTARTUP GIT_DIR GIT_SSH_COMMAND GIT_CONFIG_COUNT PAGER EDITOR BASH_FUNC_ls%% IFS SHELLOPTS
  npm_config_script_shell KIWI_PASSPHRASE KIWI_CALL
`.trim().split(/\s+/)

/** What has ended stays until it is asked for: a zombie runs no more. */
const isRunning = (pid: number): boolean => {
  try {
    return !/ Z /.test(Fs.readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return false
  }
}

describe("a child of Kiwi's own", () => {
  it.live("gets a fixed environment, in a folder of nobody's", () =>
    Effect.gen(function*() {
      const before = { ...process.env }
      for (const name of hostile) process.env[name] = "/nowhere"
      const { stdout } = yield* runOwnChild({
        program: thisNode,
        args: ["-p", "JSON.stringify([process.cwd(), Object.entries(process.env)])"],
        variables: { OWN: "1" },
        within: "10 seconds",
        most: 65_536
      }).pipe(Effect.ensuring(Effect.sync(() => {
        process.env = before
      })))
      const [folder, env] = JSON.parse(stdout.toString("utf8"))
      assert.strictEqual(folder, "/")
      const { KIWI_CHILD, __CF_USER_TEXT_ENCODING: _, ...rest } = Object.fromEntries(env) as Record<string, string>
      assert.match(KIWI_CHILD ?? "", /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(rest, { HOME: homedir(), LC_ALL: "C.UTF-8", OWN: "1", PATH: systemPath })
    }))

  it.live("is told the name that it was found by", () =>
    Effect.gen(function*() {
      const { stdout } = yield* run("echo $0", { program: { file: "/bin/sh", as: "/opt/sh" }, args: ["-c", "echo $0"] })
      assert.strictEqual(stdout.toString(), "/opt/sh\n")
    }))

  it.live("answers with its code, and reads what it is given", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* run("cat; echo no >&2; exit 3", { stdin: new Uint8Array([97, 0, 98]) })
      assert.deepStrictEqual([code, stdout.toString("hex"), stderr.toString()], [3, "610062", "no\n"])
    }))

  it.live("that is too slow is ended, with all that it started", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const started = join(folder, "pid")
      const script = `trap '' TERM; (trap '' TERM; echo $$ > ${started}; sleep 600) & wait`
      const [elapsed, error] = yield* Effect.timed(Effect.flip(run(script, { within: "500 millis" })))
      assert.deepInclude(error, { _tag: "OwnChildFailed", issue: "too-slow" })
      assert.isBelow(Duration.toSeconds(elapsed), 10)
      assert.isFalse(isRunning(Number(Fs.readFileSync(started, "utf8"))))
    }))

  it.live("that says too much is ended, or what it said first is left out", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run("yes", { most: 1_000 }))
      assert.deepInclude(error, { _tag: "OwnChildFailed", issue: "too-long" })
      const { stderr, stdout } = yield* run("seq 1 100000; seq 1 100000 >&2", { most: 1_000, longer: "is cut" })
      for (const bytes of [stdout, stderr]) {
        assert.strictEqual(bytes.length, 1_000)
        assert.isTrue(bytes.toString().endsWith("\n99999\n100000\n"))
      }
    }))

  it.live("that is not there is one that was not started", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run("", { program: { file: "/nowhere/sh", as: "sh" } }))
      assert.deepInclude(error, { issue: "not-started", code: "ENOENT" })
    }))

  it.live("is none where a kernel starts nothing", () =>
    Effect.gen(function*() {
      const start = yield* Effect.provide(makeRunOwnChild, ChildProcessesMemory.layerWith(new Map(), []))
      const error = yield* Effect.flip(start({ program: sh, args: [], within: "1 second", most: 1 }))
      assert.deepInclude(error, { issue: "not-started", code: "SandboxUnavailable" })
    }))

  it.live("ends with whoever waits for it", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const started = join(folder, "pid")
      const fiber = yield* Effect.forkChild(run(`echo $$ > ${started}; exec sleep 600`, { within: "10 minutes" }))
      while (!Fs.existsSync(started) || Fs.readFileSync(started, "utf8") === "") yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.isFalse(isRunning(Number(Fs.readFileSync(started, "utf8"))))
    }))
})
