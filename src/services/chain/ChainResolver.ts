// Resolves a tool's chain. Bounded (depth 10) and linear; each failure names the link and the partial chain.
import { Context, type Effect, type Result, Schema } from "effect"
import { isKiwiError, Underlying } from "../error/KiwiError.ts"
import type { FailedAt, ValidationIssue } from "../error/KiwiError.ts"
import type { ItemLocation } from "../item/Item.ts"
import type { ItemAmbiguous, ItemIdInvalid, ItemInvalid, ItemNotFound, ItemUnreadable } from "../item/ItemErrors.ts"
import type { FoundItem, ItemQuery } from "../item/ItemStore.ts"
import { isPrereleaseInRange } from "../item/VersionRange.ts"
import type { Chain, ChainLink } from "./Chain.ts"

const Ids = Schema.Array(Schema.String)

const executorIssue = (error: string, value = ""): ValidationIssue => ({ field: "executor_id", error, value })

/** A link of the chain names an executor that is already in the chain. */
export class ChainCycle
  extends Schema.TaggedError<ChainCycle>()("ChainCycle", { chain: Ids, configPath: Schema.String })
{
  override get message() {
    return `The chain comes back to itself: ${this.chain.join(" → ")}`
  }
  get remediation() {
    return "Change one executor_id so that the chain ends at a primitive"
  }
  get failedAt(): FailedAt {
    return {
      toolId: this.chain.at(-2) ?? this.chain[0] ?? "",
      configPath: this.configPath,
      validationErrors: [executorIssue("comes back to a link of its own chain", this.chain.at(-1))]
    }
  }
}

/** The chain has more than ten links. */
export class ChainTooDeep
  extends Schema.TaggedError<ChainTooDeep>()("ChainTooDeep", { chain: Ids, configPath: Schema.String })
{
  override get message() {
    return `The chain is longer than 10 links: ${this.chain.join(" → ")}`
  }
  get remediation() {
    return "Let the tool name a runtime that is nearer to the primitive"
  }
  get failedAt(): FailedAt {
    return {
      toolId: this.chain.at(-2) ?? "",
      configPath: this.configPath,
      validationErrors: [executorIssue("is one link more than a chain may have", this.chain.at(-1))]
    }
  }
}

/** A link names an executor that does not exist in its own tier or below. */
export class ChainLinkMissing extends Schema.TaggedError<ChainLinkMissing>()("ChainLinkMissing", {
  /** The links that were found, leaf first. */
  chain: Ids,
  missing: Schema.String,
  near: Ids,
  configPath: Schema.String
}) {
  override get message() {
    return `"${this.chain.at(-1)}" names the executor "${this.missing}", and there is no such tool (chain so far: ${
      this.chain.join(" → ")
    })`
  }
  get remediation() {
    return this.near.length === 0
      ? `Create the tool "${this.missing}" or correct executor_id`
      : `Did you mean ${this.near.map((n) => `"${n}"`).join(", ")}? Correct executor_id`
  }
  get failedAt(): FailedAt {
    return {
      toolId: this.chain.at(-1) ?? "",
      configPath: this.configPath,
      validationErrors: [executorIssue("there is no such tool", this.missing)]
    }
  }
}

/** The last link is not a primitive, a primitive names an executor, or a primitive is in the middle. */
export class ChainMalformed extends Schema.TaggedError<ChainMalformed>()("ChainMalformed", {
  chain: Ids,
  link: Schema.String,
  configPath: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return `${this.link}: ${this.issue}`
  }
  get remediation() {
    return "A chain ends at one of the system's primitives: subprocess, http_client or builtin"
  }
  get failedAt(): FailedAt {
    return { toolId: this.link, configPath: this.configPath, validationErrors: [{ field: "", error: this.issue }] }
  }
}

/** The parent exists, but its version does not match the range that its child requires. */
export class ChainVersionMismatch extends Schema.TaggedError<ChainVersionMismatch>()("ChainVersionMismatch", {
  /** The links up to the parent, leaf first. */
  chain: Ids,
  /** The child that states the range. */
  link: Schema.String,
  configPath: Schema.String,
  /** The executor as the child names it, without the range. */
  executor: Schema.String,
  range: Schema.String,
  /** Where the parent is, and its version. */
  found: Schema.String,
  version: Schema.String
}) {
  override get message() {
    return `${this.link} asks for ${this.executor}@${this.range}, and ${this.found} is ${this.version}` +
      (isPrereleaseInRange(this.version, this.range)
        ? ", a pre-release, which a range takes only where it names one of the same version"
        : "")
  }
  get remediation() {
    return `If ${this.version} is right for it, write executor_id "${this.executor}@${
      this.version.includes("-") ? "" : "^"
    }${this.version.split("+")[0]}" in ${this.configPath} and sign it again`
  }
  get failedAt(): FailedAt {
    return {
      toolId: this.link,
      configPath: this.configPath,
      validationErrors: [{ field: "executor_id", error: this.message, value: `${this.executor}@${this.range}` }]
    }
  }
}

export type ChainError =
  | ChainCycle
  | ChainTooDeep
  | ChainLinkMissing
  | ChainMalformed
  | ChainVersionMismatch
  | ChainLinkBroken

/** A link's id is invalid or ambiguous, or the item exists but cannot be read or parsed. */
export class ChainLinkBroken extends Schema.TaggedError<ChainLinkBroken>()("ChainLinkBroken", {
  chain: Ids,
  link: Schema.String,
  configPath: Schema.String,
  detail: Schema.String,
  hint: Schema.String,
  /** The error that loading the item by itself would give. */
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return this.detail
  }
  get remediation() {
    return this.hint
  }
  get retryable() {
    return isKiwiError(this.cause) && this.cause.retryable === true
  }
  get failedAt(): FailedAt {
    return {
      toolId: this.link,
      configPath: this.configPath,
      validationErrors: isKiwiError(this.cause) ? this.cause.validationIssues ?? [] : []
    }
  }
}

export type ResolveError = ItemNotFound | ItemAmbiguous | ItemIdInvalid | ItemInvalid | ItemUnreadable | ChainError

export interface ResolvedChain {
  readonly chain: Chain
  /** Items of lower tiers that the leaf hides. */
  readonly hides: ReadonlyArray<ItemLocation>
}

/** A chain up to its first error. */
export interface PartialChain {
  /** Leaf first; never empty. */
  readonly links: readonly [ChainLink, ...ReadonlyArray<ChainLink>]
  readonly hides: ReadonlyArray<ItemLocation>
  /** What ends it early. Undefined for a complete chain. */
  readonly stopped: ChainError | undefined
}

export type ChainQuery = Omit<ItemQuery, "type">

export class ChainResolver extends Context.Service<ChainResolver, {
  /**
   * Errors of the leaf are item errors; errors of later links are ChainErrors. A cached answer costs microseconds.
   * `found`: the leaf, if the caller has just looked it up. It is used only if it is what the query names.
   */
  readonly resolve: (query: ChainQuery, found?: FoundItem) => Effect.Effect<ResolvedChain, ResolveError>
  /** For showing a chain that may be broken: the links found before the first error. */
  readonly partial: (query: ChainQuery) => Effect.Effect<PartialChain, Exclude<ResolveError, ChainError>>
  /**
   * One answer for each query, in their order, each with its own success or failure. Folders and shared links are read
   * once for all of them.
   */
  readonly resolveBatch: (
    queries: ReadonlyArray<ChainQuery>
  ) => Effect.Effect<ReadonlyArray<Result.Result<ResolvedChain, ResolveError>>>
}>()("kiwi/services/chain/ChainResolver") {}
