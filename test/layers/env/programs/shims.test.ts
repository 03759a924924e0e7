// A user's own tool, started in a clone whose version files ask for something else: what it runs with is what the user
// chose for everywhere, for every manager.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { posix as path } from "node:path"
import * as HostFiles from "../../../../src/layers/env/HostFiles.ts"
import { makePrograms } from "../../../../src/layers/env/searchPath.ts"
import { temporary } from "../../../support/temporary.ts"
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
  ["rtx", "/home/u/bin", "node", {
    programs: ["/home/u/.local/bin/rtx"],
    links: { "/home/u/bin/node": "/home/u/.local/bin/rtx" }
  }, undefined],
  ["proto", "/home/u/bin", "node", {
    programs: ["/home/u/.proto/bin/proto-shim"],
    links: { "/home/u/bin/node": "/home/u/.proto/bin/proto-shim" }
  }, undefined],
  ["goenv", "/home/u/.goenv/shims", "go", {
    files: { "/home/u/.goenv/version": "1.22.0\n", "/home/u/.goenv/versions/1.22.0/x": "" },
    programs: ["/home/u/.goenv/versions/1.22.0/bin/go"]
  }, "/home/u/.goenv/versions/1.22.0/bin/go"],
  ["jenv", "/home/u/.jenv/shims", "java", {
    files: { "/home/u/.jenv/version": "21.0\n", "/home/u/.jenv/versions/21.0/x": "" },
    programs: ["/home/u/.jenv/versions/21.0/bin/java"]
  }, "/home/u/.jenv/versions/21.0/bin/java"],
  ["phpenv", "/home/u/.phpenv/shims", "php", {
    files: { "/home/u/.phpenv/version": "8.3.1\n", "/home/u/.phpenv/versions/8.3.1/x": "" },
    programs: ["/home/u/.phpenv/versions/8.3.1/bin/php"]
  }, "/home/u/.phpenv/versions/8.3.1/bin/php"],
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

const rustup = "/home/u/.cargo/bin/rustup"

/** A program of a folder on PATH that stands for others, as its manager puts it there. */
const alone: ReadonlyArray<
  readonly [what: string, binary: string, world: Required<Pick<World, "programs" | "links">>, folder?: string]
> = [
  ...["cargo", "rustc", "rustfmt", "rustdoc", "clippy-driver", "cargo-clippy", "rust-analyzer", "anything"].map((
    name
  ) =>
    [`rustup's ${name}, a link`, name, {
      programs: [rustup],
      links: { [`/home/u/.cargo/bin/${name}`]: rustup }
    }, "/home/u/.cargo/bin"] as const
  ),
  ...["cargo", "rustc", "cargo-fmt", "rust-gdb"].map((name) =>
    [
      `rustup's ${name}, a copy`,
      name,
      { programs: [rustup, `/home/u/.cargo/bin/${name}`], links: {} },
      "/home/u/.cargo/bin"
    ] as const
  ),
  ["rustup's cargo of Homebrew", "cargo", {
    programs: ["/opt/rustup/bin/rustup-init"],
    links: { "/home/u/bin/cargo": "/opt/rustup/bin/rustup-init" }
  }],
  ["elan's lake", "lake", { programs: ["/home/u/bin/elan", "/home/u/bin/lake"], links: {} }],
  ["swiftly's swift", "swift", { programs: ["/opt/swiftly"], links: { "/home/u/bin/swift": "/opt/swiftly" } }],
  ["tfenv's terraform", "terraform", { programs: ["/home/u/bin/tfenv", "/home/u/bin/terraform"], links: {} }],
  ["tfenv's terraform by a link", "terraform", {
    programs: ["/opt/tfenv/bin/tfenv", "/opt/tfenv/bin/terraform"],
    links: { "/home/u/bin/terraform": "/opt/tfenv/bin/terraform" }
  }],
  ["tofuenv's tofu", "tofu", { programs: ["/home/u/bin/tofuenv", "/home/u/bin/tofu"], links: {} }],
  ["tenv's terragrunt", "terragrunt", { programs: ["/home/u/bin/tenv", "/home/u/bin/terragrunt"], links: {} }],
  ["bazelisk's bazel", "bazel", { programs: ["/opt/bazelisk"], links: { "/home/u/bin/bazel": "/opt/bazelisk" } }],
  ["bazelisk's bazel by its release", "bazel", {
    programs: ["/opt/bazelisk-linux-amd64"],
    links: { "/home/u/bin/bazel": "/opt/bazelisk-linux-amd64" }
  }],
  ["bazelisk's bazel of npm", "bazel", {
    programs: ["/opt/lib/node_modules/@bazel/bazelisk/bazelisk.js"],
    links: { "/home/u/bin/bazel": "/opt/lib/node_modules/@bazel/bazelisk/bazelisk.js" }
  }],
  ...["yarn", "yarnpkg", "pnpm", "pnpx"].map((name) =>
    [`corepack's ${name}`, name, {
      programs: [`/opt/lib/node_modules/corepack/dist/${name}.js`],
      links: { [`/home/u/bin/${name}`]: `/opt/lib/node_modules/corepack/dist/${name}.js` }
    }] as const
  ),
  ["aqua's", "gh", { programs: ["/opt/aqua-proxy"], links: { "/home/u/bin/gh": "/opt/aqua-proxy" } }]
]

const named = (binary: string, world: World) =>
  Effect.result(resolve(
    withRuntime({ interpreter: { type: "system_binary", binary, var: "X" } }, { tier: "user" }),
    { trust: "Restricted", files: clone, ...world }
  ))

describe("a program that stands for others", () => {
  for (const [what, binary, world, folder = "/home/u/bin"] of alone) {
    it.effect(`is skipped: ${what}`, () =>
      Effect.gen(function*() {
        const variables = { PATH: `${folder}:/usr/bin` }
        assert.strictEqual((yield* named(binary, { ...world, variables }))._tag, "Failure")
        // Without it the machine's own is found.
        const found = yield* named(binary, { ...world, programs: [...world.programs, `/usr/bin/${binary}`], variables })
        assert.isTrue(found._tag === "Success" && found.success.interpreter?.path === `/usr/bin/${binary}`)
      }))
  }

  it.effect("of rustup gives way to the toolchain that was chosen for everywhere", () =>
    Effect.gen(function*() {
      const cargo = "/home/u/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/cargo"
      const world: World = {
        variables: { PATH: "/home/u/.cargo/bin:/usr/bin" },
        files: {
          ...clone,
          "/srv/project/rust-toolchain.toml": "[toolchain]\npath = \"evil\"\n",
          "/home/u/.rustup/settings.toml": "version = \"12\"\ndefault_toolchain = \"stable-x86_64-unknown-linux-gnu\"\n"
        },
        programs: [rustup, cargo, "/home/u/.cargo/bin/rg"],
        links: { "/home/u/.cargo/bin/cargo": rustup }
      }
      for (const [name, expected] of [["cargo", cargo], ["rg", "/home/u/.cargo/bin/rg"], ["rustup", rustup]] as const) {
        const found = yield* named(name, world)
        assert.isTrue(found._tag === "Success" && found.success.interpreter?.path === expected, name)
      }
      for (const chosen of ["..", "../../../srv/project/evil", "/srv/project/evil"]) {
        const files = { ...world.files, "/home/u/.rustup/settings.toml": `default_toolchain = "${chosen}"\n` }
        const programs = [rustup, "/srv/project/evil/bin/cargo", "/home/u/.rustup/bin/cargo"]
        assert.strictEqual((yield* named("cargo", { ...world, files, programs }))._tag, "Failure", chosen)
      }
    }))

  it.effect("is told from a program that only lies in the same folder", () =>
    Effect.gen(function*() {
      const variables = { PATH: "/opt/bin" }
      for (const [manager, name] of [["tfenv", "kubectl"], ["rustup", "rg"], ["bazelisk", "make"]] as const) {
        const programs = [`/opt/bin/${manager}`, `/opt/bin/${name}`]
        assert.strictEqual((yield* named(name, { programs, variables }))._tag, "Success")
      }
      // A link to the manager has no shims beside it.
      const programs = ["/opt/tfenv/bin/tfenv", "/opt/bin/terraform"]
      const links = { "/opt/bin/tfenv": "/opt/tfenv/bin/tfenv" }
      assert.strictEqual((yield* named("terraform", { programs, links, variables }))._tag, "Success")
    }))

  it.effect("is told by its file, where it is another name of it", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      fs.writeFileSync(`${folder}/rustup`, "the program", { mode: 0o755 })
      fs.linkSync(`${folder}/rustup`, `${folder}/new-proxy`)
      fs.writeFileSync(`${folder}/rg`, "the program", { mode: 0o755 })
      const { find } = makePrograms({ host: HostFiles.node, path, windows: false, searchPath: folder, projects: [] })
      assert.isUndefined(find("new-proxy"))
      assert.strictEqual(find("rg"), `${folder}/rg`)
      assert.strictEqual(find("rustup"), `${folder}/rustup`)
    }))
})
