// What each setting is: its key, its form, its default, and when one value is stricter than another.
import { Duration, Effect, Record as Rec, Schema, SchemaGetter, SchemaIssue } from "effect"
import { secretNameOf } from "../identity/SecretStore.ts"
import {
  combine,
  ConcurrencyLimits,
  isTighterConcurrency,
  isTighterRate,
  rateForm,
  RateLimits,
  showLimits,
  showRate
} from "../limit/Limits.ts"
import { isAtLeast, LockMode } from "../lockfile/LockMode.ts"
import { addressKind } from "../outbound/Address.ts"
import type { SettingsValues } from "./Settings.ts"

export interface Definition<A> {
  readonly key: string
  readonly default: A
  /** As written in a file. */
  readonly written: string
  /** For a person who wrote something else. Default: `written`. */
  readonly example?: string
  readonly form: string
  readonly doc: string
  readonly schema: Schema.ConstraintDecoder<A>
  /** Whether `a` is at least as strict as `b`. Undefined if strictness has no meaning here. */
  readonly tighter: ((a: A, b: A) => boolean) | undefined
  /** Whether it counts only in the user's own file: a project never sets it, however trusted. */
  readonly ownOnly?: boolean
  /** For a map: what applies if a file gives some of its keys. Default: only what is given. */
  readonly combine?: (given: A, base: A) => A
  /** A value as written. Default: as it stands in the file. */
  readonly show?: (value: A) => string
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const sizes: Readonly<Record<string, number>> = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 }

const quantity = (value: unknown, pattern: RegExp, scale: Readonly<Record<string, number>>): number | undefined => {
  const match = typeof value === "string" ? pattern.exec(value) : null
  return match === null ? undefined : Number(match[1]) * scale[match[2]!]!
}

const bounded = (low: string, high: string, what: string, read: (value: unknown) => number | undefined) => {
  const form = `${what} from ${low} to ${high}`
  const [least, most] = [read(low)!, read(high)!]
  const schema = Schema.Unknown.pipe(Schema.decodeTo(Schema.Finite, {
    decode: SchemaGetter.transformEffect((value) => {
      const amount = read(value)
      return amount !== undefined && amount >= least && amount <= most
        ? Effect.succeed(amount)
        : Effect.fail(new SchemaIssue.InvalidValue({ message: `must be ${form}` }))
    }),
    encode: SchemaGetter.forbiddenEncoding
  }))
  return { form, schema }
}

const milliseconds = (value: unknown) => quantity(value, /^(\d{1,9})(ms|s|m|h|d)$/, units)
const bytes = (value: unknown) => quantity(value, /^(\d{1,9})(B|KiB|MiB|GiB)$/, sizes)
const fraction = (value: unknown) => /^(?:0\.\d{1,4}|1(?:\.0{1,4})?)$/.test(String(value)) ? Number(value) : undefined
const whole = (value: unknown) => /^\d{1,9}$/.test(String(value)) ? Number(value) : undefined

const duration = (low: string, high: string, written: string) => {
  const { form, schema } = bounded(low, high, "a duration", milliseconds)
  return {
    written,
    form,
    default: Duration.millis(milliseconds(written)!),
    schema: schema.pipe(Schema.decodeTo(Schema.Duration, {
      decode: SchemaGetter.transform(Duration.millis),
      encode: SchemaGetter.transform(Duration.toMillis)
    }))
  }
}
const size = (low: string, high: string, written: string) => ({
  written,
  ...bounded(low, high, "a size", bytes),
  default: bytes(written)!
})

const shorter = (a: Duration.Duration, b: Duration.Duration) => Duration.isLessThanOrEqualTo(a, b)
const smaller = (a: number, b: number) => a <= b

const lowerable = Schema.Record(Schema.String.check(Schema.isMaxLength(128)), Schema.Literals(["standard"])).pipe(
  Schema.decodeTo(Schema.instanceOf(Map<string, "standard">), {
    decode: SchemaGetter.transform((tools) => new Map(Object.entries(tools))),
    encode: SchemaGetter.transform((tools) => Object.fromEntries(tools))
  })
)

/** Plain http sends what waits readably, so it may not leave the person's own network. */
const isWebhookUrl = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || url.username !== "" || url.password !== "" || url.hash !== "") return false
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  return url.protocol === "https:" ||
    (url.protocol === "http:" && (host === "localhost" || ["loopback", "private"].includes(addressKind(host))))
}

const noWebhook = Schema.Literal("none").pipe(
  Schema.decodeTo(Schema.Undefined, {
    decode: SchemaGetter.transform(() => undefined),
    encode: SchemaGetter.transform(() => "none" as const)
  })
)

const webhook = Schema.Struct({
  url: Schema.String.check(
    Schema.makeFilter((text) =>
      isWebhookUrl(text) ||
      "an https URL without credentials; http only for an address of this machine or a private network"
    )
  ),
  secret: Schema.String.check(
    Schema.makeFilter((text) =>
      secretNameOf(text) !== undefined || "keychain:NAME; the secret itself has no place here"
    )
  )
})

/** All settings; `docs/settings.md` is generated from this. */
export const definitions: { readonly [K in keyof SettingsValues]: Definition<SettingsValues[K]> } = {
  subprocessTimeout: {
    key: "subprocess.timeout",
    ...duration("100ms", "7d", "300s"),
    doc: "How long a tool's process may run when the tool does not say; then its whole process group is killed.",
    tighter: shorter
  },
  httpTimeout: {
    key: "http.timeout",
    ...duration("100ms", "1h", "30s"),
    doc: "How long an HTTP request may take when the tool does not say.",
    tighter: shorter
  },
  outputInline: {
    key: "output.inline",
    ...size("1KiB", "16MiB", "1MiB"),
    doc: "Output up to this size is returned whole; the rest is kept as a file and read back in ranges.",
    tighter: smaller
  },
  outputMax: {
    key: "output.max",
    ...size("1KiB", "64GiB", "256MiB"),
    doc: "A tool that writes more than this is stopped.",
    tighter: smaller
  },
  outputKeep: {
    key: "output.keep",
    ...duration("1h", "3650d", "7d"),
    doc: "How long kept output stays on disk.",
    tighter: undefined
  },
  callsConcurrency: {
    key: "calls.concurrency",
    written: "16",
    default: 16,
    ...bounded("1", "1024", "a whole number", whole),
    doc: "How many programs, and how many requests, tools of one project run at once; more wait for their turn.",
    tighter: smaller
  },
  limitsRate: {
    key: "limits.rate",
    written: "{caller: 600/m}",
    default: { caller: { tokens: 600, period: 60_000 } },
    schema: RateLimits,
    form: `\`caller\` and \`tools\`, with ${rateForm}`,
    doc:
      "How often tools may be called ([below](#limits)). A call that could go on within 2 s waits; any other is refused as `RATE_LIMITED`.",
    tighter: isTighterRate,
    combine,
    show: (limits) => showLimits(limits, showRate)
  },
  limitsConcurrency: {
    key: "limits.concurrency",
    written: "{caller: 64}",
    default: { caller: 64 },
    schema: ConcurrencyLimits,
    form: "`caller` and `tools`, with whole numbers from 1 to 1024",
    doc:
      "How many calls of tools may run at once. One more waits up to 2 s, and is refused as `CONCURRENCY_LIMITED` then.",
    tighter: isTighterConcurrency,
    combine,
    show: (limits) => showLimits(limits, String)
  },
  loopThreshold: {
    key: "loop.threshold",
    written: "0.9",
    default: 0.9,
    ...bounded("0.5", "1", "a number", fraction),
    doc: "How alike the arguments of two calls have to be to count as the same call; `1` for equal ones only.",
    tighter: smaller
  },
  loopWindow: {
    key: "loop.window",
    written: "10",
    default: 10,
    ...bounded("1", "100", "a whole number", whole),
    doc:
      "Among how many of a session's latest calls loops are looked for. Below 10 none is refused, below 5 there is no warning.",
    tighter: (a, b) => a >= b
  },
  approvalsTimeout: {
    key: "approvals.timeout",
    ...duration("1m", "7d", "1h"),
    doc: "How long a request waits for a person's answer, and an answer for its call.",
    tighter: shorter
  },
  approvalsWait: {
    key: "approvals.wait",
    ...duration("0s", "10m", "40s"),
    doc: "How long a call over MCP waits for the answer when its client cannot show the question.",
    tighter: shorter
  },
  approvalsNotify: {
    key: "approvals.notify",
    written: "desktop",
    form: "desktop or off",
    default: "desktop",
    doc:
      "Whether your desktop shows a notification when a request waits for you. There is none where there is no desktop, or `CI` is set. It counts only in your own file.",
    schema: Schema.Literals(["desktop", "off"]),
    tighter: undefined,
    ownOnly: true
  },
  approvalsWebhook: {
    key: "approvals.webhook",
    written: "none",
    example: "{url: \"https://bot.example/kiwi\", secret: \"keychain:bot\"}",
    form: "none, or `url` and `secret`",
    default: undefined,
    doc:
      "Your own service that is told what waits for you ([approvals](approvals.md#a-service-of-yours)). It counts only in your own file.",
    schema: Schema.Union([webhook, noWebhook]),
    tighter: undefined,
    ownOnly: true
  },
  auditDurability: {
    key: "audit.durability",
    written: "os",
    form: "os or full",
    default: "os",
    doc: "`os` hands every audit entry to the operating system before the effect; `full` also waits for the disk.",
    schema: Schema.Literals(["os", "full"]),
    tighter: (a, b) => a === "full" || b === "os"
  },
  auditFile: {
    key: "audit.file",
    ...size("64KiB", "64GiB", "64MiB"),
    doc: "A session that has written this much to its audit file seals it and goes on in a new one.",
    tighter: undefined
  },
  auditKeep: {
    key: "audit.keep",
    ...duration("1d", "3650d", "365d"),
    doc: "How long sealed files of the audit stay on disk. Their signed heads stay for good.",
    tighter: (a, b) => Duration.isGreaterThanOrEqualTo(a, b)
  },
  lockfileMode: {
    key: "lockfile.mode",
    written: "warn",
    form: "off, warn or strict",
    default: "warn",
    doc:
      "What a lockfile means for a call: `off` looks at none, `warn` tells what differs in the result, `strict` runs nothing that is not as it was locked.",
    schema: LockMode,
    tighter: isAtLeast
  },
  lockfileKeep: {
    key: "lockfile.keep",
    ...duration("1h", "3650d", "90d"),
    doc: "How long a lockfile that no call has held to stays before `kiwi lockfile prune` removes it.",
    tighter: undefined
  },
  callsAnswer: {
    key: "calls.answer",
    ...duration("1s", "7d", "45s"),
    doc:
      "How long an MCP client waits for a call. One that runs longer is answered `running`, and `call.result` and `call.stop` follow it.",
    tighter: undefined
  },
  isolationTools: {
    key: "isolation.tools",
    written: "{}",
    form: "tools by id, each with `standard`",
    default: new Map(),
    doc:
      "Tools that run without a sandbox, although their caller chooses what runs: `isolation.tools: {git.status: standard}`. It counts only in your own file.",
    schema: lowerable,
    tighter: undefined,
    ownOnly: true
  }
}

/** The values of all settings without a file. */
export const defaults = Rec.map(definitions, (definition) => definition.default) as unknown as SettingsValues
