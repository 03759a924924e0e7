// How a primitive fails: the tool itself, its request or its process, and what its config or its parameters prevent.
import { Schema } from "effect"
import type { FailedAt, KiwiError, ValidationIssue } from "../error/KiwiError.ts"
import { Underlying } from "../error/KiwiError.ts"
import type { SandboxUnavailable } from "../sandbox/Isolation.ts"

/** The tool ran and reported a failure. */
export class ToolFailed extends Schema.TaggedError<ToolFailed>()("ToolFailed", {
  tool: Schema.String,
  /** "exit code 2", "signal SIGKILL", "HTTP 404". */
  how: Schema.String,
  /** The end of its output, at most 4 KiB. */
  output: Schema.String,
  /** Set if an HTTP status asks to retry later. */
  transient: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    return `${this.tool} failed with ${this.how}${this.output === "" ? "" : `:\n${this.output}`}`
  }
  get remediation() {
    const python = /^ModuleNotFoundError: No module named '(\w+)/m.exec(this.output)?.[1]
    return this.transient === true
      ? "Try again later"
      : python !== undefined
      ? `Declare the package that has ${python} in the tool: DEPENDENCIES = ["${python}"], or the name by which it is installed`
      : "Read what the tool said, and correct its parameters or its code"
  }
  get retryable() {
    return this.transient === true
  }
}

/** The tool exceeded its timeout. Its effects until then remain, so a retry is not reported as safe. */
export class ToolTimeout extends Schema.TaggedError<ToolTimeout>()("ToolTimeout", {
  tool: Schema.String,
  /** Milliseconds. */
  after: Schema.Int,
  output: Schema.String
}) {
  override get message() {
    return `${this.tool} was stopped after ${this.after / 1000} s, with everything that it had started`
  }
  get remediation() {
    return "Let it do less, or raise timeout in the tool's CONFIG and sign it again"
  }
}

/** The tool succeeded, but its output is not in the declared format. */
export class ToolOutputInvalid extends Schema.TaggedError<ToolOutputInvalid>()("ToolOutputInvalid", {
  tool: Schema.String,
  issue: Schema.String,
  output: Schema.String
}) {
  override get message() {
    return `${this.tool} declares JSON output, but ${this.issue}`
  }
  get remediation() {
    return "Print exactly one JSON value on stdout and everything else on stderr, or declare output: text"
  }
}

/** The tool's program could not be started, so none of it ran. */
export class ToolUnstartable extends Schema.TaggedError<ToolUnstartable>()("ToolUnstartable", {
  tool: Schema.String,
  command: Schema.String,
  issue: Schema.String,
  /** The config field that prevents it. */
  field: Schema.Literals(["command", "cwd"]),
  /** Set if the machine is out of processes, files or memory for the moment. */
  transient: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    return `${this.tool} could not be started: ${this.command}: ${this.issue}`
  }
  get remediation() {
    return this.transient === true
      ? "Try again when less is running on this machine"
      : this.field === "cwd"
      ? "Make the folder, or correct cwd in CONFIG and sign it again"
      : `Check the command; \`kiwi explain ${this.tool}\` shows how it was found`
  }
  get retryable() {
    return this.transient === true
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return [{ field: this.field, error: this.issue, value: this.command }]
  }
}

/** Parameters that cannot be passed: two names for one option, a name that cannot be an option, a NUL. */
export class ParametersUnpassable extends Schema.TaggedError<ParametersUnpassable>()("ParametersUnpassable", {
  tool: Schema.String,
  issues: Schema.Array(
    Schema.Struct({ field: Schema.String, error: Schema.String, remedy: Schema.optionalKey(Schema.String) })
  )
}) {
  override get message() {
    return `The parameters of ${this.tool} cannot be passed: ${
      this.issues.map((i) => `${i.field}: ${i.error}`).join("; ")
    }`
  }
  get remediation() {
    return this.issues.find(({ remedy }) => remedy !== undefined)?.remedy ??
      "Rename or shorten the parameter, or let the tool read its input from stdin (CONFIG input: stdin)"
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return this.issues.map(({ error, field }) => ({ field, error }))
  }
}

/** The response has no value at the tool's `response_path`. */
export class ResponsePathMissing extends Schema.TaggedError<ResponsePathMissing>()("ResponsePathMissing", {
  tool: Schema.String,
  /** As written in the config. */
  path: Schema.String,
  /** The longest part of the path that exists; "" is the whole response. */
  at: Schema.String,
  /** What the response has there: "an object with id, name". */
  found: Schema.String
}) {
  override get message() {
    const place = this.at === "" ? "the answer" : `${this.at} in the answer`
    return `${this.tool}: the answer has no ${this.path}: ${place} is ${this.found}`
  }
  get remediation() {
    return "Correct response_path in CONFIG and sign it again, or leave it out to see the whole answer"
  }
  get field() {
    return "response_path"
  }
}

/** A file that the request should send cannot be read, or may not be sent by a tool. */
export class UploadRefused extends Schema.TaggedError<UploadRefused>()("UploadRefused", {
  tool: Schema.String,
  /** Place in the config: "multipart/0/path". */
  field: Schema.String,
  path: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return `${this.tool} cannot send ${this.path}: ${this.issue}`
  }
  get remediation() {
    return "Name a file of the project that is not a link, a key or a .env file, relative to the project's folder"
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return [{ field: this.field, error: this.issue }]
  }
}

/** The network or the server failed, after all attempts that the tool allows. */
export class RequestFailed extends Schema.TaggedError<RequestFailed>()("RequestFailed", {
  tool: Schema.String,
  /** Scheme, host and port; never the path or query. */
  target: Schema.String,
  issue: Schema.String,
  attempts: Schema.Int,
  transient: Schema.Boolean
}) {
  override get message() {
    return `${this.tool}: the request to ${this.target} failed after ${this.attempts} attempt(s): ${this.issue}`
  }
  get remediation() {
    return this.transient ? "Try again later" : "Check the tool's url and your network"
  }
  get retryable() {
    return this.transient
  }
  get field() {
    return "url"
  }
}

/** The outbound rules refuse the address: its scheme, its target, Kiwi's own port. */
export class RequestRefused extends Schema.TaggedError<RequestRefused>()("RequestRefused", {
  tool: Schema.String,
  target: Schema.String,
  issue: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `${this.tool} may not connect to ${this.target}: ${this.issue}`
  }
  get remediation() {
    return this.hint
  }
  get refusal() {
    return "denied" as const
  }
  get field() {
    return "url"
  }
}

/**
 * A builtin (a handler inside Kiwi, or of the embedding program) failed, or did not answer JSON. If it failed with its
 * own error, that is the `cause`, whose code, message and remedy apply.
 */
export class BuiltinFailed extends Schema.TaggedError<BuiltinFailed>()("BuiltinFailed", {
  tool: Schema.String,
  issue: Schema.String,
  hint: Schema.String,
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    return this.cause === undefined ? `${this.tool}: ${this.issue}` : this.issue
  }
  get remediation() {
    return this.hint
  }
  get retryable(): boolean {
    return this.cause?.retryable ?? false
  }
  get reason(): KiwiError | undefined {
    return this.cause
  }
  get chain(): ReadonlyArray<string> | undefined {
    return this.cause?.chain
  }
  get failedAt(): FailedAt | undefined {
    return this.cause?.failedAt
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> | undefined {
    return this.cause?.validationIssues
  }
}

/** A tool's stream failed. The pieces before the failure were reported, and `output` has their beginning. */
export class StreamFailed extends Schema.TaggedError<StreamFailed>()("StreamFailed", {
  tool: Schema.String,
  issue: Schema.String,
  hint: Schema.String,
  /** The beginning of the stream, at most 4 KiB. */
  output: Schema.String,
  /** `kiwi://output/<id>` of everything before the failure, if that is more than `output`. */
  kept: Schema.optionalKey(Schema.String),
  cause: Schema.optionalKey(Underlying)
}) {
  override get message() {
    const before = this.output === "" ? "" : `, after:\n${this.output}`
    return `The answer of ${this.tool} broke off: ${this.issue}${before}${
      this.kept === undefined ? "" : `\n[… all of it in ${this.kept}]`
    }`
  }
  get remediation() {
    return this.hint
  }
  get retryable(): boolean {
    return this.cause?.retryable ?? false
  }
}

/** The chain ends at a primitive that this kernel does not have. */
export class PrimitiveUnknown extends Schema.TaggedError<PrimitiveUnknown>()("PrimitiveUnknown", {
  primitive: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    return `"${this.primitive}" is not a primitive of this kernel`
  }
  get remediation() {
    return `Let the chain end at one of:  ${this.known.join(", ")}`
  }
  get link() {
    return this.primitive
  }
}

/**
 * The templated config has a value that a schema cannot check: a folder outside the project, a header with a newline.
 */
export class PrimitiveConfigInvalid extends Schema.TaggedError<PrimitiveConfigInvalid>()("PrimitiveConfigInvalid", {
  tool: Schema.String,
  issues: Schema.Array(Schema.Struct({ field: Schema.String, error: Schema.String }))
}) {
  override get message() {
    return `The config of ${this.tool} cannot be used: ${this.issues.map((i) => `${i.field}: ${i.error}`).join("; ")}`
  }
  get remediation() {
    return "Correct CONFIG in the tool and sign it again; docs/tools.md lists the keys of each primitive"
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return this.issues
  }
  get field() {
    return this.issues[0]?.field ?? ""
  }
}

export type PrimitiveError =
  | ToolFailed
  | ToolTimeout
  | ToolOutputInvalid
  | ToolUnstartable
  | ParametersUnpassable
  | ResponsePathMissing
  | UploadRefused
  | RequestFailed
  | RequestRefused
  | BuiltinFailed
  | StreamFailed
  | PrimitiveConfigInvalid
  | PrimitiveUnknown
  | SandboxUnavailable
