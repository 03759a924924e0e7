// A project with many signed items, and a chain of five links. Signing a hundred thousand items by `kiwi sign` would
// take longer than everything that is measured; here their signatures are made in one go, by the same identity.
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import * as Kernel from "../../src/layers/Kernel.ts"
import { Identity } from "../../src/services/identity/Identity.ts"
import type { ItemId, ItemType } from "../../src/services/item/ItemId.ts"
import { commentSyntax, signedMessage, withSignature } from "../../src/services/item/SignatureLine.ts"
import type { Place } from "./place.ts"
import { makePlace } from "./place.ts"

/** Words as frequent as in a language, from a fixed seed. */
export const makeWords = (seed: number) => {
  let state = seed
  const random = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return state / 0x7fffffff
  }
  const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split(" ")
  const spell = (n: number): string => n < 20 ? syllables[n]! : spell(Math.floor(n / 20) - 1) + syllables[n % 20]!
  const word = () => spell(Math.floor(30_000 ** random()) + 20)
  return { random, word, text: (count: number) => Array.from({ length: count }, word).join(" ") }
}

interface Source {
  readonly type: ItemType
  readonly id: string
  /** Below its type's folder. */
  readonly path: string
  readonly text: string
}

const folders = { tool: "tools", knowledge: "knowledge", directive: "directives" } as const

/** A third tools, the rest knowledge, in up to 200 categories. */
const makeSources = (count: number): ReadonlyArray<Source> => {
  const categories = Math.min(200, Math.ceil(count / 50))
  const { random, text, word } = makeWords(1)
  return Array.from({ length: count }, (_, i): Source => {
    const id = `${word()}_${word()}_${i.toString(36)}`
    const category = `group_${i % categories}`
    return i % 3 === 0
      ? {
        type: "tool",
        id,
        path: `${category}/${id}.py`,
        text: `"""${text(14)}"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "${category}"
INPUT_SCHEMA = {"type": "object", "properties": {"${word()}": {"type": "string", "description": "${text(6)}"}}}
print("${text(20)}")
`
      }
      : {
        type: "knowledge",
        id,
        path: `${category}/${id}.md`,
        text: `---
id: ${id}
title: ${text(4)}
version: "1.0.0"
entry_type: note
category: ${category}
tags: [${word()}]
---
${text(20 + Math.floor(random() * 120))}
`
      }
  })
}

const link = (id: string, executor: string): Source => ({
  type: "tool",
  id,
  path: `chain/${id}.yaml`,
  text: `tool_id: ${id}
version: "1.0.0"
tool_type: bash
executor_id: ${executor}
category: chain
description: A link of a chain
`
})

/** One, two and three are the project's; bash_runtime and subprocess follow. */
const chain: ReadonlyArray<Source> = [link("one", "two"), link("two", "three"), {
  type: "tool",
  id: "three",
  path: "chain/three.sh",
  text: `#!/usr/bin/env bash
# kiwi:
#   version: "1.0.0"
#   tool_type: bash
#   executor_id: bash_runtime
#   category: chain
true
`
}]

const time = "20261121T210900Z"

const signAll = (place: Place, sources: ReadonlyArray<Source>) =>
  Effect.scoped(Effect.gen(function*() {
    const context = yield* Layer.build(Kernel.layerProcess(place.options))
    const identity = Context.get(context, Identity)
    const { keyId } = yield* identity.ensure()
    const claims = sources.map(({ text }) => ({
      time,
      kind: "person" as const,
      digest: createHash("sha256").update(text).digest("hex"),
      keyId
    }))
    const messages = sources.map(({ id, path, type }, i) => signedMessage(claims[i]!, { type, id: id as ItemId, path }))
    const signatures = yield* identity.sign(messages, { kind: "sign", digest: "", by: "embedder" })
    for (const [i, { path, text, type }] of sources.entries()) {
      const syntax = commentSyntax(path)!
      place.write(
        `.ai/${folders[type]}/${path}`,
        withSignature(text, syntax, { ...claims[i]!, signature: signatures[i]! })
      )
    }
  }))

export interface BigProject {
  readonly place: Place
  readonly ids: ReadonlyArray<string>
}

export const makeBigProject = async (count: number): Promise<BigProject> => {
  const place = makePlace()
  const sources = makeSources(count)
  await Effect.runPromise(signAll(place, [...sources, ...chain]))
  return { place, ids: sources.map(({ id }) => id) }
}
