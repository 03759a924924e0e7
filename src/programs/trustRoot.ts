// The trusted signers for a check that the checkout must not influence: a file outside the checkout, in the form of
// .ai/config/trust.yaml.
import { Effect, FileSystem, Option, Path, Result, Schema } from "effect"
import { isInside } from "../layers/files/isInside.ts"
import { readOwn } from "../layers/settings/SettingsFile.ts"
import { parseProposedSigners } from "../layers/trust/signers.ts"
import type { Signer } from "../services/trust/SignerTrust.ts"

/** The file that names the trusted signers cannot be used. */
export class TrustRootRefused extends Schema.TaggedError<TrustRootRefused>()("TrustRootRefused", {
  /** The path as it was given. */
  file: Schema.String,
  issue: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `${this.file} cannot be used as the list of trusted signers: ${this.issue}`
  }
  get remediation() {
    return this.hint
  }
}

const form = "It has one key, signers, with a list of name and public_key, as .ai/config/trust.yaml has it"

/** The checkout's folder: the nearest one upwards with a `.git`, else the project itself. */
const checkoutOf = Effect.fnUntraced(function*(project: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (let folder = project; path.dirname(folder) !== folder; folder = path.dirname(folder)) {
    if (yield* Effect.orElseSucceed(files.exists(path.join(folder, ".git")), () => false)) return folder
  }
  return project
})

/**
 * The real paths of the file and of every folder on the way to it, link by link: whoever controls one of them controls
 * the file.
 */
const placesOf = Effect.fnUntraced(function*(file: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const places = new Set<string>()
  const waiting = [file]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (let place = next; path.dirname(place) !== place; place = path.dirname(place)) {
      if (places.has(place)) break
      places.add(place)
      const folder = yield* Effect.option(files.realPath(path.dirname(place)))
      const target = yield* Effect.option(files.readLink(place))
      if (Option.isSome(folder)) waiting.push(path.join(folder.value, path.basename(place)))
      if (Option.isSome(folder) && Option.isSome(target)) waiting.push(path.resolve(folder.value, target.value))
    }
  }
  return [...places]
})

/** The signers of a trust file. `file` is absolute; `project` the real path of what is checked. */
export const readTrustRoot = Effect.fn("readTrustRoot")(function*(
  file: string,
  project: string
): Effect.fn.Return<ReadonlyArray<Signer>, TrustRootRefused, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const checkout = yield* checkoutOf(project)
  const refuse = (issue: string, hint = form) => new TrustRootRefused({ file, issue, hint })
  if ([path.resolve(file), ...(yield* placesOf(file))].some((place) => isInside(checkout, place, path))) {
    return yield* refuse(
      "it lies in the checkout that it is meant to check, so whoever changes the checkout could change it too",
      "Keep it outside: a file of the machine that checks, or one written from a secret before the check"
    )
  }
  const read = yield* Effect.sync(() => readOwn(file))
  if (Result.isFailure(read)) return yield* refuse(read.failure)
  if (read.success === undefined) {
    return yield* refuse("there is no such file", "Check the path of --trust, or KIWI_TRUST_ROOT")
  }
  const { problems, signers } = yield* parseProposedSigners(read.success)
  const [problem] = problems
  if (problem !== undefined) return yield* refuse(`line ${problem.line}: ${problem.issue}`)
  if (signers.length === 0) return yield* refuse("it names no signer")
  return signers
})
