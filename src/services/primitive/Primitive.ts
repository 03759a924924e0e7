// Primitives: the only code with effects. A chain's last link names one by its id.
import { Context, type Effect, type Redacted, Schema, type Stream } from "effect"
import type { Caller } from "../call/Caller.ts"
import type { Access, Standing } from "../capability/Access.ts"
import type { EnvVariable } from "../env/EnvResolver.ts"
import type { FailedAt, KiwiError, ValidationIssue } from "../error/KiwiError.ts"
import { Underlying } from "../error/KiwiError.ts"
import type { Connection } from "../process/ChildProcesses.ts"
import type { Isolation, SandboxUnavailable } from "../sandbox/Isolation.ts"

/** The input of a primitive. All of it has been verified, validated and templated. */
export interface PrimitiveInput {
  /** The leaf's id, for messages. */
  readonly tool: string
  /** Who calls: for a builtin that asks the permission gate about what it does. */
  readonly caller: Caller
  /** The merged, templated config. */
  readonly config: Schema.JsonObject
  /** The merged config as signed, before templating. Grants are read from it, so that no call can provide one. */
  readonly signed: Schema.JsonObject
  /** The validated parameters. The runtime's `input` decides how they are passed. */
  readonly parameters: Schema.JsonObject
  /** Names of the parameters that the config uses by `{name}`: they are not passed again as arguments. */
  readonly placed?: ReadonlySet<string> | undefined
  readonly env: ReadonlyMap<string, EnvVariable>
  /** Values in the tool's output that must not be stored or cut in two. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>> | undefined
  /** Absolute path of the verified copy of the leaf's entrypoint. Undefined if it has none. */
  readonly toolFile: string | undefined
  /** Working directory: the project's root, or a private temporary folder without a project. */
  readonly cwd: string
  readonly isolation: Isolation
  /** Run right before a process starts: what is wrong with the project's interpreter now, or undefined. */
  readonly confirm?: Effect.Effect<string | undefined> | undefined
  /** What was allowed. A builtin that opens something else than it said must not use it. */
  readonly accesses?: ReadonlyArray<Access> | undefined
  /** Whether a further access is allowed: for what is found on the way, when nobody can be asked. Default: none is. */
  readonly mayAlso?: ((access: Access) => Effect.Effect<Standing>) | undefined
  /** How many calls it is made within: 0 unless a tool made it. */
  readonly depth?: number | undefined
  /** Serves the calls that the tool makes, if its config has `calls`. */
  readonly serve?: ((connection: Connection) => Effect.Effect<void>) | undefined
  /** Reports chunks and progress. */
  readonly emit: (event: PrimitiveEvent) => Effect.Effect<void>
}

export type PrimitiveEvent =
  | { readonly _tag: "Progress"; readonly message: string; readonly progress?: number; readonly total?: number }
  | { readonly _tag: "Chunk"; readonly channel: "stdout" | "stderr"; readonly text: string }

/** One captured output. `text`: all of it or, if it was spilled, its head and tail. */
export interface CapturedOutput {
  readonly text: string
  readonly bytes: number
  /** `kiwi://output/<id>` of the whole output. Undefined if `text` is all of it. */
  readonly spilled: string | undefined
  /** Number of bytes that were not stored: above the limit of a spilled output, or refused by the disk. */
  readonly dropped: number
  /** True if it is not UTF-8: `text` has replacement characters, and `spilled` has the bytes. */
  readonly binary?: boolean
}

export interface PrimitiveResult {
  /** The result's data, shaped by the declared output format. */
  readonly data: Schema.Json
  readonly metadata: {
    /** Whole milliseconds of the primitive itself, without waiting in the queue. Set by the table. */
    readonly duration_ms?: number
    readonly exit_code?: number
    readonly status_code?: number
    readonly stdout?: CapturedOutput
    readonly stderr?: CapturedOutput
    /** The response of http_client. */
    readonly body?: CapturedOutput
    /** The few response headers that are useful to a caller and contain no credentials. */
    readonly headers?: Readonly<Record<string, string>>
    readonly attempts?: number
  }
}

/** A streamed answer: pieces are reported as they arrive, and the result follows when the stream ends. */
export interface PrimitiveStream {
  /** Text is passed on as it is; an object becomes one line of JSON. A slow listener slows the stream down. */
  readonly stream: Stream.Stream<string | Schema.JsonObject, KiwiError>
  /**
   * Makes the result's data from all the text of the stream, or from its head and tail if it was too long for memory.
   * Default: that text.
   */
  readonly summary?: (said: CapturedOutput) => Effect.Effect<Schema.Json, KiwiError>
}

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

/** What is known of a call before it is allowed. */
export type AccessInput = Pick<PrimitiveInput, "tool" | "caller" | "config" | "parameters">

/** A level of isolation, and what holds it. */
export interface NeededLevel {
  readonly level: Isolation
  /** `engine`: the engine that starts its processes. `outbound`: the rules for requests, with granted hosts only. */
  readonly by: "engine" | "outbound"
}

export interface Preview {
  /** Lines of foreign origin. */
  readonly text: string
  /** The parameters that are only text to keep. */
  readonly contents: ReadonlyArray<string>
}

export type PrimitiveHandler = (input: PrimitiveInput) => Effect.Effect<PrimitiveResult, PrimitiveError>

/** The table of primitives: `subprocess`, `http_client`, `builtin`. */
export class Primitives extends Context.Service<Primitives, {
  readonly run: (primitive: string, input: PrimitiveInput) => Effect.Effect<PrimitiveResult, PrimitiveError>
  /** What `run` would do, without doing it: `argv` or `request`, and the names of the child's variables. */
  readonly plan: (primitive: string, input: PrimitiveInput) => Effect.Effect<Schema.JsonObject, PrimitiveError>
  /** The level that this config needs because of what its caller chooses. Undefined if the primitive does not say. */
  readonly needs: (primitive: string, config: Schema.JsonObject) => NeededLevel | undefined
  /** What `run` would touch, by the config before templating: files, commands, hosts. Empty if it does not say. */
  readonly accesses: (
    primitive: string,
    input: AccessInput
  ) => Effect.Effect<ReadonlyArray<Access>, PrimitiveError>
  /**
   * What a builtin would do, for the person who is asked. Undefined if it does not say, or cannot tell. Fails if it is
   * known, by what the caller may read, that the call would fail.
   */
  readonly preview: (
    primitive: string,
    input: AccessInput,
    mayRead: (path: string) => Effect.Effect<boolean>
  ) => Effect.Effect<Preview | undefined, PrimitiveError>
  readonly known: ReadonlyArray<string>
}>()("kiwi/services/primitive/Primitives") {}
