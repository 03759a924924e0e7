// The link that an error is about, from what the error says of itself.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { blame } from "../../../src/layers/call/blame.ts"
import { DependenciesInvalid, DependenciesMissing } from "../../../src/services/dependency/DependencyErrors.ts"
import { EnvConfigInvalid, RequirementsMissing } from "../../../src/services/env/EnvResolver.ts"
import { codeOf } from "../../../src/services/error/KiwiError.ts"
import { SecretUnavailable } from "../../../src/services/identity/SecretStore.ts"
import { Unsigned } from "../../../src/services/integrity/Verifier.ts"
import { LockMismatch, LockMissing } from "../../../src/services/lockfile/Lockfiles.ts"
import {
  PrimitiveConfigInvalid,
  PrimitiveUnknown,
  RequestFailed,
  RequestRefused,
  ResponsePathMissing,
  ToolTimeout,
  ToolUnstartable,
  UploadRefused
} from "../../../src/services/primitive/PrimitiveErrors.ts"
import type { ChainReason } from "../../../src/services/proxy/ToolProxy.ts"
import { ConfigInvalid, HidesItem, ParametersInvalid } from "../../../src/services/proxy/ToolProxy.ts"
import { SandboxUnavailable } from "../../../src/services/sandbox/Isolation.ts"
import { TemplateUnresolved, TemplateUnsafe } from "../../../src/services/template/Template.ts"
import { kernel, tool, trace } from "../proxy/calls.ts"

const issues = [{ field: "timeout", error: "it is wrong" }]

const missing = (commands: ReadonlyArray<string>, variables: ReadonlyArray<string>, interpreter = "") =>
  new RequirementsMissing({ tool: "leaf", commands, variables, interpreter })

const upload = (field: string) => new UploadRefused({ tool: "leaf", field, path: "a", issue: "it is wrong" })

/** `leaf` sets url and headers/a, `middle` timeout and headers/b, `base` command, nobody cwd. */
const reasons: ReadonlyArray<readonly [reason: ChainReason, link: string]> = [
  [new ConfigInvalid({ link: "middle", issues }), "middle"],
  [new ConfigInvalid({ link: "nowhere", issues }), "leaf"],
  [new EnvConfigInvalid({ link: "base", issues }), "base"],
  [new DependenciesInvalid({ link: "middle", issues }), "middle"],
  [new DependenciesMissing({ tool: "leaf", link: "base", requirements: ["x"], why: "damaged" }), "base"],
  [new PrimitiveUnknown({ primitive: "http_client", known: [] }), "http_client"],
  [new TemplateUnresolved({ at: "/headers/a", placeholder: "{a}", hint: "" }), "leaf"],
  [new TemplateUnresolved({ at: "/headers/b", placeholder: "{a}", hint: "" }), "middle"],
  [new TemplateUnsafe({ at: "/url", placeholder: "{a}", issue: "" }), "leaf"],
  [new TemplateUnsafe({ at: "/command", placeholder: "{a}", issue: "" }), "base"],
  [new PrimitiveConfigInvalid({ tool: "leaf", issues }), "middle"],
  [new PrimitiveConfigInvalid({ tool: "leaf", issues: [] }), "base"],
  [new ToolUnstartable({ tool: "leaf", command: "x", issue: "", field: "command" }), "base"],
  [new ToolUnstartable({ tool: "leaf", command: "x", issue: "", field: "cwd" }), "base"],
  [upload("headers/b/0"), "middle"],
  [upload("headers[\"a\"]"), "leaf"],
  [new RequestFailed({ tool: "leaf", target: "x", issue: "", attempts: 1, transient: true }), "leaf"],
  [new RequestRefused({ tool: "leaf", target: "x", issue: "", hint: "" }), "leaf"],
  [new ResponsePathMissing({ tool: "leaf", path: "/a", at: "", found: "" }), "middle"],
  [new SandboxUnavailable({ tool: "leaf", level: "sandboxed", field: "command" }), "base"],
  [missing(["jq"], []), "middle"],
  [missing([], ["TOKEN"]), "base"],
  [missing([], ["NAMED"]), "leaf"],
  [missing([], ["UNNAMED"]), "middle"],
  [missing(["jq"], ["TOKEN"], "python"), "middle"],
  [new ParametersInvalid({ tool: "leaf", issues }), "leaf"],
  [new HidesItem({ item: "project:tools/leaf.yaml", hidden: [], command: "" }), "leaf"],
  [new LockMissing({ tool: "leaf", version: "1.0.0" }), "leaf"],
  [new ToolTimeout({ tool: "leaf", after: 1, output: "" }), "leaf"],
  [new SecretUnavailable({ name: "a", detail: "", remedy: "" }), "leaf"]
]

const resolved = Effect.map(trace("leaf"), (found) => found.resolved!.chain)

const provided = Effect.provide(kernel({
  project: {
    "tools/leaf.yaml": tool({
      executor_id: "middle",
      config: { url: "https://example.com/${NAMED}", headers: { a: "x" } }
    }),
    "tools/middle.yaml": tool({
      tool_type: "runtime",
      executor_id: "base",
      requires: { commands: ["jq"] },
      env_config: { env: { OTHER: "x" } },
      config: { timeout: 5, headers: { b: "x" }, response_path: "/a" }
    }),
    "tools/base.yaml": tool({
      tool_type: "runtime",
      executor_id: "http_client",
      requires: { environment: ["TOKEN"] },
      config: { command: "x" }
    })
  }
}))

describe("blame", () => {
  it.effect("finds the link that an error says it is from, and else the tool", () =>
    Effect.gen(function*() {
      const chain = yield* resolved
      const found = reasons.map(([reason]) => [codeOf(reason), blame(chain, reason).failedAt.toolId])
      assert.deepStrictEqual(found, reasons.map(([reason, link]) => [codeOf(reason), link]))
    }).pipe(provided))

  it.effect("believes a step that was looking at one link, and an error that knows the file above all", () =>
    Effect.gen(function*() {
      const chain = yield* resolved
      const [, middle] = chain.links
      const unsigned = blame(chain, new Unsigned({ item: "project:tools/middle.yaml", command: "" }), middle)
      assert.deepStrictEqual(unsigned.failedAt, {
        toolId: "middle",
        configPath: "project:tools/middle.yaml",
        validationErrors: []
      })
      assert.deepStrictEqual(unsigned.chain, ["leaf", "middle", "base", "http_client"])
      const finding = { link: 2, field: "version" as const, tool: "base", locked: "1.0.0", now: "2.0.0" }
      const configPath = "project:tools/base.yaml"
      const lock = new LockMismatch({ tool: "leaf", lockfile: "x", configPath, findings: [finding] })
      assert.deepInclude(blame(chain, lock, middle).failedAt, { toolId: "base", configPath })
    }).pipe(provided))
})
