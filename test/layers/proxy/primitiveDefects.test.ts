// What the original of Kiwi did wrong with what it ran, named after it: whole calls, from parameters to the program.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Program } from "../../../src/layers/process/ChildProcessesMemory.ts"
import type { OutboundRequest } from "../../../src/services/outbound/Outbound.ts"
import { call, kernel, object, reasonOf, tool } from "./calls.ts"

const text = { type: "string" }
const secret = "sesame-open-wide"
const host = {
  variables: { PATH: "/usr/bin", OPEN_SESAME: secret, AWS_SECRET_ACCESS_KEY: "aws-secret", HOME: "/home/u" }
}

/** Answers with all that it was started with. */
const tell: Program = ({ argv, env, stdin }) =>
  Effect.succeed({ stdout: JSON.stringify({ argv, env, stdin: stdin ?? null }) })

const world = (project: Record<string, string>, requests: Array<OutboundRequest> = []) =>
  kernel({
    project,
    host,
    programs: { tell },
    network: (request) =>
      Effect.sync(() => {
        requests.push(request)
        return { body: "ok" }
      })
  })

describe("secret exfiltration by double ${} expansion", () => {
  it.effect("a parameter that is written like a variable stays that text, wherever it goes", () =>
    Effect.gen(function*() {
      const requests: Array<OutboundRequest> = []
      const project = {
        "tools/a/run.yaml": tool({
          tool_id: "run",
          input_schema: object({ x: text }),
          config: {
            command: "tell",
            args: ["--", "{x}", "a{x}b"],
            env: { X: "{x}" },
            input_data: "{x}",
            output: "json",
            limits: { cpu: 5 }
          },
          requires: { environment: ["OPEN_SESAME"] }
        }),
        "tools/a/ask.yaml": tool({
          tool_id: "ask",
          tool_type: "http",
          executor_id: "http_client",
          input_schema: object({ x: text }),
          config: {
            url: "https://a.example/{x}?q={x}",
            method: "POST",
            headers: { "x-x": "{x}" },
            auth: { type: "bearer", token: "${OPEN_SESAME}" },
            multipart: [{ name: "{x}", value: "{x}" }, { name: "f", base64: "AA==", filename: "{x}" }]
          }
        })
      }
      yield* Effect.gen(function*() {
        for (const x of ["${OPEN_SESAME}", "{x}", "${OPEN_SESAME:-x}", "$${OPEN_SESAME}"]) {
          const { data } = yield* call("run", { x })
          const { argv, env, stdin } = data as { argv: Array<string>; env: Record<string, string>; stdin: string }
          assert.deepStrictEqual([argv.slice(1), env["X"], stdin], [["--", x, `a${x}b`], x, x])
          yield* call("ask", { x })
          const sent = requests.at(-1)!
          const body = Buffer.from(sent.body ?? []).toString()
          assert.notInclude(sent.url + sent.headers["x-x"] + body, secret)
          assert.strictEqual(sent.headers["x-x"], x)
          assert.include(body, `name="${x}"\r\n\r\n${x}\r\n`)
        }
      }).pipe(Effect.provide(world(project, requests)))
    }))
})

describe("child inherits the server's stdin and all of its environment", () => {
  it.effect("a program gets no stdin, and only what its tool asks for", () =>
    Effect.gen(function*() {
      const { data } = yield* call("run")
      const { env, stdin } = data as { env: Record<string, string>; stdin: string | null }
      assert.isNull(stdin)
      assert.isFalse(JSON.stringify(env).includes("secret"))
      assert.notProperty(env, "OPEN_SESAME")
    }).pipe(Effect.provide(world({
      "tools/a/run.yaml": tool({ tool_id: "run", config: { command: "tell", output: "json" } })
    }))))
})

describe("params dropped when named like an env var; runtime args after script path; YAML path injected", () => {
  it.effect("parameters arrive whatever they are called", () =>
    Effect.gen(function*() {
      const parameters = { HOME: "h", PATH: "p", USER: "u", LANG: "l" }
      const { data } = yield* call("run", parameters)
      const { argv } = data as { argv: Array<string> }
      assert.deepStrictEqual(argv, ["tell", "--HOME=h", "--PATH=p", "--USER=u", "--LANG=l"])
    }).pipe(Effect.provide(world({
      "tools/a/run.yaml": tool({
        tool_id: "run",
        input_schema: object({ HOME: text, PATH: text, USER: text, LANG: text }),
        config: { command: "tell", output: "json" }
      })
    }))))

  it.effect("a runtime's arguments come before the tool's file, a YAML tool has none, and no path is added", () =>
    Effect.gen(function*() {
      const yaml = yield* call("plain", { a: "1" })
      assert.deepStrictEqual((yaml.data as { argv: Array<string> }).argv, ["tell", "first", "--a=1"])
    }).pipe(Effect.provide(world({
      "tools/a/strict.yaml": tool({
        tool_id: "strict",
        tool_type: "runtime",
        config: { command: "tell", runtime_args: ["first"], output: "json" }
      }),
      "tools/a/plain.yaml": tool({ tool_id: "plain", executor_id: "strict", input_schema: object({ a: text }) })
    }))))
})

describe("sync HTTP bodies not templated; token overridden by auth block", () => {
  it.effect("bodies are templated with their types, in every form", () =>
    Effect.gen(function*() {
      const requests: Array<OutboundRequest> = []
      const http = (id: string, config: Record<string, never>) =>
        tool({
          tool_id: id,
          tool_type: "http",
          executor_id: "http_client",
          input_schema: object({ n: { type: "number" }, list: { type: "array" }, s: text }),
          config: { url: "https://a.example/", method: "POST", ...config }
        })
      const project = {
        "tools/a/json.yaml": http("json", { body: { n: "{n}", deep: [{ list: "{list}" }], s: "<{s}>" } } as never),
        "tools/a/form.yaml": http("form", { form: { n: "{n}", s: "{s}" } } as never),
        "tools/a/bytes.yaml": http("bytes", { body_base64: "{s}" } as never)
      }
      yield* Effect.gen(function*() {
        for (const id of ["json", "form", "bytes"]) yield* call(id, { n: 1.5, list: [true, null], s: "AP9a" })
        assert.deepStrictEqual(requests.map(({ body }) => Buffer.from(body ?? []).toString("latin1")), [
          "{\"n\":1.5,\"deep\":[{\"list\":[true,null]}],\"s\":\"<AP9a>\"}",
          "n=1.5&s=AP9a",
          "\0\xffZ"
        ])
      }).pipe(Effect.provide(world(project, requests)))
    }))
})

describe("no call can widen what was signed", () => {
  it.effect("limits, folders, files, headers and hosts are the config's own", () =>
    Effect.gen(function*() {
      const properties = { x: {} }
      const subprocess = (id: string, config: object) =>
        tool({ tool_id: id, input_schema: object(properties), config: { command: "tell", ...config } as never })
      const http = (id: string, config: object) =>
        tool({
          tool_id: id,
          tool_type: "http",
          executor_id: "http_client",
          input_schema: object(properties),
          config: { url: "https://a.example/", method: "POST", ...config } as never
        })
      const attacks: ReadonlyArray<readonly [string, string, ReadonlyArray<unknown>, string]> = [
        ["memory", subprocess("memory", { limits: { memory: "{x}" } }), ["64GiB"], "SandboxUnavailable"],
        ["limits", subprocess("limits", { limits: "{x}" }), [{}], "SandboxUnavailable"],
        ["folder", subprocess("folder", { cwd: "in/{x}" }), ["..", "../..", "/", "a/../../b"], "TemplateUnsafe"],
        ["make", subprocess("make", { command: "make", cwd: "{x}" }), ["a"], "SandboxUnavailable"],
        ["parts", http("parts", { multipart: "{x}" }), [[{ name: "f", path: "a" }]], "SandboxUnavailable"],
        ["part", http("part", { multipart: ["{x}"] }), [{ name: "f", path: "a" }], "SandboxUnavailable"],
        [
          "file",
          http("file", { multipart: [{ name: "f", path: "in/{x}" }] }),
          ["../a", "/etc/passwd"],
          "TemplateUnsafe"
        ],
        [
          "key",
          http("key", { multipart: [{ name: "f", path: "{x}" }] }),
          [".env", "id_rsa", ".git/config"],
          "UploadRefused"
        ],
        ["header", http("header", { response_headers: ["{x}"] }), ["etag"], "PrimitiveConfigInvalid"],
        ["host", http("host", { private_hosts: ["{x}"] }), ["127.0.0.1:80"], "ConfigInvalid|PrimitiveConfigInvalid"],
        ["server", http("server", { url: "https://a.example{x}/" }), ["@evil.example"], "TemplateUnsafe"]
      ]
      const project = Object.fromEntries(attacks.map(([id, file]) => [`tools/a/${id}.yaml`, file]))
      yield* Effect.gen(function*() {
        for (const [id, , values, expected] of attacks) {
          for (const x of values) {
            const reason = reasonOf(yield* Effect.flip(call(id, { x: x as never })))
            assert.match(reason._tag, new RegExp(`^(?:${expected})$`), `${id} ${JSON.stringify(x)}`)
          }
        }
      }).pipe(Effect.provide(world(project)))
    }))
})
