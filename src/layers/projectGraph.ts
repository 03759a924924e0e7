// One project's part of the kernel's graph. Every service is named with its layer, so that a program can replace it.
import { Duration, Effect, Layer } from "effect"
import { ApprovalNotices } from "../services/approval/ApprovalNotices.ts"
import { ApprovalStore } from "../services/approval/ApprovalStore.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import { CapabilityTokens } from "../services/capability/CapabilityTokens.ts"
import { ChainResolver } from "../services/chain/ChainResolver.ts"
import { Dependencies } from "../services/dependency/Dependencies.ts"
import { EnvResolver } from "../services/env/EnvResolver.ts"
import { Extractors } from "../services/format/Extractors.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { ItemCopies } from "../services/integrity/ItemCopies.ts"
import { ItemHistory } from "../services/integrity/ItemHistory.ts"
import { Signatures } from "../services/integrity/Signatures.ts"
import { VerifiedCopies } from "../services/integrity/VerifiedCopies.ts"
import { Verifier } from "../services/integrity/Verifier.ts"
import { ItemSources } from "../services/item/ItemSources.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { CallLimits } from "../services/limit/CallLimits.ts"
import { Interventions } from "../services/limit/Interventions.ts"
import { Lockfiles } from "../services/lockfile/Lockfiles.ts"
import { LockfileStore } from "../services/lockfile/LockfileStore.ts"
import { PermissionGate } from "../services/permission/PermissionGate.ts"
import { PermissionRules } from "../services/permission/PermissionRules.ts"
import { Profiles } from "../services/permission/profile/Profiles.ts"
import { RememberedRules } from "../services/permission/RememberedRules.ts"
import { Outputs } from "../services/primitive/Outputs.ts"
import { Primitives } from "../services/primitive/Primitive.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { SchemaValidator } from "../services/schema/SchemaValidator.ts"
import { ItemIndex } from "../services/search/ItemIndex.ts"
import { Settings } from "../services/settings/Settings.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { SignerTrust } from "../services/trust/SignerTrust.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import * as ApprovalNoticesNode from "./approval/ApprovalNoticesNode.ts"
import * as ApprovalStoreFile from "./approval/ApprovalStoreFile.ts"
import * as AuditLogFile from "./audit/AuditLogFile.ts"
import * as CapabilityTokensFile from "./capability/CapabilityTokensFile.ts"
import * as ChainResolverStore from "./chain/ChainResolverStore.ts"
import * as DependenciesFile from "./dependency/DependenciesFile.ts"
import * as EnvResolverNode from "./env/EnvResolverNode.ts"
import * as ExtractorsFile from "./format/ExtractorsFile.ts"
import * as ItemParserBuiltin from "./format/ItemParserBuiltin.ts"
import * as GitTreeProcess from "./git/GitTreeProcess.ts"
import * as ItemCopiesFile from "./integrity/ItemCopiesFile.ts"
import * as ItemHistoryFile from "./integrity/ItemHistoryFile.ts"
import * as SignaturesFile from "./integrity/SignaturesFile.ts"
import * as VerifiedCopiesFile from "./integrity/VerifiedCopiesFile.ts"
import * as VerifierBySource from "./integrity/VerifierBySource.ts"
import * as VerifierEd25519 from "./integrity/VerifierEd25519.ts"
import * as ItemSourcesContent from "./item/ItemSourcesContent.ts"
import * as ItemStoreFile from "./item/ItemStoreFile.ts"
import * as CallLimitsFile from "./limit/CallLimitsFile.ts"
import * as InterventionsFile from "./limit/InterventionsFile.ts"
import * as LockfilesKernel from "./lockfile/LockfilesKernel.ts"
import * as LockfileStoreFile from "./lockfile/LockfileStoreFile.ts"
import * as OwnBuiltins from "./ownBuiltins.ts"
import * as PermissionGateRules from "./permission/PermissionGateRules.ts"
import * as PermissionRulesFile from "./permission/PermissionRulesFile.ts"
import * as ProfilesFile from "./permission/profile/ProfilesFile.ts"
import * as RememberedRulesFile from "./permission/RememberedRulesFile.ts"
import * as OutputsFile from "./primitive/OutputsFile.ts"
import * as PrimitivesTable from "./primitive/PrimitivesTable.ts"
import * as ToolProxyPipeline from "./proxy/ToolProxyPipeline.ts"
import type { Choose } from "./replaceService.ts"
import * as SchemaValidatorByOrigin from "./schema/SchemaValidatorByOrigin.ts"
import * as ItemIndexSqlite from "./search/ItemIndexSqlite.ts"
import * as SettingsFile from "./settings/SettingsFile.ts"
import * as ProjectTrustFile from "./trust/ProjectTrustFile.ts"
import * as SignerTrustFile from "./trust/SignerTrustFile.ts"
import * as WorkspaceNode from "./workspace/WorkspaceNode.ts"

const layerPrimitives = Layer.unwrap(Effect.gen(function*() {
  const settings = yield* Settings
  const { callsConcurrency, httpTimeout, outputInline, outputMax, subprocessTimeout } = yield* settings.current
  return PrimitivesTable.layerWith({
    ...PrimitivesTable.defaults,
    output: { inline: outputInline, spill: outputMax },
    timeout: {
      subprocess: Duration.toMillis(subprocessTimeout),
      http_client: Duration.toMillis(httpTimeout)
    },
    concurrency: { subprocess: callsConcurrency, http_client: callsConcurrency }
  })
}))

const layerOutputs = Layer.unwrap(Effect.gen(function*() {
  const settings = yield* Settings
  const { outputKeep } = yield* settings.current
  return OutputsFile.layer({ keep: outputKeep })
}))

/** Sources of items in addition to the files of the tiers. */
export const composeSources = (choose: Choose) => choose(ItemSources, ItemSourcesContent.layer)

export const composeProject = <E = never>(
  dir: string | undefined,
  choose: Choose,
  sources: Layer.Layer<ItemSources, E> = composeSources(choose)
) =>
  choose(ToolProxy, ToolProxyPipeline.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(
      choose(ApprovalNotices, ApprovalNoticesNode.layer),
      choose(AuditLog, AuditLogFile.layer),
      choose(CallLimits, CallLimitsFile.layer),
      choose(Interventions, InterventionsFile.layer),
      choose(ItemIndex, ItemIndexSqlite.layer),
      choose(Primitives, Layer.provide(layerPrimitives, OwnBuiltins.layer)),
      choose(Signatures, Layer.provide(SignaturesFile.layer, GitTreeProcess.layer))
    )),
    Layer.provideMerge(Layer.mergeAll(
      choose(Outputs, layerOutputs),
      choose(ApprovalStore, ApprovalStoreFile.layer),
      choose(CapabilityTokens, CapabilityTokensFile.layer),
      choose(PermissionGate, PermissionGateRules.layer)
    )),
    Layer.provideMerge(choose(Lockfiles, LockfilesKernel.layer)),
    Layer.provideMerge(Layer.mergeAll(
      choose(ChainResolver, ChainResolverStore.layer),
      choose(Dependencies, DependenciesFile.layer),
      choose(EnvResolver, EnvResolverNode.layer),
      choose(LockfileStore, LockfileStoreFile.layer)
    )),
    Layer.provideMerge(choose(ItemCopies, ItemCopiesFile.layer)),
    Layer.provideMerge(Layer.mergeAll(
      choose(ItemHistory, ItemHistoryFile.layer),
      choose(PermissionRules, PermissionRulesFile.layer),
      choose(Profiles, ProfilesFile.layer),
      choose(RememberedRules, RememberedRulesFile.layer),
      choose(SchemaValidator, SchemaValidatorByOrigin.layer)
    )),
    Layer.provideMerge(VerifierBySource.layerOver(choose(Verifier, VerifierEd25519.layer))),
    Layer.provideMerge(choose(VerifiedCopies, VerifiedCopiesFile.layer)),
    Layer.provideMerge(choose(ItemParser, ItemParserBuiltin.layer)),
    Layer.provideMerge(choose(ItemStore, ItemStoreFile.layer)),
    Layer.provideMerge(sources),
    Layer.provideMerge(choose(Extractors, ExtractorsFile.layer)),
    Layer.provideMerge(choose(Settings, SettingsFile.layer)),
    Layer.provideMerge(choose(SignerTrust, SignerTrustFile.layer)),
    Layer.provideMerge(choose(ProjectTrust, ProjectTrustFile.layer)),
    Layer.provideMerge(choose(Workspace, WorkspaceNode.layer(dir)))
  )

/** The services that a surface may use of one project. */
export type ProjectServices = Layer.Success<ReturnType<typeof composeProject>>
