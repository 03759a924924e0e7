// The command line with its Node services. kiwi.ts loads this module only if there is a command to parse.
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { runKiwi } from "../cli/kiwi.ts"
import * as TerminalDevice from "../cli/TerminalDevice.ts"

// Help, completions and wrong usage need no kernel, and do not load it.
const kernel = Layer.unwrap(
  Effect.map(Effect.promise(() => import("../../layers/Kernel.ts")), (Kernel) => Kernel.layerProjects())
)

export const run = (args: ReadonlyArray<string>) =>
  runKiwi(args, kernel).pipe(Effect.provide(Layer.merge(NodeServices.layer, TerminalDevice.layer)))
