// A whole kernel without disk, keychain and processes: the same proxy, parsers, templates and schemas, but items are a
// map and programs are functions. For tests of items and of programs that embed Kiwi.
import { Effect, Layer } from "effect"
import { ApprovalNotices } from "../services/approval/ApprovalNotices.ts"
import { ApprovalStore } from "../services/approval/ApprovalStore.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import { Clients } from "../services/call/Clients.ts"
import { CapabilityTokens } from "../services/capability/CapabilityTokens.ts"
import { ChainResolver } from "../services/chain/ChainResolver.ts"
import { Dependencies } from "../services/dependency/Dependencies.ts"
import { EnvResolver } from "../services/env/EnvResolver.ts"
import { SafeFiles } from "../services/files/SafeFiles.ts"
import { Extractors } from "../services/format/Extractors.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { Identity } from "../services/identity/Identity.ts"
import { Keychain } from "../services/identity/Keychain.ts"
import { SecretStore } from "../services/identity/SecretStore.ts"
import { ItemCopies } from "../services/integrity/ItemCopies.ts"
import { ItemHistory } from "../services/integrity/ItemHistory.ts"
import { Signatures } from "../services/integrity/Signatures.ts"
import { VerifiedCopies } from "../services/integrity/VerifiedCopies.ts"
import { Verifier } from "../services/integrity/Verifier.ts"
import type { SystemItemRefused } from "../services/item/ItemErrors.ts"
import { ItemSources } from "../services/item/ItemSources.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { CallLimits } from "../services/limit/CallLimits.ts"
import { Interventions } from "../services/limit/Interventions.ts"
import { Lockfiles } from "../services/lockfile/Lockfiles.ts"
import { LockfileStore } from "../services/lockfile/LockfileStore.ts"
import { Outbound } from "../services/outbound/Outbound.ts"
import { PermissionGate } from "../services/permission/PermissionGate.ts"
import { PermissionRules } from "../services/permission/PermissionRules.ts"
import { Profiles } from "../services/permission/profile/Profiles.ts"
import { RememberedRules } from "../services/permission/RememberedRules.ts"
import type { BuiltinHandler } from "../services/primitive/Builtins.ts"
import { Builtins } from "../services/primitive/Builtins.ts"
import { Outputs } from "../services/primitive/Outputs.ts"
import { Primitives } from "../services/primitive/Primitive.ts"
import { ChildProcesses } from "../services/process/ChildProcesses.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { SchemaValidator } from "../services/schema/SchemaValidator.ts"
import { ItemIndex } from "../services/search/ItemIndex.ts"
import { Settings } from "../services/settings/Settings.ts"
import type { SettingsValues } from "../services/settings/Settings.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { SignerTrust } from "../services/trust/SignerTrust.ts"
import type { Signer } from "../services/trust/SignerTrust.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../services/workspace/ProcessLock.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import * as ApprovalNoticesMemory from "./approval/ApprovalNoticesMemory.ts"
import * as ApprovalStoreMemory from "./approval/ApprovalStoreMemory.ts"
import * as AuditLogMemory from "./audit/AuditLogMemory.ts"
import * as ClientsMemory from "./call/ClientsMemory.ts"
import * as CapabilityTokensMemory from "./capability/CapabilityTokensMemory.ts"
import * as ChainResolverStore from "./chain/ChainResolverStore.ts"
import * as DependenciesMemory from "./dependency/DependenciesMemory.ts"
import type { MemoryHost } from "./env/EnvResolverMemory.ts"
import * as EnvResolverMemory from "./env/EnvResolverMemory.ts"
import * as SafeFilesMemory from "./files/SafeFilesMemory.ts"
import * as ExtractorsMemory from "./format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "./format/ItemParserBuiltin.ts"
import * as IdentityMemory from "./identity/IdentityMemory.ts"
import * as KeychainMemory from "./identity/KeychainMemory.ts"
import * as SecretStoreMemory from "./identity/SecretStoreMemory.ts"
import * as ItemCopiesMemory from "./integrity/ItemCopiesMemory.ts"
import * as ItemHistoryMemory from "./integrity/ItemHistoryMemory.ts"
import * as SignaturesMemory from "./integrity/SignaturesMemory.ts"
import * as VerifiedCopiesMemory from "./integrity/VerifiedCopiesMemory.ts"
import * as VerifierBySource from "./integrity/VerifierBySource.ts"
import * as VerifierEd25519 from "./integrity/VerifierEd25519.ts"
import * as VerifierMemory from "./integrity/VerifierMemory.ts"
import * as ItemSourcesContent from "./item/ItemSourcesContent.ts"
import type { MemoryFile } from "./item/ItemStoreMemory.ts"
import * as ItemStoreMemory from "./item/ItemStoreMemory.ts"
import type { SystemItems } from "./item/system/systemItems.ts"
import * as SystemItemsSource from "./item/system/systemItems.ts"
import { systemFiles } from "./item/system/systemSpace.ts"
import type { KernelServices } from "./Kernel.ts"
import type { KernelOptionInvalid } from "./kernelOptions.ts"
import { checked, inMemory } from "./kernelOptions.ts"
import * as CallLimitsMemory from "./limit/CallLimitsMemory.ts"
import * as InterventionsMemory from "./limit/InterventionsMemory.ts"
import * as LockfilesKernel from "./lockfile/LockfilesKernel.ts"
import * as LockfileStoreMemory from "./lockfile/LockfileStoreMemory.ts"
import type { Answerer } from "./outbound/OutboundMemory.ts"
import * as OutboundMemory from "./outbound/OutboundMemory.ts"
import * as OwnBuiltins from "./ownBuiltins.ts"
import * as PermissionGateRules from "./permission/PermissionGateRules.ts"
import * as PermissionRulesMemory from "./permission/PermissionRulesMemory.ts"
import * as ProfilesMemory from "./permission/profile/ProfilesMemory.ts"
import * as RememberedRulesMemory from "./permission/RememberedRulesMemory.ts"
import * as BuiltinRegistry from "./primitive/BuiltinRegistry.ts"
import * as OutputsMemory from "./primitive/OutputsMemory.ts"
import * as PrimitivesMemory from "./primitive/PrimitivesMemory.ts"
import type { Program } from "./process/ChildProcessesMemory.ts"
import * as ChildProcessesMemory from "./process/ChildProcessesMemory.ts"
import * as ToolProxyPipeline from "./proxy/ToolProxyPipeline.ts"
import type { Choose } from "./replaceService.ts"
import { replaceServices } from "./replaceService.ts"
import * as SchemaValidatorByOrigin from "./schema/SchemaValidatorByOrigin.ts"
import * as ItemIndexMemory from "./search/ItemIndexMemory.ts"
import * as SettingsMemory from "./settings/SettingsMemory.ts"
import * as ProjectTrustMemory from "./trust/ProjectTrustMemory.ts"
import * as SignerTrustMemory from "./trust/SignerTrustMemory.ts"
import { withOwnLayers } from "./withOwnLayers.ts"
import * as KiwiHomeMemory from "./workspace/KiwiHomeMemory.ts"
import * as ProcessLockMemory from "./workspace/ProcessLockMemory.ts"
import * as WorkspaceMemory from "./workspace/WorkspaceMemory.ts"

export interface KernelMemoryOptions<Replaced extends KernelServices = never, E = never> {
  /** Items by path below the tier: "tools/math/add.py". Signing can write to a Map; a record is constant. */
  readonly project?: ReadonlyMap<string, MemoryFile> | Readonly<Record<string, MemoryFile>> | undefined
  readonly user?: ReadonlyMap<string, MemoryFile> | Readonly<Record<string, MemoryFile>> | undefined
  /** `assumed`: every item counts as signed by you. `checked`: signatures are made and verified. Default: assumed. */
  readonly signatures?: "assumed" | "checked" | undefined
  /** Whether the project is trusted. Default: true. */
  readonly trusted?: boolean | undefined
  /** Control files of the project by path, accepted if the project is trusted: ".env". */
  readonly controlFiles?: Readonly<Record<string, string>> | undefined
  /** Other signers that you trust. */
  readonly signers?: ReadonlyArray<Signer> | undefined
  /** Functions that replace programs, by the path of the executable: "/usr/bin/python3". */
  readonly programs?: ReadonlyMap<string, Program> | undefined
  /** Answers network requests. Default: nothing can be reached. */
  readonly network?: Answerer | undefined
  /**
   * Variables and installed programs that tools find. Default: every program exists in /usr/bin, and only PATH is set.
   */
  readonly host?: MemoryHost | undefined
  /** Lockfiles of project and user, by path: "math/add@1.0.0.lock.json". New locks are written to them. */
  readonly lockfiles?: LockfileStoreMemory.MemoryLockfiles | undefined
  /** Default: the defaults; with assumed signatures without lockfiles, since only signed items can be locked. */
  readonly settings?: Partial<SettingsValues> | undefined
  /** System items of your program, by path: `{ "tools/acme/greet.yaml": text }`. */
  readonly items?: SystemItems | undefined
  readonly builtins?: ReadonlyMap<string, BuiltinHandler> | undefined
  /** The text of the user's `permissions.yaml`. The project's is one of `controlFiles`. */
  readonly permissions?: string | undefined
  /** The text of the user's `profiles.yaml`, as with `permissions`. */
  readonly profiles?: string | undefined
  /** Values of `keychain:NAME`, by name. */
  readonly secrets?: Readonly<Record<string, string>> | undefined
  /** The packages of a registry, by name. Default: no package exists. */
  readonly packages?: ReadonlyMap<string, string> | undefined
  /** Layers of services that replace the kernel's own, everywhere in the kernel. */
  readonly replace?: Layer.Layer<Replaced, E> | undefined
}

const compose = <Replaced extends KernelServices, E>(
  options: KernelMemoryOptions<Replaced, E>,
  choose: Choose,
  system: ReadonlyMap<string, Uint8Array>
) => {
  const tiers = { project: options.project ?? new Map(), user: options.user ?? new Map(), system }
  const sources = choose(ItemSources, ItemSourcesContent.layer)
  const restricted = { _tag: "Restricted" as const, reason: "nobody has trusted it yet", unsafe: false }
  return choose(ToolProxy, ToolProxyPipeline.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(
      choose(ApprovalNotices, ApprovalNoticesMemory.layer),
      choose(AuditLog, AuditLogMemory.layer),
      choose(CallLimits, CallLimitsMemory.layer),
      choose(Interventions, InterventionsMemory.layer),
      choose(ItemIndex, ItemIndexMemory.layer),
      choose(Primitives, Layer.provide(PrimitivesMemory.layer, OwnBuiltins.layer)),
      choose(Signatures, SignaturesMemory.layerWith(tiers))
    )),
    Layer.provideMerge(choose(ItemCopies, ItemCopiesMemory.layerWith(tiers))),
    Layer.provideMerge(choose(Lockfiles, LockfilesKernel.layer)),
    Layer.provideMerge(Layer.mergeAll(
      choose(ChainResolver, ChainResolverStore.layer),
      choose(Dependencies, DependenciesMemory.layerWith(options.packages ?? new Map())),
      choose(EnvResolver, EnvResolverMemory.layerWith(options.host ?? {})),
      choose(
        LockfileStore,
        options.lockfiles === undefined ? LockfileStoreMemory.layer : LockfileStoreMemory.layerWith(options.lockfiles)
      )
    )),
    Layer.provideMerge(Layer.mergeAll(
      choose(Outputs, OutputsMemory.layer),
      choose(ApprovalStore, ApprovalStoreMemory.layer),
      choose(CapabilityTokens, CapabilityTokensMemory.layer),
      choose(PermissionGate, PermissionGateRules.layer)
    )),
    Layer.provideMerge(
      VerifierBySource.layerOver(
        choose(Verifier, options.signatures === "checked" ? VerifierEd25519.layer : VerifierMemory.layer)
      )
    ),
    Layer.provideMerge(Layer.mergeAll(
      choose(VerifiedCopies, VerifiedCopiesMemory.layer),
      choose(ItemHistory, ItemHistoryMemory.layer),
      choose(PermissionRules, PermissionRulesMemory.layerWith(options.permissions)),
      choose(Profiles, ProfilesMemory.layerWith(options.profiles)),
      choose(RememberedRules, RememberedRulesMemory.layer),
      choose(SchemaValidator, SchemaValidatorByOrigin.layer)
    )),
    Layer.provideMerge(choose(ItemParser, ItemParserBuiltin.layerNoProcess)),
    Layer.provideMerge(choose(ItemStore, ItemStoreMemory.layerWith(tiers))),
    Layer.provideMerge(options.items === undefined ? sources : SystemItemsSource.layerOver(options.items, sources)),
    Layer.provideMerge(choose(Extractors, ExtractorsMemory.layer)),
    Layer.provideMerge(choose(SignerTrust, SignerTrustMemory.layerWith(options.signers ?? []))),
    Layer.provideMerge(choose(Identity, IdentityMemory.layer)),
    Layer.provideMerge(Layer.mergeAll(
      choose(ChildProcesses, ChildProcessesMemory.layerWith(options.programs ?? new Map())),
      choose(
        Outbound,
        options.network === undefined ? OutboundMemory.layer : OutboundMemory.layerWith(options.network)
      ),
      OwnBuiltins.checked(choose(Builtins, BuiltinRegistry.layerWith(options.builtins ?? new Map()))),
      choose(ProcessLock, ProcessLockMemory.layer),
      choose(
        ProjectTrust,
        ProjectTrustMemory.layerWith({
          ...(options.trusted === false ? { state: restricted } : {}),
          files: new Map(Object.entries(options.controlFiles ?? {}))
        })
      ),
      choose(Clients, ClientsMemory.layer),
      choose(SafeFiles, SafeFilesMemory.layer),
      choose(SecretStore, SecretStoreMemory.layerWith(options.secrets ?? {})),
      choose(
        Settings,
        SettingsMemory.layerWith({
          ...(options.signatures === "checked" ? {} : { lockfileMode: "off" as const }),
          ...options.settings
        })
      )
    )),
    Layer.provideMerge(choose(Keychain, KeychainMemory.layer)),
    Layer.provideMerge(choose(Workspace, WorkspaceMemory.layer)),
    Layer.provideMerge(choose(KiwiHome, KiwiHomeMemory.layer))
  )
}

type Composed<E> = Layer.Layer<KernelServices, KernelOptionInvalid | E>

export function layer<Replaced extends KernelServices = never, E = never>(
  options: KernelMemoryOptions<Replaced, E> & { readonly items: SystemItems }
): Composed<SystemItemRefused | E>
export function layer<Replaced extends KernelServices = never, E = never>(
  options?: KernelMemoryOptions<Replaced, E>
): Composed<E>
export function layer<Replaced extends KernelServices = never, E = never>(
  options: KernelMemoryOptions<Replaced, E> = {}
): Composed<SystemItemRefused | E> {
  return checked(options, () =>
    withOwnLayers(
      replaceServices(
        options.replace,
        (choose) => Layer.unwrap(Effect.map(systemFiles, (system) => compose(options, choose, system)))
      )
    ), inMemory)
}
