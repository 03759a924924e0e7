import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Kernel from "../../src/layers/Kernel.ts"
import { Projects } from "../../src/layers/Projects.ts"
import { ItemParser } from "../../src/services/format/ItemParser.ts"
import type { Tool } from "../../src/services/item/Item.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { accept, kernelOf, realProject } from "../support/realProject.ts"

const filesOf = (about: string) => ({
  ".ai/extractors/tool/ruby.yaml":
    `extensions: [.rb]\nparser: text\nfields:\n  tool_type: {value: ruby}\n  executor_id: {value: subprocess}\n  version: {value: "1.0.0"}\n  config: {value: {command: ruby}}\n  description: {value: ${about}}\n`,
  ".ai/tools/hello.rb": "puts 1\n"
})

it.live("caches of extractors lived across projects: what one project says of a language counted in the next", () =>
  Effect.gen(function*() {
    const one = yield* realProject(filesOf("of one"))
    const two = yield* realProject(filesOf("of two"))
    const home = { home: one.home, userSpace: one.userSpace }
    for (const { project } of [one, two]) {
      yield* Effect.provide(accept, kernelOf({ ...one, project }))
    }
    const describeHello = Effect.gen(function*() {
      const store = yield* ItemStore
      const parser = yield* ItemParser
      const { location } = yield* store.find({ id: "hello" })
      const snapshot = yield* store.read(location)
      return { snapshot, tool: (yield* parser.parse(snapshot)) as Tool }
    })
    yield* Effect.provide(
      Effect.gen(function*() {
        const projects = yield* Projects
        const first = yield* projects.use(one.project)(describeHello)
        const second = yield* projects.use(two.project)(describeHello)
        assert.strictEqual(first.tool.description, "of one")
        assert.strictEqual(second.tool.description, "of two")
        assert.strictEqual((yield* projects.use(one.project)(describeHello)).tool.description, "of one")
      }),
      Kernel.layerProjects(home)
    )
  }))
