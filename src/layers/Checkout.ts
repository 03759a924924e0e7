// A project's files as they are, for inspection and never for running: items, chains and locks follow the same rules as
// in a kernel, with signers that the caller names. No person's decision is needed or read. The control files apply as
// they are, since they define what the items are.
import { Effect, Layer, Option } from "effect"
import { join } from "node:path"
import { SafeFiles } from "../services/files/SafeFiles.ts"
import { Identity } from "../services/identity/Identity.ts"
import type { Signer } from "../services/trust/SignerTrust.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import * as ChainResolverStore from "./chain/ChainResolverStore.ts"
import * as ExtractorsFile from "./format/ExtractorsFile.ts"
import * as ItemParserBuiltin from "./format/ItemParserBuiltin.ts"
import * as VerifierEd25519 from "./integrity/VerifierEd25519.ts"
import * as ItemStoreFile from "./item/ItemStoreFile.ts"
import * as LockfileStoreFile from "./lockfile/LockfileStoreFile.ts"
import { findControlFiles } from "./trust/projectFolder.ts"
import * as ProjectTrustMemory from "./trust/ProjectTrustMemory.ts"
import { proposalPath } from "./trust/signers.ts"
import * as SignerTrustMemory from "./trust/SignerTrustMemory.ts"
import * as ProcessLockMemory from "./workspace/ProcessLockMemory.ts"

export interface CheckoutOptions {
  /** The project's real path. */
  readonly root: string
  /** The only signers that count. Default: you, and those that the checkout proposes. */
  readonly signers: ReadonlyArray<Signer> | undefined
}

const layerWorkspace = (root: string) =>
  Layer.effect(
    Workspace,
    Effect.map(KiwiHome, ({ home }) =>
      Workspace.of({
        project: Option.some({ id: "checkout", root, ai: join(root, ".ai"), state: join(home, "projects/checkout") }),
        state: join(home, "projects/checkout"),
        cwd: root
      }))
  )

const layerTrust = ({ root, signers }: CheckoutOptions) =>
  Layer.unwrap(Effect.gen(function*() {
    const found = yield* findControlFiles(yield* SafeFiles, root)
    const texts = found.flatMap((file): ReadonlyArray<readonly [string, Uint8Array]> =>
      file._tag === "Read" ? [[file.path, file.bytes]] : []
    )
    const counts = texts.filter(([path]) => signers === undefined || path !== proposalPath)
    return ProjectTrustMemory.layerWith({ files: new Map(counts) })
  }))

/** If signers are given, your own key does not count by itself. */
const layerIdentity = (signers: CheckoutOptions["signers"]) =>
  Layer.effect(
    Identity,
    Effect.map(Identity, (identity) =>
      signers === undefined ? identity : Identity.of({ ...identity, current: Effect.undefined }))
  )

export const layer = (options: CheckoutOptions) =>
  Layer.mergeAll(ChainResolverStore.layer, LockfileStoreFile.layer, VerifierEd25519.layer).pipe(
    Layer.provideMerge(ItemParserBuiltin.layerNoProcess),
    Layer.provideMerge(ItemStoreFile.layer),
    Layer.provideMerge(ExtractorsFile.layer),
    Layer.provideMerge(SignerTrustMemory.layerWith(options.signers ?? [])),
    Layer.provideMerge(Layer.merge(layerTrust(options), layerIdentity(options.signers))),
    Layer.provideMerge(Layer.merge(ProcessLockMemory.layer, layerWorkspace(options.root)))
  )
