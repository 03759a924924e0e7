// The protocol revisions that Kiwi speaks.
import * as McpProtocol from "effect/ai/McpProtocol"

/** Newest first: the first sessionful one answers a client that asks for a revision nobody has heard of. */
export const httpProtocols = [
  McpProtocol.v2026_07_28,
  McpProtocol.v2025_11_25,
  McpProtocol.v2025_06_18,
  McpProtocol.v2025_03_26
] as const

/** 2024-11-05 on stdio only: its HTTP transport is another one. */
export const stdioProtocols = [...httpProtocols, McpProtocol.v2024_11_05] as const
