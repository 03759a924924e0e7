// The lockfile of one tool: which chain it ran with when it was frozen. It says what must be there again, and grants
// nothing: a lock can refuse a call, and never makes an item trusted.
import { Schema } from "effect"
import type { Chain } from "../chain/Chain.ts"
import { Ecosystem, InstalledPackage } from "../dependency/InstalledPackage.ts"
import type { ResolvedInterpreter } from "../env/ResolvedInterpreter.ts"
import { InterpreterFile, InterpreterKind } from "../env/ResolvedInterpreter.ts"
import { isCategory, isItemId, Tier } from "../item/ItemId.ts"

const Sha256 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/, { message: "expected 64 hex digits" }))
const ChainHash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{12}$/, { message: "expected 12 hex digits" }))

// What differs is quoted to callers, and anybody may have written the file: every text in it has a closed form and a
// length, with no room for a sentence.
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

/** The interpreter that the chain's runtime found; null fields could not be told without running it. */
export const LockedInterpreter = Schema.Struct({
  variable: Variable,
  /** Where it came from. Never a path: those differ. */
  kind: InterpreterKind,
  version: Schema.NullOr(InterpreterVersion),
  /**
   * Where the program lies: a file of the project's checkout by its digest, or outside, where it is the machine's. Absent where it
   * was not told, and in locks that were made before this was kept.
   */
  program: Schema.optionalKey(InterpreterFile)
})
export type LockedInterpreter = typeof LockedInterpreter.Type

export const LockedRuntime = Schema.Struct({
  /** Null where the chain declares none, or none was found when it was frozen: then nothing is compared. */
  interpreter: Schema.NullOr(LockedInterpreter),
  /** What the links require, sorted. */
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

/** Version 1 of the file. Unknown keys are ignored; every key below is there. */
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
  /** Null where the chain declares no packages, or they were not installed when it was frozen. */
  dependencies: Schema.NullOr(LockedDependencies),
  /** Where it was fetched from; null for a lock that was made here. */
  registry: Schema.NullOr(Schema.Struct({ url: Schema.String.check(Schema.isMaxLength(2_048)), fetched_at: Instant }))
})
export type Lockfile = typeof Lockfile.Type

/** What a lock says besides when it was made: what is compared with what is there now. */
export interface Frozen {
  readonly root: Lockfile["root"]
  readonly resolved_chain: Lockfile["resolved_chain"]
  readonly chain_hash: string
  readonly runtime: LockedRuntime
  readonly dependencies: LockedDependencies | null
}

/** The text that `chain_hash` is over. The first 12 hex digits of its sha256 are the hash. */
export const chainHashText = (
  links: ReadonlyArray<{ readonly tool_id: string; readonly version: string; readonly integrity: string }>
): string => links.map((l) => `${l.tool_id}@${l.version}:${l.integrity}`).join("|")

/** The category that a lock is kept under. */
export const lockCategory = (category: string): string => category === "" ? "tools" : category

export interface FreezeInput {
  readonly chain: Chain
  /** What EnvResolver found; undefined where there is none, or it could not be found here. */
  readonly interpreter: Pick<ResolvedInterpreter, "variable" | "kind" | "version" | "program"> | undefined
  readonly dependencies: LockedDependencies | null
}

/** What a lock of this chain would say now. Pure; `sha256` gives hex. */
export const freeze = ({ chain, dependencies, interpreter }: FreezeInput, sha256: (text: string) => string): Frozen => {
  const [leaf, ...rest] = chain.links.map(({ tool }, index): LockedLink => ({
    tool_id: tool.location.id,
    version: tool.version,
    integrity: tool.digest,
    executor: chain.links[index + 1]?.tool.location.id ?? null,
    tier: tool.location.tier,
    path: tool.location.path
  }))
  const links: Lockfile["resolved_chain"] = [leaf!, ...rest]
  return {
    root: {
      tool_id: links[0].tool_id,
      version: links[0].version,
      integrity: links[0].integrity,
      category: lockCategory(chain.leaf.tool.location.category)
    },
    resolved_chain: links,
    chain_hash: sha256(chainHashText(links)).slice(0, 12),
    runtime: {
      interpreter: interpreter === undefined
        ? null
        : {
          variable: interpreter.variable,
          kind: interpreter.kind,
          version: interpreter.version ?? null,
          ...(interpreter.program === undefined ? {} : { program: interpreter.program })
        },
      commands: chain.requires.commands.toSorted(),
      variables: chain.requires.environment.toSorted()
    },
    dependencies
  }
}
