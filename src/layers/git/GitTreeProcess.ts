// Reads commits with git's plumbing: rev-parse, ls-tree and cat-file, none of which reads the working tree or runs a
// hook or filter. Options override what a repository's config could still make git start.
import { Effect, Layer } from "effect"
import type { CommitFiles, TreeEntry } from "../../services/git/GitTree.ts"
import { GitRefUnreadable, GitTree, isRef } from "../../services/git/GitTree.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { makeRunOwnChild, type OwnChildFailed } from "../process/ownChild.ts"
import { ownPrograms } from "../process/ownPrograms.ts"
import { waitsIn } from "./gitFolder.ts"
import { environment, options } from "./hardened.ts"

const maxFile = 1_048_576
const maxListing = 64 * 1_048_576
const maxBlobs = 256 * 1_048_576
/** A large repository on a slow disk takes seconds. One whose config names pipes would never end. */
const patience = "20 seconds"
const incomplete = "the repository does not have all objects of the commit"

type Refuse = (issue: GitRefUnreadable["issue"], detail?: string) => GitRefUnreadable

const whyNot: Record<OwnChildFailed["issue"], (refuse: Refuse) => GitRefUnreadable> = {
  "not-started": (refuse) => refuse("no-git"),
  "too-slow": (refuse) => refuse("failed", `it did not answer within ${patience}`),
  "too-long": (refuse) => refuse("too-large")
}

interface Said {
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: string
}

interface Listed {
  readonly mode: string
  readonly id: string
  readonly size: number
  readonly path: string
}

/** `<mode> <type> <object> <size>TAB<path>`, a NUL after each. For a missing object the size is BAD. */
const parseListing = (bytes: Buffer): ReadonlyArray<Listed> | undefined => {
  const entries: Array<Listed> = []
  for (const line of bytes.toString("utf8").split("\0")) {
    if (line === "") continue
    const match = /^(\d{6}) (\w+) ([0-9a-f]{40,64}) +(\d+|-)\t(.+)$/s.exec(line)
    if (match === null) return undefined
    const [, mode = "", type, id = "", size = "", path = ""] = match
    if (type !== "tree") entries.push({ mode, id, size: size === "-" ? 0 : Number(size), path })
  }
  return entries
}

const isPlainFile = ({ mode, size }: Listed): boolean => mode.startsWith("100") && size <= maxFile

/** The blobs of a batch, in the order of the query. Undefined if the answer does not match the query. */
const parseBlobs = (bytes: Buffer, ids: ReadonlyArray<string>): ReadonlyArray<Uint8Array> | undefined => {
  const blobs: Array<Uint8Array> = []
  let at = 0
  for (const id of ids) {
    const end = bytes.indexOf(10, at)
    const head = end === -1 ? null : /^([0-9a-f]+) blob (\d+)$/.exec(bytes.toString("latin1", at, end))
    if (head === null || head[1] !== id) return undefined
    const from = end + 1
    const size = Number(head[2])
    if (from + size >= bytes.length) return undefined
    blobs.push(Uint8Array.from(bytes.subarray(from, from + size)))
    at = from + size + 1
  }
  return blobs
}

export const make = Effect.gen(function*() {
  const runOwnChild = yield* makeRunOwnChild
  const { userHome } = yield* KiwiHome

  const read = Effect.fn("GitTree.read")(function*(
    folder: string,
    ref: string,
    wanted: (path: string) => boolean
  ): Effect.fn.Return<CommitFiles, GitRefUnreadable> {
    const refuse: Refuse = (issue, detail = "") => new GitRefUnreadable({ ref, issue, detail })
    if (!isRef(ref)) return yield* refuse("name")
    const programs = yield* ownPrograms(folder)
    const program = programs.find("git")
    if (program === undefined) return yield* refuse("no-git")
    const waits = yield* waitsIn(folder)
    if (waits !== undefined) return yield* refuse("failed", waits)

    const git = Effect.fnUntraced(function*(args: ReadonlyArray<string>, most: number, stdin?: string) {
      const { code, stderr, stdout } = yield* runOwnChild({
        program,
        args: ["-C", folder, ...options, ...args],
        searchPath: programs.searchPath,
        variables: environment(userHome),
        ...(stdin === undefined ? {} : { stdin }),
        within: patience,
        most
      }).pipe(Effect.mapError(({ issue }) => whyNot[issue](refuse)))
      return { code, stdout, stderr: stderr.toString("utf8") }
    })

    const explain = ({ stderr }: Said): GitRefUnreadable =>
      stderr.includes("dubious ownership") || stderr.includes("unsafe repository")
        ? refuse("owner")
        : stderr.includes("not a git repository") || stderr.includes("cannot use bare repository")
        ? refuse("no-repository")
        : refuse("failed", (stderr.split("\n", 1)[0] ?? "").slice(0, 200))

    const found = yield* git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`], 1_024)
    const commit = found.stdout.toString("utf8").trim()
    if (found.code !== 0 || !/^[0-9a-f]{40,64}$/.test(commit)) {
      if (found.code !== 1) return yield* explain(found)
      const shallow = yield* git(["rev-parse", "--is-shallow-repository"], 1_024)
      return yield* refuse(shallow.stdout.toString("utf8").trim() === "true" ? "shallow" : "missing")
    }

    const top = yield* git(["ls-tree", "-z", "-l", commit], maxListing)
    if (top.code !== 0) return yield* explain(top)
    const below = yield* git(["ls-tree", "-r", "-z", "-l", commit, ".ai"], maxListing)
    if (below.code !== 0) return yield* explain(below)
    const [around, inside] = [parseListing(top.stdout), parseListing(below.stdout)]
    if (around === undefined || inside === undefined) return yield* refuse("failed", incomplete)
    const listed = [...around, ...inside].filter((entry) => wanted(entry.path))

    const asked = [...new Set(listed.filter(isPlainFile).map(({ id }) => id))]
    const answer = asked.length === 0
      ? undefined
      : yield* git(["cat-file", "--batch"], maxBlobs, `${asked.join("\n")}\n`)
    if (answer !== undefined && answer.code !== 0) return yield* explain(answer)
    const blobs = answer === undefined ? [] : parseBlobs(answer.stdout, asked)
    if (blobs === undefined) return yield* refuse("failed", incomplete)
    const byId = new Map(asked.map((id, index) => [id, blobs[index]!]))
    return {
      commit,
      files: new Map(listed.map((entry): [string, TreeEntry] => [
        entry.path,
        { bytes: isPlainFile(entry) ? byId.get(entry.id) : undefined }
      ]))
    }
  })

  return GitTree.of({ read })
})

export const layer = Layer.effect(GitTree, make)
