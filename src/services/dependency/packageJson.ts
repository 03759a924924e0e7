// Reads dependencies, optionalDependencies and overrides from a tool's package.json. Everything else (scripts,
// workspaces, development dependencies) is ignored. Packages may only be given by name and range.
import { Result } from "effect"
import type { Schema } from "effect"
import { isJsonObject } from "../schema/json.ts"
import { nodeNameProblem, nodeRangeProblem } from "./requirements.ts"

export interface PackageJson {
  /** `name@range`, sorted by name, including optional ones. */
  readonly requirements: ReadonlyArray<string>
  readonly optional: ReadonlyArray<string>
  readonly overrides: string | undefined
}

const ranges = (
  json: Schema.JsonObject,
  field: string
): Result.Result<ReadonlyArray<string>, string> => {
  const value = Object.hasOwn(json, field) ? json[field] : {}
  if (!isJsonObject(value)) return Result.fail(`${field} is not an object`)
  const found: Array<string> = []
  for (const [name, range] of Object.entries(value)) {
    if (typeof range !== "string") return Result.fail(`${field}.${name} is not text`)
    const problem = nodeNameProblem(name) ?? nodeRangeProblem(range)
    if (problem !== undefined) return Result.fail(`${field}.${name}: ${problem}`)
    found.push(`${name}@${range.trim() || "*"}`)
  }
  return Result.succeed(found.toSorted())
}

/** `name`, `name@range` or `.`, each with a range, a `$name`, or a nested object of these. */
const overridesProblem = (value: Schema.Json, depth: number): string | undefined => {
  if (typeof value === "string") {
    return value.startsWith("$") ? nodeNameProblem(value.slice(1)) : nodeRangeProblem(value)
  }
  if (!isJsonObject(value) || depth > 8) return "it is neither a range nor an object of them"
  for (const [key, inner] of Object.entries(value)) {
    const at = key.indexOf("@", 1)
    const problem = key === "."
      ? undefined
      : nodeNameProblem(at === -1 ? key : key.slice(0, at)) ??
        (at === -1 ? undefined : nodeRangeProblem(key.slice(at + 1)))
    const wrong = problem ?? overridesProblem(inner, depth + 1)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const isPlainJson = (text: string): Result.Result<Schema.Json, string> =>
  Result.try({ try: (): Schema.Json => JSON.parse(text), catch: () => "it is not JSON" })

export const readPackageJson = (text: string): Result.Result<PackageJson, string> =>
  Result.gen(function*() {
    const json = yield* isPlainJson(text)
    if (!isJsonObject(json)) return yield* Result.fail("it is not a JSON object")
    const optional = yield* ranges(json, "optionalDependencies")
    const required = yield* ranges(json, "dependencies")
    const names = new Set(optional.map((entry) => entry.slice(0, entry.indexOf("@", 1))))
    const overrides = Object.hasOwn(json, "overrides") ? json["overrides"] : undefined
    if (overrides !== undefined) {
      const problem = isJsonObject(overrides) ? overridesProblem(overrides, 0) : "it is not an object"
      if (problem !== undefined) return yield* Result.fail(`overrides: ${problem}`)
    }
    return {
      // As in npm, a package in both is optional.
      requirements: [...required.filter((entry) => !names.has(entry.slice(0, entry.indexOf("@", 1)))), ...optional]
        .toSorted(),
      optional,
      overrides: overrides === undefined ? undefined : JSON.stringify(overrides)
    }
  })
