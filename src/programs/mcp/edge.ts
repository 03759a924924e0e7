// The MCP edge: decodes arguments and encodes results. Every typed failure and every defect becomes one error object;
// no failure becomes prose or ends the server.
import { Cause, Context, Duration, Effect, Option, Schema } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { ProjectServices } from "../../layers/projectGraph.ts"
import { Projects } from "../../layers/Projects.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { newCallId } from "../../services/call/callId.ts"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import { CallWarnings } from "../../services/call/CallWarning.ts"
import { whyUnattended } from "../../services/call/Clients.ts"
import { forAgent, toAgentErrorObject } from "../../services/error/agentRemedy.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { shellWord } from "../../services/text/shellWord.ts"
import { HumanGate } from "../../services/trust/HumanAct.ts"
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
  decodeArguments,
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
import * as HumanGateElicit from "./HumanGateElicit.ts"
import { leanHits, leanItem, leanMetadata, metaOfItem } from "./lean.ts"
import { type LongCalls, sessionName } from "./longCalls.ts"
import { messageOf } from "./prompt.ts"
import type { FollowPrompt } from "./prompt.ts"
import * as Resources from "./resources.ts"
import type { ToolName } from "./tools.ts"
import { clientOf } from "./transport/principal.ts"

/** Kiwi has a defect. Its cause goes to the log, and never to a caller. */
export class InternalError extends Schema.TaggedError<InternalError>()("InternalError", { tool: Schema.String }) {
  override get message() {
    return `${this.tool} failed because of a defect in Kiwi`
  }
  get remediation() {
    return "Look at the server's log, run `kiwi doctor`, and report it if it happens again"
  }
}

export interface Answer {
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
    ask: (request) =>
      gate.ask({
        ...request,
        project,
        command: request.command.split(" && ").map((one) => `${one} --project ${shellWord(project)}`).join(" && ")
      })
  })

const metaKey = "kiwi/details"

/** The shape of every result: structured, and the same as text for clients that read only text. */
const toCallToolResult = (
  outcome: Answer | { readonly error: KiwiError; readonly warnings?: ReadonlyArray<CallWarning> },
  /** Path of the project that the call was about, if it is not the server's own. */
  about?: string,
  /** Applied to the answer before it is sent. */
  shorten?: ShortenNames
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
  return new McpSchema.CallToolResult({
    content: [{ type: "text", text }],
    // The structured result is read back from the JSON text, so it holds only what JSON can represent.
    structuredContent: JSON.parse(text),
    ...("meta" in outcome && outcome.meta !== undefined
      ? { _meta: { [metaKey]: JSON.parse(sent(outcome.meta)) } }
      : {}),
    ...("error" in outcome ? { isError: true } : {})
  })
}

/** For a call that is answered as running. */
const howToFollow = "It goes on. Execute call.result with this call_id to wait for its result, or call.stop to end it"

const done = (data: unknown): Answer => ({ status: "success", data })

const loaded = (item: Loaded): Answer => ({ ...done(leanItem(item)), meta: metaOfItem(item) })

type Handler = (
  args: unknown,
  call: { readonly caller: Caller; readonly callId: string }
) => Effect.Effect<
  { readonly project: string | undefined; readonly run: Effect.Effect<Answer, KiwiError, ProjectServices | HumanGate> },
  InvalidArguments
>

const handlers: Readonly<Record<ToolName, Handler>> = {
  search: (args, { caller }) =>
    Effect.map(decodeArguments("search", SearchArguments, args), (a) => ({
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
    decodeArguments("load", LoadArguments, args).pipe(
      Effect.filterOrFail(
        (a) => a.version === undefined || a.destination !== undefined,
        () =>
          new InvalidArguments({
            tool: "load",
            issues: [{ field: "version", error: "needs a destination: an item has one version in each place" }]
          })
      ),
      Effect.map((a) => {
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
    decodeArguments("execute", ExecuteArguments, args).pipe(
      Effect.filterOrFail(
        (a) => a.mode === undefined || itemTypeOf(a.item_type) !== "tool",
        () =>
          new InvalidArguments({ tool: "execute", issues: [{ field: "mode", error: "a tool is run, not followed" }] })
      ),
      Effect.map((a) => ({
        project: a.project_path,
        run: execute({
          id: a.item_id,
          type: itemTypeOf(a.item_type) ?? (a.mode === "follow" ? "directive" : undefined),
          parameters: a.parameters ?? {},
          dryRun: a.dry_run ?? false,
          lockfileMode: a.lockfile_mode,
          callId
        }, caller).pipe(
          Effect.map((answer) => ({ ...answer, metadata: leanMetadata(answer.metadata), meta: answer.metadata }))
        )
      }))
    ),
  sign: (args, { caller }) =>
    Effect.map(decodeArguments("sign", SignArguments, args), (a) => ({
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
    Effect.map(decodeArguments("help", HelpArguments, args), (a) => ({
      project: a.project_path,
      run: a.action === undefined || a.action === "guidance"
        ? Effect.map(help(a.topic ?? "overview", caller), done)
        : Effect.map(
          signalHelp({ ...a, action: a.action, sessionId: a.session_id, callId }, caller),
          (signalled) => ({ status: signalled.status, data: signalled })
        )
    }))
}

export interface EdgeOptions {
  /** This client's name in policy. */
  readonly client: string
  readonly presence: HumanGateElicit.Presence
}

export const make = Effect.fnUntraced(function*(project: CallProject, options: EdgeOptions, long: LongCalls) {
  const scope = yield* Effect.scope
  const projects = yield* Projects
  const seals = yield* HumanGateElicit.makeSeals
  const process = yield* newCallId

  const presenceHere = Effect.contextWith((services: Context.Context<never>) => {
    const client = Option.flatMapNullishOr(Context.getOption(services, HttpServerRequest.HttpServerRequest), clientOf)
    return Effect.succeed<HumanGateElicit.Presence>(
      Option.isSome(client) && client.value.unattended
        ? { ...options.presence, nobody: whyUnattended(client.value.name) }
        : options.presence
    )
  })

  /** The server decides everything about a caller except its label, which the client sends. */
  const callerOf = Effect.contextWith((services: Context.Context<McpSchema.McpRequestContext>) => {
    const { clientInfo } = Context.get(services, McpSchema.McpRequestContext)
    const request = Context.getOption(services, HttpServerRequest.HttpServerRequest)
    const session = Option.isSome(request) ? request.value.headers["mcp-session-id"] : undefined
    return Effect.succeed<Caller>({
      surface: "mcp",
      client: (Option.isSome(request) ? clientOf(request.value)?.name : undefined) ?? options.client,
      ...(clientInfo === undefined ? {} : { label: safeLine(`${clientInfo.name} ${clientInfo.version}`, 80) }),
      session: session === undefined ? process : sessionName(session)
    })
  })

  /** Help works without the server's project too: it is where a caller learns that the project is missing. */
  const helpWithout = (error: KiwiError, caller: Caller) =>
    projects.use("")(help("overview", caller)).pipe(
      Effect.map(({ state, ...rest }) => done({ ...rest, state: { ...state, off: [error.message, ...state.off] } }))
    )

  const call = Effect.fnUntraced(function*(tool: ToolName, args: unknown) {
    const caller = yield* callerOf
    const gate = yield* HumanGateElicit.make(seals, caller.client, yield* presenceHere)
    let about: string | undefined
    let shorten: ShortenNames | undefined
    const warnings: Array<CallWarning> = []
    let callId = yield* newCallId
    let isTold = false
    const perform = (waits: (time: Duration.Duration) => Effect.Effect<void>) =>
      Effect.gen(function*() {
        const first = yield* handlers[tool](args, { caller, callId })
        about = first.project
        const key = yield* project.resolve(first.project)
        if (key === project.own) about = undefined
        const runShortened = Effect.gen(function*() {
          shorten = yield* shortenNames(tool === "execute")
          const { approvalsWait, callsAnswer } = yield* (yield* Settings).current
          yield* waits(callsAnswer)
          let { run } = first
          // Repeated after an answer, as a call of its own unless its client follows it by its id.
          const repeated = Effect.gen(function*() {
            if (!isTold) callId = yield* newCallId
            return yield* handlers[tool](args, { caller, callId })
          })
          const attempt = Effect.suspend(() => {
            const now = run
            run = Effect.flatMap(repeated, (again) => again.run)
            return now
          })
          return yield* withApproval(attempt, caller, Effect.succeed(Duration.toMillis(approvalsWait)))
        })
        const answer = yield* projects.use(key)(runShortened).pipe(
          Effect.provideService(HumanGate, key === project.own ? gate.gate : aboutProject(gate.gate, key)),
          Effect.catchIf(
            (error: KiwiError) => tool === "help" && error._tag === "ProjectNotFound",
            (error) => helpWithout(error, caller)
          ),
          Effect.provideService(CallWarnings, { warn: (warning) => Effect.sync(() => warnings.push(warning)) })
        )
        return { ...answer, warnings: [...answer.warnings ?? [], ...warnings] }
      }).pipe(
        Effect.catch((error: KiwiError) => Effect.succeed({ error, warnings })),
        Effect.catchCauseIf(
          (cause) => !Cause.hasInterrupts(cause),
          (cause) =>
            Effect.logError(`${tool} failed`, cause).pipe(Effect.as({ error: new InternalError({ tool }), warnings }))
        )
      )
    const show = (outcome: Effect.Success<ReturnType<typeof perform>>) =>
      toCallToolResult(outcome, about, shorten).structuredContent as Schema.JsonObject
    const tellId = () => {
      isTold = true
      return callId
    }
    const outcome = tool === "execute"
      ? yield* Effect.map(
        long.follow(scope, { caller, run: perform, show, tellId }),
        ({ answer, running }) => answer ?? { status: "running", data: { ...running, note: howToFollow } }
      )
      : yield* perform(() => Effect.void)
    return "error" in outcome && outcome.error._tag === "HumanRequired"
      ? gate.question() ?? toCallToolResult(outcome, about, shorten)
      : toCallToolResult(outcome, about, shorten)
  })
  /** Answers a prompt: the directive's steps, as one message. */
  const follow: FollowPrompt = Effect.fn("mcp.follow")(function*(name, parameters) {
    const caller = yield* callerOf
    return yield* projects.use(project.own)(
      execute({ id: name, type: "directive", parameters, dryRun: false, callId: yield* newCallId }, caller)
    ).pipe(
      Effect.map(({ data }) => messageOf(name, data)),
      Effect.mapError((error: KiwiError) => {
        const { message, remediation } = toAgentErrorObject(error)
        return new McpSchema.InvalidParams({
          message: remediation === undefined ? message : `${message}. ${remediation}`
        })
      })
    )
  })

  const answerRead = <A, E, R>(uri: string, read: Effect.Effect<A, E, R>) =>
    read.pipe(
      Effect.mapError(() => new McpSchema.InvalidParams({ message: `Resource '${safeLine(uri)}' not found` })),
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("resources/read failed", defect),
          Effect.fail(new McpSchema.InternalError({ message: new InternalError({ tool: "resources/read" }).message }))
        )
      )
    )

  const readItem: Uses["readItem"] = (uri) =>
    answerRead(uri, Effect.flatMap(callerOf, (caller) => projects.use(project.own)(Resources.readItem(uri, caller))))

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
    return yield* Effect.flatMap(callerOf, (caller) => projects.use(key)(Resources.readOutput(uri, caller)))
  }, (read, uri) => answerRead(uri, read))

  return { call, follow, readItem, readOutput }
})
