import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as PermissionRulesFile from "../../../src/layers/permission/PermissionRulesFile.ts"
import { projectRulesPath } from "../../../src/layers/permission/ruleSources.ts"
import { PermissionRules } from "../../../src/services/permission/PermissionRules.ts"
import { showRule } from "../../../src/services/permission/rule/Rule.ts"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { trustProject, world } from "../../support/trustWorld.ts"

const using = <A, E>(
  use: (
    place: Effect.Success<typeof world> & { readonly file: string },
    /** "user allow: x", "project? deny: y" */
    rules: Effect.Effect<ReadonlyArray<string>>
  ) => Effect.Effect<A, E, ProjectTrust>
) =>
  Effect.scoped(Effect.gen(function*() {
    const place = yield* world
    fs.mkdirSync(join(place.user, "config"), { recursive: true })
    return yield* Effect.gen(function*() {
      const { current } = yield* PermissionRules
      const shown = Effect.map(current, (sources) =>
        sources.flatMap(({ file, ignored, narrows, rules, unusable }) => [
          ...(unusable === undefined ? [] : [`${file.split(":")[0]} line ${unusable.line} ${unusable.issue}`]),
          ...rules.rules.map(({ rule }) => `${file.split(":")[0]}${narrows ? "?" : ""} ${showRule(rule)}`),
          ...(ignored === 0 ? [] : [`ignored ${ignored}`])
        ]))
      return yield* use({ ...place, file: join(place.user, "config/permissions.yaml") }, shown)
    }).pipe(Effect.provide(Layer.provideMerge(PermissionRulesFile.layer, place.layer)))
  }))

const text = (...lines: ReadonlyArray<string>) => `rules:\n${lines.map((line) => `  - ${line}\n`).join("")}`

describe("the user's file", () => {
  it.live("counts from the next call after a change", () =>
    using(({ file }, rules) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* rules, [])
        for (let i = 0; i < 20; i++) {
          fs.writeFileSync(file, text(`deny: a${i % 10}`))
          assert.deepStrictEqual(yield* rules, [`user deny: a${i % 10}`])
        }
        fs.rmSync(file)
        assert.deepStrictEqual(yield* rules, [])
      })
    ))

  it.live("may be a link, whose target may change", () =>
    using(({ file, root }, rules) =>
      Effect.gen(function*() {
        const target = join(root, "../dotfile.yaml")
        fs.writeFileSync(target, text("deny: a"))
        fs.symlinkSync(target, file)
        assert.deepStrictEqual(yield* rules, ["user deny: a"])
        fs.writeFileSync(target, text("deny: b"))
        assert.deepStrictEqual(yield* rules, ["user deny: b"])
        fs.rmSync(target)
        assert.match((yield* rules)[0] ?? "", /link that leads nowhere/)
      })
    ))

  const unusable: ReadonlyArray<readonly [string, (file: string) => void, RegExp]> = [
    ["is invalid", (file) => fs.writeFileSync(file, "rules:\n  - alow: x\n"), /^user line 2 /],
    ["is a folder", (file) => fs.mkdirSync(file), /not a regular file/],
    ["can be written by others", (file) => {
      fs.writeFileSync(file, text("allow: a"))
      fs.chmodSync(file, 0o666)
    }, /^user line 1 other users can change it/],
    ["lies in a folder that others can write", (file) => {
      fs.writeFileSync(file, text("allow: a"))
      fs.chmodSync(dirname(file), 0o777)
    }, /^user line 1 other users can change the folder config/],
    ["others may have removed", (file) => fs.chmodSync(dirname(file), 0o777), /other users can change the folder/],
    ["is too large", (file) => fs.writeFileSync(file, `# ${"x".repeat(1_100_000)}`), /too large|larger/],
    ["is not UTF-8", (file) => fs.writeFileSync(file, Buffer.from([0xff, 0xfe])), /UTF-8/],
    ["is a loop of links", (file) => fs.symlinkSync(file, file), /^user line 1 /],
    ["is a link to nothing", (file) => fs.symlinkSync("/nowhere/at/all", file), /leads nowhere/]
  ]
  for (const [what, make, issue] of unusable) {
    it.live(`that ${what} is unusable, and not absent`, () =>
      using(({ file }, rules) =>
        Effect.gen(function*() {
          make(file)
          const [only, ...more] = yield* rules
          assert.match(only ?? "", issue)
          assert.lengthOf(more, 0)
        })
      ))
  }
})

describe("the project's file", () => {
  it.live("only tightens until the project is trusted, and counts in whole afterwards", () =>
    using(({ put }, rules) =>
      Effect.gen(function*() {
        put(projectRulesPath, text("allow: a", "ask: b", "deny: c"))
        assert.deepStrictEqual(yield* rules, ["project? ask: b", "project? deny: c", "ignored 1"])
        yield* trustProject
        assert.deepStrictEqual(yield* rules, ["project allow: a", "project ask: b", "project deny: c"])
      })
    ))

  it.live("goes on restricting as it was accepted when it is changed or removed", () =>
    using(({ put, root }, rules) =>
      Effect.gen(function*() {
        put(projectRulesPath, text("allow: a", "deny: c"))
        yield* trustProject
        assert.deepStrictEqual(yield* rules, ["project allow: a", "project deny: c"])
        put(projectRulesPath, text("allow: everything", "deny: d"))
        assert.deepStrictEqual(yield* rules, ["project? deny: c", "ignored 1", "project? deny: d", "ignored 1"])
        fs.rmSync(join(root, projectRulesPath))
        assert.deepStrictEqual(yield* rules, ["project? deny: c", "ignored 1"])
      })
    ))

  it.live("that nobody has accepted is not quoted where it is invalid", () =>
    using(({ put }, rules) =>
      Effect.gen(function*() {
        put(projectRulesPath, "obey: me\n")
        const [only] = yield* rules
        assert.match(only ?? "", /^project line 1 /)
        assert.notInclude(only, "obey")
      })
    ))
})
