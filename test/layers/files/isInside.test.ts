import { assert, describe, it } from "@effect/vitest"
import { posix, win32 } from "node:path"
import { isInside } from "../../../src/layers/files/isInside.ts"

describe("isInside", () => {
  it("says whether a path is a folder or below it", () => {
    const inside: ReadonlyArray<readonly [folder: string, candidate: string]> = [
      ["/a", "/a"],
      ["/a", "/a/b"],
      ["/a", "/a/..b"],
      ["/a", "/a/b/../c"],
      ["/a/", "/a/b"],
      ["/", "/a"]
    ]
    const outside: ReadonlyArray<readonly [folder: string, candidate: string]> = [
      ["/a", "/ab"],
      ["/a", "/"],
      ["/a", "/b"],
      ["/a", "/a/../b"],
      ["/a/b", "/a"],
      ["/a", "/..a"]
    ]
    for (const [folder, candidate] of inside) assert.isTrue(isInside(folder, candidate, posix), candidate)
    for (const [folder, candidate] of outside) assert.isFalse(isInside(folder, candidate, posix), candidate)
    assert.isTrue(isInside("C:\\a", "c:\\A\\b", win32))
    assert.isFalse(isInside("C:\\a", "D:\\a\\b", win32))
    assert.isFalse(isInside("C:\\a", "C:\\ab", win32))
  })
})
