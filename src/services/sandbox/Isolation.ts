// The levels of isolation between a program and its machine, and the refusal if a kernel does not have one.
import { Schema } from "effect"

/**
 * `trusted`: none. `standard`: a process group of its own, and limits. `sandboxed`: reads the project, writes only what
 * was granted, reaches only granted hosts. `restricted`: sandboxed, without a network.
 */
export const Isolation = Schema.Literals(["trusted", "standard", "sandboxed", "restricted"])
export type Isolation = typeof Isolation.Type

/** The program needs a level of isolation that this kernel does not have. Nothing was started. */
export class SandboxUnavailable extends Schema.TaggedError<SandboxUnavailable>()("SandboxUnavailable", {
  tool: Schema.String,
  level: Isolation,
  /** The config field that a call parameter decides, if that is the reason. */
  field: Schema.optionalKey(Schema.String),
  /** The level at which a person may let it run. */
  lowered: Schema.optionalKey(Isolation)
}) {
  override get message() {
    return this.field === undefined
      ? `${this.tool} has to run at the level ${this.level}, and this kernel has no engine for it`
      : `${this.tool} lets its caller choose what runs (${this.field} in its config), and that needs a sandbox, which this kernel does not have`
  }
  get remediation() {
    // A tool of Kiwi's own lets its caller choose by design: there is no config to correct.
    return this.field === undefined && this.lowered !== undefined
      ? `A person can let it run without a sandbox: isolation.tools: {${this.tool}: ${this.lowered}} in config/kiwi.yaml of their user space (~/.ai)`
      : this.field === undefined
      ? `Give this kernel an engine for ${this.level}, in its service ChildProcesses`
      : `Name the program, its code or the server in CONFIG, let parameters be data for it, and sign it again: kiwi sign tool ${this.tool}`
  }
  get refusal() {
    return "denied" as const
  }
}
