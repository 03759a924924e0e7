// Tools that call others, as processes on a real kernel. The tools of docs/calling-tools.md are among them.
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, type Scope } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import type { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import { accept, kernelOf, realProject } from "../../support/realProject.ts"
import { call, entries } from "./calls.ts"

class Project extends Context.Service<Project, string>()("test/Project") {}

const page = fs.readFileSync(new URL("../../../docs/calling-tools.md", import.meta.url), "utf8")
const example = (language: string): string =>
  new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "m").exec(page)?.[1] ?? ""

const bash = (script: string, calls?: string) =>
  `#!/usr/bin/env bash
# kiwi:
#   version: 1.0.0
#   executor_id: bash_runtime
#   description: Calls
#   config: {timeout: 20${calls === undefined ? "" : `, calls: [${calls}]`}}
${script}
`

const ask = (item: string, id = 1) =>
  `echo '{"jsonrpc": "2.0", "id": ${id}, "method": "execute", "params": {"item_id": "${item}"}}' >&3`

const files = {
  ".ai/tools/notes_sh.sh": example("bash"),
  ".ai/tools/notes_py.py": example("python"),
  ".ai/tools/plain.sh": bash(
    `ls /proc/$$/fd 2>/dev/null | tr '\\n' ' '; echo "socket=$KIWI_SOCKET"; { true >&3; } 2>/dev/null || echo closed`
  ),
  ".ai/tools/environment.sh": bash(`${ask("ping")}; read -r answer <&3; env; echo "$answer"`, "tool.ping"),
  ".ai/tools/leaves_child.sh": bash(
    `${ask("ping")}; read -r first <&3; echo "$first"
(sleep 0.2; while true; do ${ask("ping", 2)} || break; sleep 0.1; done) >/dev/null 2>&1 &
disown; exit 0`,
    "tool.ping"
  ),
  ".ai/tools/floods.sh": bash(`head -c 3000000 /dev/zero | tr '\\0' x >&3; cat <&3`, "tool.ping"),
  ".ai/tools/bytes.sh": bash(
    `printf '\\xff\\xfe{"a\\n' >&3; read -r answer <&3; echo "$answer"; ${
      ask("ping")
    }; read -r answer <&3; echo "$answer"`,
    "tool.ping"
  ),
  ".ai/tools/deaf.sh": bash(
    `for i in $(seq 1 50); do ${ask("ping", 1).replace("\"id\": 1", "\"id\": '$i'")}; done; echo done`,
    "tool.ping"
  ),
  ".ai/tools/shuts.sh": bash(`exec 3>&-; echo done`, "tool.ping"),
  ".ai/tools/waits.sh": bash(`${ask("sleeps")}; read -r answer <&3; echo "$answer"`, "tool.sleeps"),
  ".ai/tools/sleeps.sh": bash(`echo $$ > "$KIWI_PROJECT/sleeping"; sleep 600`),
  "notes/today.md": "buy milk\n",
  "notes/tomorrow.md": "drink milk\n",
  "secret.md": "hidden\n"
}

const requests = Effect.map(entries, (all) => all.flatMap((entry) => entry.kind === "request" ? [entry] : []))

const world = <A, E>(
  use: Effect.Effect<A, E, Effect.Services<typeof requests> | ToolProxy | Project | Scope.Scope>,
  more: Readonly<Record<string, string>> = {}
) =>
  Effect.scoped(Effect.gen(function*() {
    const project = yield* realProject({ ...files, ...more })
    return yield* Effect.andThen(accept, Effect.provideService(use, Project, project.project)).pipe(
      Effect.provide(kernelOf(project))
    )
  }))

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const outputOf = (item: string, callId = "outer") => Effect.map(call(item, {}, { callId }), ({ data }) => String(data))

describe("a process that calls tools", () => {
  it.live("is written in a few lines of Bash or Python", () =>
    world(Effect.gen(function*() {
      assert.include(yield* outputOf("notes_sh"), "buy milk")
      const python = yield* outputOf("notes_py")
      assert.include(python, "buy milk")
      assert.include(python, "drink milk")
      assert.deepStrictEqual((yield* requests).map(({ parent }) => parent), [
        undefined,
        "outer",
        undefined,
        "outer",
        "outer"
      ])
    })))

  it.live("reaches no other file than its config says", () =>
    world(
      Effect.gen(function*() {
        assert.include(yield* outputOf("notes_sh"), "PERMISSION_DENIED")
      }),
      { ".ai/tools/notes_sh.sh": example("bash").replace("notes/today.md", "secret.md") }
    ))

  it.live("has no descriptor 3 unless it asks for it", () =>
    world(Effect.gen(function*() {
      const output = yield* outputOf("plain")
      assert.include(output, "closed")
      assert.match(output, /socket=$/m)
    })))

  it.live("sees no token, in its environment or in an answer", () =>
    world(Effect.gen(function*() {
      const output = yield* outputOf("environment")
      assert.include(output, "KIWI_SOCKET=fd:3")
      assert.include(output, "\"status\":\"success\"")
      assert.notMatch(output, /eyJ[\w-]{8}|[0-9a-f]{32}\.|kiwi-cap/)
    })))

  it.live("leaves nothing behind that could still use the connection", () =>
    world(Effect.gen(function*() {
      assert.include(yield* outputOf("leaves_child"), "\"status\":\"success\"")
      const before = (yield* requests).length
      yield* Effect.sleep("600 millis")
      assert.strictEqual((yield* requests).length, before)
    })))

  it.live("survives bytes that are no message, and is cut off after a message without an end", () =>
    world(Effect.gen(function*() {
      const bytes = yield* outputOf("bytes")
      assert.include(bytes, "-32700")
      assert.include(bytes, "\"status\":\"success\"")
      const floods = yield* Effect.exit(outputOf("floods", "second"))
      assert.notStrictEqual(floods, undefined)
      assert.strictEqual((yield* requests).filter(({ parent }) => parent === "second").length, 0)
    })))

  it.live("may close the connection, or never read its answers", () =>
    world(Effect.gen(function*() {
      assert.include(yield* outputOf("shuts"), "done")
      assert.include(yield* outputOf("deaf", "second"), "done")
    })))

  it.live("is interrupted with the calls that it makes", () =>
    world(Effect.gen(function*() {
      const mark = join(yield* Project, "sleeping")
      const fiber = yield* Effect.forkChild(outputOf("waits"))
      while (!fs.existsSync(mark) || fs.readFileSync(mark, "utf8") === "") yield* Effect.sleep("20 millis")
      const pid = Number(fs.readFileSync(mark, "utf8"))
      yield* Fiber.interrupt(fiber)
      while (isRunning(pid)) yield* Effect.sleep("20 millis")
      const ends = (yield* entries).flatMap((entry) =>
        entry.kind === "result" ? [[entry.subject.item, entry.outcome]] : []
      )
      assert.deepStrictEqual(ends, [["sleeps", "interrupted"], ["waits", "interrupted"]])
    })))
})
