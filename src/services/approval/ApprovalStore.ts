// Requests that a person has to answer, kept until they are answered, spent or expired: shared by all processes, and
// still there after a restart. A call never waits here: it files its request and fails, and the same call, repeated
// after the answer, runs once.
import { Context, type Effect } from "effect"
import type { Caller } from "../call/Caller.ts"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { Ask } from "../permission/PermissionGate.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "../trust/HumanAct.ts"
import type { Approval, ApprovalAnswer, AskedTool } from "./Approval.ts"
import type {
  AnswerRefused,
  ApprovalClosed,
  ApprovalError,
  ApprovalNotFound,
  ApprovalsUnavailable
} from "./ApprovalErrors.ts"

/** What a call asks for. */
export interface ApprovalRequest {
  readonly callId: string
  readonly caller: Caller
  /** "run tool deploy" */
  readonly what: string
  /** If it runs one. */
  readonly tool?: AskedTool
  readonly asks: ReadonlyArray<Ask>
  /** Everything that the person needs to decide, as text: tool, version, signer, parameters, level. No secrets. */
  readonly details: string
  /** `details` with long contents by their ends. Absent if they decide, or are shown whole anyway. */
  readonly brief?: string | undefined
  /** What `details` only names by size and digest. */
  readonly unreadable?: ReadonlyArray<string>
  /**
   * SHA-256, in hex, over everything that decides what the call does: chain digest, parameters, config without secrets,
   * isolation level, and the token's thread and directive. An answer `once` is for exactly this, and for this caller.
   */
  readonly digest: string
}

/** The answer that allowed a call. */
export interface Approved {
  readonly id: string
  /** "answered at /dev/pts/3" */
  readonly by: string
  readonly answer: ApprovalAnswer
  /** "approved once" */
  readonly rule: string
}

/** What may be answered, and the rules that `session`, `always` or `never` then make in place of the offered ones. */
export interface AnswerOptions {
  /** Default: all that the request can get. */
  readonly answers?: ReadonlyArray<ApprovalAnswer> | undefined
  readonly rules?: ReadonlyArray<string> | undefined
  /** Also for a request that was refused, as long as the refusal holds: a person changes their answer. */
  readonly again?: boolean | undefined
}

export interface ListedApproval extends Approval {
  /** Those that it can get now. Empty unless it waits. */
  readonly answers: ReadonlyArray<ApprovalAnswer>
}

/** A question to a person about one request. The choices of `question` are the answers. */
export interface ApprovalQuestion {
  readonly approval: Approval
  readonly question: HumanRequest
}

/** A question to a person about every request that waits. */
export interface RefusalQuestion {
  readonly approvals: ReadonlyArray<Approval>
  readonly question: HumanRequest
}

type AnswerError = ApprovalNotFound | ApprovalClosed | ApprovalsUnavailable | AnswerRefused

export class ApprovalStore extends Context.Service<ApprovalStore, {
  /** Uses up an answer for exactly this request, or files the request and fails. Never waits. */
  readonly require: (request: ApprovalRequest) => Effect.Effect<Approved, ApprovalError>
  /** Every request that waits, and what was finished in the last day. Oldest first, each as it is now. */
  readonly list: Effect.Effect<ReadonlyArray<ListedApproval>, ApprovalsUnavailable>
  /** The question about a request that waits. `id`: its own, or that of a session with one waiting request. */
  readonly propose: (id: string, options?: AnswerOptions) => Effect.Effect<ApprovalQuestion, AnswerError>
  /**
   * Records the choice of a person's act. The act must be for the question that `propose` gives for the same options
   * now. The rules are written first: without them nothing is answered.
   */
  readonly answer: (
    id: string,
    act: HumanAct,
    options?: AnswerOptions
  ) => Effect.Effect<Approval, AnswerError | HumanRequired | WriteRefused>
  /** The question whether to refuse all that waits, or all of one session. */
  readonly proposeRefusal: (session?: string) => Effect.Effect<RefusalQuestion, ApprovalNotFound | ApprovalsUnavailable>
  /** Refuses exactly what `proposeRefusal` showed. Returns how many. */
  readonly refuse: (
    act: HumanAct,
    session?: string
  ) => Effect.Effect<number, ApprovalNotFound | ApprovalsUnavailable | HumanRequired>
  /** A session has ended: nobody is offered a rule for it any more, and another may take its requests over. */
  readonly endSession: (session: string) => Effect.Effect<void, ApprovalsUnavailable>
  /** A person closed the question about a request, and gave no answer. */
  readonly dismiss: (id: string) => Effect.Effect<void, ApprovalsUnavailable>
}>()("kiwi/services/approval/ApprovalStore") {}
