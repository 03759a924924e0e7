// The MCP edge: decodes arguments and encodes results. Every typed failure and every defect becomes one error object;
// no failure becomes prose or ends the server.
import { Cause, Context, Duration, Effect, Schema, Scope } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { ProjectKey } from "../../layers/Projects.ts"
import { Projects } from "../../layers/Projects.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { newCallId } from "../../services/call/callId.ts"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import { whyUnattended } from "../../services/call/Clients.ts"
import { toAgentErrorObject } from "../../services/error/agentRemedy.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { PermissionDenied } from "../../services/permission/PermissionGate.ts"
import { profileRule } from "../../services/permission/profile/Profile.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { withProject } from "../../services/text/withProject.ts"
import { HumanGate, HumanRequired } from "../../services/trust/HumanAct.ts"
import { withApproval } from "../approvals.ts"
import { execute } from "../execute.ts"
import { help } from "../help.ts"
import type { ShortenNames } from "../shortenNames.ts"
import { shortenNames } from "../shortenNames.ts"
import type { CallProject } from "./callProject.ts"
import type { Uses } from "./catalog.ts"
import type { ExposedTarget } from "./exposed.ts"
import * as HumanGateElicit from "./HumanGateElicit.ts"
import { type LongCalls, sessionName } from "./longCalls.ts"
import { messageOf } from "./prompt.ts"
import type { FollowPrompt } from "./prompt.ts"
import * as Resources from "./resources.ts"
import * as RunInProject from "./runInProject.ts"
import { type Answer, done, exposed, type Handler, handlers, type Run } from "./toolHandlers.ts"
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
interface CallState {
  /** The project that the call is about, if it is not the server's own. */
  projectPath: string | undefined
  /** Applied to the answer before it is sent. */
  shorten: ShortenNames | undefined
  readonly warnings: Array<CallWarning>
  /** Of the attempt that runs or ran last, in the audit too. */
  callId: string
  /** Whether its client has the id, which then stays. */
  isIdPinned: boolean
}

/** A call as its client asked for it. */
interface CallRequest {
  readonly tool: ToolName
  readonly handle: Handler
  readonly args: unknown
  readonly caller: Caller
  readonly state: CallState
}

/** Takes how long the client waits for the answer. */
type SetLimit = (time: Duration.Duration) => Effect.Effect<void>

type Outcome = Answer | { readonly error: KiwiError; readonly warnings?: ReadonlyArray<CallWarning> }

/** The shape of every result: structured, and the same as text for clients that read only text. */
const toCallToolResult = (
  outcome: Outcome,
  { projectPath, shorten }: CallState
): McpSchema.CallToolResult => {
  const { warnings = [] } = outcome
  const structured = {
    ...("error" in outcome
      ? {
        status: "error",
        error: toAgentErrorObject(outcome.error, projectPath),
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

  /** Runs a call in its project, again after a person's answer. */
  const runApproved = Effect.fnUntraced(function*(request: CallRequest, run: Run, setLimit: SetLimit) {
    const { args, caller, handle, state } = request
    state.shorten = yield* shortenNames
    const { approvalsWait, callsAnswer } = yield* (yield* Settings).current
    yield* setLimit(callsAnswer)
    // Repeated after an answer, as a call of its own unless its client follows it by its id.
    const renew = Effect.suspend(() => state.isIdPinned ? Effect.succeed(state.callId) : newCallId)
    const repeated = Effect.flatMap(renew, (callId) => {
      state.callId = callId
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

  /** Nobody is offered a rule for a session that has ended. */
  const endRequests = (key: ProjectKey, session: string) =>
    projects.use(key)(Effect.flatMap(ApprovalStore, (store) => store.endSession(session))).pipe(
      Effect.catch((error) => Effect.logWarning(`A question may still offer a rule for it: ${error.message}`))
    )

  const answerTo = Effect.fnUntraced(function*(request: CallRequest, gate: HumanGate["Service"], setLimit: SetLimit) {
    const { args, caller, handle, state, tool } = request
    const { callId, warnings } = state
    const { project: path, run } = yield* Effect.fromResult(handle(args, { caller, callId }))
    state.projectPath = path
    const key = yield* project.resolve(path)
    if (key === project.own) state.projectPath = undefined
    long.atEnd(caller.session, key, endRequests(key, caller.session))
    const audience: RunInProject.Audience = {
      gate: key === project.own ? gate : aboutProject(gate, key),
      warn: (warning) => Effect.sync(() => warnings.push(warning))
    }
    const answered = runInProject(key, runApproved(request, run, setLimit), audience)
    const found = yield* tool === "help"
      ? Effect.catchTag(answered, "ProjectNotFound", (error) => runInProject("", helpWithout(error, caller), audience))
      : answered
    return { ...found, warnings: [...found.warnings ?? [], ...warnings] }
  })

  const outcomeOf = (request: CallRequest, gate: HumanGate["Service"], setLimit: SetLimit): Effect.Effect<Outcome> => {
    const { state: { warnings }, tool } = request
    return answerTo(request, gate, setLimit).pipe(
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
    const state: CallState = {
      projectPath: undefined,
      shorten: undefined,
      warnings: [],
      callId: yield* newCallId,
      isIdPinned: false
    }
    const request: CallRequest = { tool, handle, args, caller, state }
    const pinId = () => {
      state.isIdPinned = true
      return state.callId
    }
    const show = (outcome: Outcome) => toCallToolResult(outcome, state).structuredContent as Schema.JsonObject
    const outcome = tool === "execute"
      ? yield* Effect.map(
        long.follow(scope, { caller, run: (setLimit) => outcomeOf(request, gate, setLimit), show, pinId }),
        ({ answer, running }) => answer ?? { status: "running", data: { ...running, note: howToFollow } }
      )
      : yield* outcomeOf(request, gate, () => Effect.void)
    return "error" in outcome && outcome.error._tag === "HumanRequired"
      ? question() ?? toCallToolResult(outcome, state)
      : toCallToolResult(outcome, state)
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
