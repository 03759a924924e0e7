// Primitives: the only things that cause effects. A chain's last link names one by its id.
import { Context, type Effect, type Redacted, Schema, type Stream } from "effect"
import type { EnvVariable } from "../env/EnvResolver.ts"
import type { FailedAt, KiwiError, ValidationIssue } from "../error/KiwiError.ts"
import { Underlying } from "../error/KiwiError.ts"
import type { Isolation, SandboxUnavailable } from "../sandbox/Isolation.ts"

/** What a primitive is run with. All of it has been verified, validated and templated. */
export interface PrimitiveInput {
  /** The leaf's id, for messages. */
  readonly tool: string
  /** The merged, templated config. */
  readonly config: Schema.JsonObject
  /** The merged config as it was signed, before templating: grants are read from here, so that no call can fill one. */
  readonly signed: Schema.JsonObject
  /** The validated parameters, for how the runtime's `input` hands them over. */
  readonly parameters: Schema.JsonObject
  /** Names of the parameters that the config placed by `{name}`: as arguments they are not handed over again. */
  readonly placed?: ReadonlySet<string> | undefined
  readonly env: ReadonlyMap<string, EnvVariable>
  /** Values that must not be kept on disk, nor cut in two, of what the tool says. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>> | undefined
  /** The verified copy of the leaf's entrypoint, absolute; `undefined` where it has none. */
  readonly toolFile: string | undefined
  /** Working directory: the project's root, or a private temporary folder without a project. */
  readonly cwd: string
  readonly isolation: Isolation
  /** Asked right before a process starts: what is wrong with the project's interpreter by now; `undefined` for nothing. */
  readonly confirm?: Effect.Effect<string | undefined> | undefined
  /** Reports chunks and progress. */
  readonly emit: (event: PrimitiveEvent) => Effect.Effect<void>
}

export type PrimitiveEvent =
  | { readonly _tag: "Progress"; readonly message: string; readonly progress?: number; readonly total?: number }
  | { readonly _tag: "Chunk"; readonly channel: "stdout" | "stderr"; readonly text: string }

/** One captured output. `text` is all of it, or its head and tail when it was spilled. */
export interface CapturedOutput {
  readonly text: string
  readonly bytes: number
  /** `kiwi://output/<id>` of the whole; `undefined` when `text` is all of it. */
  readonly spilled: string | undefined
  /** Bytes that were kept nowhere: above the cap of a spilled output, or because the disk refused. */
  readonly dropped: number
  /** It is not UTF-8: `text` has replacement characters, and the bytes are in `spilled`. */
  readonly binary?: boolean
}

export interface PrimitiveResult {
  /** The result's data, shaped by the declared output format. */
  readonly data: Schema.Json
  readonly metadata: {
    /** Whole milliseconds of the primitive itself, without waiting for its turn. Set by the table. */
    readonly duration_ms?: number
    readonly exit_code?: number
    readonly status_code?: number
    readonly stdout?: CapturedOutput
    readonly stderr?: CapturedOutput
    /** The answer of http_client. */
    readonly body?: CapturedOutput
    /** The few response headers that say something to a caller and hold no credentials. */
    readonly headers?: Readonly<Record<string, string>>
    readonly attempts?: number
  }
}

/** An answer that comes in pieces: they are reported as they come, and the result follows when the stream has ended. */
export interface PrimitiveStream {
  /** Text as it is; an object becomes one line of JSON. A listener that is slow slows the stream down. */
  readonly stream: Stream.Stream<string | Schema.JsonObject, KiwiError>
  /**
   * The result's data, from all the text that the stream gave; its head and tail, if it was too long for memory.
   * Default: that text.
   */
  readonly summary?: (said: CapturedOutput) => Effect.Effect<Schema.Json, KiwiError>
}

/** The tool ran and said that it failed. */
export class ToolFailed extends Schema.TaggedError<ToolFailed>()("ToolFailed", {
  tool: Schema.String,
  /** "exit code 2", "signal SIGKILL", "HTTP 404". */
  how: Schema.String,
  /** The tail of what it said, at most 4 KiB. */
  output: Schema.String,
  /** It said "not now": a status of HTTP that asks to come again. */
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

/** The tool took longer than it may. What it did until then stays done, so running it again is not said to be safe. */
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

/** The tool ended well, and its output is not what it declares. */
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

/** The program of a tool could not be started, so nothing of it ran. */
export class ToolUnstartable extends Schema.TaggedError<ToolUnstartable>()("ToolUnstartable", {
  tool: Schema.String,
  command: Schema.String,
  issue: Schema.String,
  /** What of the config is in the way. */
  field: Schema.Literals(["command", "cwd"]),
  /** The machine is full at the moment: of processes, of files, of memory. */
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

/** Parameters that cannot be handed over: two names for one option, a name that is no option, a NUL. */
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

/** The answer has nothing where the tool's `response_path` looks. */
export class ResponsePathMissing extends Schema.TaggedError<ResponsePathMissing>()("ResponsePathMissing", {
  tool: Schema.String,
  /** As the config names it. */
  path: Schema.String,
  /** How far it could be followed; "" is the whole answer. */
  at: Schema.String,
  /** What was there instead: "an object with id, name". */
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

/** A file that the request should send cannot be read, or is none of those that a tool may send. */
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
    return "Name a file of the project that is no link, no key and no .env, relative to the project's folder"
  }
  get validationIssues(): ReadonlyArray<ValidationIssue> {
    return [{ field: this.field, error: this.issue }]
  }
}

/** The network or the other side failed, after all the attempts that the tool allows. */
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

/** The rules for what leaves this machine refuse the address: its scheme, where it leads, Kiwi's own port. */
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
 * A builtin – a handler inside Kiwi, or of the program that embeds it – failed, or answered what is no JSON. Where it
 * failed with an error of its own, that is the `cause`, and its code, message and remedy are those that count.
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

/** A tool's stream broke off. What it gave before that was reported, and its beginning is here. */
export class StreamFailed extends Schema.TaggedError<StreamFailed>()("StreamFailed", {
  tool: Schema.String,
  issue: Schema.String,
  hint: Schema.String,
  /** The head of what it gave, at most 4 KiB. */
  output: Schema.String,
  /** `kiwi://output/<id>` of all that it gave, where that is more than `output`. */
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
    return `"${this.primitive}" is no primitive of this kernel`
  }
  get remediation() {
    return `Let the chain end at one that there is: ${this.known.join(", ")}`
  }
  get link() {
    return this.primitive
  }
}

/** The templated config holds a value that no schema can judge: a folder outside the project, a header with a line end. */
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

export type PrimitiveHandler = (input: PrimitiveInput) => Effect.Effect<PrimitiveResult, PrimitiveError>

/** The table of primitives: `subprocess`, `http_client`, `builtin`. */
export class Primitives extends Context.Service<Primitives, {
  readonly run: (primitive: string, input: PrimitiveInput) => Effect.Effect<PrimitiveResult, PrimitiveError>
  /** What `run` would do, without doing it: `argv` or `request`, and the names of the child's variables. */
  readonly plan: (primitive: string, input: PrimitiveInput) => Effect.Effect<Schema.JsonObject, PrimitiveError>
  readonly known: ReadonlyArray<string>
}>()("kiwi/services/primitive/Primitives") {}
