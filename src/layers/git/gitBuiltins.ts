// Reads a repository for a caller: status, diff, log, show. Parameters are values and never options. What the
// repository's config could make git start is switched off, filters too, and the rest is up to the level of the call.
import { Effect, Schema } from "effect"
import type { Access } from "../../services/capability/Access.ts"
import { GitRefUnreadable, isRef } from "../../services/git/GitTree.ts"
import { guardedGlobs, guardedRead } from "../../services/permission/guardedPaths.ts"
import type { Builtin, BuiltinHandlers } from "../../services/primitive/Builtins.ts"
import { decodeParameters } from "../../services/primitive/Builtins.ts"
import type { Outputs } from "../../services/primitive/Outputs.ts"
import type { AccessInput, PrimitiveInput } from "../../services/primitive/Primitive.ts"
import type { ChildProcesses } from "../../services/process/ChildProcesses.ts"
import type { Settings } from "../../services/settings/Settings.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { type FileServices, locate } from "../filesystem/places.ts"
import { runCaptured } from "../process/capturedChild.ts"
import { ownPrograms } from "../process/ownPrograms.ts"
import { waitsIn } from "./gitFolder.ts"
import { environment, options } from "./hardened.ts"

type Services = FileServices | ChildProcesses | Outputs | Settings

const Ref = Schema.optionalKey(Schema.NonEmptyString)
const Paths = Schema.optionalKey(
  Schema.Array(Schema.NonEmptyString.check(Schema.isMaxLength(4_096))).check(Schema.isMaxLength(100))
)

/** For what the repository's config decides about these commands. */
const furtherOptions = [
  "color.ui=false",
  "column.ui=never",
  "diff.submodule=short",
  "log.showSignature=false",
  "status.submoduleSummary=false"
].flatMap((option) => ["-c", option])

/** A repository's filter drivers run programs when git compares files. */
const filterKey = /^filter\.(.+)\.(?:clean|smudge|process|required)$/s

/** A program that one of the repository's own config files names is not started: the files count as they are. */
const filtersOff = Effect.fnUntraced(
  function*(input: PrimitiveInput, git: ReadonlyArray<string>, variables: Record<string, string>) {
    const drivers = new Set<string>()
    for (const scope of ["--local", "--worktree"]) {
      const listed = yield* runCaptured(input, {
        argv: [...git, "config", scope, "--includes", "--name-only", "-z", "--get-regexp", "^filter\\."],
        cwd: input.cwd,
        variables
      })
      for (const key of listed.stdout.text.split("\0")) {
        const [, driver] = filterKey.exec(key) ?? []
        if (driver !== undefined) drivers.add(driver)
      }
    }
    return [...drivers].flatMap((driver) =>
      ["clean=", "smudge=", "process=", "required=false"].flatMap((rest) => ["-c", `filter.${driver}.${rest}`])
    )
  }
)

const checkRef = (ref: string | undefined) =>
  ref === undefined || isRef(ref) ? Effect.void : Effect.fail(new GitRefUnreadable({ ref, issue: "name", detail: "" }))

/** The project, or the paths that are named, with everything below. They may be deleted files, and are never patterns. */
const reading = (paths: ReadonlyArray<string> | undefined) =>
  Effect.map(
    Effect.forEach(
      paths === undefined || paths.length === 0 ? ["."] : paths,
      (path) => locate(path, "fs.read", "kept")
    ),
    (found): ReadonlyArray<Access> => found.map(({ access }) => ({ ...access, below: true }))
  )

/**
 * As patterns of git: the paths that are named, without the files that need a rule of their own. All that are named may
 * be such files: then the rule was found.
 */
const pathspecs = (paths: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...(paths.length === 0 ? ["."] : paths).map((path) => `:(literal)${path}`),
  ...(paths.length > 0 && paths.every((path) => guardedRead(path) !== undefined)
    ? []
    : guardedGlobs.map((glob) => `:(exclude,icase,glob)${glob}`))
]

/** A commit, and not the file that an object's name may mean. */
const asCommit = (ref: string): string => `${ref}^{commit}`

interface Query {
  readonly paths?: ReadonlyArray<string>
}

/** `args`: the command and its options. Fails for a value that could be taken for an option. */
const tool = <A extends Query>(
  parameters: Schema.ConstraintDecoder<A>,
  refs: (parameters: A) => ReadonlyArray<string | undefined>,
  args: (parameters: A) => ReadonlyArray<string>
): Builtin<Services> => {
  const decode = Effect.fnUntraced(function*(input: AccessInput) {
    const given = yield* decodeParameters(parameters, input)
    for (const ref of refs(given)) yield* checkRef(ref)
    return given
  })
  return {
    accesses: (input) => Effect.flatMap(decode(input), ({ paths }) => reading(paths)),
    needs: { level: "sandboxed", by: "engine" },
    run: Effect.fnUntraced(function*(input) {
      const given = yield* decode(input)
      const { userHome } = yield* KiwiHome
      const programs = yield* ownPrograms(input.cwd)
      const program = programs.find("git")
      const refuse = (issue: GitRefUnreadable["issue"], detail = "") =>
        new GitRefUnreadable({ ref: refs(given).find((ref) => ref !== undefined) ?? "HEAD", issue, detail })
      if (program === undefined) return yield* refuse("no-git")
      const waits = yield* waitsIn(input.cwd)
      if (waits !== undefined) return yield* refuse("failed", waits)
      const variables = { ...environment(userHome), PATH: programs.searchPath }
      const git = [program.file, "--no-pager", ...options, ...furtherOptions]
      const off = yield* filtersOff(input, git, variables)
      const done = yield* runCaptured(input, {
        argv: [...git, ...off, ...args(given), "--", ...pathspecs(given.paths ?? [])],
        cwd: input.cwd,
        variables
      })
      if (done.code === 0) return { data: done.stdout.text, metadata: { exit_code: 0, stdout: done.stdout } }
      const said = done.stderr.text
      const detail = (said.split("\n", 1)[0] ?? "").replace(/^(?:fatal|error): /, "").slice(0, 200)
      return yield* said.includes("dubious ownership")
        ? refuse("owner")
        : said.includes("not a git repository")
        ? refuse("no-repository")
        : /unknown revision|bad revision|ambiguous argument/.test(said)
        ? refuse("missing")
        : refuse("failed", detail)
    })
  }
}

const plainDiff = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty"]

const status = tool(
  Schema.Struct({ paths: Paths }),
  () => [],
  () => ["status", "--short", "--branch", "--no-column", "--untracked-files=all", "--ignore-submodules=dirty"]
)

const diff = tool(
  Schema.Struct({ from: Ref, to: Ref, staged: Schema.optionalKey(Schema.Boolean), paths: Paths }),
  ({ from, to }) => [from, to],
  ({ from, staged, to }) => [
    "diff",
    ...plainDiff,
    ...(staged === true ? ["--cached"] : []),
    "--end-of-options",
    ...[from, to].filter((ref) => ref !== undefined).map(asCommit)
  ]
)

const log = tool(
  Schema.Struct({
    ref: Ref,
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))),
    paths: Paths
  }),
  ({ ref }) => [ref],
  ({ limit = 20, ref = "HEAD" }) => [
    "log",
    `--max-count=${limit}`,
    "--no-show-signature",
    "--no-color",
    "--date=iso-strict",
    "--format=%H%n  %an, %ad%n  %s%n",
    "--end-of-options",
    ref
  ]
)

const show = tool(
  Schema.Struct({ ref: Ref, paths: Paths }),
  ({ ref }) => [ref],
  ({ ref = "HEAD" }) => [
    "show",
    ...plainDiff,
    "--no-show-signature",
    "--date=iso-strict",
    "--format=medium",
    "--end-of-options",
    asCommit(ref)
  ]
)

export const handlers = {
  git_status: status,
  git_diff: diff,
  git_log: log,
  git_show: show
} satisfies BuiltinHandlers<Services>
