// Whose files and folders Kiwi's decisions may depend on.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { getgid, getgroups, getuid } from "node:process"
import { isOpenToOthers, readRegular } from "../../../src/layers/files/readRegular.ts"
import { temporary } from "../../support/temporary.ts"

const uid = getuid?.() ?? 0
const gid = getgid?.() ?? 0
const other = 54_321

const cases: ReadonlyArray<
  readonly [what: string, stat: { mode: number; uid: number; gid: number }, folder: boolean, file: boolean]
> = [
  ["private", { mode: 0o600, uid, gid }, false, false],
  ["readable by all", { mode: 0o644, uid, gid }, false, false],
  ["readable by another group", { mode: 0o640, uid, gid: other }, false, false],
  ["writable by the own group, as with umask 002", { mode: 0o664, uid, gid }, false, false],
  ["writable by another group", { mode: 0o664, uid, gid: other }, true, true],
  ["writable by another group alone", { mode: 0o620, uid, gid: other }, true, true],
  ["a folder of another group with its sign", { mode: 0o2775, uid, gid: other }, true, true],
  ["a folder like /tmp for another group", { mode: 0o1770, uid, gid: other }, true, true],
  ["writable by everybody", { mode: 0o666, uid, gid }, true, true],
  ["writable by everybody but the groups", { mode: 0o602, uid, gid }, true, true],
  ["a folder like /tmp", { mode: 0o1777, uid, gid }, true, true],
  ["another user's", { mode: 0o600, uid: other, gid }, true, true],
  ["root's", { mode: 0o644, uid: 0, gid: 0 }, false, uid !== 0],
  ["root's, writable by another group", { mode: 0o664, uid: 0, gid: other }, true, true]
]

describe.skipIf(getuid === undefined)("others can change", () => {
  for (const [what, stat, folder, file] of cases) {
    it(`what is ${what}: ${folder}, and as a file of decisions: ${file}`, () => {
      assert.strictEqual(isOpenToOthers(stat), folder)
      assert.strictEqual(isOpenToOthers(stat, "own"), file)
      const wide = { mode: BigInt(stat.mode), uid: BigInt(stat.uid), gid: BigInt(stat.gid) }
      assert.strictEqual(isOpenToOthers(wide, "own"), file)
    })
  }

  const group = uid === 0 ? other : getgroups?.().find((one) => one !== gid)
  it.effect.skipIf(group === undefined)(
    "a real file of another group, which is not read",
    () =>
      Effect.map(temporary, (folder) => {
        const path = join(folder, "permissions.yaml")
        fs.writeFileSync(path, "rules: []\n", { mode: 0o664 })
        fs.chmodSync(path, 0o664)
        const read = () => readRegular(path, { maxBytes: 100, follow: false, own: true })
        assert.isTrue(Result.isSuccess(read()))
        fs.chownSync(path, uid, group ?? gid)
        assert.deepStrictEqual(read(), Result.fail("unreadable"))
        fs.chmodSync(path, 0o644)
        assert.isTrue(Result.isSuccess(read()))
      })
  )
})
