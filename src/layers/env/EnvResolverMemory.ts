// EnvResolver over a disk and an environment in memory. By default every program is installed in /usr/bin and only PATH
// is set, so that a test sees only what it declares.
import { ConfigProvider, Effect, Layer } from "effect"
import * as Path from "node:path"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import type { HostFiles } from "./HostFiles.ts"
import * as makeEnvResolver from "./makeEnvResolver.ts"
import type { NodeProgram } from "./typescriptNode.ts"
import type { Platform } from "./virtualEnvironments.ts"

export interface MemoryHost {
  /** The process's environment. Default: PATH=/usr/bin. */
  readonly variables?: Readonly<Record<string, string>>
  /** Absolute paths of executable files. Default: anything in /usr/bin. */
  readonly programs?: ReadonlyArray<string>
  /** Text files by absolute path. */
  readonly files?: Readonly<Record<string, string>>
  /** Symbolic links: path to real path. */
  readonly links?: Readonly<Record<string, string>>
  /** The checkout that contains the project. Default: the project. */
  readonly checkout?: string
  /** The Node that runs Kiwi. Default: none. */
  readonly ownNode?: NodeProgram
  /** Default: linux. */
  readonly platform?: Platform
}

export const memoryFiles = (host: MemoryHost): HostFiles => {
  const path = host.platform === "windows" ? Path.win32 : Path.posix
  const files = new Map(Object.entries(host.files ?? {}))
  const links = new Map(Object.entries(host.links ?? {}))
  const programs = host.programs === undefined ? undefined : new Set(host.programs)
  const realPath = (file: string): string => {
    for (const [link, target] of links) {
      if (file === link || file.startsWith(link + path.sep)) return realPath(target + file.slice(link.length))
    }
    return file
  }
  const executable = (file: string) => {
    const real = realPath(file)
    const runs = programs === undefined ? path.dirname(real) === "/usr/bin" : programs.has(real)
    return runs ? real : undefined
  }
  return {
    executable,
    realPath,
    readLink: (file) => links.get(file),
    isFile: (file) => files.has(realPath(file)),
    openUserControl: () => undefined,
    readText: (file) => files.get(realPath(file)),
    list: (folder) => {
      const below = `${realPath(folder)}${path.sep}`
      const names = [...files.keys(), ...(programs ?? []), ...links.keys()]
        .filter((file) => file.startsWith(below))
        .map((file) => file.slice(below.length).split(path.sep, 1)[0] ?? "")
      return [...new Set(names)]
    }
  }
}

export const make = (host: MemoryHost = {}) =>
  makeEnvResolver.make({
    files: memoryFiles(host),
    path: host.platform === "windows" ? Path.win32 : Path.posix,
    platform: host.platform ?? "linux",
    projectsAround: (project) => project === undefined ? [] : [project],
    checkoutAround: (project) => host.checkout ?? project,
    ownNode: host.ownNode ?? { path: "", version: "" }
  }).pipe(
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnvRecord(host.variables ?? { PATH: "/usr/bin" })
    )
  )

export const layerWith = (host: MemoryHost) => Layer.effect(EnvResolver, make(host))

export const layer = layerWith({})
