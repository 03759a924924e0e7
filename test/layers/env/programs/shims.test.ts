// A user's own tool, started in a clone whose version files ask for something else: what it runs with is what the user
// chose for everywhere, for every manager.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { resolve, valuesOf, withRuntime } from "../environments.ts"
import type { World } from "../environments.ts"

const clone = {
  "/srv/project/.python-version": "9.9.9\n",
  "/srv/project/.node-version": "9.9.9\n",
  "/srv/project/.ruby-version": "9.9.9\n",
  "/srv/project/.tool-versions": "python path:/srv/project/evil\nnodejs path:/srv/project/evil\n",
  "/srv/project/mise.toml": "[tools]\nnode = \"path:/srv/project/evil\"\n",
  "/srv/project/package.json": "{\"volta\":{\"node\":\"9.9.9\"}}"
}
const none: Required<Pick<World, "files" | "programs" | "links">> = { files: {}, programs: [], links: {} }

const cases: ReadonlyArray<
  readonly [what: string, shims: string, binary: string, world: Partial<World>, expected: string | undefined]
> = [
  ["pyenv", "/home/u/.pyenv/shims", "python3", {
    files: {
      "/home/u/.pyenv/version": "3.12\n",
      "/home/u/.pyenv/versions/9.9.9/x": "",
      "/home/u/.pyenv/versions/3.12.4/x": ""
    },
    programs: ["/home/u/.pyenv/versions/3.12.4/bin/python3"]
  }, "/home/u/.pyenv/versions/3.12.4/bin/python3"],
  ["pyenv, at a root of one's own", "/opt/py/shims", "python3", {
    files: { "/opt/py/version": "3.11.1\n", "/opt/py/versions/3.11.1/x": "" },
    programs: ["/opt/py/versions/3.11.1/bin/python3"]
  }, "/opt/py/versions/3.11.1/bin/python3"],
  ["pyenv, the second of several versions", "/home/u/.pyenv/shims", "python3", {
    files: {
      "/home/u/.pyenv/version": "2.7.18\n3.12.4\n",
      "/home/u/.pyenv/versions/2.7.18/x": "",
      "/home/u/.pyenv/versions/3.12.4/x": ""
    },
    programs: ["/home/u/.pyenv/versions/2.7.18/bin/python", "/home/u/.pyenv/versions/3.12.4/bin/python3"]
  }, "/home/u/.pyenv/versions/3.12.4/bin/python3"],
  ["pyenv, the system's", "/home/u/.pyenv/shims", "python3", {
    files: { "/home/u/.pyenv/version": "system\n", "/home/u/.pyenv/versions/9.9.9/x": "" },
    programs: ["/usr/bin/python3"]
  }, "/usr/bin/python3"],
  ["pyenv, a version that climbs", "/home/u/.pyenv/shims", "python3", {
    files: { "/home/u/.pyenv/version": "../../../srv/project/evil\n", "/home/u/.pyenv/versions/9.9.9/x": "" },
    programs: ["/srv/project/evil/bin/python3"]
  }, undefined],
  ["rbenv", "/home/u/.rbenv/shims", "ruby", {
    files: { "/home/u/.rbenv/version": "3.3.0\n", "/home/u/.rbenv/versions/3.3.0/x": "" },
    programs: ["/home/u/.rbenv/versions/3.3.0/bin/ruby"]
  }, "/home/u/.rbenv/versions/3.3.0/bin/ruby"],
  ["nodenv", "/home/u/.nodenv/shims", "node", {
    files: { "/home/u/.nodenv/version": "22.1.0\n", "/home/u/.nodenv/versions/22.1.0/x": "" },
    programs: ["/home/u/.nodenv/versions/22.1.0/bin/node"]
  }, "/home/u/.nodenv/versions/22.1.0/bin/node"],
  ["asdf", "/home/u/.asdf/shims", "python3", {
    files: { "/home/u/.tool-versions": "python 3.12.1\n", "/home/u/.asdf/installs/python/3.12.1/x": "" },
    programs: ["/home/u/.asdf/installs/python/3.12.1/bin/python3"]
  }, "/home/u/.asdf/installs/python/3.12.1/bin/python3"],
  ["asdf, a path instead of a version", "/home/u/.asdf/shims", "python3", {
    files: {
      "/home/u/.tool-versions": "python path:/srv/project/evil\n",
      "/home/u/.asdf/installs/python/3.12.1/x": ""
    },
    programs: ["/srv/project/evil/bin/python3"]
  }, undefined],
  ["mise", "/home/u/.local/share/mise/shims", "node", {
    files: {
      "/home/u/.config/mise/config.toml": "[tools]\nnode = \"22\"\n",
      "/home/u/.local/share/mise/installs/node/22.3.0/x": ""
    },
    programs: ["/home/u/.local/share/mise/installs/node/22.3.0/bin/node"]
  }, "/home/u/.local/share/mise/installs/node/22.3.0/bin/node"],
  ["volta", "/home/u/.volta/bin", "node", {
    files: {
      "/home/u/.volta/tools/user/platform.json": "{\"node\":{\"runtime\":\"20.1.0\",\"npm\":null},\"yarn\":null}",
      "/home/u/.volta/tools/image/node/20.1.0/x": ""
    },
    programs: ["/home/u/.volta/tools/image/node/20.1.0/bin/node"]
  }, "/home/u/.volta/tools/image/node/20.1.0/bin/node"],
  ["a manager that Kiwi does not know", "/home/u/.proto/shims", "node", {}, undefined],
  ["a link from elsewhere to a shim", "/home/u/bin", "node", {
    programs: ["/home/u/.nodenv/shims/node"],
    links: { "/home/u/bin/node": "/home/u/.nodenv/shims/node" }
  }, undefined],
  ["a link from elsewhere to mise itself", "/home/u/bin", "node", {
    programs: ["/home/u/.local/bin/mise"],
    links: { "/home/u/bin/node": "/home/u/.local/bin/mise" }
  }, undefined]
]

describe("a shim of a version manager on PATH, for a tool of the user's in a clone", () => {
  for (const [what, shims, binary, world, expected] of cases) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const { files = {}, links = {}, programs = [] } = { ...none, ...world }
        const found = yield* Effect.result(
          resolve(withRuntime({ interpreter: { type: "system_binary", binary, var: "X" } }, { tier: "user" }), {
            trust: "Restricted",
            variables: { PATH: `${shims}:/usr/bin` },
            files: { ...clone, ...files },
            links,
            programs: [`${shims}/${binary}`, ...programs].filter((file) => links[file] === undefined)
          })
        )
        if (expected === undefined) return assert.strictEqual(found._tag, "Failure")
        assert.isTrue(found._tag === "Success", String(found))
        if (found._tag !== "Success") return
        assert.strictEqual(found.success.interpreter?.path, expected)
        // Nor does a child of the tool find the shims.
        assert.notInclude((valuesOf(found.success.child)["PATH"] ?? "").split(":"), shims)
      }))
  }
})
