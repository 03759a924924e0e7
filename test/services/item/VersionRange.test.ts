import { assert, describe, it } from "@effect/vitest"
import { isInRange, isPrereleaseInRange, isRange } from "../../../src/services/item/VersionRange.ts"

describe("VersionRange", () => {
  it("reads what npm reads", () => {
    const cases: ReadonlyArray<readonly [string, string, boolean]> = [
      ["^2.0", "2.0.0", true],
      ["^2.0", "2.9.3", true],
      ["^2.0", "1.9.9", false],
      ["^2.0", "3.0.0", false],
      ["^0.2.3", "0.2.9", true],
      ["^0.2.3", "0.3.0", false],
      ["~1.4.2", "1.4.9", true],
      ["~1.4.2", "1.5.0", false],
      [">=2 <4", "3.9.9", true],
      [">=2 <4", "4.0.0", false],
      ["1.x || >=3", "1.7.0", true],
      ["1.x || >=3", "2.0.0", false],
      ["1.2.3 - 2.0.0", "2.0.0", true],
      ["2.0.0", "2.0.1", false],
      ["2.0.0", "2.0.0+build", true],
      ["*", "0.0.0", true]
    ]
    for (const [range, version, expected] of cases) {
      assert.isTrue(isRange(range), range)
      assert.strictEqual(isInRange(version, range), expected, `${version} in ${range}`)
    }
  })

  it("takes a pre-release only where the range names one of the same version", () => {
    assert.isFalse(isInRange("2.1.0-rc.1", "^2.0"))
    assert.isFalse(isInRange("2.0.0-rc.1", "*"))
    assert.isTrue(isInRange("2.1.0-rc.2", "^2.1.0-rc.1"))
    assert.isFalse(isInRange("2.1.0-alpha", "^2.1.0-rc.1"))
    assert.isFalse(isInRange("2.2.0-rc.2", "^2.1.0-rc.1"))
    assert.isTrue(isInRange("2.2.0", "^2.1.0-rc.1"))
    assert.isTrue(isPrereleaseInRange("2.1.0-rc.1", "^2.0"))
    assert.isFalse(isPrereleaseInRange("3.1.0-rc.1", "^2.0"))
    assert.isFalse(isPrereleaseInRange("2.1.0", "^2.0"))
  })

  it("is no range: empty, words, a tag, blanks around it, line ends, too long", () => {
    for (
      const text of ["", " ", "latest", "v2", "^", "2.0.0.0", " ^2", "^2 ", "^2\n", ">=2 &&<3", "^02", "1".repeat(200)]
    ) {
      assert.isFalse(isRange(text), JSON.stringify(text))
    }
  })

  it("what is no version is in no range", () => {
    for (const version of ["", "1", "1.0", "1.0.0-01", "x"]) assert.isFalse(isInRange(version, "*"), version)
    assert.isFalse(isInRange("1.0.0", "latest"))
  })
})
