// The protocol revisions that Kiwi speaks.
import * as McpProtocol from "effect/ai/McpProtocol"

/** Newest first: a client that asks for an unknown revision gets the first one that has sessions. */
export const httpProtocols = [
  McpProtocol.v2026_07_28,
  McpProtocol.v2025_11_25,
  McpProtocol.v2025_06_18,
  McpProtocol.v2025_03_26
] as const

/** 2024-11-05 on stdio only: it has a different HTTP transport. */
export const stdioProtocols = [...httpProtocols, McpProtocol.v2024_11_05] as const
