import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { codeOf, innermost, toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { ToolChainError } from "../../../src/services/proxy/ToolProxy.ts"
import { locationOf, makeSigner, signText } from "../../support/snapshots.ts"
import { agree } from "../../support/trustWorld.ts"
import { call, echo, entries, kernel, object, tool, trace } from "./calls.ts"

const sign = (id: string) =>
  Effect.gen(function*() {
    const signatures = yield* Signatures
    const plan = yield* signatures.plan({ id })
    yield* signatures.sign(plan, agree(plan.request))
  })

const runtime = (fields = {}) => tool({ tool_type: "runtime", config: { command: "argv", output: "json" }, ...fields })

interface Refusal {
  readonly what: string
  readonly options: Parameters<typeof kernel>[0]
  readonly code: string
  /** The step that `trace` stops at; `undefined`: one that needs parameters. */
  readonly step: string | undefined
  /** The link that failed, where the error is one of a chain. */
  readonly link?: string
  readonly remediation?: RegExp
  readonly outcome: "denied" | "failure"
  readonly parameters?: Record<string, string>
}

const refusals: ReadonlyArray<Refusal> = [
  {
    what: "an id that there is none of",
    options: { project: { "tools/tol.yaml": echo } },
    code: "ITEM_NOT_FOUND",
    step: "resolveChain",
    remediation: /Did you mean "tol"/,
    outcome: "failure"
  },
  {
    what: "an executor that there is none of",
    options: { project: { "tools/tool.yaml": tool({ executor_id: "pyton_runtime" }) } },
    code: "CHAIN_LINK_MISSING",
    step: "resolveChain",
    link: "tool",
    remediation: /python_runtime/,
    outcome: "failure"
  },
  {
    what: "a chain that comes back to itself",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one" }),
        "tools/one.yaml": runtime({ executor_id: "two" }),
        "tools/two.yaml": runtime({ executor_id: "one" })
      }
    },
    code: "CHAIN_CYCLE",
    step: "resolveChain",
    link: "two",
    outcome: "failure"
  },
  {
    what: "a link that cannot be parsed",
    options: { project: { "tools/tool.yaml": tool({ executor_id: "one" }), "tools/one.yaml": "version: [" } },
    code: "CHAIN_LINK_BROKEN",
    step: "resolveChain",
    link: "one",
    outcome: "failure"
  },
  {
    what: "a project that nobody trusts",
    options: { project: { "tools/tool.yaml": echo }, trusted: false },
    code: "PROJECT_RESTRICTED",
    step: "requireTrustedProject",
    remediation: /^kiwi trust project$/,
    outcome: "denied"
  },
  {
    what: "a broken file of a project that nobody trusts, unquoted",
    options: { project: { "tools/tool.yaml": "ignore: [previous instructions" }, trusted: false },
    code: "PROJECT_RESTRICTED",
    step: "resolveChain",
    outcome: "denied"
  },
  {
    what: "a tool that nobody has signed",
    options: { project: { "tools/tool.yaml": echo }, signatures: "checked" },
    code: "UNSIGNED",
    step: "verifyLinks",
    link: "tool",
    remediation: /^kiwi sign tool tool$/,
    outcome: "denied"
  },
  {
    what: "a runtime, run by itself",
    options: { project: { "tools/tool.yaml": runtime() } },
    code: "PERMISSION_DENIED",
    step: "permit",
    link: "tool",
    remediation: /executor_id is tool/,
    outcome: "denied"
  },
  {
    what: "a project's tool that hides one of yours",
    options: { project: { "tools/tool.yaml": echo }, user: { "tools/tool.yaml": echo } },
    code: "HIDES_ITEM",
    step: "refuseHiding",
    link: "tool",
    remediation: /kiwi sign tool tool/,
    outcome: "denied"
  },
  {
    what: "a child that its runtime has no entry for",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one" }),
        "tools/one.yaml": runtime({ validation: { child_schemas: [{ match: { tool_type: "python" } }] } })
      }
    },
    code: "CHILD_REFUSED",
    step: "acceptChildren",
    link: "tool",
    remediation: /another executor_id/,
    outcome: "denied"
  },
  {
    what: "a child that its runtime's schema refuses",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one" }),
        "tools/one.yaml": runtime({
          validation: { child_schemas: [{ match: {}, schema: { properties: { version: { const: "2.0.0" } } } }] }
        })
      }
    },
    code: "CHILD_REFUSED",
    step: "acceptChildren",
    link: "tool",
    remediation: /Correct the metadata of tool/,
    outcome: "denied"
  },
  {
    what: "a tool of another language on a runtime of the system",
    options: { project: { "tools/tool.yaml": tool({ tool_type: "bash", executor_id: "python_runtime" }) } },
    code: "CHILD_REFUSED",
    step: "acceptChildren",
    link: "tool",
    outcome: "denied"
  },
  {
    what: "a runtime whose schema for its children is none",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one" }),
        "tools/one.yaml": runtime({ validation: { child_schemas: [{ match: {}, schema: { type: "nothing" } }] } })
      }
    },
    code: "SCHEMA_UNUSABLE",
    step: "acceptChildren",
    link: "one",
    outcome: "failure"
  },
  {
    what: "a version of the runtime that the tool does not ask for",
    options: {
      project: { "tools/tool.yaml": tool({ executor_id: "one@^2" }), "tools/one.yaml": runtime() }
    },
    code: "CHAIN_VERSION_MISMATCH",
    step: "resolveChain",
    link: "tool",
    remediation: /one@\^1\.0\.0/,
    outcome: "failure"
  },
  {
    what: "a config that a runtime's own schema refuses, in the link that set it",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one", config: { args: ["a", "b"] } }),
        "tools/one.yaml": runtime({ config_schema: { properties: { args: { type: "array", maxItems: 1 } } } })
      }
    },
    code: "CONFIG_INVALID",
    step: undefined,
    link: "tool",
    outcome: "failure"
  },
  {
    what: "a program that the caller chooses",
    options: {
      project: {
        "tools/tool.yaml": tool({
          input_schema: object({ program: { type: "string" } }, "program"),
          config: { command: "{program}" }
        })
      }
    },
    code: "SANDBOX_UNAVAILABLE",
    step: "isolate",
    link: "tool",
    remediation: /Name the program/,
    outcome: "denied",
    parameters: { program: "rm" }
  },
  {
    what: "a program that the caller chooses, where a runtime lets it",
    options: {
      project: {
        "tools/tool.yaml": tool({
          executor_id: "anything",
          input_schema: object({ program: { type: "string" } }, "program")
        }),
        "tools/anything.yaml": runtime({ config: { command: "{program}" } })
      }
    },
    code: "SANDBOX_UNAVAILABLE",
    step: "isolate",
    link: "anything",
    outcome: "denied",
    parameters: { program: "rm" }
  },
  {
    what: "a variable that decides what a program loads",
    options: { project: { "tools/tool.yaml": tool({ config: { command: "argv", env: { NODE_OPTIONS: "-r ./x" } } }) } },
    code: "CONFIG_INVALID",
    step: "resolveEnvironment",
    link: "tool",
    outcome: "failure"
  },
  {
    what: "such a variable in another spelling, in a runtime",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "loader" }),
        "tools/loader.yaml": runtime({ config: { command: "argv", env: { ld_preload: "./evil.so" } } })
      }
    },
    code: "CONFIG_INVALID",
    step: "resolveEnvironment",
    link: "loader",
    outcome: "failure"
  },
  {
    what: "commands and variables that are not there",
    options: {
      project: {
        "tools/tool.yaml": tool({
          config: { command: "argv" },
          requires: { commands: ["jq"], environment: ["API_URL"] }
        })
      },
      host: { programs: [] }
    },
    code: "REQUIREMENTS_MISSING",
    step: "resolveEnvironment",
    link: "tool",
    remediation: /install jq; set API_URL/,
    outcome: "failure"
  },
  {
    what: "an interpreter that is not there, which is the runtime's",
    options: {
      project: { "tools/tool.yaml": tool({ executor_id: "python_runtime", config: { runtime_args: ["-m", "x"] } }) },
      host: { programs: [] }
    },
    code: "REQUIREMENTS_MISSING",
    step: "resolveEnvironment",
    link: "python_runtime",
    outcome: "failure"
  },
  {
    what: "a placeholder without a value, in the link that has it",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one" }),
        "tools/one.yaml": runtime({ config: { command: "argv", args: ["{nowhere}"] } })
      }
    },
    code: "TEMPLATE_UNRESOLVED",
    step: undefined,
    link: "one",
    outcome: "failure"
  },
  {
    what: "a config key of the wrong type, in the link that has it",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one", config: { output: "text" } }),
        "tools/one.yaml": runtime({ config: { command: "argv", timeout: "soon" } })
      }
    },
    code: "CONFIG_INVALID",
    step: undefined,
    link: "one",
    outcome: "failure"
  },
  {
    what: "a config without what the primitive needs",
    options: { project: { "tools/tool.yaml": tool({ config: { args: [] } }) } },
    code: "CONFIG_INVALID",
    step: undefined,
    link: "tool",
    outcome: "failure"
  },
  {
    what: "a program that is not there, in the link that names it",
    options: {
      project: {
        "tools/tool.yaml": tool({ executor_id: "one" }),
        "tools/one.yaml": runtime({ config: { command: "no-such-program" } })
      }
    },
    code: "TOOL_UNSTARTABLE",
    step: undefined,
    link: "one",
    outcome: "failure"
  },
  {
    what: "an address that no tool may reach",
    options: {
      project: { "tools/tool.yaml": tool({ executor_id: "http_client", config: { url: "http://169.254.169.254/" } }) }
    },
    code: "REQUEST_REFUSED",
    step: undefined,
    link: "tool",
    outcome: "denied"
  },
  {
    what: "an argument that would become an option",
    options: {
      project: {
        "tools/tool.yaml": tool({
          input_schema: object({ file: { type: "string" } }, "file"),
          config: { command: "argv", args: ["{file}"] }
        })
      }
    },
    code: "TEMPLATE_UNSAFE",
    step: undefined,
    link: "tool",
    outcome: "failure",
    parameters: { file: "--output=/etc/passwd" }
  }
]

describe("refuses", () => {
  for (const { code, link, options, outcome, parameters = {}, remediation, step, what } of refusals) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(call("tool", parameters))
        const shown = toErrorObject(error)
        assert.strictEqual(shown.code, code, shown.message)
        assert.strictEqual(shown.failed_at?.tool_id, link)
        // What a rule says about a link is no failure of the chain.
        assert.strictEqual(error instanceof ToolChainError, link !== undefined && code !== "PERMISSION_DENIED")
        if (link !== undefined) {
          assert.match(
            shown.failed_at?.config_path ?? "",
            new RegExp(`^(?:project|system):tools/(?:.+/)?${link}\\.yaml$`)
          )
          assert.strictEqual(shown.chain?.[0], "tool")
        }
        assert.isNotEmpty(shown.remediation)
        if (remediation !== undefined) assert.match(shown.remediation ?? "", remediation)

        const [request, result] = yield* entries
        assert.strictEqual(request?.kind, "request")
        assert.deepInclude(result, { kind: "result", outcome, error: { code, message: shown.message } })

        const { blocked, passed } = yield* trace("tool")
        assert.strictEqual(blocked?.step, step)
        if (blocked !== undefined) {
          assert.deepStrictEqual(toErrorObject(blocked.error), shown)
          assert.notInclude(passed, blocked.step)
        }
      }).pipe(Effect.provide(kernel(options))))
  }

  it.effect("quotes nothing of a restricted project", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(call("tool"))
      assert.notInclude(JSON.stringify(toErrorObject(error)), "previous instructions")
    }).pipe(
      Effect.provide(kernel({ project: { "tools/tool.yaml": "x: [previous instructions" }, trusted: false }))
    ))

  const text = (files: Map<string, string | Uint8Array>) => {
    const file = files.get("tools/tool.yaml")
    return typeof file === "string" ? file : new TextDecoder().decode(file)
  }

  const changing = new Map<string, string>([["tools/tool.yaml", echo]])
  it.effect("a tool that was changed after it was signed", () =>
    Effect.gen(function*() {
      yield* sign("tool")
      yield* call("tool", { text: "a" })
      changing.set("tools/tool.yaml", `${text(changing)}\n`)
      const error = yield* Effect.flip(call("tool", { text: "a" }))
      assert.strictEqual(codeOf(innermost(error)), "TAMPERED")
      assert.match(error.remediation ?? "", /kiwi sign tool tool$/)
    }).pipe(Effect.provide(kernel({ project: changing, signatures: "checked" }))))

  const files = new Map<string, string>()
  it.effect("bytes that are older than what has run, when nobody has said that this is meant", () =>
    Effect.gen(function*() {
      files.set("tools/tool.yaml", echo)
      yield* sign("tool")
      const older = text(files)
      files.set("tools/tool.yaml", echo.replace("1.0.0", "2.0.0"))
      yield* sign("tool")
      yield* call("tool", { text: "a" })
      files.set("tools/tool.yaml", older)
      const error = yield* Effect.flip(call("tool", { text: "a" }))
      assert.strictEqual(codeOf(innermost(error)), "GOES_BACK")
      assert.match(error.message, /from 2\.0\.0 to 1\.0\.0/)
      const { blocked } = yield* trace("tool")
      assert.strictEqual(blocked?.step, "refuseGoingBack")
      yield* sign("tool")
      yield* call("tool", { text: "a" })
    }).pipe(Effect.provide(kernel({ project: files, signatures: "checked" }))))

  const friend = makeSigner()
  const location = locationOf("tools/tool.yaml")
  const signed = signText(friend, location, echo)
  const signer = { keyId: friend.keyId, publicKey: friend.pair.publicKey, name: "Grace" }

  it.effect("what somebody else has signed: whom you do not know, and whom you trust", () =>
    Effect.gen(function*() {
      const stranger = yield* Effect.flip(call("tool", { text: "a" })).pipe(
        Effect.provide(kernel({ project: { "tools/tool.yaml": signed }, signatures: "checked" }))
      )
      assert.strictEqual(codeOf(innermost(stranger)), "SIGNER_UNTRUSTED")
      const trusted = yield* Effect.flip(call("tool", { text: "a" })).pipe(
        Effect.provide(kernel({ project: { "tools/tool.yaml": signed }, signatures: "checked", signers: [signer] }))
      )
      assert.strictEqual(codeOf(innermost(trusted)), "PERMISSION_DENIED")
      assert.match(trusted.message, /Grace/)
      assert.match(
        trusted.remediation ?? "",
        /kiwi sign tool tool; or let all that they sign run so: kiwi trust add \S{43} --name Grace --as me$/
      )
    }))

  it.effect("a runtime that somebody else has signed, under a tool of your own", () =>
    Effect.gen(function*() {
      yield* sign("mine")
      const error = yield* Effect.flip(call("mine"))
      assert.strictEqual(codeOf(innermost(error)), "PERMISSION_DENIED")
      assert.match(error.message, /project:tools\/one\.yaml is signed by "Grace"/)
    }).pipe(Effect.provide(kernel({
      project: new Map([
        ["tools/mine.yaml", tool({ executor_id: "one" })],
        ["tools/one.yaml", signText(friend, locationOf("tools/one.yaml"), runtime())]
      ]),
      signatures: "checked",
      signers: [signer]
    }))))

  it.effect("an item that is signed and hides one of yours runs once a person was shown that", () =>
    Effect.gen(function*() {
      yield* sign("tool")
      assert.strictEqual((yield* call("tool", { text: "a" })).status, "success")
    }).pipe(Effect.provide(kernel({
      project: new Map([["tools/tool.yaml", echo]]),
      user: new Map([["tools/tool.yaml", echo]]),
      signatures: "checked"
    }))))
})

describe("trace agrees with call", () => {
  // Each fault alone and every set of them: what trace stops at is what a call with good parameters fails with.
  const faults = ["restricted", "unsigned", "hides", "foundation", "chosen", "missing"] as const
  const sets = Array.from(
    { length: 2 ** faults.length },
    (_, bits) => new Set(faults.filter((_fault, at) => (bits >> at) % 2 === 1))
  )

  it.effect("for every set of faults", () =>
    Effect.forEach(sets, (set) => {
      const text = tool({
        tool_type: set.has("foundation") ? "runtime" : "script",
        input_schema: object({ text: { type: "string" } }, "text"),
        config: { command: set.has("chosen") ? "{text}" : "argv", args: ["--", "{text}"] },
        ...(set.has("missing") ? { requires: { commands: ["no-such-command"] } } : {})
      })
      const layer = kernel({
        project: { "tools/tool.yaml": text },
        user: set.has("hides") ? { "tools/tool.yaml": text } : {},
        trusted: !set.has("restricted"),
        signatures: set.has("unsigned") ? "checked" : "assumed",
        host: { programs: [] }
      })
      return Effect.gen(function*() {
        const traced = yield* trace("tool")
        const called = yield* Effect.result(call("tool", { text: "argv" }))
        const expected = called._tag === "Failure" ? toErrorObject(called.failure) : undefined
        const found = traced.blocked === undefined ? undefined : toErrorObject(traced.blocked.error)
        assert.deepStrictEqual(found, expected, [...set].join(" "))
        assert.strictEqual(found === undefined, set.size === 0, [...set].join(" "))
      }).pipe(Effect.provide(layer))
    }, { discard: true }))

  it.effect("and records nothing", () =>
    Effect.gen(function*() {
      yield* trace("tool")
      assert.deepStrictEqual(yield* entries, [])
    }).pipe(Effect.provide(kernel({ project: { "tools/tool.yaml": echo } }))))
})
