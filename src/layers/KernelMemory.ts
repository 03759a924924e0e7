// A whole kernel without a disk, a keychain or a process: the same proxy, parsers, templates and schemas over items
// that are a map and programs that are functions. For tests of items, and of programs that embed Kiwi.
import { Layer } from "effect"
import type { PrimitiveHandler } from "../services/primitive/Primitive.ts"
import type { SettingsValues } from "../services/settings/Settings.ts"
import type { Signer } from "../services/trust/SignerTrust.ts"
import * as AuditLogMemory from "./audit/AuditLogMemory.ts"
import * as ChainResolverStore from "./chain/ChainResolverStore.ts"
import * as DependenciesMemory from "./dependency/DependenciesMemory.ts"
import type { MemoryHost } from "./env/EnvResolverMemory.ts"
import * as EnvResolverMemory from "./env/EnvResolverMemory.ts"
import * as ExtractorsMemory from "./format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "./format/ItemParserBuiltin.ts"
import * as IdentityMemory from "./identity/IdentityMemory.ts"
import * as SecretStoreMemory from "./identity/SecretStoreMemory.ts"
import * as ItemHistoryMemory from "./integrity/ItemHistoryMemory.ts"
import * as SignaturesMemory from "./integrity/SignaturesMemory.ts"
import * as VerifiedCopiesMemory from "./integrity/VerifiedCopiesMemory.ts"
import * as VerifierEd25519 from "./integrity/VerifierEd25519.ts"
import * as VerifierMemory from "./integrity/VerifierMemory.ts"
import type { MemoryFile } from "./item/ItemStoreMemory.ts"
import * as ItemStoreMemory from "./item/ItemStoreMemory.ts"
import { systemTier } from "./item/systemTier.generated.ts"
import * as LockfilesKernel from "./lockfile/LockfilesKernel.ts"
import * as LockfileStoreMemory from "./lockfile/LockfileStoreMemory.ts"
import type { Answerer } from "./outbound/OutboundMemory.ts"
import * as OutboundMemory from "./outbound/OutboundMemory.ts"
import * as PermissionGateDefault from "./permission/PermissionGateDefault.ts"
import * as BuiltinRegistry from "./primitive/BuiltinRegistry.ts"
import * as OutputsMemory from "./primitive/OutputsMemory.ts"
import type { Program } from "./primitive/PrimitivesMemory.ts"
import * as PrimitivesMemory from "./primitive/PrimitivesMemory.ts"
import * as ToolProxyPipeline from "./proxy/ToolProxyPipeline.ts"
import * as SchemaValidatorByOrigin from "./schema/SchemaValidatorByOrigin.ts"
import * as ItemIndexMemory from "./search/ItemIndexMemory.ts"
import * as SettingsMemory from "./settings/SettingsMemory.ts"
import * as ProjectTrustMemory from "./trust/ProjectTrustMemory.ts"
import * as SignerTrustMemory from "./trust/SignerTrustMemory.ts"
import { withOwnLayers } from "./withOwnLayers.ts"
import * as KiwiHomeMemory from "./workspace/KiwiHomeMemory.ts"
import * as ProcessLockMemory from "./workspace/ProcessLockMemory.ts"
import * as SafeFilesMemory from "./workspace/SafeFilesMemory.ts"
import * as WorkspaceMemory from "./workspace/WorkspaceMemory.ts"

export interface KernelMemoryOptions {
  /** Items by path below the tier: "tools/math/add.py". A Map can be signed into, a record is constant. */
  readonly project?: ReadonlyMap<string, MemoryFile> | Readonly<Record<string, MemoryFile>> | undefined
  readonly user?: ReadonlyMap<string, MemoryFile> | Readonly<Record<string, MemoryFile>> | undefined
  /** `assumed`: every item counts as signed by you. `checked`: signatures are made and verified. Default: assumed. */
  readonly signatures?: "assumed" | "checked" | undefined
  /** Whether the project is trusted. Default: true. */
  readonly trusted?: boolean | undefined
  /** Control files of the project by path, as accepted as the project is: ".env". */
  readonly controlFiles?: Readonly<Record<string, string>> | undefined
  /** Further signers that you trust. */
  readonly signers?: ReadonlyArray<Signer> | undefined
  /** What happens instead of starting a program, by the path of its executable: "/usr/bin/python3". */
  readonly programs?: ReadonlyMap<string, Program> | undefined
  /** What the network answers. Default: nothing can be reached. */
  readonly network?: Answerer | undefined
  /** Variables and installed programs that tools find. Default: everything in /usr/bin, PATH alone. */
  readonly host?: MemoryHost | undefined
  /** Lockfiles of project and user, by path: "math/add@1.0.0.lock.json". What is locked is written into them. */
  readonly lockfiles?: LockfileStoreMemory.MemoryLockfiles | undefined
  /** Default: the defaults, and with assumed signatures no lockfiles, since what nobody signed nobody locked. */
  readonly settings?: Partial<SettingsValues> | undefined
  readonly builtins?: ReadonlyMap<string, PrimitiveHandler> | undefined
  /** What `keychain:NAME` stands for, by name. */
  readonly secrets?: Readonly<Record<string, string>> | undefined
  /** What a registry would have, by name. Default: nothing is installed and nothing can be. */
  readonly packages?: ReadonlyMap<string, string> | undefined
}

export const layer = (options: KernelMemoryOptions = {}) => {
  const tiers = { project: options.project ?? new Map(), user: options.user ?? new Map(), system: systemTier }
  const restricted = { _tag: "Restricted" as const, reason: "nobody has trusted it yet", unsafe: false }
  return ToolProxyPipeline.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(
      AuditLogMemory.layer,
      ItemIndexMemory.layer,
      PermissionGateDefault.layer,
      PrimitivesMemory.layerWith(options.programs ?? new Map()),
      SchemaValidatorByOrigin.layer,
      SignaturesMemory.layerWith(tiers)
    )),
    Layer.provideMerge(LockfilesKernel.layer),
    Layer.provideMerge(Layer.mergeAll(
      ChainResolverStore.layer,
      DependenciesMemory.layerWith(options.packages ?? new Map()),
      EnvResolverMemory.layerWith(options.host ?? {}),
      options.lockfiles === undefined ? LockfileStoreMemory.layer : LockfileStoreMemory.layerWith(options.lockfiles)
    )),
    Layer.provideMerge(OutputsMemory.layer),
    Layer.provideMerge(options.signatures === "checked" ? VerifierEd25519.layer : VerifierMemory.layer),
    Layer.provideMerge(Layer.mergeAll(VerifiedCopiesMemory.layer, ItemHistoryMemory.layer)),
    Layer.provideMerge(ItemParserBuiltin.layerNoProcess),
    Layer.provideMerge(ItemStoreMemory.layerWith(tiers)),
    Layer.provideMerge(ExtractorsMemory.layer),
    Layer.provideMerge(SignerTrustMemory.layerWith(options.signers ?? [])),
    Layer.provideMerge(IdentityMemory.layer),
    Layer.provideMerge(Layer.mergeAll(
      options.network === undefined ? OutboundMemory.layer : OutboundMemory.layerWith(options.network),
      BuiltinRegistry.layerWith(options.builtins ?? new Map()),
      ProcessLockMemory.layer,
      ProjectTrustMemory.layerWith({
        ...(options.trusted === false ? { state: restricted } : {}),
        files: new Map(Object.entries(options.controlFiles ?? {}))
      }),
      SafeFilesMemory.layer,
      SecretStoreMemory.layerWith(options.secrets ?? {}),
      SettingsMemory.layerWith({
        ...(options.signatures === "checked" ? {} : { lockfileMode: "off" as const }),
        ...options.settings
      })
    )),
    Layer.provideMerge(WorkspaceMemory.layer),
    Layer.provideMerge(KiwiHomeMemory.layer),
    withOwnLayers
  )
}
