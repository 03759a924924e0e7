import { assert, describe, it } from "@effect/vitest"
import { parsePlainServe } from "../../../src/programs/cli/plainServe.ts"

const plain = (project?: string, client?: string, profile?: string) => ({ project, client, profile })

describe("parsePlainServe", () => {
  for (
    const [args, expected] of [
      [["serve"], plain()],
      [["serve", "--project", "/a b"], plain("/a b")],
      [["serve", "--client", "codex", "--project", "site"], plain("site", "codex")],
      [["serve", "--profile", "review", "--project", "site"], plain("site", undefined, "review")]
    ] as const
  ) {
    it(`takes ${args.join(" ")}`, () => assert.deepStrictEqual(parsePlainServe(args), expected))
  }

  for (
    const args of [
      [],
      ["run"],
      ["--project", "site", "serve"],
      ["serve", "site"],
      ["serve", "--project"],
      ["serve", "--project", ""],
      ["serve", "--project", "--http"],
      ["serve", "--project", "-x"],
      ["serve", "--project", "a", "--project", "b"],
      ["serve", "--project=site"],
      ["serve", "--profile"],
      ["serve", "--profile", "review", "--http"],
      ["serve", "--profile=review"],
      ["serve", "--http"],
      ["serve", "--client", "codex", "--http"],
      ["serve", "--help"],
      ["serve", "--json"],
      ["serve", "--", "--project", "site"]
    ]
  ) {
    it(`leaves ${JSON.stringify(args)} to the command line`, () => assert.isUndefined(parsePlainServe(args)))
  }
})
