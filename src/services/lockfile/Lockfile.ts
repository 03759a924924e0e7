// The lockfile of one tool: the chain that it ran with when it was frozen. A lock can only refuse a call; it never makes
// an item trusted.
import { Schema } from "effect"
import type { Chain } from "../chain/Chain.ts"
import { Ecosystem, InstalledPackage } from "../dependency/InstalledPackage.ts"
import type { ResolvedInterpreter } from "../env/ResolvedInterpreter.ts"
import { InterpreterFile, InterpreterKind } from "../env/ResolvedInterpreter.ts"
import { isCategory, isItemId, Tier } from "../item/ItemId.ts"

const Sha256 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/, { message: "expected 64 hex digits" }))
const ChainHash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{12}$/, { message: "expected 12 hex digits" }))

// Anybody may have written the file, and callers are shown what differs. Therefore every text has a fixed form and a
// maximum length, with no room for a sentence.
const text = (pattern: RegExp, message: string) => Schema.String.check(Schema.isPattern(pattern, { message }))
const ToolId = Schema.String.check(Schema.makeFilter(isItemId, { message: "expected the id of an item" }))
const Version = text(/^[0-9A-Za-z][0-9A-Za-z.+_-]{0,127}$/, "expected a version")
const InterpreterVersion = text(/^[0-9A-Za-z][0-9A-Za-z.+_/-]{0,63}$/, "expected a version")
const Command = text(/^[A-Za-z0-9_./][A-Za-z0-9._+/-]{0,127}$/, "expected the name of a command")
const Variable = text(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "expected the name of a variable")
const Instant = text(/^[0-9TZ:.+-]{1,40}$/, "expected a time")
const ToolPath = Schema.String.check(
  Schema.isMaxLength(512),
  Schema.isPattern(/^(?:[a-z0-9-]{1,64}:)?[A-Za-z0-9_][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*){0,16}$/, {
    message: "expected a path"
  })
)
const Category = Schema.NonEmptyString.check(Schema.makeFilter(isCategory, { message: "expected a category" }))
const few = Schema.isMaxLength(256)

/** One link of the chain as it was frozen. */
export const LockedLink = Schema.Struct({
  tool_id: ToolId,
  version: Version,
  /** The item's digest: sha256 hex of its canonical bytes, of a folder over the list of its files. */
  integrity: Sha256,
  /** Id of the next link; null for the primitive, which is last. */
  executor: Schema.NullOr(ToolId),
  tier: Tier,
  /** Path below the tier's tools folder: "math/add.py". For an item of a named source: "source:math/add.yaml". */
  path: ToolPath
})
export type LockedLink = typeof LockedLink.Type

/** "project:tools/math/add.py", as `showLocation` shows the tool. */
export const showLink = ({ path, tier }: Pick<LockedLink, "tier" | "path">): string => `${tier}:tools/${path}`

/** The interpreter that the chain's runtime found. A field that could not be read without running it is null. */
export const LockedInterpreter = Schema.Struct({
  variable: Variable,
  /** Where it came from. Never a path: those differ. */
  kind: InterpreterKind,
  version: Schema.NullOr(InterpreterVersion),
  /**
   * A file of the project's checkout with its digest; a program of the machine only as "outside the project". Absent if
   * it was not known, and in locks that were made before this was kept.
   */
  program: Schema.optionalKey(InterpreterFile)
})
export type LockedInterpreter = typeof LockedInterpreter.Type

export const LockedRuntime = Schema.Struct({
  /** Null if the chain declares none, or none was found when it was frozen. Then it is not compared. */
  interpreter: Schema.NullOr(LockedInterpreter),
  /** Commands that the links require, sorted; `variables` likewise. */
  commands: Schema.Array(Command).check(few),
  variables: Schema.Array(Variable).check(few)
})
export type LockedRuntime = typeof LockedRuntime.Type

export const LockedDependencies = Schema.Struct({
  ecosystem: Ecosystem,
  /** Sorted by name, then version. */
  packages: Schema.Array(InstalledPackage).check(Schema.isMaxLength(20_000))
})
export type LockedDependencies = typeof LockedDependencies.Type

/** Version 1 of the file. Unknown keys are ignored; every key below is required. */
export const Lockfile = Schema.Struct({
  lockfile_version: Schema.Literal(1),
  /** ISO 8601, UTC. Information, never compared. */
  generated_at: Instant,
  root: Schema.Struct({
    tool_id: ToolId,
    version: Version,
    integrity: Sha256,
    /** Folder below the tools folder; "tools" for the root of it. */
    category: Category
  }),
  /** Leaf first; the first is `root`, the last the primitive. */
  resolved_chain: Schema.NonEmptyArray(LockedLink),
  /** First 12 hex digits over id, version and integrity of the links in order; see `chainHashText`. */
  chain_hash: ChainHash,
  runtime: LockedRuntime,
  /** Null if the chain declares no packages, or they were not installed when it was frozen. */
  dependencies: Schema.NullOr(LockedDependencies),
  /** Where it was fetched from; null if it was made here. */
  registry: Schema.NullOr(Schema.Struct({ url: Schema.String.check(Schema.isMaxLength(2_048)), fetched_at: Instant }))
})
export type Lockfile = typeof Lockfile.Type

/** The part of a lock that is compared: all but when and where it was made. */
export interface Frozen {
  readonly root: Lockfile["root"]
  readonly resolved_chain: Lockfile["resolved_chain"]
  readonly chain_hash: string
  readonly runtime: LockedRuntime
  readonly dependencies: LockedDependencies | null
}

/** `chain_hash` is the first 12 hex digits of the sha256 of this text. */
export const chainHashText = (
  links: ReadonlyArray<{ readonly tool_id: string; readonly version: string; readonly integrity: string }>
): string => links.map((l) => `${l.tool_id}@${l.version}:${l.integrity}`).join("|")

/** The category below which a lock is kept: "tools" for a tool in the tools folder itself. */
export const lockCategory = (category: string): string => category === "" ? "tools" : category

/** What a lock of this chain would say, as far as the chain alone tells. Pure; `sha256` gives hex. */
export const freeze = (chain: Chain, sha256: (text: string) => string): Frozen => {
  const [leaf, ...rest] = chain.links.map(({ tool }, index): LockedLink => ({
    tool_id: tool.location.id,
    version: tool.version,
    integrity: tool.digest,
    executor: chain.links[index + 1]?.tool.location.id ?? null,
    tier: tool.location.tier,
    path: tool.location.path
  }))
  const links: Lockfile["resolved_chain"] = [leaf!, ...rest]
  const { integrity, tool_id, version } = links[0]
  return {
    root: { tool_id, version, integrity, category: lockCategory(chain.leaf.tool.location.category) },
    resolved_chain: links,
    chain_hash: sha256(chainHashText(links)).slice(0, 12),
    runtime: {
      interpreter: null,
      commands: chain.requires.commands.toSorted(),
      variables: chain.requires.environment.toSorted()
    },
    dependencies: null
  }
}

/** What EnvResolver found of an interpreter. */
export type FoundInterpreter = Pick<ResolvedInterpreter, "variable" | "kind" | "version" | "program">

/** The same chain with what was found on this machine; undefined if there is none, or it was not found. */
export const withMachine = (
  frozen: Frozen,
  interpreter: FoundInterpreter | undefined,
  installed: LockedDependencies | undefined
): Frozen => ({
  ...frozen,
  runtime: { ...frozen.runtime, interpreter: interpreter === undefined ? null : lockedInterpreter(interpreter) },
  dependencies: installed === undefined ? null : { ecosystem: installed.ecosystem, packages: installed.packages }
})

const lockedInterpreter = ({ kind, program, variable, version }: FoundInterpreter): LockedInterpreter => ({
  variable,
  kind,
  version: version ?? null,
  ...(program === undefined ? {} : { program })
})
