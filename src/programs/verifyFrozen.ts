// `lockfile verify --frozen`: whether everything below `.ai` is signed by a trusted signer, locked and unchanged. For a
// fresh clone in CI, on a machine without a key and without trust decisions. Findings are its answer, not errors.
import { Effect, Option, Order, Result } from "effect"
import * as Checkout from "../layers/Checkout.ts"
import { checkoutPrograms } from "../layers/env/programs/checkoutPrograms.ts"
import { sha256 } from "../layers/identity/sha256.ts"
import { shownName } from "../layers/identity/shownName.ts"
import { checkoutAround } from "../layers/process/ownPrograms.ts"
import { variable } from "../layers/process/variable.ts"
import { interpreterPlaces, isThere } from "../layers/trust/projectFolder.ts"
import type { Chain } from "../services/chain/Chain.ts"
import { ChainResolver } from "../services/chain/ChainResolver.ts"
import type { KiwiError } from "../services/error/KiwiError.ts"
import { codeOf, stateOf } from "../services/error/KiwiError.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { Verifier } from "../services/integrity/Verifier.ts"
import type { Tool } from "../services/item/Item.ts"
import { showLocation } from "../services/item/Item.ts"
import type { ItemLocation } from "../services/item/Item.ts"
import { ItemInvalid, withoutWords } from "../services/item/ItemErrors.ts"
import type { ItemType } from "../services/item/ItemId.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { checkChain } from "../services/lockfile/checkChain.ts"
import { freeze, lockCategory } from "../services/lockfile/Lockfile.ts"
import { type LockMismatch, LockMissing } from "../services/lockfile/Lockfiles.ts"
import { LockfileStore } from "../services/lockfile/LockfileStore.ts"
import type { LockListing, StoredLock } from "../services/lockfile/LockfileStore.ts"
import { showLock } from "../services/lockfile/lockName.ts"
import type { Signer } from "../services/trust/SignerTrust.ts"
import { SignerTrust } from "../services/trust/SignerTrust.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import type { ChangedSince } from "./changedSince.ts"
import { changedSince } from "./changedSince.ts"
import { isOfProject } from "./help.ts"
import { readTrustRoot } from "./trustRoot.ts"
import { scriptInterpreters, unsignableFiles } from "./unsignableFiles.ts"

export interface VerifyFrozenInput {
  /** The project's real path. */
  readonly project: string
  /** Absolute path of a file outside the checkout that names the signers. */
  readonly trust?: string | undefined
  /** A commit to compare control files and locks with. */
  readonly base?: string | undefined
}

export interface FrozenProblem {
  /** `project:tools/math/add.py`, or a lock: `project:lockfiles/math/add@1.0.0.lock.json`. */
  readonly item: string
  /** In a word or two: "unsigned", "not locked". */
  readonly problem: string
  readonly code: string
  readonly message: string
  readonly remediation: string
}

export interface VerifiedFrozen {
  readonly ok: boolean
  readonly trust: {
    /** The origin of the signers. With `checkout` the answer only proves that the checkout is consistent. */
    readonly from: "file" | "checkout"
    readonly file?: string
    readonly signers: ReadonlyArray<{
      readonly key_id: string
      readonly name: string
      readonly by: "file" | "checkout" | "you"
    }>
  }
  readonly checked: Readonly<Record<ItemType | "lock", number>>
  readonly problems: ReadonlyArray<FrozenProblem>
  /** Findings that do not make the check fail: a lock without its tool, a file that is not an item. */
  readonly warnings: ReadonlyArray<FrozenProblem>
  readonly base?: ChangedSince
}

/** Text of the checkout's files is not repeated: the files are only named. */
const hideQuote = (error: KiwiError): KiwiError => error instanceof ItemInvalid ? withoutWords(error) : error

const problemOf = (item: string, found: KiwiError, remediation?: string): FrozenProblem => {
  const code = codeOf(found)
  // Here only resolving a chain fails with this error.
  if (found.chain !== undefined) {
    const message = "Its chain cannot be resolved; the error is not quoted, since the project is not trusted"
    return { item, problem: "chain broken", code, message, remediation: `Look at the file itself: ${item}` }
  }
  const error = hideQuote(found)
  return {
    item,
    problem: found.brief ?? stateOf(found),
    code,
    message: error.message,
    remediation: remediation ?? error.remediation ?? ""
  }
}

const lockKey = (root: { readonly tool_id: string; readonly version: string; readonly category: string }): string =>
  `${root.category}/${root.tool_id}@${root.version}`

/** Problems of a tool's lock. Interpreter and packages of this machine are not compared: the checkout does not have them. */
const lockProblem = (
  chain: Chain,
  locks: ReadonlyMap<string, ReadonlyArray<StoredLock>>,
  invalid: LockListing["invalid"]
): LockMissing | LockMismatch | undefined => {
  const now = freeze(chain, sha256)
  const { tool_id: tool, version } = now.root
  const own = (locks.get(lockKey(now.root)) ?? [])
    .filter((lock) => !lock.variant || lock.lockfile.chain_hash === now.chain_hash)
  const found = checkChain(chain, now, own)
  if (found !== undefined) return "_tag" in found ? found : undefined
  return invalid.some((lock) => lock.tool === tool) ? undefined : new LockMissing({ tool, version })
}

const verifyItems = Effect.fnUntraced(function*(signedBy: string) {
  const store = yield* ItemStore
  const verifier = yield* Verifier
  const parser = yield* ItemParser
  const problems = new Map<string, FrozenProblem>()
  const tools: Array<Tool> = []
  /** One row for a link that many chains share. */
  const report = (item: string, error: KiwiError) => {
    const remediation = error._tag === "SignerUntrusted" ? signedBy : undefined
    const problem = problemOf(item, error, remediation)
    problems.set(`${item} ${problem.code} ${problem.message}`, problem)
  }
  const verify = Effect.fnUntraced(function*(location: ItemLocation) {
    const snapshot = yield* store.read(location)
    const verified = yield* Effect.result(verifier.verify(snapshot))
    if (Result.isFailure(verified)) report(showLocation(location), verified.failure)
    const item = yield* parser.parse(snapshot)
    if (item._tag === "tool") tools.push({ ...item, location })
  })
  const locations = yield* store.list({ tier: "project" })
  for (const location of locations) {
    yield* verify(location).pipe(
      Effect.catch((error) => Effect.sync(() => report(showLocation(location), error)))
    )
  }
  for (const error of (yield* store.problems).filter(isOfProject)) {
    report(error._tag === "ItemAmbiguous" ? error.candidates.join(", ") : error.item, error)
  }
  return { locations, problems, report, tools, verifier }
})

const queryOf = ({ location }: Tool) => ({
  id: qualifiedId(location),
  tier: "project" as const
})

/**
 * Interpreters and launchers in the whole checkout that the project lies in, except those below `.ai/scripts`, which
 * are reported with the other files there that nobody can sign.
 */
const programFindings = Effect.fnUntraced(function*(project: string) {
  const { userHome } = yield* KiwiHome
  const named = Option.getOrUndefined(yield* variable("UV_PROJECT_ENVIRONMENT"))
  const at = { root: project, checkout: checkoutAround(project, userHome) }
  const places = new Set(
    interpreterPlaces(at, named)
      .flatMap((place) => place.kind !== "version" && isThere(project, place) ? [place.path] : [])
  )
  const inScripts = new Set([...scriptInterpreters].map((place) => `.ai/${place}`))
  const { cut, more, programs } = yield* checkoutPrograms(at, places, inScripts)
  const rows = (counting: boolean) =>
    programs.filter(({ counts }) => counts === counting).map(({ is, path }): FrozenProblem => ({
      item: path,
      problem: counting ? "interpreter" : "program",
      code: "CHECKOUT_PROGRAM",
      message: counting
        ? `It is ${is}, and tools of the project would run with it`
        : `It is ${is}, with the name of a program that runs code`,
      remediation: counting
        ? `Keep it out of the repository (git rm -r --cached ${
          /^(?:\.\.\/)*[^/]+/.exec(path)?.[0]
        }), and make it after this check`
        : "Read it whenever it changes, or keep it out of the repository"
    }))
  const rest = (item: string, message: string): FrozenProblem => ({
    item,
    problem: "program",
    code: "CHECKOUT_PROGRAM",
    message,
    remediation: "Check a fresh clone, before anything is installed into it"
  })
  return {
    problems: [...rows(true), ...(cut ? [rest(".", "The tree is too large to be checked completely")] : [])],
    warnings: [...rows(false), ...(more === 0 ? [] : [rest(".", `${more} more programs are not named here`)])]
  }
})

const verifyAll = Effect.fnUntraced(function*(project: string, signedBy: string) {
  const chains = yield* ChainResolver
  const store = yield* LockfileStore
  const { locations, problems, report, tools, verifier } = yield* verifyItems(signedBy)
  const { invalid, locks } = yield* store.list({ scope: "project" })
  for (const lock of invalid) report(lock.lockfile, lock)
  const known = Map.groupBy(locks, ({ lockfile }) => lockKey(lockfile.root))
  const resolved = yield* chains.resolveBatch(tools.map(queryOf))
  for (const [index, result] of resolved.entries()) {
    const tool = showLocation(tools[index]!.location)
    if (Result.isFailure(result)) {
      report(tool, result.failure)
      continue
    }
    const { chain } = result.success
    for (const { snapshot } of chain.links) {
      if (snapshot.location.tier === "project") continue
      const verified = yield* Effect.result(verifier.verify(snapshot))
      if (Result.isFailure(verified)) report(showLocation(snapshot.location), verified.failure)
    }
    const wrong = lockProblem(chain, known, invalid)
    if (wrong !== undefined) report(tool, wrong)
  }
  const there = new Set(
    tools.map(({ location: { category, id }, version }) =>
      lockKey({ tool_id: id, version, category: lockCategory(category) })
    )
  )
  const orphans = locks.filter((lock) => !there.has(lockKey(lock.lockfile.root)))
  const reported = new Set([...problems.values()].map(({ item }) => item))
  const unsigned = (yield* unsignableFiles(project, locations)).filter((path) => !reported.has(`project:${path}`))
    .map((path) => ({ path, isInterpreter: scriptInterpreters.has(path) }))
  const unsignable = (isInterpreter: boolean) =>
    unsigned.filter((file) => file.isInterpreter === isInterpreter).map(({ path }): FrozenProblem => ({
      item: `project:${path}`,
      problem: isInterpreter ? "interpreter" : "no item",
      code: "NOT_AN_ITEM",
      message: isInterpreter
        ? "Nobody can sign this, and tools of the project would run with an interpreter in it"
        : "Nobody can sign this: it is not an item, a setting or a lock",
      remediation: isInterpreter
        ? `Keep it out of the repository (git rm -r --cached .ai/${path}), and make it after this check`
        : "Move it out of .ai, or read it whenever it changes"
    }))
  const programs = yield* programFindings(project)
  const of = (type: ItemType) => locations.filter((location) => location.type === type).length
  return {
    checked: { directive: of("directive"), tool: of("tool"), knowledge: of("knowledge"), lock: locks.length },
    problems: [...problems.values(), ...unsignable(true), ...programs.problems].toSorted(
      Order.mapInput(Order.String, (problem) => problem.item)
    ),
    warnings: [
      ...orphans.map((lock): FrozenProblem => {
        const { tool_id, version } = lock.lockfile.root
        return {
          item: showLock(lock),
          problem: "no tool",
          code: "LOCK_WITHOUT_TOOL",
          message: `The tool of this lock, ${tool_id} ${version}, does not exist here`,
          remediation: "Delete the file, or restore the tool"
        }
      }),
      ...unsignable(false),
      ...programs.warnings
    ]
  }
})

const addTo = {
  file: "Have it signed by a signer whom the trust file names, or add the signer to that file",
  checkout: "Have it signed by a signer whom .ai/config/trust.yaml names, or add the signer there"
}

/** Runs nothing of the project, and does not use this machine's trust decisions about it. */
export const verifyFrozen = Effect.fn("verifyFrozen")(function*({ base, project, trust }: VerifyFrozenInput) {
  const signers: ReadonlyArray<Signer> | undefined = trust === undefined
    ? undefined
    : yield* readTrustRoot(trust, project)
  const from = trust === undefined ? "checkout" as const : "file" as const
  const changed = base === undefined ? undefined : yield* changedSince(project, base)
  const found = yield* Effect.gen(function*() {
    const all = yield* verifyAll(project, addTo[from])
    const counted = yield* Effect.flatMap(SignerTrust, (trusted) => trusted.list)
    return {
      ...all,
      signers: counted.flatMap((standing) =>
        standing._tag === "Unknown" ? [] : [{
          key_id: standing.signer.keyId,
          name: from === "file" || standing._tag === "You" ? standing.signer.name : shownName(standing.signer.name),
          by: standing._tag === "You" ? "you" as const : from
        }]
      )
    }
  }).pipe(Effect.provide(Checkout.layer({ root: project, signers })))
  const { checked, problems, warnings } = found
  return {
    ok: problems.length === 0,
    trust: { from, ...(trust === undefined ? {} : { file: trust }), signers: found.signers },
    checked,
    problems,
    warnings,
    ...(changed === undefined ? {} : { base: changed })
  } satisfies VerifiedFrozen as VerifiedFrozen
})
