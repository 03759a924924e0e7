// Calls through the proxy of a kernel in memory, whose tools are data and whose programs are functions.
import { Effect } from "effect"
import type { Schema } from "effect"
import * as KernelMemory from "../../../src/layers/KernelMemory.ts"
import type { Program } from "../../../src/layers/process/ChildProcessesMemory.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import type { Caller } from "../../../src/services/call/Caller.ts"
import type { ToolCall } from "../../../src/services/proxy/ToolCall.ts"
import { ToolChainError, ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"
import type { ToolCallError } from "../../../src/services/proxy/ToolProxy.ts"

export const caller: Caller = { surface: "embed", client: "tester", session: "one" }

export const call = (item: string, parameters: Schema.JsonObject = {}, rest: Partial<ToolCall> = {}) =>
  Effect.flatMap(ToolProxy, (proxy) => proxy.call({ callId: "call", caller, item, parameters, dryRun: false, ...rest }))

export const trace = (item: string) => Effect.flatMap(ToolProxy, (proxy) => proxy.trace(caller, { item }))

/** What the audit has about calls and acts: not the marks that the log sets for itself. */
export const entries = Effect.map(
  Effect.flatMap(AuditLog, (audit) => audit.read()),
  (all) => all.filter((entry) => entry.kind !== "opened" && entry.kind !== "sealed")
)

/** The reason inside a ToolChainError. */
export const reasonOf = (error: ToolCallError) => {
  if (!(error instanceof ToolChainError)) throw new Error(`${error._tag} is no ToolChainError: ${error.message}`)
  return error.reason
}

/** A tool as a file: YAML takes JSON. */
export const tool = (fields: Schema.JsonObject): string =>
  JSON.stringify({ version: "1.0.0", tool_type: "script", executor_id: "subprocess", ...fields })

export const object = (properties: Schema.JsonObject, ...required: ReadonlyArray<string>): Schema.JsonObject => ({
  type: "object",
  properties,
  required
})

/** Answers with its arguments. */
export const argvProgram: Program = ({ argv }) => Effect.succeed({ stdout: JSON.stringify(argv.slice(1)) })

export const echo = tool({
  input_schema: object({ text: { type: "string" } }, "text"),
  config: { command: "argv", args: ["--", "{text}"], output: "json" }
})

export const kernel = ({ programs = {}, ...options }:
  & Omit<KernelMemory.KernelMemoryOptions, "programs">
  & { readonly programs?: Readonly<Record<string, Program>> } = {}) =>
  KernelMemory.layer({
    ...options,
    programs: new Map(Object.entries({ argv: argvProgram, "/usr/bin/python3": argvProgram, ...programs }))
  })
