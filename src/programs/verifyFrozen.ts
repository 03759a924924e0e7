// `kiwi lockfile verify --frozen`: whether everything below `.ai` is signed by a trusted key, locked and unchanged. It is
// for a fresh clone in CI: it needs no key and no trust on the machine, and runs nothing.
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
import { notItems, scriptInterpreters } from "./notItems.ts"
import { readTrustRoot } from "./trustRoot.ts"

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
    /** Where the signers come from. `checkout`: the answer proves only that the checkout agrees with itself. */
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
  /** Findings that do not make it fail: a lock without its tool, a file that is not an item. */
  readonly warnings: ReadonlyArray<FrozenProblem>
  readonly base?: ChangedSince
}

/** The checkout's files are named, but not quoted. */
const quiet = (error: KiwiError): KiwiError => error instanceof ItemInvalid ? withoutWords(error) : error

const problemOf = (item: string, found: KiwiError, remediation?: string): FrozenProblem => {
  const code = codeOf(found)
  // Only resolving a chain fails with one here.
  if (found.chain !== undefined) {
    const message = "What it is built on cannot be resolved; it is not quoted, since nobody trusts the project"
    return { item, problem: "chain broken", code, message, remediation: `Look at the file itself: ${item}` }
  }
  const error = quiet(found)
  return {
    item,
    problem: found.brief ?? stateOf(found),
    code,
    message: error.message,
    remediation: remediation ?? error.remediation ?? ""
  }
}

const keyOf = (root: { readonly tool_id: string; readonly version: string; readonly category: string }): string =>
  `${root.category}/${root.tool_id}@${root.version}`

/** What is wrong with a tool's lock. Interpreter and packages are not compared: they are the machine's, not the checkout's. */
const lockProblem = (
  chain: Chain,
  locks: ReadonlyMap<string, ReadonlyArray<StoredLock>>,
  invalid: LockListing["invalid"]
): LockMissing | LockMismatch | undefined => {
  const now = freeze(chain, sha256)
  const { tool_id: tool, version } = now.root
  const own = (locks.get(keyOf(now.root)) ?? [])
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
  /** A link that many chains share gets one row. */
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

/** Interpreters and launchers in the whole checkout that the project lies in; those below `.ai/scripts` are told with what nobody can sign there. */
const broughtPrograms = Effect.fnUntraced(function*(project: string) {
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
        ? `It is ${is}, and tools of the project would run by it`
        : `It is ${is}, called like a program that runs code`,
      remediation: counting
        ? `Keep it out of the repository (git rm -r --cached ${
          /^(?:\.\.\/)*[^/]+/.exec(path)?.[0]
        }), and make it after this check`
        : "Look at it whenever it changes, or keep it out of the repository"
    }))
  const rest = (item: string, message: string): FrozenProblem => ({
    item,
    problem: "program",
    code: "CHECKOUT_PROGRAM",
    message,
    remediation: "Check a fresh clone, before anything is installed into it"
  })
  return {
    problems: [...rows(true), ...(cut ? [rest(".", "The tree is too large to be looked at to its end")] : [])],
    warnings: [...rows(false), ...(more === 0 ? [] : [rest(".", `${more} more programs are not named here`)])]
  }
})

const verifyAll = Effect.fnUntraced(function*(project: string, signedBy: string) {
  const chains = yield* ChainResolver
  const store = yield* LockfileStore
  const { locations, problems, report, tools, verifier } = yield* verifyItems(signedBy)
  const { invalid, locks } = yield* store.list({ scope: "project" })
  for (const lock of invalid) report(lock.lockfile, lock)
  const known = Map.groupBy(locks, ({ lockfile }) => keyOf(lockfile.root))
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
      keyOf({ tool_id: id, version, category: lockCategory(category) })
    )
  )
  const orphans = locks.filter((lock) => !there.has(keyOf(lock.lockfile.root)))
  const told = new Set([...problems.values()].map(({ item }) => item))
  const strays = (yield* notItems(project, locations)).filter((path) => !told.has(`project:${path}`))
    .map((path) => ({ path, isInterpreter: scriptInterpreters.has(path) }))
  const unsignable = (isInterpreter: boolean) =>
    strays.filter((stray) => stray.isInterpreter === isInterpreter).map(({ path }): FrozenProblem => ({
      item: `project:${path}`,
      problem: isInterpreter ? "interpreter" : "no item",
      code: "NOT_AN_ITEM",
      message: isInterpreter
        ? "Nobody can sign this, and tools of the project would be run by what is in it"
        : "Nobody can sign this: it is no item, no setting and no lock",
      remediation: isInterpreter
        ? `Keep it out of the repository (git rm -r --cached .ai/${path}), and make it after this check`
        : "Move it out of .ai, or look at it whenever it changes"
    }))
  const brought = yield* broughtPrograms(project)
  const of = (type: ItemType) => locations.filter((location) => location.type === type).length
  return {
    checked: { directive: of("directive"), tool: of("tool"), knowledge: of("knowledge"), lock: locks.length },
    problems: [...problems.values(), ...unsignable(true), ...brought.problems].toSorted(
      Order.mapInput(Order.String, (problem) => problem.item)
    ),
    warnings: [
      ...orphans.map((lock): FrozenProblem => ({
        item: showLock(lock),
        problem: "no tool",
        code: "LOCK_WITHOUT_TOOL",
        message:
          `There is no tool ${lock.lockfile.root.tool_id} ${lock.lockfile.root.version} here that this lock could be for`,
        remediation: "Delete the file, or bring the tool back"
      })),
      ...unsignable(false),
      ...brought.warnings
    ]
  }
})

const addTo = {
  file: "Have it signed by somebody whom the trust file names, or add that signer to the trust file",
  checkout: "Have it signed by somebody whom .ai/config/trust.yaml names, or add that signer there"
}

/** Runs nothing of the project, and reads nothing that this machine has decided about it. */
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
