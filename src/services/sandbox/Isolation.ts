// How far a program is kept apart from the machine that it runs on, and the refusal where a kernel cannot do that.
import { Schema } from "effect"

/**
 * `trusted`: not at all. `standard`: a process group of its own, and limits. `sandboxed`: reads the project, writes what
 * was granted, and reaches granted hosts only. `restricted`: sandboxed, without a network.
 */
export const Isolation = Schema.Literals(["trusted", "standard", "sandboxed", "restricted"])
export type Isolation = typeof Isolation.Type

/** What runs needs a level of isolation that this kernel does not have. Nothing was started. */
export class SandboxUnavailable extends Schema.TaggedError<SandboxUnavailable>()("SandboxUnavailable", {
  tool: Schema.String,
  level: Isolation,
  /** Field of the config that a call parameter decides, where that is why. */
  field: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return this.field === undefined
      ? `${this.tool} has to run at the level ${this.level}, and this kernel has no engine for it`
      : `${this.tool} lets its caller choose what runs (${this.field} in its config), and that needs a sandbox, which this kernel does not have`
  }
  get remediation() {
    return this.field === undefined
      ? `Give this kernel an engine for ${this.level}, in its service ChildProcesses`
      : `Name the program, its code or the server in CONFIG, let parameters be data for it, and sign it again: kiwi sign tool ${this.tool}`
  }
  get refusal() {
    return "denied" as const
  }
}
