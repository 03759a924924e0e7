// `kiwi-mcp/testing`: a whole kernel in memory, and for every service a layer without disk, keychain or process, to
// combine with layers of your own. Parsing, chains, schemas, signatures and the proxy are the real ones.
import { Layer } from "effect"
import type { KernelServices } from "../layers/Kernel.ts"
import type { KernelMemoryOptions } from "../layers/KernelMemory.ts"
import * as KernelMemory from "../layers/KernelMemory.ts"
import * as LineageMemory from "../layers/presence/LineageMemory.ts"
import type { AskPerson } from "../layers/trust/humanGate/HumanGateEmbedder.ts"
import * as HumanGateEmbedder from "../layers/trust/humanGate/HumanGateEmbedder.ts"
import * as HumanGateNone from "../layers/trust/humanGate/HumanGateNone.ts"
import type { Identity } from "../services/identity/Identity.ts"
import type { HumanGate } from "../services/trust/HumanAct.ts"
import type { Kiwi } from "./Kiwi.ts"
import { makeKiwiOver } from "./Kiwi.ts"

export * as ApprovalNoticesMemory from "../layers/approval/ApprovalNoticesMemory.ts"
export * as ApprovalStoreMemory from "../layers/approval/ApprovalStoreMemory.ts"
export * as AuditLogMemory from "../layers/audit/AuditLogMemory.ts"
export * as ClientsMemory from "../layers/call/ClientsMemory.ts"
export * as CapabilityTokensMemory from "../layers/capability/CapabilityTokensMemory.ts"
export * as ChainResolverStore from "../layers/chain/ChainResolverStore.ts"
export * as DependenciesMemory from "../layers/dependency/DependenciesMemory.ts"
export type { MemoryHost } from "../layers/env/EnvResolverMemory.ts"
export * as EnvResolverMemory from "../layers/env/EnvResolverMemory.ts"
export * as SafeFilesMemory from "../layers/files/SafeFilesMemory.ts"
export * as ExtractorsMemory from "../layers/format/ExtractorsMemory.ts"
export * as ItemParserBuiltin from "../layers/format/ItemParserBuiltin.ts"
export type { MemoryCommits } from "../layers/git/GitTreeMemory.ts"
export * as GitTreeMemory from "../layers/git/GitTreeMemory.ts"
export * as IdentityMemory from "../layers/identity/IdentityMemory.ts"
export * as KeychainMemory from "../layers/identity/KeychainMemory.ts"
export * as SecretStoreMemory from "../layers/identity/SecretStoreMemory.ts"
export * as ItemCopiesMemory from "../layers/integrity/ItemCopiesMemory.ts"
export * as ItemHistoryMemory from "../layers/integrity/ItemHistoryMemory.ts"
export * as SignaturesMemory from "../layers/integrity/SignaturesMemory.ts"
export * as VerifiedCopiesMemory from "../layers/integrity/VerifiedCopiesMemory.ts"
export * as VerifierEd25519 from "../layers/integrity/VerifierEd25519.ts"
export * as VerifierMemory from "../layers/integrity/VerifierMemory.ts"
export * as ItemSourcesContent from "../layers/item/ItemSourcesContent.ts"
export type { MemoryFile } from "../layers/item/ItemStoreMemory.ts"
export * as ItemStoreMemory from "../layers/item/ItemStoreMemory.ts"
export type { KernelServices } from "../layers/Kernel.ts"
export type { KernelMemoryOptions } from "../layers/KernelMemory.ts"
export * as KernelMemory from "../layers/KernelMemory.ts"
export * as CallLimitsMemory from "../layers/limit/CallLimitsMemory.ts"
export * as InterventionsMemory from "../layers/limit/InterventionsMemory.ts"
export * as LockfilesKernel from "../layers/lockfile/LockfilesKernel.ts"
export type { MemoryLockfiles } from "../layers/lockfile/LockfileStoreMemory.ts"
export * as LockfileStoreMemory from "../layers/lockfile/LockfileStoreMemory.ts"
export type { Answerer } from "../layers/outbound/OutboundMemory.ts"
export * as OutboundMemory from "../layers/outbound/OutboundMemory.ts"
export * as PermissionGateDefault from "../layers/permission/PermissionGateDefault.ts"
export * as PermissionRulesMemory from "../layers/permission/PermissionRulesMemory.ts"
export * as ProfilesMemory from "../layers/permission/profile/ProfilesMemory.ts"
export * as RememberedRulesMemory from "../layers/permission/RememberedRulesMemory.ts"
export * as LineageMemory from "../layers/presence/LineageMemory.ts"
export * as BuiltinRegistry from "../layers/primitive/BuiltinRegistry.ts"
export * as OutputsMemory from "../layers/primitive/OutputsMemory.ts"
export * as PrimitivesMemory from "../layers/primitive/PrimitivesMemory.ts"
export type { Program, ProgramEnd, ProgramStart } from "../layers/process/ChildProcessesMemory.ts"
export * as ChildProcessesMemory from "../layers/process/ChildProcessesMemory.ts"
export * as ToolProxyPipeline from "../layers/proxy/ToolProxyPipeline.ts"
export * as SchemaValidatorByOrigin from "../layers/schema/SchemaValidatorByOrigin.ts"
export * as ItemIndexMemory from "../layers/search/ItemIndexMemory.ts"
export * as SettingsMemory from "../layers/settings/SettingsMemory.ts"
export * as HumanGateEmbedder from "../layers/trust/humanGate/HumanGateEmbedder.ts"
export * as HumanGateNone from "../layers/trust/humanGate/HumanGateNone.ts"
export * as ProjectTrustMemory from "../layers/trust/ProjectTrustMemory.ts"
export * as SignerTrustMemory from "../layers/trust/SignerTrustMemory.ts"
export * as KiwiHomeMemory from "../layers/workspace/KiwiHomeMemory.ts"
export * as ProcessLockMemory from "../layers/workspace/ProcessLockMemory.ts"
export * as WorkspaceMemory from "../layers/workspace/WorkspaceMemory.ts"
export { version } from "./version.ts"

const gateInMemory = (askPerson: AskPerson): Layer.Layer<HumanGate, never, Identity> =>
  Layer.provide(HumanGateEmbedder.layerWith(askPerson, {}), LineageMemory.layer)

/** `makeKiwi` over a kernel in memory. Without `askPerson`, human acts fail with `HumanRequired`. */
export const makeTestKiwi = <Replaced extends KernelServices = never, E = never>(
  { askPerson, ...options }: KernelMemoryOptions<Replaced, E> & { readonly askPerson?: AskPerson | undefined } = {}
): Kiwi =>
  makeKiwiOver(
    Layer.provideMerge(
      askPerson === undefined ? HumanGateNone.layer : gateInMemory(askPerson),
      KernelMemory.layer(options)
    ),
    undefined
  )
