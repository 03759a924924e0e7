// Tells a person that a request waits, outside the client that made it: by a service of theirs, or on their desktop.
import { Context, type Effect } from "effect"

/** One way to tell a person, for `kiwi doctor`. */
export interface NoticeWay {
  readonly way: "webhook" | "desktop"
  /** "https://bot.example is told what waits" */
  readonly state: string
  /** What to do, if the person wants this way and it does not work. */
  readonly remedy?: string
}

export class ApprovalNotices extends Context.Service<ApprovalNotices, {
  /**
   * Tells the person of a request, once, in the background: it never waits and never fails. `isShown`: the client shows
   * them the question, so they are told only if they do not answer it there for a while.
   */
  readonly announce: (id: string, isShown: boolean) => Effect.Effect<void>
  /** All ways, those that are off too. */
  readonly ways: Effect.Effect<ReadonlyArray<NoticeWay>>
}>()("kiwi/services/approval/ApprovalNotices") {}
