import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result, Schema } from "effect"
import * as Template from "../../../src/services/template/Template.ts"

const render = (cwd: string, parameters: Schema.JsonObject, variables: Readonly<Record<string, string>> = {}) =>
  Template.render(Template.compile({ cwd }, [{ at: "/cwd", mode: "path" }]), {
    parameters,
    declared: new Set(Object.keys(parameters)),
    variables: new Map(Object.entries(variables).map(([k, v]) => [k, { value: Redacted.make(v) }]))
  })
const at = (cwd: string, x: Schema.Json) => {
  const result = render(cwd, { x })
  return Result.isSuccess(result) ? result.success.config["cwd"] : result.failure._tag
}

describe("data in a path", () => {
  it("leads down from what is written", () => {
    assert.strictEqual(at("work/{x}", "a/b"), "work/a/b")
    assert.strictEqual(at("{x}", "a/.hidden"), "a/.hidden")
    assert.strictEqual(at("work/{x}.txt", "a..b"), "work/a..b.txt")
    assert.strictEqual(at("{x}", 7), "7")
  })

  it("never leads up or elsewhere", () => {
    for (const x of ["..", "../a", "a/..", "a/../..", "/etc", "\\\\host", "~", "C:/x", "a\\b", "", "a\0"]) {
      assert.strictEqual(at("work/{x}", x), "TemplateUnsafe", JSON.stringify(x))
      assert.strictEqual(at("{x}", x), "TemplateUnsafe", JSON.stringify(x))
    }
  })

  it("does not become dots together with what is written beside it", () => {
    for (const [cwd, x] of [["work/.{x}", "."], ["work/{x}.", "."], ["work/{x}{x}", "."]] as const) {
      assert.strictEqual(at(cwd, x), "TemplateUnsafe", cwd)
    }
  })

  it("of a variable is the user's own", () => {
    const result = render("${ROOT}/a", {}, { ROOT: "/srv" })
    assert.strictEqual(Result.getOrThrow(result).config["cwd"], "/srv/a")
  })

  const Piece = Schema.Literals(["..", ".", "/", "a", "\\", "~", "work", ""])
  it.effect.prop("stays below what is written, whatever it is", [Schema.Array(Piece)], ([pieces]) =>
    Effect.sync(() => {
      const path = at("work/{x}", pieces.join(""))
      if (path === "TemplateUnsafe") return
      const segments = String(path).split("/")
      assert.strictEqual(segments[0], "work")
      assert.notInclude(segments, "..")
    }))
})
