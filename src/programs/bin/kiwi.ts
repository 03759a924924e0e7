/** The `kiwi` program. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { version } from "../version.ts"

Command.make("kiwi").pipe(
  Command.withDescription("Finds, proves, permits, runs and records tools for AI agents"),
  Command.run({ version }),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
