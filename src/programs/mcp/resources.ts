// What `resources/read` answers. Reading an item is a load, and reading a kept output an action of its own: both ask the
// gate, and leave one entry in the audit.
import { Effect } from "effect"
import type * as McpSchema from "effect/ai/McpSchema"
import type { Caller } from "../../services/call/Caller.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { ItemIdInvalid } from "../../services/item/ItemErrors.ts"
import { ItemType } from "../../services/item/ItemId.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { findListed } from "../../services/permission/profile/callerProfile.ts"
import { Outputs, parseOutputId } from "../../services/primitive/Outputs.ts"
import { ProjectRestricted, ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { governRead } from "../govern.ts"
import { checkReadiness } from "../itemState.ts"
import type { ItemState } from "../itemState.ts"
import { mimeTypeOf } from "./catalog.ts"

const isType = (text: string): text is ItemType => ItemType.literals.some((type) => type === text)

/** An item's bytes. Fails unless a trusted signer signed it, and in a restricted project. */
export const readItem = Effect.fnUntraced(function*(uri: string, caller: Caller) {
  const store = yield* ItemStore
  const [, type = "", id = uri] = /^kiwi:\/\/([a-z]+)\/(.+)$/.exec(uri) ?? []
  const { result } = yield* governRead(
    {
      caller,
      operation: "load",
      query: id,
      filters: { type },
      shown: ({ location, state }: { readonly location: ItemLocation; readonly state: ItemState }) => [
        { type: location.type, id: location.id, tier: location.tier, state }
      ]
    },
    isType(type)
      ? Effect.map(
        findListed(caller, { id, type }),
        ({ location }) => ({ action: { _tag: "Load", item: location } as const })
      )
      : Effect.fail(new ItemIdInvalid({ id: uri })),
    Effect.fnUntraced(function*({ action: { item: location } }) {
      const trust = yield* (yield* ProjectTrust).state
      if (trust._tag === "Restricted") return yield* new ProjectRestricted({ reason: trust.reason })
      const snapshot = yield* store.read(location)
      const { error, state, verified } = yield* checkReadiness(snapshot, caller)
      if (verified === undefined) return yield* Effect.fail(error!)
      const text = new TextDecoder().decode(snapshot.bytes)
      return { location, state, result: { contents: [{ uri, mimeType: mimeTypeOf(location), text }] } }
    })
  )
  return result
})

const rangeOf = (uri: string) => {
  const [, name = uri, search = ""] = /^kiwi:\/\/output\/([^?]*)(?:\?(.*))?$/.exec(uri) ?? []
  const parameters = new URLSearchParams(search)
  const number = (key: string, fallback: number): number => {
    const text = parameters.get(key)
    return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : fallback
  }
  return { name, offset: number("offset", 0), length: Math.min(number("length", 65_536), 1_048_576) }
}

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Fails unless the project keeps the output. */
export const findOutput = (uri: string) =>
  Effect.flatMap(Outputs, (outputs) => outputs.read(rangeOf(uri).name, { offset: 0, length: 0 }))

/** A range of a kept output: text if it is UTF-8. */
export const readOutput = Effect.fnUntraced(function*(uri: string, caller: Caller) {
  const outputs = yield* Outputs
  const { length, name, offset } = rangeOf(uri)
  return yield* governRead(
    { caller, operation: "output", query: name, filters: { offset, length }, shown: () => [] },
    Effect.map(parseOutputId(name), (id) => ({ action: { _tag: "ReadOutput", id } as const })),
    Effect.fnUntraced(function*({ action: { id } }) {
      const { bytes, total } = yield* outputs.read(id, { offset, length })
      const text = decodeUtf8(bytes)
      const result: McpSchema.ReadResourceResult = {
        contents: [text === undefined ? { uri, blob: bytes } : { uri, mimeType: "text/plain", text }],
        _meta: { offset, length: bytes.length, total }
      }
      return result
    })
  )
})
