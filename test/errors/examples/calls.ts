// A tool's parameters, config, environment and placeholders; and what becomes of it when it runs.
import { Effect, Layer, Schema, Stream } from "effect"
import * as KernelMemory from "../../../src/layers/KernelMemory.ts"
import * as Noop from "../../../src/layers/primitive/builtin/noop.ts"
import * as BuiltinRegistry from "../../../src/layers/primitive/BuiltinRegistry.ts"
import * as ToolProxyPipeline from "../../../src/layers/proxy/ToolProxyPipeline.ts"
import { runToolAs } from "../../../src/programs/runTool.ts"
import { WriteRefused } from "../../../src/services/files/SafeFiles.ts"
import type { BuiltinHandler } from "../../../src/services/primitive/Builtins.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"
import { Primitives } from "../../../src/services/primitive/Primitive.ts"
import { PrimitiveUnknown } from "../../../src/services/primitive/PrimitiveErrors.ts"
import { call, echo, object, tool } from "../../layers/proxy/calls.ts"
import { localServer } from "../../support/localServer.ts"
import { failing, failingCall } from "../Example.ts"
import type { Examples } from "../Example.ts"

/** A tool by this name, alone in its project and signed. */
const one = (name: string, fields: Schema.JsonObject, parameters: Schema.JsonObject = {}) =>
  failingCall({ [`.ai/tools/${name}.yaml`]: tool(fields) }, "signed", name, parameters)

const shell = (name: string, script: string, config: Schema.JsonObject = {}) =>
  one(name, {
    requires: { environment: ["PLANTED_TOKEN", "DOTENV_TOKEN"] },
    config: { command: "sh", args: ["-c", script], ...config }
  })

/** A tool of a program that embeds Kiwi, by this name. */
const embedded = (name: string, handler: BuiltinHandler) =>
  Effect.flip(Effect.provide(
    call(name),
    KernelMemory.layer({
      items: { [`tools/acme/${name}.yaml`]: tool({ executor_id: "builtin", config: { handler: name } }) },
      builtins: new Map([[name, handler]])
    })
  ))

const text = object({ text: { type: "string" } }, "text")

export const examples: Examples = {
  ParametersInvalid: {
    when: "A number is asked for, and a word is given",
    produce: one("add", {
      input_schema: object({ a: { type: "number" }, b: { type: "number" } }, "a", "b"),
      config: { command: "true" }
    }, {
      a: 1,
      b: "two"
    })
  },
  SchemaUnusable: {
    when: "The schema of a tool's parameters lies on another server",
    produce: one("fetch", {
      input_schema: { $ref: "https://schemas.example.com/fetch.json" },
      config: { command: "true" }
    })
  },
  ConfigInvalid: {
    when: "The runtime under a tool sets a timeout that is no number",
    produce: failingCall(
      {
        ".ai/tools/report.yaml": tool({ executor_id: "shell", config: { args: ["-c", "true"] } }),
        ".ai/tools/shell.yaml": tool({
          tool_type: "runtime",
          config: { command: "sh", timeout: "${SHELL_TIMEOUT:-soon}" }
        })
      },
      "signed",
      "report"
    )
  },
  EnvConfigInvalid: {
    when: "ENV_CONFIG names an interpreter of a type that there is none of",
    produce: one("report", {
      env_config: { interpreter: { type: "conda", var: "PYTHON" } },
      config: { command: "true" }
    })
  },
  RequirementsMissing: {
    when: "A tool asks for a program and a variable, and the machine has neither",
    produce: one("convert", {
      requires: { commands: ["no-such-converter"], environment: ["CONVERT_LICENSE"] },
      config: { command: "no-such-converter" }
    })
  },
  TemplateUnresolved: {
    when: "A call leaves out a parameter that is a part of an argument",
    produce: one("greet", {
      input_schema: { type: "object", properties: { name: { type: "string" } } },
      config: { command: "echo", args: ["Hello {name}"] }
    })
  },
  TemplateUnsafe: {
    when: "A file name begins like an option",
    produce: one("show", { input_schema: text, config: { command: "cat", args: ["{text}"] } }, { text: "--help" })
  },
  PrimitiveConfigInvalid: {
    when: "CONFIG has a header that no request can have",
    produce: one("fetch", {
      executor_id: "http_client",
      config: { url: "https://api.example.com/", headers: { "not a name": "x" } }
    })
  },
  ParametersUnpassable: {
    when: "Two parameters would be the same option",
    produce: one("report", {
      input_schema: object({ dry_run: { type: "boolean" }, "dry-run": { type: "boolean" } }),
      config: { command: "true" }
    }, { dry_run: true, "dry-run": true })
  },
  ToolUnstartable: {
    when: "The folder in which a tool is to run is not there",
    produce: one("build", { config: { command: "true", cwd: "no-such-folder" } })
  },
  ToolFailed: {
    when: "A tool ends with 3, and says its secrets on the way",
    produce: shell("deploy", "echo \"no such branch: main ($PLANTED_TOKEN, $DOTENV_TOKEN)\" >&2; exit 3")
  },
  ToolTimeout: {
    when: "A tool takes longer than its CONFIG allows",
    produce: shell("slow", "sleep 60", { timeout: 0.05 })
  },
  ToolOutputInvalid: {
    when: "A tool declares JSON and prints a sentence",
    produce: shell("report", "echo \"done, $PLANTED_TOKEN\"", { output: "json" })
  },
  RequestFailed: {
    when: "The server does not answer",
    produce: one("fetch", {
      executor_id: "http_client",
      // A port of this machine that nobody listens on, named as a private host that may be asked.
      config: { url: "http://127.0.0.1:1/", private_hosts: ["127.0.0.1:1"], retry: { max_attempts: 1 } }
    })
  },
  RequestRefused: {
    when: "A tool asks for the address where clouds keep credentials",
    produce: one("fetch", {
      executor_id: "http_client",
      config: { url: "http://169.254.169.254/latest/meta-data/" }
    })
  },
  ResponsePathMissing: {
    when: "The answer of a server has changed",
    produce: Effect.flatMap(
      localServer((_request, response) =>
        response.writeHead(200, { "content-type": "application/json" }).end("{\"report\":{\"identifier\":7}}")
      ),
      ({ host, url }) =>
        one("fetch", {
          executor_id: "http_client",
          config: { url, private_hosts: [host], response_path: "/report/id" }
        })
    )
  },
  UploadRefused: {
    when: "A caller asks for a file to be sent that holds keys",
    produce: one("upload", {
      executor_id: "http_client",
      input_schema: text,
      config: { url: "https://api.example.com/", method: "POST", multipart: [{ name: "file", path: "{text}" }] }
    }, { text: "deploy/id_ed25519" })
  },
  BuiltinFailed: {
    when: "A builtin of a program answers a date, which is no JSON",
    produce: embedded("today", () => Effect.succeed({ data: new Date(0) as never, metadata: {} }))
  },
  BuiltinTaken: {
    when: "A program composes a kernel of its own, and gives a handler the name of one of Kiwi's",
    produce: Effect.flip(Layer.build(
      BuiltinRegistry.register(Noop.handlers).pipe(
        Layer.provide(BuiltinRegistry.layerWith(new Map([["noop", () => Effect.never]])))
      )
    ))
  },
  StreamFailed: {
    when: "A builtin's stream breaks off, since the disk is full",
    produce: embedded("chat", () =>
      Effect.succeed({
        stream: Stream.concat(
          Stream.make("It was a dark ", "and stormy night"),
          Stream.fail(new WriteRefused({ path: "night.txt", issue: "no-space", detail: "the disk is full" }))
        )
      }))
  },
  KernelOptionInvalid: {
    when: "A program that is not type-checked gives a service where a layer is meant",
    produce: Effect.flip(Layer.build(KernelMemory.layer({ replace: {} as never })))
  },
  OutputNotFound: {
    when: "A program reads an output after it was removed",
    produce: failing(
      {},
      "trusted",
      () =>
        Effect.flatMap(
          Outputs,
          (outputs) => outputs.read("0123456789abcdef0123456789abcdef", { offset: 0, length: 10 })
        )
    )
  },
  PrimitiveUnknown: {
    when: "A program composes a kernel without `subprocess`",
    produce: failing({ ".ai/tools/report.yaml": tool({ config: { command: "true" } }) }, "signed", () =>
      Effect.provide(
        call("report"),
        ToolProxyPipeline.layer.pipe(Layer.provide(Layer.mock(Primitives, {
          needs: () => undefined,
          known: ["http_client", "builtin"],
          accesses: () => Effect.succeed([]),
          run: (primitive) => Effect.fail(new PrimitiveUnknown({ primitive, known: ["http_client", "builtin"] }))
        })))
      ))
  },
  ResultUnexpected: {
    when: "A program expects a number, and the tool answers a text",
    produce: failing(
      { ".ai/tools/echo.yaml": echo.replace("\"argv\"", "\"echo\"").replace("\"json\"", "\"text\"") },
      "signed",
      () => runToolAs(Schema.Finite)("echo", { text: "three" })
    )
  }
}
