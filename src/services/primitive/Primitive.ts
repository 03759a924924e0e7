// Primitives: the only code with effects. A chain's last link names one by its id.
import { Context, type Effect, type Redacted, type Schema, type Stream } from "effect"
import type { Caller } from "../call/Caller.ts"
import type { CallEvent } from "../call/CallEvents.ts"
import type { Access, Standing } from "../capability/Access.ts"
import type { EnvVariable } from "../env/EnvResolver.ts"
import type { KiwiError } from "../error/KiwiError.ts"
import type { Connection } from "../process/ChildProcesses.ts"
import type { Isolation } from "../sandbox/Isolation.ts"
import type { PrimitiveError } from "./PrimitiveErrors.ts"

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
  readonly emit: (event: CallEvent) => Effect.Effect<void>
}

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
