// Chains of three links whose middle one is at fault: what is said about them names that one, with its file, and
// neither the leaf nor the primitive. One row for every error that a link above the leaf can be the cause of.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Schema } from "effect"
import * as VerifierEd25519 from "../../../src/layers/integrity/VerifierEd25519.ts"
import { SystemManifest } from "../../../src/layers/item/system/SystemManifest.ts"
import type { KernelOptionInvalid } from "../../../src/layers/kernelOptions.ts"
import * as ToolProxyPipeline from "../../../src/layers/proxy/ToolProxyPipeline.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import type { ErrorObject } from "../../../src/services/error/KiwiError.ts"
import { WriteRefused } from "../../../src/services/files/SafeFiles.ts"
import { ItemHistory } from "../../../src/services/integrity/ItemHistory.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { VerifiedCopies } from "../../../src/services/integrity/VerifiedCopies.ts"
import type { Verifier } from "../../../src/services/integrity/Verifier.ts"
import { OutboundFailed } from "../../../src/services/outbound/Outbound.ts"
import { Primitives } from "../../../src/services/primitive/Primitive.ts"
import { PrimitiveUnknown } from "../../../src/services/primitive/PrimitiveErrors.ts"
import { LockTimeout } from "../../../src/services/workspace/ProcessLock.ts"
import { locationOf, makeSigner, signText } from "../../support/snapshots.ts"
import { agree } from "../../support/trustWorld.ts"
import { call, kernel, object, tool } from "./calls.ts"

const middle = (fields: Schema.JsonObject = {}) =>
  tool({ tool_type: "runtime", config: { command: "argv", output: "json" }, ...fields })

const leaf = (fields: Schema.JsonObject = {}) =>
  tool({ executor_id: "middle", input_schema: object({ text: { type: "string" } }), ...fields })

const sign = (id: string) =>
  Effect.gen(function*() {
    const signatures = yield* Signatures
    const plan = yield* signatures.plan({ id })
    yield* signatures.sign(plan, agree(plan.request))
  })

const textOf = (files: Map<string, string>, path: string): string => String(files.get(path))

type Services = Layer.Success<ReturnType<typeof kernel>>

interface Fault {
  readonly code: string
  readonly what: string
  readonly options: (files: Map<string, string>) => Parameters<typeof kernel>[0]
  readonly before?: (files: Map<string, string>) => Effect.Effect<void, unknown, Services>
  /** A part of the kernel, in another's place. */
  readonly instead?:
    | Layer.Layer<never, never, Services>
    | Layer.Layer<Verifier | ItemHistory | VerifiedCopies | Primitives, never, Services>
  readonly parameters?: Schema.JsonObject
  readonly failed?: Partial<NonNullable<ErrorObject["failed_at"]>>
  readonly chain?: ReadonlyArray<string>
  readonly retryable?: boolean
  readonly causes?: ReadonlyArray<string>
}

/** The leaf as it should be, and the middle that is not. */
const broken = (fields: Schema.JsonObject, ofLeaf: Schema.JsonObject = {}): Fault["options"] => () => ({
  project: { "tools/tool.yaml": leaf(ofLeaf), "tools/deep/middle.yaml": middle(fields) }
})

const checked: Fault["options"] = (files) => {
  files.set("tools/tool.yaml", leaf())
  files.set("tools/deep/middle.yaml", middle())
  return { project: files, signatures: "checked" }
}

const stranger = makeSigner()
const grace = { keyId: stranger.keyId, publicKey: stranger.pair.publicKey, name: "Grace" }
const byStranger = signText(stranger, locationOf("tools/deep/middle.yaml"), middle())

const refusedWrite = new WriteRefused({ path: "verified/x", issue: "no-space", detail: "no space is left" })

const faults: ReadonlyArray<Fault> = [
  {
    code: "CHAIN_CYCLE",
    what: "names the leaf as its executor",
    options: broken({ executor_id: "tool" }),
    chain: ["tool", "middle", "tool"],
    failed: {
      validation_errors: [{ field: "executor_id", error: "comes back to a link of its own chain", value: "tool" }]
    }
  },
  {
    code: "CHAIN_LINK_MISSING",
    what: "names an executor that there is none of",
    options: broken({ executor_id: "nowhere" }),
    chain: ["tool", "middle"],
    failed: { validation_errors: [{ field: "executor_id", error: "there is no such tool", value: "nowhere" }] }
  },
  {
    code: "CHAIN_LINK_BROKEN",
    what: "names an executor whose id is that of two files",
    options: () => ({
      project: {
        "tools/tool.yaml": leaf(),
        "tools/deep/middle.yaml": middle({ executor_id: "twice" }),
        "tools/a/twice.yaml": middle(),
        "tools/b/twice.yaml": middle()
      }
    }),
    chain: ["tool", "middle"],
    causes: ["ITEM_AMBIGUOUS"]
  },
  {
    code: "CHAIN_LINK_BROKEN",
    what: "cannot be parsed",
    options: () => ({ project: { "tools/tool.yaml": leaf(), "tools/deep/middle.yaml": "version: [" } }),
    chain: ["tool"],
    causes: ["ITEM_INVALID"]
  },
  {
    code: "CHAIN_MALFORMED",
    what: "says that it is a primitive",
    options: () => ({
      project: {
        "tools/tool.yaml": leaf(),
        "tools/deep/middle.yaml": JSON.stringify({ version: "1.0.0", tool_type: "primitive" })
      }
    }),
    chain: ["tool", "middle"],
    failed: {
      validation_errors: [{ field: "", error: "a primitive of the project tier is not used" }]
    }
  },
  { code: "UNSIGNED", what: "is not signed", options: checked, before: () => sign("tool") },
  {
    code: "TAMPERED",
    what: "was changed after it was signed",
    options: checked,
    before: (files) =>
      Effect.gen(function*() {
        yield* sign("tool")
        yield* sign("middle")
        files.set("tools/deep/middle.yaml", `${textOf(files, "tools/deep/middle.yaml")}\n`)
      })
  },
  {
    code: "SIGNATURE_MALFORMED",
    what: "has half a signature",
    options: checked,
    before: (files) =>
      Effect.gen(function*() {
        yield* sign("tool")
        yield* sign("middle")
        const text = textOf(files, "tools/deep/middle.yaml")
        files.set("tools/deep/middle.yaml", text.replace(/^(# kiwi-mcp:.{20}).*$/m, "$1"))
      })
  },
  {
    code: "SIGNER_UNTRUSTED",
    what: "is signed by a stranger",
    options: checked,
    before: (files) => Effect.andThen(sign("tool"), Effect.sync(() => files.set("tools/deep/middle.yaml", byStranger)))
  },
  {
    code: "SYSTEM_ITEM_ALTERED",
    what: "is a system item that is not the package's",
    options: (files) => {
      files.set("tools/tool.yaml", leaf({ executor_id: "python_runtime" }))
      return { user: files, signatures: "checked" }
    },
    before: () => sign("tool"),
    instead: VerifierEd25519.layer.pipe(Layer.provide(Layer.succeed(SystemManifest, new Map()))),
    chain: ["tool", "python_runtime", "subprocess"],
    failed: { tool_id: "python_runtime", config_path: "system:tools/runtimes/python_runtime.yaml" }
  },
  {
    code: "GOES_BACK",
    what: "is older than what has run",
    options: (files) => ({ ...checked(files), signatures: "checked" }),
    before: (files) =>
      Effect.gen(function*() {
        yield* sign("tool")
        yield* sign("middle")
        const older = textOf(files, "tools/deep/middle.yaml")
        files.set("tools/deep/middle.yaml", middle({ version: "2.0.0" }))
        yield* sign("middle")
        yield* call("tool")
        files.set("tools/deep/middle.yaml", older)
      })
  },
  {
    code: "PERMISSION_DENIED",
    what: "is signed by somebody else who is trusted",
    options: (files) => ({ ...checked(files), signers: [grace] }),
    before: (files) => Effect.andThen(sign("tool"), Effect.sync(() => files.set("tools/deep/middle.yaml", byStranger)))
  },
  {
    code: "SANDBOX_UNAVAILABLE",
    what: "lets the caller choose what runs",
    options: broken({ config: { command: "{text}" } }),
    parameters: { text: "rm" }
  },
  {
    code: "CONFIG_INVALID",
    what: "sets a variable that decides what is loaded",
    options: broken({ config: { command: "argv", env: { LD_PRELOAD: "./x.so" } } }),
    failed: { validation_errors: [{ field: "env.LD_PRELOAD", error: "only system items set LD_PRELOAD" }] }
  },
  {
    code: "CONFIG_INVALID",
    what: "has a key of the wrong type",
    options: broken({ config: { command: "argv", timeout: "soon" } })
  },
  {
    code: "CONFIG_INVALID",
    what: "is a runtime without what its primitive needs",
    options: broken({ config: { output: "json" } })
  },
  {
    code: "ENV_CONFIG_INVALID",
    what: "declares an environment in another form",
    options: broken({ env_config: { env: "none" } })
  },
  {
    code: "REQUIREMENTS_MISSING",
    what: "requires what is not there",
    options: () => ({
      ...broken({ requires: { commands: ["jq"], environment: ["API_URL"] } })(new Map()),
      host: { programs: [] }
    }),
    failed: {
      validation_errors: [
        { field: "requires.commands", error: "is not on PATH", value: "jq" },
        { field: "environment", error: "is not set", value: "API_URL" }
      ]
    }
  },
  {
    code: "REQUIREMENTS_MISSING",
    what: "names in its config a variable that is not set",
    options: broken({ config: { command: "argv", args: ["${NOWHERE}"] } })
  },
  {
    code: "REQUIREMENTS_MISSING",
    what: "names in its ENV_CONFIG an interpreter that is not there",
    options: () => ({
      ...broken({ env_config: { interpreter: { type: "system_binary", var: "AWK", binary: "awk" } } })(new Map()),
      host: { programs: [] }
    })
  },
  {
    code: "ENV_CONFIG_INVALID",
    what: "requires what is no variable's name",
    options: broken({ requires: { environment: ["not a name"] } })
  },
  {
    code: "TEMPLATE_UNRESOLVED",
    what: "has a placeholder without a value",
    options: broken({ config: { command: "argv", args: ["{nowhere}"] } })
  },
  {
    code: "TEMPLATE_UNSAFE",
    what: "puts a parameter where it could become an option",
    options: broken({ config: { command: "argv", args: ["{text}"] } }),
    parameters: { text: "--output=/etc/passwd" }
  },
  {
    code: "PRIMITIVE_CONFIG_INVALID",
    what: "sets a header that has no header's name",
    options: broken({
      executor_id: "http_client",
      config: { url: "https://api.example.com", headers: { "no name": "x" } }
    }),
    chain: ["tool", "middle", "http_client"],
    failed: { validation_errors: [{ field: "headers/no name", error: "is not the name of a header" }] }
  },
  {
    code: "TOOL_UNSTARTABLE",
    what: "names a program that there is none of",
    options: broken({ config: { command: "no-such-program" } }),
    failed: { validation_errors: [{ field: "command", error: "no such program", value: "no-such-program" }] }
  },
  {
    code: "REQUEST_FAILED",
    what: "names a server that does not answer",
    options: () => ({
      project: {
        "tools/tool.yaml": leaf(),
        "tools/deep/middle.yaml": middle({
          executor_id: "http_client",
          config: { url: "https://api.example.com/v1", retry: { max_attempts: 1 } }
        })
      },
      network: () =>
        Effect.fail(
          new OutboundFailed({ target: "https://api.example.com", issue: "no answer", transient: true, sent: false })
        )
    }),
    chain: ["tool", "middle", "http_client"],
    retryable: true
  },
  {
    code: "REQUEST_REFUSED",
    what: "names a server that Kiwi does not connect to",
    options: broken({ executor_id: "http_client", config: { url: "http://169.254.169.254/" } }),
    chain: ["tool", "middle", "http_client"]
  },
  {
    code: "WRITE_REFUSED",
    what: "has a file of which no copy can be kept",
    options: () => ({
      project: {
        "tools/tool.yaml": leaf(),
        "tools/deep/middle.py": [
          "__version__ = \"1.0.0\"",
          "__tool_type__ = \"runtime\"",
          "__executor_id__ = \"subprocess\"",
          "CONFIG = {\"command\": \"argv\", \"args\": [\"${TOOL_FILE}\"]}"
        ].join("\n")
      }
    }),
    instead: Layer.mock(VerifiedCopies, { materialize: () => Effect.fail(refusedWrite) }),
    failed: { config_path: "project:tools/deep/middle.py" }
  },
  {
    code: "WRITE_REFUSED",
    what: "cannot be remembered as having run, since another process has the lock",
    options: broken({}),
    instead: Layer.mock(ItemHistory, {
      checkForward: () => Effect.void,
      ran: (location) =>
        location.id === "middle"
          ? Effect.fail(
            new WriteRefused({
              path: "history/x",
              issue: "io",
              detail: "it is locked",
              cause: new LockTimeout({ name: "history" })
            })
          )
          : Effect.void
    }),
    causes: ["LOCK_TIMEOUT"],
    retryable: true
  },
  {
    code: "PRIMITIVE_UNKNOWN",
    what: "names a primitive that this kernel has none of",
    options: broken({}),
    instead: Layer.mock(Primitives, {
      needs: () => undefined,
      known: [],
      accesses: () => Effect.succeed([]),
      run: (primitive) => Effect.fail(new PrimitiveUnknown({ primitive, known: ["http_client"] }))
    }),
    failed: { tool_id: "subprocess", config_path: "system:tools/primitives/subprocess.yaml" }
  }
]

describe("what was lost of an error before", () => {
  const chain = {
    "tools/messages.yaml": tool({ executor_id: "api", config: { model: 5 } }),
    "tools/api.yaml": tool({
      tool_type: "http",
      executor_id: "http_client",
      config: { url: "https://api.example.com/v1/messages" },
      config_schema: object({ model: { type: "string" }, max_tokens: { type: "integer" } }, "model")
    })
  }

  it.effect("a schema's complaint is about the tool that set the value, in its file, and not about the primitive", () =>
    Effect.gen(function*() {
      const shown = toErrorObject(yield* Effect.flip(call("messages")))
      assert.strictEqual(shown.code, "CONFIG_INVALID")
      assert.deepStrictEqual(shown.chain, ["messages", "api", "http_client"])
      assert.deepInclude(shown.failed_at, { tool_id: "messages", config_path: "project:tools/messages.yaml" })
    }).pipe(Effect.provide(kernel({ project: chain }))))

  it.effect("an issue has its field, what is wrong with it, and the value, each by itself", () =>
    Effect.gen(function*() {
      const shown = toErrorObject(yield* Effect.flip(call("messages")))
      assert.deepStrictEqual(shown.failed_at?.validation_errors, [
        { field: "model", error: "expected a string, got 5", value: 5 }
      ])
    }).pipe(Effect.provide(kernel({ project: chain }))))

  it.effect("what a link asks of those below it, and none of them says, is theirs to say", () =>
    Effect.gen(function*() {
      const shown = toErrorObject(yield* Effect.flip(call("messages")))
      assert.strictEqual(shown.code, "CONFIG_INVALID")
      assert.strictEqual(shown.failed_at?.tool_id, "messages")
    }).pipe(
      Effect.provide(kernel({ project: { ...chain, "tools/messages.yaml": tool({ executor_id: "api", config: {} }) } }))
    ))

  it.effect("of issues of two links, each is told of its own", () =>
    Effect.gen(function*() {
      const shown = toErrorObject(yield* Effect.flip(call("tool")))
      assert.strictEqual(shown.failed_at?.tool_id, "middle")
      assert.deepStrictEqual(shown.failed_at?.validation_errors.map(({ field }) => field), ["timeout"])
    }).pipe(Effect.provide(kernel({
      project: {
        "tools/tool.yaml": leaf({ config: { output: "sideways" } }),
        "tools/deep/middle.yaml": middle({ config: { command: "argv", timeout: "soon" } })
      }
    }))))
})

const codesUnder = (cause: ErrorObject["cause"]): ReadonlyArray<string> =>
  cause === undefined ? [] : [cause.code, ...codesUnder(cause.cause)]

describe("the link in the middle", () => {
  for (
    const { before, causes = [], chain, code, failed, instead, options, parameters = {}, retryable = false, what }
      of faults
  ) {
    it.effect(`${what}: ${code}`, () => {
      const files = new Map<string, string>()
      const whole = kernel(options(files))
      const layer: Layer.Layer<Services, KernelOptionInvalid> = instead === undefined
        ? whole
        : ToolProxyPipeline.layer.pipe(Layer.provideMerge(instead), Layer.provideMerge(whole)) as Layer.Layer<Services>
      return Effect.gen(function*() {
        if (before !== undefined) yield* before(files)
        const shown = toErrorObject(yield* Effect.flip(call("tool", parameters)))
        assert.strictEqual(shown.code, code, shown.message)
        assert.deepInclude(shown.failed_at, {
          tool_id: "middle",
          config_path: "project:tools/deep/middle.yaml",
          ...failed
        })
        assert.deepStrictEqual(shown.chain, chain ?? ["tool", "middle", "subprocess"])
        assert.strictEqual(shown.retryable, retryable)
        assert.deepStrictEqual(codesUnder(shown.cause), causes)
        assert.isNotEmpty(shown.remediation)
      }).pipe(Effect.provide(layer))
    })
  }
})
