// What a model gets of an answer: nothing that it does not use, since it pays for every word again on each later turn.
// What programs want beside that goes with the answer as `_meta`.
import { Predicate } from "effect"
import type { CallMetadata } from "../../services/proxy/ToolCall.ts"
import type { Followed } from "../follow.ts"
import type { Loaded, LoadedContent } from "../load.ts"
import type { SearchHit } from "../search.ts"

/** Of a call: its id in the audit, and what its output does not say. */
export const leanMetadata = (metadata: CallMetadata | Followed["metadata"]): object => {
  if (!("call_id" in metadata)) return { version: metadata.version }
  const { attempts, call_id, exit_code, headers, output, status_code, stderr } = metadata
  return {
    call_id,
    exit_code: exit_code === 0 ? undefined : exit_code,
    status_code,
    attempts: attempts === 1 ? undefined : attempts,
    headers,
    stderr,
    output
  }
}

/** Of a hit that may describe itself: its call is enough to use it. A category stays where it tells two hits apart. */
export const leanHits = (hits: ReadonlyArray<SearchHit>): ReadonlyArray<object> =>
  hits.map((hit) => {
    if (hit.version === undefined) return hit
    const { category, path: _path, version: _version, ...lean } = hit
    return hits.some((other) => other !== hit && other.id === hit.id) ? { ...lean, category } : lean
  })

/** Every key and text in a JSON value. */
const wordsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value === "number") return [String(value)]
  if (Array.isArray(value)) return value.flatMap(wordsOf)
  return Predicate.isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => [[key], wordsOf(inner)].flat())
    : []
}

const isEmpty = (requires: LoadedContent["requires"]): boolean =>
  requires === undefined || Object.values(requires).every((list) => list.length === 0)

const leanContent = (
  { executor: _executor, parameters, requires, title, tool_type: _type, ...item }: LoadedContent
) => ({
  ...item,
  ...(title === undefined || item.content.includes(title) ? {} : { title }),
  // Those of a script without a schema stand nowhere else.
  ...(parameters === undefined || wordsOf(parameters).every((word) => item.content.includes(word))
    ? {}
    : { parameters }),
  ...(isEmpty(requires) ? {} : { requires })
})

/** Of an item: its text, and what the text does not say. */
export const leanItem = ({ digest: _digest, item, signed_by, ...rest }: Loaded) => ({
  ...rest,
  ...(signed_by === undefined ? {} : { signed_by: signed_by.name }),
  ...(item === undefined ? {} : { item: leanContent(item) })
})

/** What `leanItem` leaves out. Words of an item that is not trusted stay where they are marked as such. */
export const metaOfItem = ({ digest, item, signed_by }: Loaded) => ({
  digest,
  signed_by,
  tool_type: item?.tool_type,
  executor: item?.executor,
  parameters: item?.parameters,
  requires: item?.requires
})
