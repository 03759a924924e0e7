// How well search finds, on sentences that people write: `--data DIR` names a folder with `tools.jsonl` (`id`,
// `description` and, where it is not the project's, `tier`), `queries.jsonl` (`query`, `tool`: the right answer, or the
// list of them) and, where it has it, `none.jsonl` (`query`: questions about none of the tools). Lines with `held` are
// for judging and never for tuning: `--held` takes these alone, without it they are left out. The rival is FTS5 with
// the Porter tokenizer, as one gets it. `finding-data/` has sets; its servers' tools are what the packages named in
// its README list.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { ItemIndex } from "../../src/services/search/ItemIndex.ts"
import { openKernel } from "./kernel.ts"
import { makePlace } from "./place.ts"
import { makeScore, type Row } from "./Report.ts"

interface Tool {
  readonly id: string
  readonly description: string
  readonly tier?: "project" | "user"
}

interface Question {
  readonly query: string
  readonly held?: boolean
}

interface Query extends Question {
  readonly tool: string | ReadonlyArray<string>
}

const cut = 5

const readLines = <A>(file: string): ReadonlyArray<A> =>
  readFileSync(file, "utf8").split("\n").filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as A)

/** Ids that were found for each query, best first. */
type Found = ReadonlyArray<ReadonlyArray<string>>

const rightOf = ({ tool }: Query): ReadonlyArray<string> => typeof tool === "string" ? [tool] : tool

const gain = (at: number): number => 1 / Math.log2(at + 2)
const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, one) => total + one, 0)

const ndcg = (queries: ReadonlyArray<Query>, found: Found): number =>
  sum(queries.map((query, i) => {
    const right = rightOf(query)
    const best = sum(right.slice(0, cut).map((_, at) => gain(at)))
    return sum((found[i] ?? []).map((id, at) => right.includes(id) ? gain(at) : 0)) / best
  })) / queries.length

const recall = (queries: ReadonlyArray<Query>, found: Found): number =>
  sum(queries.map((query, i) => {
    const right = rightOf(query)
    return right.filter((id) => found[i]?.includes(id)).length / Math.min(cut, right.length)
  })) / queries.length

const plain = (tools: ReadonlyArray<Tool>, queries: ReadonlyArray<Question>): Found => {
  const database = new DatabaseSync(":memory:")
  database.exec("CREATE VIRTUAL TABLE tools USING fts5(id, description, tokenize='porter unicode61')")
  const insert = database.prepare("INSERT INTO tools VALUES (?, ?)")
  for (const { description, id } of tools) insert.run(id, description)
  const select = database.prepare("SELECT id FROM tools WHERE tools MATCH ? ORDER BY bm25(tools) LIMIT ?")
  const found = queries.map(({ query }) => {
    const words = query.match(/[\p{L}\p{N}]+/gu) ?? []
    if (words.length === 0) return []
    return select.all(words.map((word) => `"${word}"`).join(" OR "), cut).map(({ id }) => String(id))
  })
  database.close()
  return found
}

const ours = async (
  tools: ReadonlyArray<Tool>,
  queries: ReadonlyArray<Question>
): Promise<Found> => {
  const place = makePlace()
  for (const { description, id, tier } of tools) {
    place.write(
      `${tier === "user" ? "../user" : ".ai"}/tools/${id}.yaml`,
      `tool_id: ${id}\nversion: "1.0.0"\ntool_type: http\nexecutor_id: http_client\ndescription: ${
        JSON.stringify(description)
      }\nconfig: { url: "https://example.com/" }\n`
    )
  }
  const kernel = openKernel(place.options)
  try {
    const index = await kernel.runPromise(ItemIndex)
    const found: Array<ReadonlyArray<string>> = []
    for (const { query } of queries) {
      const hits = await kernel.runPromise(index.search({ query, type: "tool", limit: cut }))
      found.push(hits.map(({ id }) => id))
    }
    return found
  } finally {
    await kernel.dispose()
    place.remove()
  }
}

const noHit = (found: Found): number => found.filter((ids) => ids.length === 0).length / found.length

export const findingRows = async (
  quick: boolean,
  data: string | undefined,
  held: boolean
): Promise<ReadonlyArray<Row>> => {
  if (data === undefined) return []
  const tools = readLines<Tool>(join(data, "tools.jsonl"))
  const ofHalf = (question: Question) => (question.held === true) === held
  const all = readLines<Query>(join(data, "queries.jsonl")).filter(ofHalf)
  const queries = quick ? all.filter((_, i) => i % 20 === 0) : all
  const noneFile = join(data, "none.jsonl")
  const none = existsSync(noneFile) ? readLines<Question>(noneFile).filter(ofHalf) : []
  const rival = plain(tools, [...queries, ...none])
  const found = await ours(tools, [...queries, ...none])
  const rivalOf = rival.slice(0, queries.length)
  const foundOf = found.slice(0, queries.length)
  const what = "the same by FTS5 with the Porter tokenizer"
  return [
    makeScore({
      name: "finding.ndcg5",
      what: `nDCG@5 of ${queries.length} sentences over ${tools.length} tools`,
      score: ndcg(queries, foundOf),
      rival: { what, score: ndcg(queries, rivalOf) },
      least: { ratio: 1.1 }
    }),
    makeScore({
      name: "finding.recall5",
      what: "how many of them have the right tool among the first five",
      score: recall(queries, foundOf),
      rival: { what, score: recall(queries, rivalOf) },
      least: { ratio: 1 }
    }),
    ...(none.length === 0 ? [] : [makeScore({
      name: "finding.none",
      what: `how many of ${none.length} questions about none of the tools find none`,
      score: noHit(found.slice(queries.length)),
      rival: { what, score: noHit(rival.slice(queries.length)) },
      least: { p50: 0.9 }
    })])
  ]
}
