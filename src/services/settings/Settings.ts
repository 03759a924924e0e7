// Settings of `config/kiwi.yaml`: the user's, then the project's. The project's apply if they are stricter than the
// value without them; all of them apply only if a person accepted exactly these bytes. An invalid setting is reported,
// and the value below it applies.
import { Context, type Duration, type Effect } from "effect"
import type { Limits, Rate } from "../limit/Limits.ts"
import type { LockMode } from "../lockfile/LockMode.ts"

export interface SettingsValues {
  readonly subprocessTimeout: Duration.Duration
  readonly httpTimeout: Duration.Duration
  /** Bytes. */
  readonly outputInline: number
  /** Bytes. */
  readonly outputMax: number
  readonly outputKeep: Duration.Duration
  readonly callsConcurrency: number
  readonly limitsRate: Limits<Rate>
  readonly limitsConcurrency: Limits<number>
  /** From 0 to 1. */
  readonly loopThreshold: number
  readonly loopWindow: number
  readonly approvalsTimeout: Duration.Duration
  readonly approvalsWait: Duration.Duration
  readonly approvalsNotify: "desktop" | "off"
  readonly approvalsWebhook: Webhook | undefined
  readonly auditDurability: "os" | "full"
  /** Bytes. */
  readonly auditFile: number
  readonly auditKeep: Duration.Duration
  readonly lockfileMode: LockMode
  readonly lockfileKeep: Duration.Duration
  /** How long a call of a client that waits may take before it is answered that it is still running. */
  readonly callsAnswer: Duration.Duration
  /** Levels of tools that a person lowered, by the tool's id. */
  readonly isolationTools: ReadonlyMap<string, "standard">
}

/** A person's own service that is told what waits. */
export interface Webhook {
  /** Without credentials and fragment. http only for this machine and addresses of private networks. */
  readonly url: string
  /** "keychain:NAME": `whsec_` and the key in base64. */
  readonly secret: string
}

export interface SettingsProblem {
  /** "user:config/kiwi.yaml" or "project:config/kiwi.yaml". */
  readonly file: string
  readonly line: number
  readonly issue: string
  readonly hint: string
}

export class Settings extends Context.Service<Settings, {
  /** The current settings. A change on disk is seen within a second. */
  readonly current: Effect.Effect<SettingsValues>
  readonly problems: Effect.Effect<ReadonlyArray<SettingsProblem>>
}>()("kiwi/services/settings/Settings") {}
