// The only way to run a tool, for every surface. Its steps are one ordered list of named functions.
import { Context, type Effect, Schema } from "effect"
import type { ApprovalError } from "../approval/ApprovalErrors.ts"
import type { AuditUnavailable } from "../audit/AuditLog.ts"
import type { Caller } from "../call/Caller.ts"
import type { CallWarning } from "../call/CallWarning.ts"
import type { PermissionEscalation, TokenError, TokenMissing } from "../capability/CapabilityTokens.ts"
import type { ChainError, ResolvedChain } from "../chain/ChainResolver.ts"
import type { ChildRefused, ChildSchemasMissing } from "../chain/ChildLink.ts"
import type { DependenciesInvalid, DependenciesMissing } from "../dependency/DependencyErrors.ts"
import type { InstalledSet } from "../dependency/InstalledPackage.ts"
import type { EnvConfigInvalid, RequirementsMissing, ResolvedEnv } from "../env/EnvResolver.ts"
import { loadCall } from "../error/calls.ts"
import { FailedLink } from "../error/KiwiError.ts"
import type { KiwiError, ValidationIssue } from "../error/KiwiError.ts"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { SecretMissing, SecretUnavailable } from "../identity/SecretStore.ts"
import type { HistoryDamaged } from "../integrity/ItemHistory.ts"
import type { GoesBack, Verified, VerifyError } from "../integrity/Verifier.ts"
import type { ItemAmbiguous, ItemIdInvalid, ItemInvalid, ItemNotFound, ItemUnreadable } from "../item/ItemErrors.ts"
import type { Tier } from "../item/ItemId.ts"
import type { FoundItem } from "../item/ItemStore.ts"
import type { ConcurrencyLimited, RateLimited } from "../limit/CallLimits.ts"
import type { LoopDetected } from "../limit/LoopDetected.ts"
import type { LockProblem } from "../lockfile/Lockfiles.ts"
import type { Ask, PermissionDenied } from "../permission/PermissionGate.ts"
import type { PrimitiveError } from "../primitive/PrimitiveErrors.ts"
import type { Isolation } from "../sandbox/Isolation.ts"
import type { SchemaUnusable } from "../schema/SchemaValidator.ts"
import type { TemplateError } from "../template/Template.ts"
import type { ProjectRestricted } from "../trust/ProjectTrust.ts"
import type { CallsTooDeep } from "./nesting.ts"
import type { ToolCall, ToolResult } from "./ToolCall.ts"

const Issues = Schema.Array(
  Schema.Struct({ field: Schema.String, error: Schema.String, value: Schema.optional(Schema.Json) })
)

/** The call's parameters do not fit the tool's own schema, or the inputs the directive's. */
export class ParametersInvalid extends Schema.TaggedError<ParametersInvalid>()("ParametersInvalid", {
  tool: Schema.String,
  /** Set if it is not a tool. */
  type: Schema.optional(Schema.Literal("directive")),
  issues: Issues
}) {
  override get message() {
    return `The parameters for ${this.tool} are not valid: ${
      this.issues.map((i) => (i.field === "" ? i.error : `${i.field}: ${i.error}`)).join("; ")
    }`
  }
  get remediation() {
    return loadCall(this.type ?? "tool", this.tool)
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return this.issues
  }
}

/** The config does not fit a link. `failedAt` of the wrapping error names the link that set the value. */
export class ConfigInvalid extends Schema.TaggedError<ConfigInvalid>()("ConfigInvalid", {
  /** The link that set the invalid value. */
  link: Schema.String,
  /** The link whose schema refuses it. Absent for one of Kiwi's own rules. */
  refusedBy: Schema.optional(Schema.String),
  issues: Issues
}) {
  override get message() {
    const by = this.refusedBy === undefined ? "" : ` for ${this.refusedBy}`
    return `The config of ${this.link} is not valid${by}: ${
      this.issues.map((i) => i.field === "" ? i.error : `${i.field}: ${i.error}`).join("; ")
    }`
  }
  get remediation() {
    return `Correct CONFIG in ${this.link} and sign it again: kiwi sign tool ${this.link}`
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return this.issues
  }
}

/** A project item hides one of the user tier, and no person has been told that yet. */
export class HidesItem extends Schema.TaggedError<HidesItem>()("HidesItem", {
  item: Schema.String,
  hidden: Schema.Array(Schema.String),
  /** Absent for items that are not signed: those of a named source. */
  command: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return `${this.item} hides ${this.hidden.join(", ")}, and nobody has said yet that this is meant`
  }
  get remediation() {
    return this.command === undefined
      ? "Give one of them another id; the user's own is run where the user tier is named"
      : `If it is meant, say so by signing it again: ${this.command}`
  }
  get refusal() {
    return "denied" as const
  }
}

export type ChainReason =
  | ChainError
  | VerifyError
  | GoesBack
  | HistoryDamaged
  | HidesItem
  | ChildRefused
  | ChildSchemasMissing
  | LockProblem
  | ParametersInvalid
  | ConfigInvalid
  | SchemaUnusable
  | EnvConfigInvalid
  | RequirementsMissing
  | SecretMissing
  | SecretUnavailable
  | DependenciesInvalid
  | DependenciesMissing
  | TemplateError
  | PrimitiveError
  | WriteRefused

/** An error inside a chain. `failedAt` names the link that failed. */
export class ToolChainError extends Schema.Error<ToolChainError>("kiwi/ToolChainError")({
  _tag: Schema.tag("ToolChainError"),
  chain: Schema.Array(Schema.String),
  failedAt: FailedLink,
  reason: Schema.declare((u): u is ChainReason => typeof u === "object" && u !== null && "_tag" in u)
}) {
  override get message(): string {
    return this.reason.message
  }
  get remediation(): string | undefined {
    const reason: KiwiError = this.reason
    return reason.remediation
  }
  get retryable(): boolean {
    const reason: KiwiError = this.reason
    return reason.retryable ?? false
  }
}

export type ToolCallError =
  | ToolChainError
  | ItemNotFound
  | ItemAmbiguous
  | ItemIdInvalid
  | ItemInvalid
  | ItemUnreadable
  | ProjectRestricted
  | PermissionDenied
  | ApprovalError
  | RateLimited
  | ConcurrencyLimited
  | LoopDetected
  | TokenMissing
  | TokenError
  | PermissionEscalation
  | CallsTooDeep
  | AuditUnavailable

/** The result of the steps that need no parameters and have no effects. */
export interface Trace {
  /** Names of the steps that passed, in order. */
  readonly passed: ReadonlyArray<string>
  /** The first step that refused, and why. Undefined if the tool can run now. */
  readonly blocked: { readonly step: string; readonly error: ToolCallError } | undefined
  readonly resolved: ResolvedChain | undefined
  readonly verified: ReadonlyArray<Verified>
  readonly rule: string | undefined
  /** What a person would be asked before it runs, as far as it is known without parameters. */
  readonly asks: ReadonlyArray<Ask>
  readonly env: ResolvedEnv | undefined
  /** The packages that the tool would run with, if its chain declares any. */
  readonly dependencies: InstalledSet | undefined
  readonly isolation: Isolation | undefined
  /** Warnings that a result would include. */
  readonly warnings: ReadonlyArray<CallWarning>
}

export class ToolProxy extends Context.Service<ToolProxy, {
  /**
   * Runs one tool under all rules. Interruption kills everything that the call started, and is audited. Progress and
   * chunks go to `CallEvents`. `found`: the tool that the call names, if the caller has just looked it up; it is read
   * and verified like any other.
   */
  readonly call: (call: ToolCall, found?: FoundItem) => Effect.Effect<ToolResult, ToolCallError>
  /** Runs the same steps as `call`, without parameters, effects or an audit entry. */
  readonly trace: (
    caller: Caller,
    query: { readonly item: string; readonly tier?: Tier | undefined }
  ) => Effect.Effect<Trace>
  /** The steps of `trace`, each with what is true once it has passed: "the project is trusted". */
  readonly checks: ReadonlyMap<string, string>
  /** Names of the steps of a call, in order. The last one always runs. */
  readonly steps: ReadonlyArray<string>
}>()("kiwi/services/proxy/ToolProxy") {}
