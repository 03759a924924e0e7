// The MCP edge: decodes arguments and encodes results. Every typed failure and every defect becomes one error object;
// no failure becomes prose or ends the server.
import { Cause, Context, Duration, Effect, Result, Schema, Scope } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { ProjectServices } from "../../layers/projectGraph.ts"
import { Projects } from "../../layers/Projects.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { newCallId } from "../../services/call/callId.ts"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import { whyUnattended } from "../../services/call/Clients.ts"
import { forAgent, toAgentErrorObject } from "../../services/error/agentRemedy.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { PermissionDenied } from "../../services/permission/PermissionGate.ts"
import { profileRule } from "../../services/permission/profile/Profile.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { withProject } from "../../services/text/withProject.ts"
import { HumanGate, HumanRequired } from "../../services/trust/HumanAct.ts"
import { withApproval } from "../approvals.ts"
import { execute } from "../execute.ts"
import { help } from "../help.ts"
import { signalHelp } from "../helpSignals.ts"
import { load, loadInto } from "../load.ts"
import type { Loaded } from "../load.ts"
import { search } from "../search.ts"
import type { ShortenNames } from "../shortenNames.ts"
import { shortenNames } from "../shortenNames.ts"
import { sign } from "../sign.ts"
import { unansweredSources } from "../unansweredSources.ts"
import {
  decoderOf,
  ExecuteArguments,
  HelpArguments,
  InvalidArguments,
  itemTypeOf,
  LoadArguments,
  SearchArguments,
  SignArguments
} from "./arguments.ts"
import type { CallProject } from "./callProject.ts"
import type { Uses } from "./catalog.ts"
import type { ExposedTarget } from "./exposed.ts"
import * as HumanGateElicit from "./HumanGateElicit.ts"
import { leanHits, leanItem, leanMetadata, metaOfItem } from "./lean.ts"
import { type LongCalls, sessionName } from "./longCalls.ts"
import { messageOf } from "./prompt.ts"
import type { FollowPrompt } from "./prompt.ts"
import * as Resources from "./resources.ts"
import * as RunInProject from "./runInProject.ts"
import type { ToolName } from "./tools.ts"
import { clientOf, sessionOf } from "./transport/principal.ts"

/** Kiwi has a defect. Its cause goes to the log, and never to a caller. */
export class InternalError extends Schema.TaggedError<InternalError>()("InternalError", { tool: Schema.String }) {
  override get message() {
    return `${this.tool} failed because of a defect in Kiwi`
  }
  get remediation() {
    return "Look at the server's log, run `kiwi doctor`, and report it if it happens again"
  }
}

interface Answer {
  readonly status: string
  readonly data: unknown
  readonly metadata?: object
  /** What programs want of it beside that, and no model. */
  readonly meta?: object
  readonly warnings?: ReadonlyArray<CallWarning>
}

/** If the project is not the server's own, questions name it, and so does the command that a person types instead. */
const aboutProject = (gate: HumanGate["Service"], project: string): HumanGate["Service"] =>
  HumanGate.of({
    ask: (request) => gate.ask({ ...request, project, command: withProject(request.command, project) })
  })

/** Clients show questions about calls of tools only. */
const asksNobody = HumanGate.of({
  ask: ({ command, kind, title }) =>
    Effect.fail(new HumanRequired({ kind, title, command, why: "a client shows no question about what it reads" }))
})

const toInvalidParams = (error: KiwiError) => {
  const { message, remediation } = toAgentErrorObject(error)
  return new McpSchema.InvalidParams({ message: remediation === undefined ? message : `${message}. ${remediation}` })
}

/** A rule or a person decided. What a profile does not have is not among it: it is as if it did not exist. */
const isDecision = (error: KiwiError): boolean =>
  error instanceof PermissionDenied ? !error.rule.startsWith(profileRule("")) : error._tag.startsWith("Approval")

const metaKey = "kiwi/details"

/** What is known of a call so far, whether it fails or not. */
interface Seen {
  /** Path of the project that the call is about, if it is not the server's own. */
  about: string | undefined
  /** Applied to the answer before it is sent. */
  shorten: ShortenNames | undefined
  readonly warnings: Array<CallWarning>
  /** Of the attempt that runs or ran last, in the audit too. */
  callId: string
  /** Whether its client follows the call by its id, which then stays. */
  isTold: boolean
}

/** A call as its client asked for it. */
interface Asked {
  readonly tool: ToolName
  readonly handle: Handler
  readonly args: unknown
  readonly caller: Caller
  readonly seen: Seen
}

type Waits = (time: Duration.Duration) => Effect.Effect<void>

type Outcome = Answer | { readonly error: KiwiError; readonly warnings?: ReadonlyArray<CallWarning> }

/** The shape of every result: structured, and the same as text for clients that read only text. */
const toCallToolResult = (
  outcome: Outcome,
  { about, shorten }: Seen
): McpSchema.CallToolResult => {
  const { warnings = [] } = outcome
  const structured = {
    ...("error" in outcome
      ? {
        status: "error",
        error: toAgentErrorObject(outcome.error, about),
        approval_id: outcome.error.approval
      }
      : { status: outcome.status, data: outcome.data, metadata: outcome.metadata }),
    ...(warnings.length === 0 ? {} : { warnings })
  }
  const sent = (value: object) => {
    const whole = JSON.stringify(value)
    return shorten === undefined ? whole : JSON.stringify(shorten(JSON.parse(whole)))
  }
  const text = sent(structured)
  return {
    content: [{ type: "text", text }],
    // The structured result is read back from the JSON text, so it holds only what JSON can represent.
    structuredContent: JSON.parse(text),
    ...("meta" in outcome && outcome.meta !== undefined
      ? { _meta: { [metaKey]: JSON.parse(sent(outcome.meta)) } }
      : {}),
    ...("error" in outcome ? { isError: true } : {})
  }
}

/** For a call that is answered as running. */
const howToFollow = "It goes on. Execute call.result with this call_id to wait for its result, or call.stop to end it"

const done = (data: unknown): Answer => ({ status: "success", data })

type Run = Effect.Effect<Answer, KiwiError, ProjectServices | HumanGate>

const loaded = (item: Loaded): Answer => ({ ...done(leanItem(item)), meta: metaOfItem(item) })

/** Agents give a sentence as often as an object. */
const asObject = (context: typeof HelpArguments.Type["context"]): Schema.JsonObject | undefined =>
  typeof context === "string" ? { text: context } : context

const executed = (answer: Effect.Success<ReturnType<typeof execute>>): Answer => ({
  ...answer,
  metadata: leanMetadata(answer.metadata),
  meta: answer.metadata
})

type Handler = (
  args: unknown,
  call: { readonly caller: Caller; readonly callId: string }
) => Result.Result<{ readonly project: string | undefined; readonly run: Run }, InvalidArguments>

const decode = {
  search: decoderOf("search", SearchArguments),
  load: decoderOf("load", LoadArguments),
  execute: decoderOf("execute", ExecuteArguments),
  sign: decoderOf("sign", SignArguments),
  help: decoderOf("help", HelpArguments)
}

const handlers: Readonly<Record<ToolName, Handler>> = {
  search: (args, { caller }) =>
    Result.map(decode.search(args), (a) => ({
      project: a.project_path,
      run: search({
        query: a.query,
        type: itemTypeOf(a.item_type),
        tier: a.source === "all" ? undefined : a.source,
        category: a.category,
        tags: a.tags,
        limit: a.limit
      }, caller).pipe(
        Effect.zipWith(unansweredSources, (results, notes) => done({ results: leanHits(results), ...notes }))
      )
    })),
  load: (args, { caller }) =>
    decode.load(args).pipe(
      Result.filterOrFail(
        (a) => a.version === undefined || a.destination !== undefined,
        () =>
          new InvalidArguments({
            tool: "load",
            issues: [{ field: "version", error: "needs a destination: an item has one version in each place" }]
          })
      ),
      Result.map((a) => {
        const query = { id: a.item_id, type: itemTypeOf(a.item_type), tier: a.source }
        return {
          project: a.project_path,
          run: a.destination === undefined
            ? Effect.map(load(query, caller), loaded)
            : Effect.map(loadInto({ ...query, destination: a.destination, version: a.version }, caller), loaded)
        }
      })
    ),
  execute: (args, { callId, caller }) =>
    decode.execute(args).pipe(
      Result.filterOrFail(
        (a) => a.mode === undefined || itemTypeOf(a.item_type) !== "tool",
        () =>
          new InvalidArguments({ tool: "execute", issues: [{ field: "mode", error: "a tool is run, not followed" }] })
      ),
      Result.map((a) => ({
        project: a.project_path,
        run: execute({
          id: a.item_id,
          type: itemTypeOf(a.item_type) ?? (a.mode === "follow" ? "directive" : undefined),
          parameters: a.parameters ?? {},
          dryRun: a.dry_run ?? false,
          lockfileMode: a.lockfile_mode,
          callId
        }, caller).pipe(Effect.map(executed))
      }))
    ),
  sign: (args, { caller }) =>
    Result.map(decode.sign(args), (a) => ({
      project: a.project_path,
      run: sign({
        id: a.item_id,
        type: itemTypeOf(a.item_type),
        tier: a.parameters?.location,
        category: a.parameters?.category,
        // For a glob the person is asked only about items that are not signed yet. An item that is named by its id is
        // signed again.
        changedOnly: /[*?]/.test(a.item_id)
      }, caller).pipe(Effect.map((signed) => done(forAgent(signed))))
    })),
  help: (args, { callId, caller }) =>
    Result.map(decode.help(args), (a) => ({
      project: a.project_path,
      run: a.action === undefined || a.action === "guidance"
        ? Effect.map(help(a.topic ?? "overview", caller), done)
        : Effect.map(
          signalHelp({ ...a, context: asObject(a.context), action: a.action, sessionId: a.session_id, callId }, caller),
          (signalled) => ({ status: signalled.status, data: signalled })
        )
    }))
}

/** The protocol admits only JSON. */
const objectOf = (args: unknown): Schema.JsonObject =>
  isJsonObject(args as Schema.Json) ? args as Schema.JsonObject : {}

/** A tool that is called by its own name. Its own schema checks the arguments. */
const exposed = ({ id, tier }: ExposedTarget): Handler => (args, { callId, caller }) =>
  Result.succeed({
    project: undefined,
    run: Effect.map(
      execute({ id, type: "tool", tier, parameters: objectOf(args), dryRun: false, callId }, caller),
      executed
    )
  })

export interface EdgeOptions {
  /** This client's name in policy. */
  readonly client: string
  readonly presence: HumanGateElicit.Presence
  readonly profile?: string | undefined
}

/** `server`: the services of the server itself. Those of the request that makes the edge are none of later calls'. */
export const make = Effect.fnUntraced(function*(
  project: CallProject,
  options: EdgeOptions,
  long: LongCalls,
  server: Context.Context<Projects | Scope.Scope>
) {
  const scope = Context.get(server, Scope.Scope)
  const projects = Context.get(server, Projects)
  const runInProject = RunInProject.make(server)
  const seals = yield* HumanGateElicit.makeSeals
  const process = yield* newCallId

  const presenceHere = Effect.contextWith((services: Context.Context<never>) => {
    const request = Context.getOrUndefined(services, HttpServerRequest.HttpServerRequest)
    const client = request === undefined ? undefined : clientOf(request)
    return Effect.succeed<HumanGateElicit.Presence>(
      client?.unattended === true
        ? { ...options.presence, nobody: whyUnattended(client.name) }
        : options.presence
    )
  })

  /** The server decides everything about a caller except its label, which the client sends. */
  const callerOf = Effect.contextWith((services: Context.Context<McpSchema.McpRequestContext>) => {
    const { clientInfo } = Context.get(services, McpSchema.McpRequestContext)
    const request = Context.getOrUndefined(services, HttpServerRequest.HttpServerRequest)
    const session = request === undefined ? undefined : sessionOf(request)
    return Effect.succeed<Caller>({
      surface: "mcp",
      client: (request === undefined ? undefined : clientOf(request)?.name) ?? options.client,
      ...(clientInfo === undefined ? {} : { label: safeLine(`${clientInfo.name} ${clientInfo.version}`, 80) }),
      ...(options.profile === undefined ? {} : { profile: options.profile }),
      session: session === undefined ? process : sessionName(session)
    })
  })

  /** Help works without the server's project too: it is where a caller learns that the project is missing. */
  const helpWithout = (error: KiwiError, caller: Caller): Run =>
    Effect.map(
      help("overview", caller),
      ({ state, ...rest }) => done({ ...rest, state: { ...state, off: [error.message, ...state.off] } })
    )

  /** Runs a call in its project, again after a person's answer. `waits` is told how long its client waits. */
  const runApproved = Effect.fnUntraced(function*({ args, caller, handle, seen, tool }: Asked, run: Run, waits: Waits) {
    seen.shorten = yield* shortenNames(tool === "execute")
    const { approvalsWait, callsAnswer } = yield* (yield* Settings).current
    yield* waits(callsAnswer)
    // Repeated after an answer, as a call of its own unless its client follows it by its id.
    const renew = Effect.suspend(() => seen.isTold ? Effect.succeed(seen.callId) : newCallId)
    const repeated = Effect.flatMap(renew, (callId) => {
      seen.callId = callId
      return Effect.fromResult(handle(args, { caller, callId }))
    })
    let next = run
    const attempt = Effect.suspend(() => {
      const now = next
      next = Effect.flatMap(repeated, (again) => again.run)
      return now
    })
    return yield* withApproval(attempt, caller, Duration.toMillis(approvalsWait))
  })

  const answerTo = Effect.fnUntraced(function*(asked: Asked, gate: HumanGate["Service"], waits: Waits) {
    const { args, caller, handle, seen, tool } = asked
    const { callId, warnings } = seen
    const { project: path, run } = yield* Effect.fromResult(handle(args, { caller, callId }))
    seen.about = path
    const key = yield* project.resolve(path)
    if (key === project.own) seen.about = undefined
    const audience: RunInProject.Audience = {
      gate: key === project.own ? gate : aboutProject(gate, key),
      warn: (warning) => Effect.sync(() => warnings.push(warning))
    }
    const answered = runInProject(key, runApproved(asked, run, waits), audience)
    const found = yield* tool === "help"
      ? Effect.catchTag(answered, "ProjectNotFound", (error) => runInProject("", helpWithout(error, caller), audience))
      : answered
    return { ...found, warnings: [...found.warnings ?? [], ...warnings] }
  })

  const outcomeOf = (asked: Asked, gate: HumanGate["Service"], waits: Waits): Effect.Effect<Outcome> => {
    const { seen: { warnings }, tool } = asked
    return answerTo(asked, gate, waits).pipe(
      Effect.catch((error: KiwiError) => Effect.succeed({ error, warnings })),
      Effect.catchCauseIf(
        (cause) => !Cause.hasInterrupts(cause),
        (cause) =>
          Effect.logError(`${tool} failed`, cause).pipe(Effect.as({ error: new InternalError({ tool }), warnings }))
      )
    )
  }

  const callAs = Effect.fnUntraced(function*(tool: ToolName, handle: Handler, args: unknown) {
    const caller = yield* callerOf
    const { gate, question } = yield* HumanGateElicit.make(seals, caller.client, yield* presenceHere)
    const seen: Seen = {
      about: undefined,
      shorten: undefined,
      warnings: [],
      callId: yield* newCallId,
      isTold: false
    }
    const asked: Asked = { tool, handle, args, caller, seen }
    const tellId = () => {
      seen.isTold = true
      return seen.callId
    }
    const show = (outcome: Outcome) => toCallToolResult(outcome, seen).structuredContent as Schema.JsonObject
    const outcome = tool === "execute"
      ? yield* Effect.map(
        long.follow(scope, { caller, run: (waits) => outcomeOf(asked, gate, waits), show, tellId }),
        ({ answer, running }) => answer ?? { status: "running", data: { ...running, note: howToFollow } }
      )
      : yield* outcomeOf(asked, gate, () => Effect.void)
    return "error" in outcome && outcome.error._tag === "HumanRequired"
      ? question() ?? toCallToolResult(outcome, seen)
      : toCallToolResult(outcome, seen)
  })
  const call = (tool: ToolName, args: unknown) => callAs(tool, handlers[tool], args)
  const callExposed = (target: ExposedTarget, args: unknown) => callAs("execute", exposed(target), args)

  /** Reads a resource or a prompt. What a person is asked about waits for an answer from elsewhere, as a call does. */
  const readApproved = <A, E extends KiwiError, R>(key: string, caller: Caller, read: Effect.Effect<A, E, R>) =>
    projects.use(key)(Effect.gen(function*() {
      const { approvalsWait } = yield* (yield* Settings).current
      return yield* withApproval(read, caller, Duration.toMillis(approvalsWait))
    })).pipe(Effect.provideService(HumanGate, asksNobody))

  /** Answers a prompt: the directive's steps, as one message. */
  const follow: FollowPrompt = Effect.fn("mcp.follow")(function*(name, parameters) {
    const caller = yield* callerOf
    const read = Effect.flatMap(
      newCallId,
      (callId) => execute({ id: name, type: "directive", parameters, dryRun: false, callId }, caller)
    )
    return yield* readApproved(project.own, caller, read).pipe(
      Effect.map(({ data }) => messageOf(name, data)),
      Effect.mapError(toInvalidParams)
    )
  })

  /** What a caller may not read without a person is said; anything else is not found. */
  const answerRead = <A, E extends KiwiError, R>(uri: string, read: Effect.Effect<A, E, R>) =>
    read.pipe(
      Effect.mapError((error) =>
        isDecision(error)
          ? toInvalidParams(error)
          : new McpSchema.InvalidParams({ message: `Resource '${safeLine(uri)}' not found` })
      ),
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("resources/read failed", defect),
          Effect.fail(new McpSchema.InternalError({ message: new InternalError({ tool: "resources/read" }).message }))
        )
      )
    )

  const readItem: Uses["readItem"] = (uri) =>
    answerRead(
      uri,
      Effect.flatMap(callerOf, (caller) => readApproved(project.own, caller, Resources.readItem(uri, caller)))
    )

  /**
   * An output belongs to the project of its call. Ids are random, so every project that is still trusted is asked. One
   * that nobody has is recorded in the own project.
   */
  const readOutput: Uses["readOutput"] = Effect.fnUntraced(function*(uri) {
    const key = yield* Effect.firstSuccessOf(
      project.known().map((known) =>
        Effect.tap(project.resolve(known), (resolved) => projects.use(resolved)(Resources.findOutput(uri)))
      )
    ).pipe(Effect.orElseSucceed(() => project.own))
    return yield* Effect.flatMap(callerOf, (caller) => readApproved(key, caller, Resources.readOutput(uri, caller)))
  }, (read, uri) => answerRead(uri, read))

  return { call, callExposed, follow, readItem, readOutput }
})
