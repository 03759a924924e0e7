import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { McpSchema } from "effect/ai"
import { Tiktoken } from "js-tiktoken/lite"
import o200k from "js-tiktoken/ranks/o200k_base"
import {
  ExecuteArguments,
  HelpArguments,
  LoadArguments,
  nearName,
  SearchArguments,
  SignArguments
} from "../../../src/programs/mcp/arguments.ts"
import { instructions, tools } from "../../../src/programs/mcp/tools.ts"

const encoder = new Tiktoken(o200k)
const tokens = (value: unknown): number =>
  encoder.encode(typeof value === "string" ? value : JSON.stringify(value)).length

const encodeTool = Schema.encodeSync(McpSchema.Tool)

describe("what a model reads on every turn", () => {
  const wire = tools.map((tool) => encodeTool(tool))

  it("name, description and input schema of all five are at most 1,000 tokens", () => {
    const read = wire.map(({ description, inputSchema, name }) => ({ name, description, inputSchema }))
    assert.isAtMost(tokens(read), 1000)
  })

  it("the whole list is at most 1,300 tokens", () => {
    assert.isAtMost(tokens({ tools: wire }), 1300)
  })

  it("the instructions are at most 200 tokens", () => {
    assert.isAtMost(tokens(instructions), 200)
  })

  it("schemas advertise what is decoded, and nothing else is taken", () => {
    const argumentSchemas = {
      search: SearchArguments,
      load: LoadArguments,
      execute: ExecuteArguments,
      sign: SignArguments,
      help: HelpArguments
    }
    for (const tool of tools) {
      const decoded = Object.keys(argumentSchemas[tool.name].fields)
      assert.sameMembers(Object.keys(tool.inputSchema.properties ?? {}), decoded, tool.name)
      assert.strictEqual(tool.inputSchema["additionalProperties"], false, tool.name)
    }
  })
})

describe("nearName", () => {
  it("finds slips, other spellings and synonyms", () => {
    const known = ["item_id", "item_type", "parameters", "project_path", "dry_run"]
    assert.deepStrictEqual(
      ["itemId", "item", "paramters", "params", "args", "dryRun", "dry-run", "project", "type", "id"].map((name) =>
        nearName(name, known)
      ),
      [
        "item_id",
        "item_id",
        "parameters",
        "parameters",
        "parameters",
        "dry_run",
        "dry_run",
        "project_path",
        "item_type",
        "item_id"
      ]
    )
  })

  it("does not guess", () => {
    assert.isUndefined(nearName("verbose", ["item_id", "parameters"]))
    assert.isUndefined(nearName("", ["item_id"]))
    assert.isUndefined(nearName("x".repeat(100_000), ["item_id"]))
  })
})
