// Makes a knowledge entry from front matter and text.
import { Result } from "effect"
import type { Schema } from "effect"
import type { ItemSnapshot, Knowledge } from "../item/Item.ts"
import { parseItemRef } from "../item/ItemId.ts"
import { cut, fieldProblem, firstParagraph, problem } from "./Metadata.ts"
import type { Metadata, Problem } from "./Metadata.ts"
import { checkPlace, flagField, textField, textsField, versionField } from "./ToolMetadata.ts"

export const frontMatterExample = `Start the file with:
---
title: What it is about
entry_type: concept
version: "1.0.0"
---`

export interface FrontMatter {
  readonly metadata: Metadata
  readonly body: string
}

const link = /\[\[([^[\]\n|]{1,200})(?:\|[^[\]\n]{0,200})?\]\]/g

const linksOf = (body: string): ReadonlyArray<string> => {
  const links = new Set<string>()
  for (const match of body.matchAll(link)) {
    const id = match[1]!.trim()
    if (parseItemRef(id)._tag === "Some") links.add(id)
  }
  return Array.from(links)
}

export const toKnowledge = (
  snapshot: ItemSnapshot,
  { body, metadata }: FrontMatter
): Result.Result<Knowledge, Problem> =>
  Result.gen(function*() {
    yield* checkPlace(metadata, snapshot)
    const title = yield* textField(metadata, "title")
    if (title === undefined || title.trim() === "") {
      return yield* Result.fail(problem("the entry has no title", frontMatterExample))
    }
    if (title.includes("\n")) {
      return yield* Result.fail(
        fieldProblem(metadata.get("title")!, "the title has more than one line", "Write it on one line")
      )
    }
    if (body.trim() === "") {
      return yield* Result.fail(problem("the entry has no text after its front matter", "Write what is to be known"))
    }
    const frontMatter: Record<string, Schema.Json> = {}
    for (const [name, field] of metadata) frontMatter[name] = field.value
    const first = body.split("\n").find((line) => line.trim() !== "" && !line.trimStart().startsWith("#"))
    return {
      _tag: "knowledge",
      location: snapshot.location,
      digest: snapshot.digest,
      version: yield* versionField(metadata),
      title: cut(title),
      description: (yield* textField(metadata, "description")) ??
        (first === undefined ? "" : cut(firstParagraph(body.slice(body.indexOf(first))), 400)),
      tags: yield* textsField(metadata, "tags"),
      overridable: yield* flagField(metadata, "overridable"),
      entryType: (yield* textField(metadata, "entry_type")) ?? "",
      links: linksOf(body),
      body,
      frontMatter
    } satisfies Knowledge
  })
