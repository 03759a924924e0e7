// The kernel's graph. `layerProcess` is what all projects of a process share; `layerProject` is one project on top of
// it. Every layer that takes options is made here, once, so that nothing is opened twice.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Duration, Effect, Layer } from "effect"
import type { PrimitiveHandler } from "../services/primitive/Primitive.ts"
import { Settings } from "../services/settings/Settings.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import * as AuditLogFile from "./audit/AuditLogFile.ts"
import * as ChainResolverStore from "./chain/ChainResolverStore.ts"
import * as DependenciesFile from "./dependency/DependenciesFile.ts"
import * as EnvResolverNode from "./env/EnvResolverNode.ts"
import * as ExtractorsFile from "./format/ExtractorsFile.ts"
import * as ItemParserBuiltin from "./format/ItemParserBuiltin.ts"
import * as IdentityKeyring from "./identity/IdentityKeyring.ts"
import * as KeychainOs from "./identity/KeychainOs.ts"
import * as SecretStoreKeychain from "./identity/SecretStoreKeychain.ts"
import * as ItemHistoryFile from "./integrity/ItemHistoryFile.ts"
import * as SignaturesFile from "./integrity/SignaturesFile.ts"
import * as VerifiedCopiesFile from "./integrity/VerifiedCopiesFile.ts"
import * as VerifierEd25519 from "./integrity/VerifierEd25519.ts"
import * as ItemStoreFile from "./item/ItemStoreFile.ts"
import * as LockfilesKernel from "./lockfile/LockfilesKernel.ts"
import * as LockfileStoreFile from "./lockfile/LockfileStoreFile.ts"
import * as OutboundOnDemand from "./outbound/OutboundOnDemand.ts"
import * as PermissionGateDefault from "./permission/PermissionGateDefault.ts"
import * as BuiltinRegistry from "./primitive/BuiltinRegistry.ts"
import * as OutputsFile from "./primitive/OutputsFile.ts"
import * as PrimitivesTable from "./primitive/PrimitivesTable.ts"
import * as Projects from "./Projects.ts"
import * as ToolProxyPipeline from "./proxy/ToolProxyPipeline.ts"
import * as SchemaValidatorByOrigin from "./schema/SchemaValidatorByOrigin.ts"
import * as ItemIndexSqlite from "./search/ItemIndexSqlite.ts"
import * as SettingsFile from "./settings/SettingsFile.ts"
import * as ProjectTrustFile from "./trust/ProjectTrustFile.ts"
import * as SignerTrustFile from "./trust/SignerTrustFile.ts"
import { withOwnLayers } from "./withOwnLayers.ts"
import * as KiwiHomeNode from "./workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "./workspace/ProcessLockSqlite.ts"
import * as SafeFilesNode from "./workspace/SafeFilesNode.ts"
import * as WorkspaceNode from "./workspace/WorkspaceNode.ts"

export interface KernelOptions {
  /** The project's folder; without one only the user and system tiers are there. */
  readonly project?: string | undefined
  /** `$KIWI_HOME`. Default: the variable, else `~/.kiwi`. */
  readonly home?: string | undefined
  /** The user tier. Default: `$USER_SPACE`, else `~/.ai`. */
  readonly userSpace?: string | undefined
  /** Handlers of the `builtin` primitive, besides Kiwi's own. */
  readonly builtins?: ReadonlyMap<string, PrimitiveHandler> | undefined
}

/** What the projects of one process share: folders, locks, your identity, the way out to the network. */
export const layerProcess = (options: Omit<KernelOptions, "project"> = {}) =>
  Layer.mergeAll(
    Layer.merge(IdentityKeyring.layer, SecretStoreKeychain.layer).pipe(Layer.provide(KeychainOs.layer)),
    OutboundOnDemand.layer,
    BuiltinRegistry.layerWith(options.builtins ?? new Map())
  ).pipe(
    Layer.provideMerge(ProcessLockSqlite.layer),
    Layer.provideMerge(SafeFilesNode.layer),
    Layer.provideMerge(
      options.home === undefined && options.userSpace === undefined
        ? KiwiHomeNode.layer
        : KiwiHomeNode.layerWith({ home: options.home, userSpace: options.userSpace })
    ),
    Layer.provideMerge(NodeServices.layer)
  )

const layerPrimitives = Layer.unwrap(Effect.gen(function*() {
  const settings = yield* Settings
  const { callsConcurrency, httpTimeout, outputInline, outputKeep, outputMax, subprocessTimeout } = yield* settings
    .current
  return PrimitivesTable.layerWith({
    ...PrimitivesTable.defaults,
    output: { inline: outputInline, spill: outputMax },
    timeout: {
      subprocess: Duration.toMillis(subprocessTimeout),
      http_client: Duration.toMillis(httpTimeout)
    },
    concurrency: { subprocess: callsConcurrency, http_client: callsConcurrency }
  }).pipe(Layer.provideMerge(OutputsFile.layer({ keep: outputKeep })))
}))

/** One project, or none. */
export const layerProject = (dir: string | undefined) =>
  ToolProxyPipeline.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(
      AuditLogFile.layer,
      ItemIndexSqlite.layer,
      layerPrimitives,
      PermissionGateDefault.layer,
      SchemaValidatorByOrigin.layer,
      SignaturesFile.layer
    )),
    Layer.provideMerge(LockfilesKernel.layer),
    Layer.provideMerge(Layer.mergeAll(
      ChainResolverStore.layer,
      DependenciesFile.layer,
      EnvResolverNode.layer,
      LockfileStoreFile.layer
    )),
    Layer.provideMerge(ItemHistoryFile.layer),
    Layer.provideMerge(VerifierEd25519.layer),
    Layer.provideMerge(VerifiedCopiesFile.layer),
    Layer.provideMerge(ItemParserBuiltin.layer),
    Layer.provideMerge(ItemStoreFile.layer),
    Layer.provideMerge(ExtractorsFile.layer),
    Layer.provideMerge(SettingsFile.layer),
    Layer.provideMerge(SignerTrustFile.layer),
    Layer.provideMerge(ProjectTrustFile.layer),
    Layer.provideMerge(WorkspaceNode.layer(dir))
  )

/** A whole kernel for one project, for programs that embed Kiwi. */
export const layer = (options: KernelOptions = {}) =>
  layerProject(options.project).pipe(Layer.provideMerge(layerProcess(options)), withOwnLayers)

/** Kernels of many projects over one process, for the surfaces. */
export const layerProjects = (options: Omit<KernelOptions, "project"> = {}) =>
  Layer.unwrap(Effect.map(KiwiHome, (home) =>
    Projects.layerWith(
      (key) => layerProject(key === "" ? undefined : key),
      (key) => WorkspaceNode.isKnown(key, home)
    ))).pipe(
      Layer.provideMerge(layerProcess(options)),
      withOwnLayers
    )
