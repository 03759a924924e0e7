// The kernel's graph. `layerProcess` is shared by all projects of a process; `layerProject` is one project on top of
// it. Every layer with options is created here, once, so that nothing is opened twice. Every service is named with its
// layer, so that a program can replace it.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { Clients } from "../services/call/Clients.ts"
import { SafeFiles } from "../services/files/SafeFiles.ts"
import { Identity } from "../services/identity/Identity.ts"
import { Keychain } from "../services/identity/Keychain.ts"
import { SecretStore } from "../services/identity/SecretStore.ts"
import type { SystemItemRefused } from "../services/item/ItemErrors.ts"
import { ItemSources } from "../services/item/ItemSources.ts"
import { Outbound } from "../services/outbound/Outbound.ts"
import type { BuiltinHandler } from "../services/primitive/Builtins.ts"
import { Builtins } from "../services/primitive/Builtins.ts"
import { ChildProcesses } from "../services/process/ChildProcesses.ts"
import type { HomeRefused } from "../services/workspace/KiwiHome.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../services/workspace/ProcessLock.ts"
import type { ProjectNotFound } from "../services/workspace/Workspace.ts"
import * as ApprovalStoreFile from "./approval/ApprovalStoreFile.ts"
import * as ClientsFile from "./call/ClientsFile.ts"
import * as SafeFilesNode from "./files/SafeFilesNode.ts"
import * as IdentityKeyring from "./identity/IdentityKeyring.ts"
import * as KeychainOs from "./identity/KeychainOs.ts"
import * as SecretStoreKeychain from "./identity/SecretStoreKeychain.ts"
import type { SystemItems } from "./item/system/systemItems.ts"
import * as SystemItemsSource from "./item/system/systemItems.ts"
import * as systemSpace from "./item/system/systemSpace.ts"
import type { KernelOptionInvalid } from "./kernelOptions.ts"
import { checked, onDisk } from "./kernelOptions.ts"
import * as OutboundOnDemand from "./outbound/OutboundOnDemand.ts"
import * as OwnBuiltins from "./ownBuiltins.ts"
import * as BuiltinRegistry from "./primitive/BuiltinRegistry.ts"
import * as ChildProcessesNode from "./process/ChildProcessesNode.ts"
import { composeProject, composeSources } from "./projectGraph.ts"
import * as Projects from "./Projects.ts"
import type { Choose } from "./replaceService.ts"
import { chooseOwn, replaceServices } from "./replaceService.ts"
import { withOwnLayers } from "./withOwnLayers.ts"
import * as KiwiHomeNode from "./workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "./workspace/ProcessLockSqlite.ts"
import * as WorkspaceNode from "./workspace/WorkspaceNode.ts"

/** The services that a program may replace: all of a kernel. */
export type KernelServices = Exclude<Layer.Success<ReturnType<typeof compose>>, NodeServices.NodeServices>

export interface KernelOptions<Replaced extends KernelServices = never, E = never> {
  /** The project's folder. Without one there are only the user and system tiers. */
  readonly project?: string | undefined
  /** `$KIWI_HOME`. Default: that variable, else `~/.kiwi`. */
  readonly home?: string | undefined
  /** The user tier. Default: `$USER_SPACE`, else `~/.ai`. */
  readonly userSpace?: string | undefined
  /** System items of your program, by path: `{ "tools/acme/greet.yaml": text }`. They are trusted like Kiwi's own. */
  readonly items?: SystemItems | undefined
  /** Handlers of the `builtin` primitive, in addition to Kiwi's own, by the `handler` in a system item's config. */
  readonly builtins?: ReadonlyMap<string, BuiltinHandler> | undefined
  /** Layers of services that replace the kernel's own, everywhere in the kernel. */
  readonly replace?: Layer.Layer<Replaced, E> | undefined
}

type ProcessOptions<Replaced extends KernelServices = never, E = never> = Omit<
  KernelOptions<Replaced, E>,
  "project" | "items"
>

/** The services below a home folder that is known already. */
const composeInHome = <E>(choose: Choose, builtins: Layer.Layer<Builtins, E>) =>
  Layer.mergeAll(
    choose(Clients, ClientsFile.layer),
    choose(Identity, IdentityKeyring.layer),
    choose(SecretStore, SecretStoreKeychain.layer),
    choose(Outbound, OutboundOnDemand.layer),
    builtins
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(
      choose(Keychain, KeychainOs.layer),
      choose(ProcessLock, ProcessLockSqlite.layer),
      systemSpace.layer
    )),
    Layer.provideMerge(Layer.merge(
      choose(ChildProcesses, ChildProcessesNode.layer),
      choose(SafeFiles, SafeFilesNode.layer)
    )),
    Layer.provideMerge(NodeServices.layer)
  )

const composeProcess = (options: ProcessOptions, choose: Choose) =>
  composeInHome(
    choose,
    OwnBuiltins.checked(choose(Builtins, BuiltinRegistry.layerWith(options.builtins ?? new Map())))
  ).pipe(Layer.provideMerge(choose(
    KiwiHome,
    options.home === undefined && options.userSpace === undefined
      ? KiwiHomeNode.layer
      : KiwiHomeNode.layerWith({ home: options.home, userSpace: options.userSpace })
  )))

type ProcessServices = Layer.Success<ReturnType<typeof composeProcess>>

const compose = <E>(
  { project, ...options }: KernelOptions,
  choose: Choose,
  sources: Layer.Layer<ItemSources, E>
) => composeProject(project, choose, sources).pipe(Layer.provideMerge(composeProcess(options, choose)))

/** What the projects of a process share: folders, locks, your identity, network access. */
export const layerProcess = (options: Omit<ProcessOptions, "replace"> = {}) =>
  checked(options, () => composeProcess(options, chooseOwn))

/** One project, or none, on top of `layerProcess`. */
export const layerProject = (dir: string | undefined) => composeProject(dir, chooseOwn)

type Composed<E> = Layer.Layer<
  KernelServices | NodeServices.NodeServices,
  ProjectNotFound | HomeRefused | KernelOptionInvalid | E
>

/** A whole kernel for one project, for programs that embed Kiwi. */
export function layer<Replaced extends KernelServices = never, E = never>(
  options: KernelOptions<Replaced, E> & { readonly items: SystemItems }
): Composed<SystemItemRefused | E>
export function layer<Replaced extends KernelServices = never, E = never>(
  options?: KernelOptions<Replaced, E>
): Composed<E>
export function layer<Replaced extends KernelServices = never, E = never>(
  given: KernelOptions<Replaced, E> = {}
): Composed<SystemItemRefused | E> {
  return checked(given, () => {
    const { items, replace, ...options } = given
    return withOwnLayers(replaceServices(replace, (choose): Composed<SystemItemRefused> => {
      const sources = composeSources(choose)
      return compose(options, choose, items === undefined ? sources : SystemItemsSource.layerOver(items, sources))
    }))
  }, onDisk)
}

const composeProjects = <E, R>(choose: Choose, shared: Layer.Layer<ProcessServices, E, R>) =>
  Layer.unwrap(Effect.zipWith(KiwiHome, ApprovalStoreFile.makeProjectOf, (home, projectOf) =>
    Projects.layerWith(
      (key) => composeProject(key === "" ? undefined : key, choose),
      (key) => WorkspaceNode.isKnown(key, home),
      projectOf
    ))).pipe(Layer.provideMerge(shared))

/** Kernels of many projects in one process, for the surfaces. All of them have the same replaced services. */
export const layerProjects = <Replaced extends KernelServices = never, E = never>(
  given: ProcessOptions<Replaced, E> = {}
) =>
  checked(given, () => {
    const { replace, ...options } = given
    return withOwnLayers(replaceServices(
      replace,
      (choose) => composeProjects(choose, composeProcess(options, choose))
    ))
  })

/** The same below a home folder that is known already, so it cannot fail. */
export const layerProjectsInHome = withOwnLayers(
  composeProjects(chooseOwn, composeInHome(chooseOwn, BuiltinRegistry.layer))
)
