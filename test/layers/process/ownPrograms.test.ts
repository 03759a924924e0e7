import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { makeOwnPrograms, projectAround } from "../../../src/layers/process/ownPrograms.ts"
import { temporary } from "../../support/temporary.ts"

const world = Effect.map(temporary, (root) => {
  const put = (path: string, mode = 0o755) => {
    const file = Path.join(root, path)
    Fs.mkdirSync(Path.dirname(file), { recursive: true })
    Fs.writeFileSync(file, "#!/bin/sh\n", { mode })
    Fs.chmodSync(file, mode)
    return file
  }
  const link = (target: string, path: string) => {
    Fs.mkdirSync(Path.dirname(Path.join(root, path)), { recursive: true })
    Fs.symlinkSync(Path.join(root, target), Path.join(root, path))
  }
  const usr = put("usr/bin/git")
  const at = (...folders: ReadonlyArray<string>) =>
    makeOwnPrograms({
      searchPath: [...folders, Path.dirname(usr)].join(":"),
      projects: [Path.join(root, "clone")]
    })
  return { root, put, link, usr, at }
})

/** How a program of the clone, or of somebody else, can be meant to come first; each gives the entry of PATH. */
type Place = (here: Effect.Success<typeof world>) => string

const ways: ReadonlyArray<readonly [what: string, place: Place]> = [
  ["a package's folder in the project", ({ put }) => Path.dirname(put("clone/node_modules/.bin/git"))],
  ["a package's folder elsewhere", ({ put }) => Path.dirname(put("other/node_modules/.bin/git"))],
  ["a folder below one", ({ put }) => Path.dirname(put("other/node_modules/.bin/deep/git"))],
  ["a link to a package's folder", ({ link, put, root }) => {
    put("other/node_modules/.bin/git")
    link("other/node_modules/.bin", "tidy")
    return `${root}/tidy`
  }],
  ["a folder of the project", ({ put }) => Path.dirname(put("clone/tools/git"))],
  ["the project", ({ put }) => Path.dirname(put("clone/git"))],
  ["a hidden folder of the project", ({ put }) => Path.dirname(put("clone/.ai/bin/git"))],
  ["a way round into the project", ({ put, root }) => {
    put("clone/tools/git")
    return `${root}/usr/../clone/./tools/`
  }],
  ["a link into the project", ({ link, put, root }) => {
    put("clone/tools/git")
    link("clone/tools", "linked")
    return `${root}/linked`
  }],
  ["a link to a link into the project", ({ link, put, root }) => {
    put("clone/tools/git")
    link("clone/tools", "second")
    link("second", "first")
    return `${root}/first`
  }],
  ["a folder below a link to the project", ({ link, put, root }) => {
    put("clone/tools/git")
    link("clone", "parent")
    return `${root}/parent/tools`
  }],
  ["a program that is a link into the project", ({ link, put, root }) => {
    put("clone/git")
    link("clone/git", "home/bin/git")
    return `${root}/home/bin`
  }],
  ["an entry that is not absolute", ({ put }) => Path.relative(process.cwd(), Path.dirname(put("rel/git")))],
  ["the folder that one stands in", () => "."],
  ["nothing", () => ""],
  ["a folder that everybody can write", ({ put, root }) => {
    put("open/git")
    Fs.chmodSync(`${root}/open`, 0o777)
    return `${root}/open`
  }],
  ["a sticky folder that everybody can write", ({ put, root }) => {
    put("sticky/git")
    Fs.chmodSync(`${root}/sticky`, 0o1777)
    return `${root}/sticky`
  }],
  ["a folder in one that everybody can write", ({ put, root }) => {
    put("above/bin/git")
    Fs.chmodSync(`${root}/above`, 0o777)
    return `${root}/above/bin`
  }],
  ["a program that everybody can write", ({ put }) => Path.dirname(put("loose/git", 0o777))],
  ["a folder that is not there", ({ root }) => `${root}/none`],
  ["a file", ({ put }) => put("plain/git")],
  ["a link to itself", ({ link, root }) => {
    link("loop", "loop")
    return `${root}/loop`
  }]
]

/** What may stay on PATH, since nothing of somebody else's is found there. */
const harmless: ReadonlySet<string> = new Set(["a program that everybody can write", "a file"])

describe("a program of Kiwi's own", () => {
  for (const [what, place] of ways) {
    it.effect(`does not come from ${what}`, () =>
      Effect.gen(function*() {
        const here = yield* world
        const { find, searchPath } = here.at(place(here))
        assert.deepStrictEqual(find("git"), { file: here.usr, as: here.usr })
        const others = searchPath.split(":").filter((folder) => folder !== Path.dirname(here.usr))
        assert.deepStrictEqual(others, harmless.has(what) ? [place(here)] : [])
      }))
  }

  it.effect("is started by its real path, and told the one that it was found by", () =>
    Effect.gen(function*() {
      const { at, link, put, root } = yield* world
      const file = put("opt/busybox")
      link("opt/busybox", "sbin/ps")
      assert.deepStrictEqual(at(`${root}/sbin`).find("ps"), { file, as: `${root}/sbin/ps` })
      assert.deepStrictEqual(at().find(`${root}/sbin/ps`), { file, as: `${root}/sbin/ps` })
    }))

  it.effect("by an absolute path is held to the same", () =>
    Effect.gen(function*() {
      const { at, put } = yield* world
      assert.isUndefined(at().find(put("clone/tools/git")))
      assert.isUndefined(at().find(put("other/node_modules/.bin/git")))
      assert.isUndefined(at().find("./git"))
      assert.isUndefined(at().find("clone/tools/git"))
      assert.isUndefined(at().find(""))
    }))
})

describe("the project around a folder", () => {
  it.effect("is the outermost one below the home folder", () =>
    Effect.gen(function*() {
      const root = yield* temporary
      const home = `${root}/home/me`
      const around = (folder: string) => {
        Fs.mkdirSync(`${root}/${folder}`, { recursive: true })
        const found = projectAround(`${root}/${folder}`, home)
        return found === undefined ? undefined : Path.relative(root, found)
      }
      Fs.mkdirSync(`${home}/work/clone/.git`, { recursive: true })
      Fs.mkdirSync(`${home}/work/clone/vendor/inner/.ai`, { recursive: true })
      Fs.mkdirSync(`${root}/srv/app/.ai`, { recursive: true })
      assert.strictEqual(around("home/me/work/clone"), "home/me/work/clone")
      assert.strictEqual(around("home/me/work/clone/vendor/inner/deep"), "home/me/work/clone")
      for (const mark of [".ai", ".git", ".hg", ".jj", ".svn", ".bzr"]) {
        Fs.mkdirSync(`${root}/srv/${mark}-clone/${mark}`, { recursive: true })
        assert.strictEqual(around(`srv/${mark}-clone/packages/a`), `srv/${mark}-clone`)
      }
      assert.strictEqual(around("home/me/work"), "home/me/work")
      assert.strictEqual(around("srv/app/src"), "srv/app")
      assert.isUndefined(around("home/me"))
      assert.isUndefined(around("home"))
      assert.isUndefined(projectAround("/", home))
      assert.strictEqual(projectAround(`${root}/srv/app`, undefined), `${root}/srv/app`)
    }))
})
