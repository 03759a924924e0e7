// Entries as OpenTelemetry spans, in the JSON form of OTLP: one span for each call, lookup and act. Ids are made from the
// calls' ids, so that the same audit always gives the same spans. Parameters are left out: traces go to other systems.
import { sha256 } from "../../../../layers/identity/sha256.ts"
import type { AuditEntry } from "../../../../services/audit/AuditEntry.ts"

type Value = { readonly stringValue: string } | { readonly intValue: string } | { readonly doubleValue: number }
interface Attribute {
  readonly key: string
  readonly value: Value
}

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  /** 1: internal. */
  readonly kind: 1
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: ReadonlyArray<Attribute>
  /** 0: unset, 1: ok, 2: error. */
  readonly status: { readonly code: 0 | 1 | 2; readonly message?: string }
}

type Entry<K> = Extract<AuditEntry, { readonly kind: K }>

const spanIdOf = (what: string): string => sha256(`span:${what}`).slice(0, 16)
const traceIdOf = (what: string): string => sha256(`trace:${what}`).slice(0, 32)

const nano = (ms: number): string => `${BigInt(Math.round(ms * 1_000)) * 1_000n}`

const attributes = (given: Readonly<Record<string, string | number | undefined>>): ReadonlyArray<Attribute> =>
  Object.entries(given).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{
        key,
        value: typeof value === "string"
          ? { stringValue: value }
          : Number.isInteger(value)
          ? { intValue: String(value) }
          : { doubleValue: value }
      }]
  )

const ofCaller = ({ client, label, session, surface }: Entry<"request">["caller"]) => ({
  "kiwi.caller.surface": surface,
  "kiwi.caller.client": client,
  "kiwi.caller.label": label,
  "kiwi.caller.session": session
})

const statusOf = (outcome: string, message: string | undefined): Span["status"] =>
  outcome === "success" || outcome === "done"
    ? { code: 1 }
    : outcome === "asked" || outcome === "agreed"
    ? { code: 0 }
    : { code: 2, ...(message === undefined ? {} : { message }) }

/** So many requests wait for their result, and so many calls are known by their trace; the oldest go first. */
const mostKept = 10_000

const keep = <A>(map: Map<string, A>, key: string, value: A): A | undefined => {
  map.set(key, value)
  if (map.size <= mostKept) return undefined
  const [[oldest, dropped]] = map as unknown as [[string, A]]
  map.delete(oldest)
  return dropped
}

export const makeSpans = () => {
  const waiting = new Map<string, Entry<"request">>()
  const traces = new Map<string, string>()

  /** The calls of a thread are one trace, and so are a call and the calls that were made in it. */
  const traceOf = ({ call, parent, thread }: Entry<"request">): string => {
    const trace = thread !== undefined
      ? traceIdOf(thread)
      : parent !== undefined
      ? traces.get(parent) ?? traceIdOf(parent)
      : traceIdOf(call)
    keep(traces, call, trace)
    return trace
  }

  const finish = (request: Entry<"request">, result: Entry<"result"> | undefined): Span => {
    const { call, caller, directive, dry_run, jti, operation, parent, thread } = request
    const subject = result?.subject ?? request.subject
    const start = Date.parse(request.at)
    const above = parent ?? thread
    return {
      traceId: traces.get(call) ?? traceOf(request),
      spanId: spanIdOf(call),
      ...(above === undefined ? {} : { parentSpanId: spanIdOf(above) }),
      name: `${operation} ${subject.item}`,
      kind: 1,
      startTimeUnixNano: nano(start),
      endTimeUnixNano: nano(start + (result?.duration_ms ?? 0)),
      attributes: attributes({
        "kiwi.call": call,
        "kiwi.operation": operation,
        "kiwi.item": subject.item,
        "kiwi.item.type": subject.type,
        "kiwi.item.version": subject.version,
        "kiwi.item.tier": subject.tier,
        "kiwi.item.digest": subject.digest,
        ...ofCaller(caller),
        "kiwi.directive": directive,
        "kiwi.thread": thread,
        "kiwi.token": jti,
        "kiwi.dry_run": dry_run === true ? "true" : undefined,
        "kiwi.outcome": result?.outcome ?? "unknown",
        "kiwi.rule": result?.rule,
        "kiwi.approval": result?.approval?.id,
        "kiwi.approval.answer": result?.approval?.answer,
        "kiwi.isolation": result?.isolation,
        "kiwi.cost.micro_usd": result?.cost?.micro_usd,
        "error.type": result?.error?.code
      }),
      status: result === undefined ? { code: 0 } : statusOf(result.outcome, result.error?.message)
    }
  }

  const ofRead = (
    { at, call, caller, duration_ms, error, operation, outcome, query, rule, shown }: Entry<"read">
  ): Span => ({
    traceId: traceIdOf(call),
    spanId: spanIdOf(call),
    name: operation,
    kind: 1,
    startTimeUnixNano: nano(Date.parse(at) - duration_ms),
    endTimeUnixNano: nano(Date.parse(at)),
    attributes: attributes({
      "kiwi.call": call,
      "kiwi.operation": operation,
      "kiwi.query": query,
      "kiwi.shown": shown.length,
      ...ofCaller(caller),
      "kiwi.outcome": outcome,
      "kiwi.rule": rule,
      "error.type": error?.code
    }),
    status: statusOf(outcome, undefined)
  })

  const ofAct = ({ act, answer, at, by, caller, n, outcome, prev, title }: Entry<"act">): Span => ({
    traceId: traceIdOf(`${n}:${prev}`),
    spanId: spanIdOf(`${n}:${prev}`),
    name: act,
    kind: 1,
    startTimeUnixNano: nano(Date.parse(at)),
    endTimeUnixNano: nano(Date.parse(at)),
    attributes: attributes({
      "kiwi.act": act,
      "kiwi.act.by": by,
      "kiwi.act.answer": answer,
      "kiwi.act.title": title,
      ...ofCaller(caller),
      "kiwi.outcome": outcome
    }),
    status: statusOf(outcome, undefined)
  })

  return {
    /** The spans that end with this entry. */
    add: (entry: AuditEntry): ReadonlyArray<Span> => {
      switch (entry.kind) {
        case "request": {
          traceOf(entry)
          // Its parameters can be large, and are in no span.
          const dropped = keep(waiting, entry.call, { ...entry, parameters: null })
          return dropped === undefined ? [] : [finish(dropped, undefined)]
        }
        case "result": {
          const request = waiting.get(entry.call)
          waiting.delete(entry.call)
          return request === undefined ? [] : [finish(request, entry)]
        }
        case "read":
          return [ofRead(entry)]
        case "act":
          return [ofAct(entry)]
        default:
          return []
      }
    },
    /** Calls without a result: they are running, or their process died. */
    end: (): ReadonlyArray<Span> => [...waiting.values()].map((request) => finish(request, undefined))
  }
}

/** One line of an OTLP file. */
export const tracesData = (spans: ReadonlyArray<Span>, version: string) => ({
  resourceSpans: [{
    resource: { attributes: attributes({ "service.name": "kiwi", "service.version": version }) },
    scopeSpans: [{ scope: { name: "kiwi.audit", version }, spans }]
  }]
})
