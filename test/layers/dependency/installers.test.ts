import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { lastWords, makeRun } from "../../../src/layers/dependency/installers.ts"
import { fetchedOtherwise } from "../../../src/layers/dependency/installNpm.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { makeRunOwnChild } from "../../../src/layers/process/ownChild.ts"
import { systemPrograms } from "../../../src/layers/process/ownPrograms.ts"

const said = (stderr: string) => ({ code: 1, stdout: "", stderr })

describe("what an installer said last", () => {
  it("is without the credentials of a URL, however long, with an @ in them, or cut by what is kept", () => {
    const token = "t0ken".repeat(500)
    for (const user of [`aws:${token}`, `me:pa@ss-${token}`]) {
      const words = lastWords(said(`error: https://${user}@registry.example/simple/ said 401`), "/home/u/.kiwi/envs/x")
      assert.strictEqual(words, "error: https://‹credentials›@registry.example/simple/ said 401")
    }
    const path = "/home/u/.kiwi/envs/x"
    const far = lastWords(said(`https://me:${token}@host/ ${`${path} `.repeat(240)}`), path)
    assert.notInclude(far, "t0ken")
  })

  it("begins with a whole line", () => {
    const lines = Array.from({ length: 200 }, (_, n) => `WARNING: line ${n} of the log`).join("\n")
    const words = lastWords(said(lines), "/nowhere")
    assert.match(words, /^WARNING: line \d+ of/)
    assert.isTrue(words.endsWith("line 199 of the log"))
  })

  it.effect("names no path of the person's folder", () =>
    Effect.gen(function*() {
      const run = makeRun({
        tool: "t",
        folder: "/",
        env: { HOME: "/home/u" },
        programs: yield* systemPrograms,
        runOwnChild: yield* makeRunOwnChild,
        timeout: Duration.seconds(10)
      })
      const words = "a complete log: /home/u/.npm/_logs/1.log, not /home/ulla/x"
      const { stderr } = yield* run([process.execPath, "-e", "console.error(process.argv[1])", words])
      assert.strictEqual(stderr.trim(), "a complete log: ~/.npm/_logs/1.log, not /home/ulla/x")
    }).pipe(Effect.provide(ChildProcessesNode.layer)))
})

describe("what npm resolved", () => {
  const lock = (entry: object) =>
    JSON.stringify({ packages: { "": {}, "node_modules/a": { version: "1.0.0", ...entry } } })

  it("is refused where a package comes from a repository or a file", () => {
    for (const resolved of ["git+ssh://git@host.example/a.git#1", "git+file:///a#1", "file:../a.tgz", "GIT://host/a"]) {
      assert.strictEqual(fetchedOtherwise(lock({ resolved })), "node_modules/a")
    }
    assert.isUndefined(fetchedOtherwise(lock({ resolved: "https://registry.example/a/-/a-1.0.0.tgz" })))
    assert.isUndefined(fetchedOtherwise(lock({ inBundle: true })))
  })
})
