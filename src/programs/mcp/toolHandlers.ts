// What each MCP tool does with its arguments: decodes them, and runs its use case.
import { Effect, Result, type Schema } from "effect"
import type { ProjectServices } from "../../layers/projectGraph.ts"
import type { Caller } from "../../services/call/Caller.ts"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import { forAgent } from "../../services/error/agentRemedy.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import type { HumanGate } from "../../services/trust/HumanAct.ts"
import { execute } from "../execute.ts"
import { help } from "../help.ts"
import { signalHelp } from "../helpSignals.ts"
import { load, loadInto } from "../load.ts"
import type { Loaded } from "../load.ts"
import { search } from "../search.ts"
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
import type { ExposedTarget } from "./exposed.ts"
import { leanHits, leanItem, leanMetadata, metaOfItem } from "./lean.ts"
import type { ToolName } from "./tools.ts"

export interface Answer {
  readonly status: string
  readonly data: unknown
  readonly metadata?: object
  /** What programs want of it beside that, and no model. */
  readonly meta?: object
  readonly warnings?: ReadonlyArray<CallWarning>
}

export const done = (data: unknown): Answer => ({ status: "success", data })

/** Needs the services of the project that the call is about. */
export type Run = Effect.Effect<Answer, KiwiError, ProjectServices | HumanGate>

const loaded = (item: Loaded): Answer => ({ ...done(leanItem(item)), meta: metaOfItem(item) })

/** Agents give a sentence as often as an object. */
const asObject = (context: typeof HelpArguments.Type["context"]): Schema.JsonObject | undefined =>
  typeof context === "string" ? { text: context } : context

const mostAttempts = 1_000_000

/** Agents list what they tried, or write the number in words of their own. */
const asCount = (attempts: typeof HelpArguments.Type["attempts"]): number | undefined => {
  if (typeof attempts === "number" || attempts === undefined) return attempts
  if (typeof attempts !== "string") return attempts.length
  const [digits] = /\d+/.exec(attempts) ?? []
  return digits === undefined ? undefined : Math.min(Number(digits), mostAttempts)
}

const executed = (answer: Effect.Success<ReturnType<typeof execute>>): Answer => ({
  ...answer,
  metadata: leanMetadata(answer.metadata),
  meta: answer.metadata
})

export type Handler = (
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

export const handlers: Readonly<Record<ToolName, Handler>> = {
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
          signalHelp({
            ...a,
            attempts: asCount(a.attempts),
            context: asObject(a.context),
            action: a.action,
            sessionId: a.session_id,
            callId
          }, caller),
          (signalled) => ({ status: signalled.status, data: signalled })
        )
    }))
}

/** The protocol admits only JSON. */
const objectOf = (args: unknown): Schema.JsonObject =>
  isJsonObject(args as Schema.Json) ? args as Schema.JsonObject : {}

/** A tool that is called by its own name. Its own schema checks the arguments. */
export const exposed = ({ id, tier }: ExposedTarget): Handler => (args, { callId, caller }) =>
  Result.succeed({
    project: undefined,
    run: Effect.map(
      execute({ id, type: "tool", tier, parameters: objectOf(args), dryRun: false, callId }, caller),
      executed
    )
  })
