// Reads and prints the text of a lockfile. A valid one fits the schema and does not contradict itself. Messages name
// fields and never quote their values, since anybody may have written the file.
import { Result, Schema, SchemaIssue } from "effect"
import { chainHashText, Lockfile } from "./Lockfile.ts"

const decode = Schema.decodeUnknownResult(Lockfile)
const standard = SchemaIssue.makeFormatterStandardSchemaV1()

const fieldOf = (path: ReadonlyArray<unknown>): string =>
  path.map((part, i) => typeof part === "number" ? `[${part}]` : i === 0 ? String(part) : `.${String(part)}`).join("")

const schemaIssue = (error: Schema.SchemaError): string => {
  const [first] = standard(error.issue).issues
  const field = fieldOf((first?.path ?? []).map((part) => typeof part === "object" ? part.key : part))
  if (field === "lockfile_version") return "it has another lockfile_version than 1"
  return field === "" ? "it is not an object" : `${field} is missing or not what it has to be`
}

/** How a lockfile contradicts itself; undefined if it does not. `sha256` gives hex. */
const selfContradiction = (lockfile: Lockfile, sha256: (text: string) => string): string | undefined => {
  const { chain_hash, resolved_chain: links, root } = lockfile
  const [leaf] = links
  if (leaf.tool_id !== root.tool_id || leaf.version !== root.version || leaf.integrity !== root.integrity) {
    return "root is not the first link of resolved_chain"
  }
  const broken = links.findIndex((link, i) => link.executor !== (links[i + 1]?.tool_id ?? null))
  if (broken !== -1) return `resolved_chain[${broken}].executor is not the next link`
  if (sha256(chainHashText(links)).slice(0, 12) !== chain_hash) return "chain_hash is not the hash of resolved_chain"
  return undefined
}

/** Fails with what is wrong, as the end of a sentence. `sha256` gives hex. */
export const readLockfile = (text: string, sha256: (text: string) => string): Result.Result<Lockfile, string> => {
  const json = Result.try({ try: () => JSON.parse(text) as unknown, catch: () => "it is not JSON" })
  if (Result.isFailure(json)) return Result.fail(json.failure)
  const lockfile = decode(json.success)
  if (Result.isFailure(lockfile)) return Result.fail(schemaIssue(lockfile.failure))
  const issue = selfContradiction(lockfile.success, sha256)
  return issue === undefined ? Result.succeed(lockfile.success) : Result.fail(issue)
}

/** Indented by two; the keys of the format's first version first, then those that Kiwi adds; no newline at the end. */
export const printLockfile = (
  { chain_hash, dependencies, generated_at, lockfile_version, registry, resolved_chain, root, runtime }: Lockfile
): string =>
  JSON.stringify(
    { lockfile_version, generated_at, root, resolved_chain, registry, chain_hash, runtime, dependencies },
    null,
    2
  )

/** Whether two lockfiles say the same, to the time when they were made. */
export const isSameLockfile = (a: Lockfile, b: Lockfile): boolean => printLockfile(a) === printLockfile(b)
