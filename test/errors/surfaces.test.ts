// One failure, three surfaces, one object. What a caller needs to act on an error is worth nothing if the surface that
// the caller uses drops it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { McpTest } from "effect/ai"
import { makeKiwi } from "../../src/programs/makeKiwi.ts"
import * as Server from "../../src/programs/mcp/server.ts"
import { stdioProtocols } from "../../src/programs/mcp/transport/protocols.ts"
import { agentRemedy } from "../../src/services/error/agentRemedy.ts"
import { forCommand } from "../../src/services/error/commandRemedy.ts"
import { toErrorObject } from "../../src/services/error/KiwiError.ts"
import type { ErrorObject, KiwiError } from "../../src/services/error/KiwiError.ts"
import { object, tool } from "../layers/proxy/calls.ts"
import { runCli } from "../programs/cli/runCli.ts"
import { accept, kernelOf } from "../support/realProject.ts"
import { environment, project } from "./Example.ts"
import { kernelOfSurfaces } from "./surfaces.ts"

const shell = (config: object) => tool({ tool_type: "runtime", config: { command: "sh", ...config } })

const files = {
  ".ai/tools/add.yaml": tool({ input_schema: object({ a: { type: "number" } }, "a"), config: { command: "true" } }),
  ".ai/tools/deploy.yaml": tool({ config: { command: "sh", args: ["-c", "echo no such branch >&2; exit 3"] } }),
  ".ai/tools/report.yaml": tool({ executor_id: "shell", config: { args: ["-c", "true"] } }),
  ".ai/tools/shell.yaml": shell({ timeout: "${SHELL_TIMEOUT:-soon}" })
}

/** Not there when a person signed everything. */
const later = {
  ".ai/tools/lost.yaml": tool({ executor_id: "shel" }),
  ".ai/tools/above.yaml": tool({ executor_id: "broken" }),
  ".ai/tools/broken.yaml": "version: [",
  ".ai/tools/new.yaml": tool({ config: { command: "true" } })
}

const failures: ReadonlyArray<readonly [item: string, parameters: Record<string, string>, code: string]> = [
  ["ad", {}, "ITEM_NOT_FOUND"],
  ["add", { a: "one" }, "PARAMETERS_INVALID"],
  ["deploy", {}, "TOOL_FAILED"],
  ["report", {}, "CONFIG_INVALID"],
  ["lost", {}, "CHAIN_LINK_MISSING"],
  ["above", {}, "CHAIN_LINK_BROKEN"],
  ["new", {}, "UNSIGNED"],
  ["shell", {}, "PERMISSION_DENIED"]
]

describe("structured errors lost at the handler: an error is the same object but for how an agent is told what to do", () => {
  it.live("from the MCP server, from a command and for a program that embeds Kiwi", () =>
    Effect.gen(function*() {
      const place = yield* project(files)
      yield* Effect.provide(accept, kernelOf(place))
      for (const [path, text] of Object.entries(later)) place.write(path, text)

      const { registrations } = yield* Server.make({
        project: place.project,
        client: "tester",
        presence: { nobody: undefined, agent: undefined }
      })
      const client = yield* McpTest.makeClient(Layer.provide(registrations, kernelOfSurfaces(place)), {
        protocols: stdioProtocols,
        protocolVersion: "2025-11-25"
      })
      const kiwi = makeKiwi({ project: place.project, home: place.home, userSpace: place.userSpace })
      yield* Effect.addFinalizer(() => Effect.promise(() => kiwi.close()))

      const byMcp = (item: string, parameters: Record<string, string>) =>
        Effect.map(
          client.callTool({ name: "execute", arguments: { item_id: item, item_type: "tool", parameters } }),
          ({ isError, structuredContent }): ErrorObject => {
            assert.isTrue(isError)
            return JSON.parse(JSON.stringify(structuredContent)).error
          }
        )
      const byCommand = (item: string, parameters: Record<string, string>) =>
        Effect.map(
          runCli(["run", "tool", item, "--params", JSON.stringify(parameters), "--json"], {
            cwd: place.project,
            kernel: kernelOfSurfaces(place)
          }),
          ({ code, stdout }): ErrorObject => {
            assert.strictEqual(code, 1)
            return JSON.parse(stdout).error
          }
        )
      const embedded = (item: string, parameters: Record<string, string>) =>
        Effect.promise(() =>
          kiwi.run(item, parameters).then(() => assert.fail("it ran"), (error: KiwiError) => toErrorObject(error))
        )

      for (const [item, parameters, code] of failures) {
        const shown = JSON.parse(JSON.stringify(yield* embedded(item, parameters)))
        assert.strictEqual(shown.code, code, shown.message)
        const { remediation, ...rest } = yield* byMcp(item, parameters)
        assert.deepStrictEqual({ ...rest, remediation: shown.remediation }, shown)
        assert.strictEqual(remediation, agentRemedy(shown.remediation))
        assert.deepStrictEqual(yield* byCommand(item, parameters), forCommand(shown))
        assert.notMatch(shown.remediation, /kiwi (search|load)/)
        if (code !== "ITEM_NOT_FOUND") assert.isDefined(shown.failed_at, code)
      }
    }).pipe(Effect.provide(environment), Effect.scoped))
})
