// Makes a folder a project that works at once. In a folder that has an .ai already, init writes, trusts and signs
// nothing, and only reports what is there. Init signs only bytes that come with Kiwi, and compares them before it
// signs.
import { Effect, FileSystem, Option, Path, Result, Schema } from "effect"
import { isInside } from "../layers/files/isInside.ts"
import { checkNewPassphrase, givenPassphrase } from "../layers/identity/key/newPassphrase.ts"
import { sha256 } from "../layers/identity/sha256.ts"
import { Projects } from "../layers/Projects.ts"
import { realOrPlanned } from "../layers/workspace/home/homeFolders.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import type { ErrorObject, KiwiError } from "../services/error/KiwiError.ts"
import { toErrorObject } from "../services/error/KiwiError.ts"
import { SafeFiles } from "../services/files/SafeFiles.ts"
import { Identity } from "../services/identity/Identity.ts"
import { Signatures } from "../services/integrity/Signatures.ts"
import type { SigningPlan } from "../services/integrity/Signatures.ts"
import { showLocation, typeFolder } from "../services/item/Item.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { Lockfiles } from "../services/lockfile/Lockfiles.ts"
import { shellWord } from "../services/text/shellWord.ts"
import { HumanGate } from "../services/trust/HumanAct.ts"
import type { HumanRequest } from "../services/trust/HumanAct.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { asHuman } from "./humanAct.ts"
import { checkSignature } from "./itemState.ts"
import type { ItemState } from "./itemState.ts"
import { refusals } from "./sign.ts"
import type { Signed } from "./sign.ts"
import { starterFiles } from "./starter.ts"

/** The folder cannot be made a project. Nothing was written. */
export class InitRefused extends Schema.TaggedError<InitRefused>()("InitRefused", {
  dir: Schema.String,
  why: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `${this.dir} was not made a project: ${this.why}`
  }
  get remediation() {
    return this.hint
  }
}

export interface Initialized {
  /** Real path. */
  readonly project: string
  /** Whether there was an .ai before. If so, nothing was written. */
  readonly existed: boolean
  /** Files that were written, relative to the project. */
  readonly created: ReadonlyArray<string>
  readonly trust: "trusted" | "restricted"
  /** Why it is restricted. */
  readonly restricted?: string
  /** Places of interpreters that no person has accepted, and that are not used. */
  readonly unseen?: ReadonlyArray<string>
  /** `tier:folder/path` of what was signed. */
  readonly signed: ReadonlyArray<string>
  /** The written items that are not signed, each with the reason. */
  readonly refused?: Signed["refused"]
  /** Why the examples are not signed; absent if they are. */
  readonly not_signed?: ErrorObject
  /** The project's items, by state. */
  readonly items: ReadonlyArray<{ readonly type: string; readonly id: string; readonly state: ItemState }>
}

/** The report lists at most this many items. The rest is only counted. */
const mostItems = 200

const refuse = (dir: string, why: string, hint = "Name another folder: kiwi init my-project") =>
  new InitRefused({ dir, why, hint })

/**
 * Makes one folder after the other: Node's own recursion never ends below a folder that refuses new folders, such as
 * /proc.
 */
const makeFolder = (dir: string): Effect.Effect<void, InitRefused, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const there = yield* Effect.option(files.stat(dir))
    if (Option.isSome(there)) {
      return there.value.type === "Directory" ? undefined : yield* refuse(dir, "it is not a folder")
    }
    if (path.dirname(dir) !== dir) yield* makeFolder(path.dirname(dir))
    yield* Effect.mapError(
      files.makeDirectory(dir),
      (error) =>
        refuse(
          dir,
          error.reason._tag === "PermissionDenied"
            ? "you have no permission to write there"
            : error.reason._tag === "BadResource"
            ? "it is not a folder"
            : "the folder cannot be made"
        )
    )
  })

/** Whether there is a key that can sign the examples, or one can be made. */
const checkNewKey = Effect.gen(function*() {
  const identity = yield* Identity
  if ((yield* identity.current) === undefined) yield* checkNewPassphrase(yield* givenPassphrase)
})

/** The folder's real path. A missing folder is made, but only after all checks have passed. */
const prepareFolder = Effect.fnUntraced(function*(dir: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { home, userHome, userSpace } = yield* KiwiHome
  const planned = realOrPlanned(dir)
  if (planned === userHome || path.join(planned, ".ai") === userSpace) {
    return yield* refuse(dir, "its .ai is your user tier, whose items every project of yours can use")
  }
  if (path.dirname(planned) === planned) return yield* refuse(dir, "it is the root folder of a disk")
  if (isInside(home, planned, path)) {
    return yield* refuse(dir, "it is inside Kiwi's own folder")
  }
  if (!(yield* Effect.orElseSucceed(files.exists(path.join(planned, ".ai")), () => true))) yield* checkNewKey
  yield* makeFolder(planned)
  const root = yield* Effect.mapError(files.realPath(planned), () => refuse(dir, "it cannot be read"))
  return root === planned ? root : yield* refuse(dir, "it was moved in the meantime", "Try again")
})

const writeStarter = Effect.fnUntraced(function*(root: string) {
  const files = yield* SafeFiles
  const write = Effect.forEach(
    starterFiles,
    ({ executable, path, text }) =>
      files.write(root, path, text, { exclusive: true, mode: executable === true ? 0o755 : 0o644 }),
    { discard: true }
  )
  // A half-written .ai would look like an existing project at the next try.
  return yield* Effect.tapError(
    write,
    (error) => error.issue === "exists" ? Effect.void : Effect.ignore(files.remove(root, ".ai"))
  )
})

/** Signs and locks the starter items, if the plan has exactly these items with the bytes that come with Kiwi. */
const signStarter = Effect.fnUntraced(function*(caller: Caller) {
  const signatures = yield* Signatures
  const plan: SigningPlan = yield* signatures.plan({ id: "**", tier: "project" })
  const own = new Map(starterFiles.map(({ path, text }) => [path, text]))
  const foreign = plan.items.find(({ location, snapshot }) =>
    own.get(`.ai/${typeFolder[location.type]}/${location.path}`) !== new TextDecoder().decode(snapshot.bytes)
  )
  if (foreign !== undefined) {
    return yield* refuse(
      showLocation(foreign.location),
      "it is different from what init wrote",
      "Read it, and sign the items yourself: kiwi sign tool '**'"
    )
  }
  const refused = plan.refused.length === 0 ? {} : { refused: refusals(plan) }
  if (plan.items.length === 0) return { signed: [], ...refused }
  const lockfiles = yield* Lockfiles
  const signed = yield* asHuman(
    plan.request,
    caller,
    (act) => Effect.tap(signatures.sign(plan, act), (items) => lockfiles.lockSigned(items, act))
  )
  return { signed: signed.map(({ location }) => showLocation(location)), ...refused }
})

const itemsOf = Effect.gen(function*() {
  const store = yield* ItemStore
  const found = yield* store.list({ tier: "project" })
  return yield* Effect.forEach(found.slice(0, mostItems), (location) =>
    store.read(location).pipe(
      Effect.flatMap(checkSignature),
      Effect.map(({ state }) => state),
      Effect.orElseSucceed((): ItemState => "invalid"),
      Effect.map((state) => ({ type: location.type, id: location.id, state }))
    ))
})

const trustOf = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  const state = yield* trust.state
  if (state._tag === "Restricted") return { trust: "restricted" as const, restricted: state.reason }
  const unseen = yield* trust.unseen
  return { trust: "trusted" as const, ...(unseen.length === 0 ? {} : { unseen }) }
})

const requestFor = (root: string): HumanRequest => ({
  kind: "trust-project",
  title: `Make ${root} a project, and trust and sign what Kiwi puts there`,
  details: starterFiles.map(({ path }) => path).join("\n"),
  digest: sha256(JSON.stringify([root, ...starterFiles.map(({ path, text }) => [path, text])])),
  command: `kiwi init ${shellWord(root)}`
})

/** Asks the gate for trust before anything is written, and again for the signatures, by their digest. */
export const init = Effect.fn("init")(function*(dir: string, caller: Caller) {
  const root = yield* prepareFolder(dir)
  const projects = yield* Projects
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const gate = yield* HumanGate
  const ai = path.join(root, ".ai")
  const existed = yield* Effect.orElseSucceed(Effect.as(files.readLink(ai), true), () => false).pipe(
    Effect.flatMap((link) => link ? Effect.succeed(true) : Effect.orElseSucceed(files.exists(ai), () => true))
  )
  return yield* projects.use(root)(Effect.gen(function*() {
    const head = { project: root, existed }
    if (existed) {
      return { ...head, created: [], signed: [], ...(yield* trustOf), items: yield* itemsOf } satisfies Initialized
    }
    const request = requestFor(root)
    const asked = yield* Effect.result(gate.ask(request))
    if (Result.isFailure(asked)) yield* writeStarter(root)
    else yield* Effect.flatMap(ProjectTrust, (trust) => trust.trustNew(writeStarter(root)))
    const created = starterFiles.map((file) => file.path)
    const done: Result.Result<Pick<Initialized, "signed" | "refused">, KiwiError> = Result.isFailure(asked)
      ? Result.fail(asked.failure)
      : yield* Effect.result(Effect.gen(function*() {
        const audit = yield* AuditLog
        const { digest, kind, title } = request
        const { by, seen } = asked.success
        yield* audit.append({
          kind: "act",
          act: kind,
          by,
          ...(seen === undefined ? {} : { seen }),
          caller,
          title,
          digest,
          outcome: "done"
        })
        return yield* signStarter(caller)
      }))
    return {
      ...head,
      created,
      ...(yield* trustOf),
      ...(Result.isSuccess(done) ? done.success : { signed: [], not_signed: toErrorObject(done.failure) }),
      items: yield* itemsOf
    } satisfies Initialized as Initialized
  }))
})
