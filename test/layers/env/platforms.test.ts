// What differs from one operating system to the next, over a disk that is a list.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { resolve, valuesOf, withRuntime, type World } from "./environments.ts"

const binary = (name: string) => withRuntime({ interpreter: { type: "system_binary", var: "X", binary: name } })
const pathOf = (chain: ReturnType<typeof binary>, world: World) =>
  Effect.map(resolve(chain, world), ({ interpreter }) => interpreter?.path)

describe("Windows", () => {
  const windows: World = { platform: "windows", project: "C:\\work", programs: [], variables: { Path: "C:\\bin" } }

  it.effect("PATHEXT orders the endings; what needs a shell is no program", () =>
    Effect.gen(function*() {
      const programs = ["C:\\bin\\tool.com", "C:\\bin\\tool.exe", "C:\\bin\\tool.cmd", "C:\\bin\\tool"]
      const at = (PathExt?: string, command = "tool") =>
        pathOf(binary(command), {
          ...windows,
          programs,
          variables: { Path: "C:\\bin", ...(PathExt === undefined ? {} : { PathExt }) }
        })
      assert.strictEqual(yield* at(), "C:\\bin\\tool.exe")
      assert.strictEqual(yield* at(".COM;.EXE;.BAT;.CMD"), "C:\\bin\\tool.com")
      assert.strictEqual(yield* at(".CMD"), "C:\\bin\\tool.exe")
      assert.strictEqual(yield* at(undefined, "TOOL.EXE").pipe(Effect.orElseSucceed(() => "none")), "none")
      assert.strictEqual(yield* at(undefined, "tool.exe"), "C:\\bin\\tool.exe")
      const shims = { ...windows, programs: ["C:\\bin\\only.cmd", "C:\\bin\\only.bat", "C:\\bin\\only"] }
      assert.strictEqual((yield* Effect.flip(resolve(binary("only"), shims)))._tag, "RequirementsMissing")
    }))

  it.effect("names of variables in any case, from the process, a .env file and a tool", () =>
    Effect.gen(function*() {
      const chain = withRuntime(undefined, { requires: { environment: ["GITHUB_TOKEN", "Api_Base", "OTHER"] } })
      const env = yield* resolve(chain, {
        ...windows,
        variables: { Path: "C:\\bin", Github_Token: "t", API_BASE: "b" },
        control: { ".env": "other=o\nPath=C:\\evil\n" }
      })
      assert.include(valuesOf(env.child), { GITHUB_TOKEN: "t", Api_Base: "b", OTHER: "o", PATH: "C:\\bin" })
    }))

  it.effect("npm's Node is in its package, where .bin has only a script for a shell", () =>
    Effect.gen(function*() {
      const chain = withRuntime({ interpreter: { type: "node_modules", var: "X", search: ["project"] } })
      const shim = { "C:\\work\\node_modules\\.bin\\node.cmd": "@\"%~dp0\\..\\node\\bin\\node.exe\" %*" }
      const inPackage = "C:\\work\\node_modules\\node\\bin\\node.exe"
      assert.strictEqual(yield* pathOf(chain, { ...windows, programs: [inPackage], files: shim }), inPackage)
      const direct = "C:\\work\\node_modules\\.bin\\node.exe"
      assert.strictEqual(yield* pathOf(chain, { ...windows, programs: [inPackage, direct], files: shim }), direct)
      assert.strictEqual((yield* Effect.flip(resolve(chain, { ...windows, files: shim })))._tag, "RequirementsMissing")
    }))
})

describe("macOS", () => {
  it.effect("Homebrew's folder is on the PATH of a process that was started without one", () =>
    Effect.gen(function*() {
      const world: World = { platform: "macos", variables: {}, programs: ["/opt/homebrew/bin/jq"] }
      assert.strictEqual(yield* pathOf(binary("jq"), world), "/opt/homebrew/bin/jq")
      const env = yield* resolve(binary("jq"), world)
      assert.strictEqual(valuesOf(env.child)["PATH"], "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin")
      assert.strictEqual(
        (yield* Effect.flip(resolve(binary("jq"), { ...world, platform: "linux" })))._tag,
        "RequirementsMissing"
      )
    }))

  it.effect("a PATH that is set is taken as it is", () =>
    Effect.gen(function*() {
      const world: World = { platform: "macos", variables: { PATH: "/usr/bin" }, programs: ["/opt/homebrew/bin/jq"] }
      assert.strictEqual((yield* Effect.flip(resolve(binary("jq"), world)))._tag, "RequirementsMissing")
    }))
})
