import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { spawnSync } from "node:child_process"
import { limited, type LimitsHost, makeHost, notStarted } from "../../../src/layers/process/limits.ts"
import type { ProcessLimits } from "../../../src/services/primitive/SubprocessConfig.ts"

const host = (platform: NodeJS.Platform, cores = false): LimitsHost => ({ platform, leavesCores: () => cores })
const argv = ["/bin/echo", "$(id) \"'`;"]
const all: ProcessLimits = { cpu: 60, memory: 1_073_741_824, files: 64, fileSize: 1_048_576, processes: 5_000 }

const start = (limits: ProcessLimits, run: ReadonlyArray<string>, env: Record<string, string> = {}, cores = false) => {
  const { argv: [program = "", ...rest] } = Result.getOrThrow(
    limited(run, limits, env, () => "token", host(process.platform === "darwin" ? "darwin" : "linux", cores))
  )
  return spawnSync(program, rest, { env, encoding: "utf8" })
}

describe("limits", () => {
  it("that nobody asks for cost nothing: no shell", () => {
    for (const platform of ["linux", "darwin", "win32"] as const) {
      assert.deepStrictEqual(Result.getOrThrow(limited(argv, {}, {}, () => "token", host(platform))), {
        argv,
        refusal: ""
      })
    }
  })

  it("that cannot be set are refused, not left out", () => {
    assert.isTrue(Result.isFailure(limited(argv, { memory: 1_000_000 }, {}, () => "token", host("darwin"))))
    assert.isTrue(Result.isSuccess(limited(argv, { cpu: 5 }, {}, () => "token", host("darwin"))))
    for (const limit of [{ cpu: 1 }, { memory: 1 }, { files: 1 }, { fileSize: 1 }, { processes: 1 }]) {
      assert.isTrue(Result.isFailure(limited(argv, limit, {}, () => "token", host("win32"))))
    }
  })

  it("come by a fixed text; the program is never a part of it", () => {
    const evil = ["/bin/echo", "\"; touch /tmp/x; $(id) `id` ${HOME} \n exit 3"]
    const text = (run: ReadonlyArray<string>) =>
      Result.getOrThrow(limited(run, all, {}, () => "token", host("linux"))).argv[2]
    assert.strictEqual(text(evil), text(["/bin/true"]))
    assert.strictEqual(start({ files: 64 }, evil).stdout, `${evil[1]}\n`)
  })

  it.runIf(process.platform === "linux")("hold for the program, and for what it starts", () => {
    const { stderr, stdout } = start(all, ["/bin/sh", "-c", "sh -c 'cat /proc/self/limits'"])
    const line = (name: string) => stdout.split("\n").find((l) => l.startsWith(name))?.slice(26).trim().split(/\s+/)
    assert.deepStrictEqual(line("Max cpu time"), ["60", "60", "seconds"], stderr)
    assert.deepStrictEqual(line("Max address space"), ["1073741824", "1073741824", "bytes"])
    assert.deepStrictEqual(line("Max open files"), ["64", "64", "files"])
    assert.deepStrictEqual(line("Max file size"), ["1048576", "1048576", "bytes"])
    assert.deepStrictEqual(line("Max processes"), ["5000", "5000", "processes"])
    assert.deepStrictEqual(line("Max core file size"), ["0", "0", "bytes"])
  })

  it.runIf(process.platform === "linux")("leave every variable of the program as it is", () => {
    const { stdout } = start({ processes: 5_000 }, ["/usr/bin/env"], { u: "mine", PWD: "/" })
    assert.include(stdout.split("\n"), "u=mine")
  })

  it.runIf(process.platform === "linux")("of the machine that are tighter stay", () => {
    const inner = Result.getOrThrow(
      limited(["/bin/sh", "-c", "ulimit -n"], { files: 500 }, {}, () => "token", host("linux"))
    )
    assert.strictEqual(start({ files: 40 }, inner.argv).stdout, "40\n")
  })

  it("add no variable, and keep those that were given", () => {
    const own = (text: string) =>
      text.trim().split("\n").filter((line) => !/^(?:_|__CF.*|SHLVL)=/.test(line)).toSorted()
    assert.deepStrictEqual(own(start({ cpu: 5 }, ["/usr/bin/env"], { A: "1", u: "2" }).stdout), ["A=1", "u=2"])
    assert.include(start({ cpu: 5 }, ["/usr/bin/env"], { PWD: process.cwd() }).stdout, `PWD=${process.cwd()}`)
  })

  it("that the machine refuses are named, by a word that no program can say", () => {
    const { argv: [, , text = ""] } = Result.getOrThrow(limited(argv, all, {}, () => "token", host("linux")))
    // The same text where `ulimit` knows no memory.
    const broken = `ulimit() { [ "$1" != -v ] && [ "$2" != -v ]; }\n${text}`
    const done = spawnSync("/bin/sh", ["-c", broken, "word", "-", "5", "-", "-", "-", ...argv], { encoding: "utf8" })
    assert.deepStrictEqual([done.status, done.stdout, done.stderr], [notStarted, "", "word memory\n"])
  })

  it("keep a crash from leaving its memory on disk, where the machine would let it", () => {
    assert.strictEqual(Result.getOrThrow(limited(argv, {}, {}, () => "token", host("linux", true))).argv[0], "/bin/sh")
    assert.strictEqual(start({}, ["/bin/sh", "-c", "ulimit -c"], {}, true).stdout, "0\n")
    assert.isBoolean(makeHost(process.platform).leavesCores())
  })
})
