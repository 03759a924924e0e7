// Every tool that a page of docs/ or of Kiwi's own help shows is signed and run as it stands there, by the kernel with
// its real programs. Its servers are on loopback: only the address of an HTTP example is another.
import { assert, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import * as fs from "node:fs"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"
import { caller } from "../layers/proxy/calls.ts"
import { localServer } from "../support/localServer.ts"
import { describeWith } from "../support/realParts.ts"
import { accept, kernelOf, realProject } from "../support/realProject.ts"

const root = new URL("../../", import.meta.url)
const pages = [
  ...fs.readdirSync(new URL("docs/", root)).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
  ...fs.readdirSync(new URL(".ai/knowledge/help/", root)).map((name) => `.ai/knowledge/help/${name}`)
]

interface Example {
  readonly page: string
  readonly path: string
  readonly text: string
}

/** Blocks that are tools: with a path on their first line, or that name themselves. */
const examples = pages.flatMap((page): ReadonlyArray<Example> =>
  Array.from(
    fs.readFileSync(new URL(page, root), "utf8").matchAll(/^(`{3,})([a-z]+)(?: \.ai\/(tools\/\S+))?\n([^]*?)^\1$/gm),
    ([, , language = "", path, text = ""]) => {
      const id = /^tool_id: (\S+)$/m.exec(text)?.[1]
      const category = /^(?:__category__ = "|category: )([a-z/]+)/m.exec(text)?.[1]
      const own = language === "yaml" && id !== undefined
        ? `${id}.yaml`
        : language === "python" && text.includes("__executor_id__")
        ? `${page.replace(/.*\//, "").replace(/\W/g, "_")}.py`
        : undefined
      const found = path ??
        (own === undefined ? undefined : `tools/${category === undefined ? "" : `${category}/`}${own}`)
      return found === undefined ? [] : [{ page, path: found, text }]
    }
  ).flat()
)

/** Run elsewhere, or not at all, and why. */
const elsewhere: ReadonlyMap<string, string> = new Map([
  ["docs/dependencies.md", "installed and run by test/layers/dependency/documentation.test.ts"],
  ["docs/calling-tools.md", "run by test/layers/proxy/nestedProcesses.test.ts"],
  ["tools/hello.rb", "needs Ruby, and a runtime that the page leaves to its reader"],
  ["tools/ruby_runtime.yaml", "is a runtime for a Ruby that this machine need not have"],
  ["tools/runtimes/ruby_runtime.yaml", "is a runtime for a Ruby that this machine need not have"],
  ["tools/runtimes/deno_runtime.yaml", "is a runtime for a Deno that this machine need not have"],
  [
    "tools/images/thumbnail.yaml",
    "needs ImageMagick: run with a stand-in by test/layers/primitive/documentation.test.ts"
  ]
])

const calls: Readonly<Record<string, readonly [parameters: Schema.JsonObject, data: Schema.Json]>> = {
  add: [{ a: 1, b: -2.5 }, { sum: -1.5 }],
  tools_md: [{ a: 1, b: 2 }, { sum: 3 }],
  greet: [{ name: "Ada", times: 2 }, "Hello, Ada\nHello, Ada\n"],
  slug: [{ title: "Hello, World" }, "hello-world\n"],
  count_lines: [{ file: "lines.txt" }, "2\n"],
  lines: [{ file: "lines.txt" }, "2\n"],
  get_page: [{ path: "a b" }, { method: "GET", url: "/a%20b" }],
  monthly: [{}, "3\n"],
  gather: [{ title: "a", tags: ["x", "-y"], verbose: 2, files: ["-f"] }, {
    title: "a",
    tags: ["x", "-y"],
    verbose: 2,
    files: ["-f"]
  }],
  words: [{ tags: ["x", "-y"], loud: true }, { tags: ["x", "-y"], loud: true }],
  tar_list: [{ names: ["a", "b"], archive: "x.tar" }, "--exclude\na\nb\n--\nx.tar\n"],
  weather: [{ place: "São Paulo/.." }, { method: "GET", url: "/v1/weather/S%C3%A3o%20Paulo%2F..?units=metric" }],
  report_upload: [{ title: "May", name: "may" }, { id: 7, url: "l" }]
}

describeWith(["python3", "bash"], "the tools of docs/", () => {
  it.live("do what the pages say", () =>
    Effect.gen(function*() {
      const server = yield* localServer((request, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify(
          request.method === "POST"
            ? { report: { id: 7, links: ["l"] } }
            : { method: request.method, url: request.url }
        ))
      })
      const run = examples.filter(({ page, path }) => !elsewhere.has(page) && !elsewhere.has(path))
      const local = (text: string): string =>
        text.replaceAll(/https:\/\/(?:api\.)?example\.com/g, server.url)
          .replace(
            /^config:$/m,
            (line) => text.includes("example.com") ? `${line}\n  private_hosts: ["${server.host}"]` : line
          )
      const project = yield* realProject({
        ...Object.fromEntries(run.map(({ path, text }) => [`.ai/${path}`, local(text)])),
        ".env": "WEATHER_TOKEN=secret\n",
        "lines.txt": "1\n2\n",
        "reports/may.pdf": "%PDF"
      })
      const ids = new Set(
        run.filter(({ path }) => !/\/(?:monthly)\/(?!tool\.yaml)/.test(path)).map(({ path }) =>
          /([^/]+?)(?:\/tool\.yaml|\.[a-z]+)$/.exec(path)?.[1] ?? ""
        )
      )
      assert.sameMembers([...ids], Object.keys(calls))
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        for (const [item, [parameters, expected]] of Object.entries(calls)) {
          const { data } = yield* proxy.call({ callId: "call", caller, item, parameters, dryRun: false })
          const shown = typeof data === "string" && typeof expected === "object" ? JSON.parse(data) as unknown : data
          assert.deepStrictEqual(shown, expected, item)
        }
      }).pipe(Effect.provide(kernelOf(project)))
      assert.strictEqual(
        server.seen.find(({ url }) => url.startsWith("/v1/weather"))?.headers["authorization"],
        "Bearer secret"
      )
      assert.match(server.seen.find(({ method }) => method === "POST")?.body ?? "", /name="title"\r\n\r\nMay\r\n/)
    }), 60_000)

  it("are all run, but for those that are named with the reason", () => {
    assert.isAbove(examples.length, 15)
    for (const name of elsewhere.keys()) {
      assert.isTrue(
        examples.some(({ page, path }) => page === name || path === name) || /ruby_runtime/.test(name),
        name
      )
    }
  })
})
