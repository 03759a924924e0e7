// EnvResolver on this machine. Reads the process's environment from the current ConfigProvider, like Kiwi's other
// settings.
import { Effect, Layer, Option } from "effect"
import { platform } from "node:os"
import * as Path from "node:path"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import { checkoutAround, projectsAround, thisNode, thisVersion } from "../process/ownPrograms.ts"
import { variable } from "../process/variable.ts"
import * as HostFiles from "./HostFiles.ts"
import * as makeEnvResolver from "./makeEnvResolver.ts"
import { platformOf } from "./virtualEnvironments.ts"

export const make = Effect.gen(function*() {
  const os = platform()
  const home = Option.getOrUndefined(yield* variable("HOME"))
  return yield* makeEnvResolver.make({
    files: HostFiles.node,
    path: os === "win32" ? Path.win32 : Path.posix,
    platform: platformOf(os),
    projectsAround: (project) => projectsAround(project, home),
    checkoutAround,
    ownNode: { path: thisNode.file, version: thisVersion }
  })
})

export const layer = Layer.effect(EnvResolver, make)
