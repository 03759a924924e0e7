// A real kernel in this process, for rows that measure without a protocol in between.
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import type { KernelOptions } from "../../src/layers/Kernel.ts"
import * as Kernel from "../../src/layers/Kernel.ts"
import type { Caller } from "../../src/services/call/Caller.ts"
import type { ToolCall } from "../../src/services/proxy/ToolCall.ts"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"

export const caller: Caller = { surface: "embed", client: "bench", session: "bench" }

export const toolCall = (item: string, callId = "bench"): ToolCall => ({
  callId,
  caller,
  item,
  parameters: {},
  dryRun: false
})

/** Its log goes to stderr: stdout is the report's. */
export const openKernel = (options: KernelOptions) =>
  ManagedRuntime.make(Layer.provideMerge(Kernel.layer(options), Layer.succeed(Logger.LogToStderr, true)))
export type OpenKernel = ReturnType<typeof openKernel>

export const callTool = (item: string) => Effect.flatMap(ToolProxy, (proxy) => proxy.call(toolCall(item)))
