// EnvResolver on this machine. The process's environment is the one of the current ConfigProvider, as it is for the
// rest of Kiwi's settings.
import { Effect, Layer } from "effect"
import { platform } from "node:os"
import * as Path from "node:path"
import { EnvResolver } from "../../services/env/EnvResolver.ts"
import * as HostFiles from "./HostFiles.ts"
import * as makeEnvResolver from "./makeEnvResolver.ts"

export const make = Effect.gen(function*() {
  const windows = platform() === "win32"
  return yield* makeEnvResolver.make({ files: HostFiles.node, path: windows ? Path.win32 : Path.posix, windows })
})

export const layer = Layer.effect(EnvResolver, make)
