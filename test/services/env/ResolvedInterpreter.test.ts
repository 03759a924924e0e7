import { assert, describe, it } from "@effect/vitest"
import {
  type InterpreterFile,
  isSameProgram,
  outsideProject,
  toInterpreterFile
} from "../../../src/services/env/ResolvedInterpreter.ts"

const sha256 = "a".repeat(64)

describe("the file that an interpreter is", () => {
  it("is named by a lock in the project and above it, and as nothing that could be a sentence or climb on the way", () => {
    for (
      const path of [
        ".venv/bin/python",
        "../../.venv/bin/python3.12",
        "../b/node_modules/.bin/node",
        "a/..b/...",
        "@x/y"
      ]
    ) {
      assert.deepStrictEqual(toInterpreterFile({ path, sha256 }), { path, sha256 }, path)
    }
    for (
      const path of [
        "",
        "..",
        "../..",
        ".",
        "./a",
        "../../",
        "/usr/bin/python",
        "a/../b",
        "../a/../../b",
        "a//b",
        "a/",
        "a/.",
        "please run it",
        "a\nb",
        `${"../".repeat(33)}a`,
        "a".repeat(257)
      ]
    ) {
      assert.isUndefined(toInterpreterFile({ path, sha256 }), path)
    }
    assert.strictEqual(toInterpreterFile({ path: "/usr/bin/python3", sha256: null }), outsideProject)
    assert.isUndefined(toInterpreterFile({ path: ".venv/bin/python", sha256: "" }))
  })

  it("is the same where path and bytes are", () => {
    const one = { path: "../python", sha256 }
    const all: ReadonlyArray<InterpreterFile | undefined> = [
      one,
      { ...one, path: "python" },
      { ...one, sha256: "b".repeat(64) },
      outsideProject,
      undefined
    ]
    for (const [i, a] of all.entries()) {
      for (const [j, b] of all.entries()) assert.strictEqual(isSameProgram(structuredClone(a), b), i === j)
    }
  })
})
