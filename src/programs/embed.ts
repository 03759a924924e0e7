// The library, `kiwi-mcp`. Everything here is public and stable: services and their types, every error, the kernel as a
// layer, the use cases as Effects, and `makeKiwi` for programs without Effect. docs/embedding.md shows how to use them.
// What is not in this list is internal.

// A kernel. `Kernel.layer({ project })` is a whole one; `Projects` has one for each project of a process. Your program
// asks its person through a HumanGate; the kernel brings none.
export * as GitTreeProcess from "../layers/git/GitTreeProcess.ts"
export type { SystemItems } from "../layers/item/system/systemItems.ts"
export type { KernelOptions, KernelServices } from "../layers/Kernel.ts"
export * as Kernel from "../layers/Kernel.ts"
export { KernelOptionInvalid } from "../layers/kernelOptions.ts"
export type { ProjectServices } from "../layers/projectGraph.ts"
export type { ProjectKey } from "../layers/Projects.ts"
export * as Projects from "../layers/Projects.ts"
export type { AskPerson } from "../layers/trust/humanGate/HumanGateEmbedder.ts"
export * as HumanGateEmbedder from "../layers/trust/humanGate/HumanGateEmbedder.ts"
export * as HumanGateNone from "../layers/trust/humanGate/HumanGateNone.ts"

// Use cases: the same ones that the command line and the MCP server use.
export type { FreezeLocksInput, PruneLocksInput, UpdateLocksInput } from "../layers/lockfile/uses/changeLocks.ts"
export type { OutdatedLocksInput, ValidateLocksInput } from "../layers/lockfile/uses/checkLocks.ts"
export { listLocks, outdatedLocks, validateLocks, verifyLocks } from "../layers/lockfile/uses/checkLocks.ts"
export type { DiffLockInput, LinkDifference, LockDifference } from "../layers/lockfile/uses/diffLock.ts"
export { diffLock } from "../layers/lockfile/uses/diffLock.ts"
export { answerApproval, withApproval } from "./approvals.ts"
export type { DrawnChain, DrawnLink, DrawnValue } from "./chain.ts"
export { chain } from "./chain.ts"
export type { ChangedFile, ChangedSince } from "./changedSince.ts"
export type { BeatenValue, EnvExplanation } from "./envExplain.ts"
export type { ExecuteInput } from "./execute.ts"
export { execute } from "./execute.ts"
export type { Explanation } from "./explain.ts"
export { explain } from "./explain.ts"
export type { Followed } from "./follow.ts"
export { follow } from "./follow.ts"
export type { Inbox, InboxRequest, Refused } from "./inbox.ts"
export { inbox } from "./inbox.ts"
export type { ItemState } from "./itemState.ts"
export type { Loaded, LoadedContent } from "./load.ts"
export { load } from "./load.ts"
export { freezeLocks, pruneLocks, updateLocks } from "./lockfile.ts"
export type { RunOptions } from "./runTool.ts"
export { embedder, ResultUnexpected, runTool, runToolAs } from "./runTool.ts"
export type { SearchHit } from "./search.ts"
export { search } from "./search.ts"
export type { Signed, SignInput } from "./sign.ts"
export { sign } from "./sign.ts"
export type { ProposedYourself, TrustSignerInput } from "./trust.ts"
export { proposeYourself, trustProject, trustSigner, untrustSigner } from "./trust.ts"
export { TrustRootRefused } from "./trustRoot.ts"
export type { FrozenProblem, VerifiedFrozen, VerifyFrozenInput } from "./verifyFrozen.ts"
export { verifyFrozen } from "./verifyFrozen.ts"

// Promises over one runtime.
export type { CallOptions, Kiwi, RunToolOptions } from "./Kiwi.ts"
export { KiwiClosed, makeKiwiOver } from "./Kiwi.ts"
export { KiwiArgumentInvalid } from "./kiwiArguments.ts"
export type { KiwiOptions } from "./makeKiwi.ts"
export { makeKiwi } from "./makeKiwi.ts"

// A call: the input and output of ToolProxy, and every error.
export type { ApprovalAnswer, ApprovalState } from "../services/approval/Approval.ts"
export { Approval } from "../services/approval/Approval.ts"
export type { ApprovalError } from "../services/approval/ApprovalErrors.ts"
export {
  AnswerRefused,
  ApprovalClosed,
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalPending,
  ApprovalRejected,
  ApprovalsFull,
  ApprovalsUnavailable
} from "../services/approval/ApprovalErrors.ts"
export type { NoticeWay } from "../services/approval/ApprovalNotices.ts"
export { ApprovalNotices } from "../services/approval/ApprovalNotices.ts"
export type { AnswerOptions, ApprovalQuestion, ApprovalRequest, Approved } from "../services/approval/ApprovalStore.ts"
export { ApprovalStore } from "../services/approval/ApprovalStore.ts"
export { Caller, Surface } from "../services/call/Caller.ts"
export type { CallEvent } from "../services/call/CallEvents.ts"
export { CallEvents } from "../services/call/CallEvents.ts"
export { CallWarning, CallWarnings } from "../services/call/CallWarning.ts"
export { Client, ClientNameRefused, Clients, ClientsUnbelieved, ClientUnknown } from "../services/call/Clients.ts"
export { CallUnknown } from "../services/call/RunningCalls.ts"
export type { Access } from "../services/capability/Access.ts"
export { showAccess } from "../services/capability/Access.ts"
export type {
  Amounts,
  Bearer,
  Claims,
  NewToken,
  Token,
  TokenError,
  TokenIssue
} from "../services/capability/CapabilityTokens.ts"
export {
  BudgetExceeded,
  CapabilityInvalid,
  CapabilityTokens,
  PermissionEscalation,
  TokenInvalid,
  TokenMissing,
  TokenRevoked,
  TokensUnavailable
} from "../services/capability/CapabilityTokens.ts"
export type { Constraint } from "../services/capability/Constraint.ts"
export type { Grant, GrantSet } from "../services/capability/Grant.ts"
export type { Request, RequestedGrant } from "../services/capability/Request.ts"
export { CopyRefused, ItemCopies } from "../services/integrity/ItemCopies.ts"
export type { Entrant } from "../services/limit/CallLimits.ts"
export { CallLimits, ConcurrencyLimited, RateLimited } from "../services/limit/CallLimits.ts"
export type { InterventionRequest } from "../services/limit/Interventions.ts"
export {
  Intervention,
  Interventions,
  InterventionsFull,
  InterventionsUnavailable
} from "../services/limit/Interventions.ts"
export type { Limits, Rate } from "../services/limit/Limits.ts"
export type { LoopPattern } from "../services/limit/LoopDetected.ts"
export { LoopDetected } from "../services/limit/LoopDetected.ts"
export type { Action } from "../services/permission/Action.ts"
export { showAction } from "../services/permission/Action.ts"
export { RuleRefused, RulesInvalid } from "../services/permission/PermissionErrors.ts"
export type { Ask, Decision } from "../services/permission/PermissionGate.ts"
export { PermissionDenied, PermissionGate } from "../services/permission/PermissionGate.ts"
export { PermissionRules } from "../services/permission/PermissionRules.ts"
export type { RuleSource } from "../services/permission/PermissionRules.ts"
export type { Profile, ProfileText } from "../services/permission/profile/Profile.ts"
export { Profiles, ProfilesInvalid, ProfileUnknown } from "../services/permission/profile/Profiles.ts"
export { RememberedRule, RememberedRules } from "../services/permission/RememberedRules.ts"
export type { Builtin, BuiltinHandler } from "../services/primitive/Builtins.ts"
export { Builtins, BuiltinTaken } from "../services/primitive/Builtins.ts"
export type {
  CapturedOutput,
  PrimitiveHandler,
  PrimitiveInput,
  PrimitiveResult,
  PrimitiveStream
} from "../services/primitive/Primitive.ts"
export { Primitives } from "../services/primitive/Primitive.ts"
export type { PrimitiveError } from "../services/primitive/PrimitiveErrors.ts"
export {
  BuiltinFailed,
  ParametersUnpassable,
  PrimitiveConfigInvalid,
  PrimitiveUnknown,
  RequestFailed,
  RequestRefused,
  ResponsePathMissing,
  StreamFailed,
  ToolFailed,
  ToolOutputInvalid,
  ToolTimeout,
  ToolUnstartable,
  UploadRefused
} from "../services/primitive/PrimitiveErrors.ts"
export type { ChildExit, ChildRequest, Engine, SpawnFailure, TakeChunk } from "../services/process/ChildProcesses.ts"
export { ChildProcesses } from "../services/process/ChildProcesses.ts"
export { CallsTooDeep, NestedApproval } from "../services/proxy/nesting.ts"
export { CallMetadata, CallPlan, OutputReference, ToolCall, ToolResult } from "../services/proxy/ToolCall.ts"
export type { ChainReason, ToolCallError, Trace } from "../services/proxy/ToolProxy.ts"
export { ConfigInvalid, HidesItem, ParametersInvalid, ToolChainError, ToolProxy } from "../services/proxy/ToolProxy.ts"
export { Isolation, SandboxUnavailable } from "../services/sandbox/Isolation.ts"

// Errors in the form that callers get.
export type { ErrorObject, FailedAt, KiwiError, ValidationIssue } from "../services/error/KiwiError.ts"
export { codeOf, innermost, toErrorObject } from "../services/error/KiwiError.ts"

// Items and search.
export * as ItemSourcesContent from "../layers/item/ItemSourcesContent.ts"
export { Extractors } from "../services/format/Extractors.ts"
export { ItemParser } from "../services/format/ItemParser.ts"
export type {
  Directive,
  DirectiveInput,
  DirectiveStep,
  FolderFile,
  Item,
  ItemLocation,
  ItemSnapshot,
  Knowledge,
  SignatureClaim,
  Tool,
  XmlElement
} from "../services/item/Item.ts"
export { showLocation } from "../services/item/Item.ts"
export {
  ItemAmbiguous,
  ItemIdInvalid,
  ItemInvalid,
  ItemNotFound,
  ItemUnapproved,
  ItemUnreadable,
  SystemItemRefused
} from "../services/item/ItemErrors.ts"
export { isItemId, ItemId, ItemType, Tier } from "../services/item/ItemId.ts"
export type { ItemSource, NamedSource } from "../services/item/ItemSources.ts"
export { ItemSources } from "../services/item/ItemSources.ts"
export type { FoundItem, ItemQuery } from "../services/item/ItemStore.ts"
export { ItemStore } from "../services/item/ItemStore.ts"
export type { IndexHit, SearchQuery } from "../services/search/ItemIndex.ts"
export { IndexUnavailable, ItemIndex } from "../services/search/ItemIndex.ts"

// Trust: signatures, signers, the project, and the acts that only a person performs.
export { Identity, KeyLocked, KeyUnavailable } from "../services/identity/Identity.ts"
export { Keychain, KeychainUnavailable } from "../services/identity/Keychain.ts"
export { PassphraseRefused } from "../services/identity/passphrase.ts"
export type { StoredSecret } from "../services/identity/SecretStore.ts"
export {
  SecretMissing,
  SecretNameInvalid,
  SecretPlace,
  SecretStore,
  SecretUnavailable
} from "../services/identity/SecretStore.ts"
export { HistoryDamaged, ItemHistory } from "../services/integrity/ItemHistory.ts"
export type { PlannedSignature, SignedItem, SigningPlan } from "../services/integrity/Signatures.ts"
export { PlanStale, Signatures, TooMuchToSign } from "../services/integrity/Signatures.ts"
export { VerifiedCopies } from "../services/integrity/VerifiedCopies.ts"
export type { SignedBy, Verified, VerifyError } from "../services/integrity/Verifier.ts"
export {
  GoesBack,
  SignatureMalformed,
  SignerUntrusted,
  SystemItemAltered,
  Tampered,
  Unsigned,
  Verifier
} from "../services/integrity/Verifier.ts"
export type { HumanAct, HumanRequest } from "../services/trust/HumanAct.ts"
export { HumanActKind, HumanDeclined, HumanGate, HumanRequired } from "../services/trust/HumanAct.ts"
export type { ControlFile, TrustProposal, TrustState } from "../services/trust/ProjectTrust.ts"
export { ProjectRestricted, ProjectTrust } from "../services/trust/ProjectTrust.ts"
export type { SignerGrant, SignerStanding } from "../services/trust/SignerTrust.ts"
export {
  ProposalRefused,
  Signer,
  SignerInvalid,
  SignerNotTrusted,
  SignersUnbelieved,
  SignerTrust,
  SignerUnknown
} from "../services/trust/SignerTrust.ts"

// Lockfiles, and reading a commit.
export { GitRefUnreadable, GitTree } from "../services/git/GitTree.ts"
export type {
  FrozenLock,
  FrozenLocks,
  ListedLock,
  ListedLocks,
  LockStatus,
  LockSummary,
  OutdatedLock,
  OutdatedLocks,
  PrunedLocks,
  ValidatedLock,
  ValidatedLocks,
  VerifiedLock,
  VerifiedLocks,
  VerifiedStatus
} from "../services/lockfile/lockReport.ts"

// The services below a call.
export type { AuditAnchor } from "../services/audit/AuditAnchor.ts"
export type { AuditRecord } from "../services/audit/AuditEntry.ts"
export { AuditEntry } from "../services/audit/AuditEntry.ts"
export type { AuditProblem, AuditReport, StoredEntry } from "../services/audit/AuditLog.ts"
export { AuditLog, AuditUnavailable } from "../services/audit/AuditLog.ts"
export type { EntryFilter } from "../services/audit/EntryFilter.ts"
export type { Chain, ChainLink } from "../services/chain/Chain.ts"
export type {
  ChainError,
  ChainQuery,
  PartialChain,
  ResolvedChain,
  ResolveError
} from "../services/chain/ChainResolver.ts"
export {
  ChainCycle,
  ChainLinkBroken,
  ChainLinkMissing,
  ChainMalformed,
  ChainResolver,
  ChainTooDeep,
  ChainVersionMismatch
} from "../services/chain/ChainResolver.ts"
export { ChildRefused, ChildSchemasMissing } from "../services/chain/ChildLink.ts"
export type { EnvironmentQuery, SyncError, SyncOutcome, SyncRequest } from "../services/dependency/Dependencies.ts"
export { Dependencies } from "../services/dependency/Dependencies.ts"
export {
  DependenciesInvalid,
  DependenciesMissing,
  InstallerMissing,
  InstallFailed,
  InterpreterUnsuitable,
  PinsDiffer
} from "../services/dependency/DependencyErrors.ts"
export type { InstalledSet } from "../services/dependency/InstalledPackage.ts"
export { Ecosystem, InstalledPackage } from "../services/dependency/InstalledPackage.ts"
export type {
  EnvCandidate,
  EnvOrigin,
  EnvVariable,
  EnvWarning,
  ExplainedEnv,
  ExplainedVariable,
  LookedAt,
  ResolvedEnv
} from "../services/env/EnvResolver.ts"
export { EnvConfigInvalid, EnvResolver, RequirementsMissing } from "../services/env/EnvResolver.ts"
export type { ResolvedInterpreter } from "../services/env/ResolvedInterpreter.ts"
export { InterpreterKind } from "../services/env/ResolvedInterpreter.ts"
export type { FileRange, FileStat, FolderEntry, RealPath } from "../services/files/SafeFiles.ts"
export { ReadRefused, SafeFiles, WriteRefused } from "../services/files/SafeFiles.ts"
export {
  EditUnclear,
  FileAbsent,
  FileNotText,
  PathProtected,
  PathUnusable,
  PatternUnusable
} from "../services/filesystem/fileErrors.ts"
export type { LockFinding } from "../services/lockfile/compareLock.ts"
export { Lockfile } from "../services/lockfile/Lockfile.ts"
export type { FreezePlan, LockCheck, LockProblem, LockState, PrunePlan } from "../services/lockfile/Lockfiles.ts"
export { Lockfiles, LockMismatch, LockMissing } from "../services/lockfile/Lockfiles.ts"
export type { LockFilter, LockListing, StoredLock } from "../services/lockfile/LockfileStore.ts"
export { LockfileStore, LockInvalid, LockScopeMissing } from "../services/lockfile/LockfileStore.ts"
export { LockMode } from "../services/lockfile/LockMode.ts"
export type { OutboundError, OutboundRequest, OutboundResponse } from "../services/outbound/Outbound.ts"
export { Outbound, OutboundFailed, OutboundRefused } from "../services/outbound/Outbound.ts"
export type { OutputWriter } from "../services/primitive/Outputs.ts"
export { OutputNotFound, Outputs } from "../services/primitive/Outputs.ts"
export type { ValidatedValue } from "../services/schema/SchemaValidator.ts"
export { SchemaUnusable, SchemaValidator } from "../services/schema/SchemaValidator.ts"
export type { SettingsProblem, SettingsValues } from "../services/settings/Settings.ts"
export { Settings } from "../services/settings/Settings.ts"
export type { TemplateError } from "../services/template/Template.ts"
export { TemplateUnresolved, TemplateUnsafe } from "../services/template/Template.ts"
export { HomeRefused, KiwiHome } from "../services/workspace/KiwiHome.ts"
export type { LockError } from "../services/workspace/ProcessLock.ts"
export { LockTimeout, LockUnavailable, ProcessLock } from "../services/workspace/ProcessLock.ts"
export type { Project } from "../services/workspace/Workspace.ts"
export { ProjectNotFound, Workspace } from "../services/workspace/Workspace.ts"

export { version } from "./version.ts"
