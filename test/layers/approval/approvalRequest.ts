// A request of an agent, and the act of a person who answers it.
import type { ApprovalRequest } from "../../../src/services/approval/ApprovalStore.ts"
import type { Caller } from "../../../src/services/call/Caller.ts"
import type { Ask } from "../../../src/services/permission/PermissionGate.ts"
import type { HumanAct, HumanRequest } from "../../../src/services/trust/HumanAct.ts"

export const start = Date.parse("2026-11-22T10:00:00.000Z")

export const agent: Caller = { surface: "mcp", client: "ada", label: "Agent 1.0", session: "s1" }

export const writes = (path: string, offer: string | undefined = "allow: fs.write(src/**)"): Ask => ({
  access: { _tag: "Path", capability: "fs.write", path },
  rule: "default: changes ask",
  reason: "changes files of this project",
  ...(offer === undefined ? {} : { offer })
})

export const request = (more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  callId: "c1",
  caller: agent,
  what: "run tool edit",
  asks: [writes("src/a.ts")],
  details: "Tool: project:tools/edit.py",
  digest: "d".repeat(64),
  ...more
})

/** What a person's surface makes of a question. */
export const agreeTo = ({ digest, kind }: HumanRequest, choice: string): HumanAct => ({
  kind,
  digest,
  choice,
  by: "terminal",
  seen: "answered at /dev/pts/3"
})
