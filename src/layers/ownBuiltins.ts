// Kiwi's own builtins, combined with those of a program. Names are checked when a process is opened, since opening a
// project can no longer fail.
import { Effect, Layer } from "effect"
import { Builtins } from "../services/primitive/Builtins.ts"
import * as CallBuiltins from "./call/callBuiltins.ts"
import * as FilesystemBuiltins from "./filesystem/filesystemBuiltins.ts"
import * as GitBuiltins from "./git/gitBuiltins.ts"
import { KernelOptionInvalid } from "./kernelOptions.ts"
import * as LockfileBuiltins from "./lockfile/lockfileBuiltins.ts"
import * as HttpFetch from "./primitive/builtin/httpFetch.ts"
import * as Noop from "./primitive/builtin/noop.ts"
import * as OutputRead from "./primitive/builtin/outputRead.ts"
import * as BuiltinRegistry from "./primitive/BuiltinRegistry.ts"
import * as ShellBuiltin from "./process/shellBuiltin.ts"

/** One line for each domain with builtins. */
const domains = [
  CallBuiltins.handlers,
  FilesystemBuiltins.handlers,
  GitBuiltins.handlers,
  HttpFetch.handlers,
  LockfileBuiltins.handlers,
  Noop.handlers,
  OutputRead.handlers,
  ShellBuiltin.handlers
] as const

const names = domains.flatMap((own) => Object.keys(own))

/** `program`, unless a name is duplicated. */
export const checked = <E, R>(program: Layer.Layer<Builtins, E, R>) =>
  Layer.effect(
    Builtins,
    Effect.tap(Builtins, ({ handlers }) => {
      const twice = [...handlers.keys(), ...names].find((name, index, all) => all.indexOf(name) !== index)
      return twice === undefined ? Effect.void : Effect.fail(
        new KernelOptionInvalid({
          option: "builtins",
          needed: `a Map of handlers under names of their own: there is already a builtin "${twice}"`
        })
      )
    })
  ).pipe(Layer.provide(program))

/** A project's builtins: Kiwi's own, and the `checked` ones. */
export const layer = Layer.orDie(BuiltinRegistry.register(...domains))
