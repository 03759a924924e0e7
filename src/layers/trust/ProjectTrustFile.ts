// Project trust in `$KIWI_HOME/projects/<id>/trust.json`. It counts only if this user wrote it and nobody else could,
// so that nobody can forge a decision in a home that others can write. Beside it are copies of the accepted control
// files: a person is shown a diff against them, and their restrictions hold on when a file is changed or removed.
import { DateTime, Effect, Layer, Option, Order, Result, Schema } from "effect"
import { join, relative } from "node:path"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { type HumanAct, requireAct } from "../../services/trust/HumanAct.ts"
import type { ControlFile, TrustProposal, TrustState } from "../../services/trust/ProjectTrust.ts"
import { ProjectRestricted, ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { newProgram, type ShownProgram } from "../../services/trust/ShownProgram.ts"
import {
  type AcceptedFile,
  isControlPath,
  isEnvironmentFile,
  type TrustDecision
} from "../../services/trust/TrustDecision.ts"
import { trustDecisionJson } from "../../services/trust/TrustDecision.ts"
import { maxControlBytes } from "../../services/workspace/controlYaml.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { type Project, Workspace } from "../../services/workspace/Workspace.ts"
import { Readings, statOf } from "../files/believe.ts"
import { sha256 } from "../identity/sha256.ts"
import { variable } from "../process/variable.ts"
import { makeFolderMark } from "./folderMark.ts"
import { environmentNames, findControlFiles, type FoundControl, readControlFile } from "./projectFolder.ts"
import { inspectFolders, isUnique } from "./projectFolder.ts"
import { judgeInterpreter, makeProjectInterpreters } from "./projectInterpreters.ts"
import { type Compared, makeProposal } from "./trustProposal.ts"

const decodeDecision = Schema.decodeUnknownResult(trustDecisionJson)
const encodeDecision = Schema.encodeSync(trustDecisionJson)
const maxDecisionBytes = 4_194_304

interface CurrentTrust {
  readonly state: TrustState
  /** The decision about this project, also if the project is restricted by now. */
  readonly decision: TrustDecision | undefined
  /** The folder's current identity, if the project is trusted. */
  readonly folder?: string
}

const restricted = (reason: string): TrustState => ({ _tag: "Restricted", reason, unsafe: false })

const refusal = (found: TrustState): ProjectRestricted =>
  found._tag !== "Restricted" ? noProject : new ProjectRestricted({
    reason: found.reason,
    ...(found.remedy === undefined ? {} : { remedy: found.remedy })
  })

const notTrusted = "nobody has trusted it yet"
const noProject = new ProjectRestricted({ reason: "there is no project", remedy: "kiwi init" })

/** Without a project there is nothing to trust, and nothing of a project to use. */
const withoutProject: ProjectTrust["Service"] = {
  state: Effect.succeed({ _tag: "NoProject" }),
  require: Effect.fail(noProject),
  controlFiles: Effect.succeed([]),
  unseen: Effect.succeed([]),
  interpreter: () => Effect.succeed({ _tag: "New", issue: newProgram }),
  readControl: () => Effect.undefined,
  readNarrowing: () => Effect.succeed([]),
  propose: Effect.succeed({
    request: {
      kind: "trust-project",
      title: "Trust the project",
      details: "There is no project here.",
      digest: sha256("no project"),
      command: "kiwi init"
    },
    controlFiles: [],
    effects: []
  }),
  accept: () => Effect.fail(noProject),
  revoke: Effect.void,
  trustNew: (create) => Effect.map(create, (value) => ({ value, trusted: false })),
  renew: () => Effect.succeed(false)
}

const makeFor = Effect.fnUntraced(function*(project: Project) {
  const { home, userHome } = yield* KiwiHome
  const files = yield* SafeFiles
  const { withLock } = yield* ProcessLock
  const uvEnvironment = Option.getOrUndefined(yield* variable("UV_PROJECT_ENVIRONMENT"))
  const state = relative(home, project.state)
  const decisionPath = `${state}/trust.json`
  const folders = { root: project.root, ai: project.ai, home }
  const locked = withLock(project.state, "trust")
  const mark = makeFolderMark(files, project)
  const interpreters = makeProjectInterpreters(project.root, userHome, uvEnvironment)

  const decisions = new Readings<TrustDecision | undefined>()
  const controls = new Readings<FoundControl | undefined>()

  const copyPath = (digest: string): string => `${state}/control/${digest}`

  const readCopy = Effect.fnUntraced(function*(digest: string) {
    const read = yield* Effect.result(files.read(home, copyPath(digest), { maxBytes: maxControlBytes }))
    const bytes = Result.isSuccess(read) ? read.success : undefined
    return bytes !== undefined && sha256(bytes) === digest ? bytes : undefined
  })

  /** The decision on disk, if it is about this project and this user made it. */
  const loadDecision = Effect.gen(function*() {
    const read = yield* Effect.result(files.read(home, decisionPath, { maxBytes: maxDecisionBytes, own: true }))
    if (Result.isFailure(read) || read.success === undefined) return undefined
    const decoded = decodeDecision(new TextDecoder().decode(read.success))
    return Result.isSuccess(decoded) && decoded.success.root === project.root ? decoded.success : undefined
  })

  const currentDecision = decisions.getEffect(join(home, decisionPath), loadDecision)

  const isSameFolder = Effect.fnUntraced(function*(decision: TrustDecision, folder: string) {
    return decision.folder === folder || (decision.mark !== undefined && decision.mark === (yield* mark.current))
  })

  const currentTrust = Effect.fnUntraced(function*(): Effect.fn.Return<CurrentTrust> {
    const report = inspectFolders(folders)
    if (report._tag === "Unusable") {
      const { reason, remedy } = report
      return { state: { _tag: "Restricted", reason, unsafe: true, remedy }, decision: undefined }
    }
    const decision = yield* currentDecision
    const concern = report.concerns.find(({ code }) => decision?.seen.includes(code) !== true)
    if (concern !== undefined) {
      return { state: { _tag: "Restricted", reason: concern.sentence, unsafe: true }, decision }
    }
    if (decision === undefined) return { state: restricted(notTrusted), decision }
    if (!(yield* isSameFolder(decision, report.folder))) {
      return { state: restricted("its folder is not the one that was trusted: it was replaced"), decision }
    }
    const seen = (decision.interpreters ?? []).map(({ path }) => path)
    return { state: { _tag: "Trusted", seen }, decision, folder: report.folder }
  })

  /** Whether the folder is known by both proofs, or cannot be. */
  const isKnownTwice = Effect.fnUntraced(function*(decision: TrustDecision, folder: string) {
    const marked = decision.mark !== undefined && decision.mark === (yield* mark.current)
    return marked ? decision.folder === folder : !isUnique(folder)
  })

  let proofsRenewed = false

  /**
   * Renews the proof that was lost, of the two that the folder is the same: `git clean -x` removes the mark, and a
   * container changes the folder's time of birth. Done once in a process, and only if the other proof holds.
   */
  const renewProofs = Effect.fnUntraced(function*() {
    proofsRenewed = true
    const { decision, folder } = yield* currentTrust()
    if (decision === undefined || folder === undefined || (yield* isKnownTwice(decision, folder))) return
    const left = decision.folder === folder ? yield* mark.leave() : decision.mark
    // Writing may have moved a folder of an image to the layer of this container.
    const now = inspectFolders(folders)
    if (left === undefined || now._tag !== "Usable") return
    yield* record({ ...decision, folder: now.folder, mark: left })
  })

  const require = Effect.gen(function*() {
    const { state: found } = yield* currentTrust()
    if (found._tag !== "Trusted") return yield* refusal(found)
    // If it cannot be written, the remaining proof has to do.
    if (!proofsRenewed) yield* Effect.ignore(locked(renewProofs()))
  })

  const acceptedOf = (decision: TrustDecision | undefined, path: string): AcceptedFile | undefined =>
    decision?.files.find((file) => file.path === path)

  /** The bytes of a control file, if they have this digest now. */
  const bytesWith = Effect.fnUntraced(function*(path: string, digest: string) {
    const found = yield* controls.getEffect(join(project.root, path), readControlFile(files, project.root, path))
    return found?._tag === "Read" && found.digest === digest ? found.bytes.slice() : undefined
  })

  const readControl = Effect.fnUntraced(function*(path: string) {
    if (!isControlPath(path)) return undefined
    const { decision, state: found } = yield* currentTrust()
    const accepted = found._tag === "Trusted" ? acceptedOf(decision, path) : undefined
    return accepted === undefined ? undefined : yield* bytesWith(path, accepted.digest)
  })

  const readNarrowing = Effect.fnUntraced(function*(path: string) {
    if (!isControlPath(path) || isEnvironmentFile(path)) return []
    const { decision, state: found } = yield* currentTrust()
    const accepted = acceptedOf(decision, path)
    const now = yield* readControlFile(files, project.root, path)
    if (found._tag === "Trusted" && now?._tag === "Read" && now.digest === accepted?.digest) return []
    const texts: Array<Uint8Array> = []
    if (accepted !== undefined) {
      const copy = yield* readCopy(accepted.digest)
      if (copy === undefined) {
        return yield* new ProjectRestricted({
          reason: `${path} is not as it was accepted, and Kiwi's own copy of that is gone`
        })
      }
      texts.push(copy)
    }
    if (now?._tag === "Read") texts.push(now.bytes)
    return texts
  })

  const compare = Effect.fnUntraced(function*(decision: TrustDecision | undefined) {
    const found = yield* findControlFiles(files, project.root)
    const gone = (decision?.files ?? []).filter((file) => !found.some((now) => now.path === file.path))
    const stateOf = (now: FoundControl, accepted: AcceptedFile | undefined): ControlFile =>
      now._tag === "Refused"
        ? { path: now.path, digest: "", state: "refused", issue: now.issue }
        : {
          path: now.path,
          digest: now.digest,
          state: accepted === undefined ? "new" : accepted.digest === now.digest ? "accepted" : "changed"
        }
    const present = found.map((now): Compared => {
      const accepted = acceptedOf(decision, now.path)
      return { file: stateOf(now, accepted), now, accepted: accepted?.names }
    })
    const removed = gone.map((file): Compared => ({
      file: { path: file.path, digest: file.digest, state: "removed" },
      now: undefined,
      accepted: file.names
    }))
    return [...present, ...removed].toSorted(Order.mapInput(Order.String, ({ file }) => file.path))
  })

  const withCopies = Effect.fnUntraced(function*(decision: TrustDecision | undefined, all: ReadonlyArray<Compared>) {
    return yield* Effect.forEach(
      all,
      Effect.fnUntraced(function*(one) {
        const accepted = acceptedOf(decision, one.file.path)
        if (one.accepted !== undefined || accepted === undefined || one.file.state === "accepted") return one
        return { ...one, accepted: yield* readCopy(accepted.digest) }
      })
    )
  })

  const interpreter = Effect.fnUntraced(function*(place: string, afresh?: boolean) {
    const { decision, state: found } = yield* currentTrust()
    const now = found._tag === "Trusted" ? yield* interpreters.readAt(place, afresh) : undefined
    return now === undefined
      ? judgeInterpreter({ path: place, files: [] }, undefined)
      : judgeInterpreter(now, decision)
  })

  /** Everything that a decision depends on, read at once. */
  const gather = Effect.fnUntraced(function*() {
    const report = inspectFolders(folders)
    const decision = yield* currentDecision
    const compared = yield* withCopies(decision, yield* compare(decision))
    const concerns = report._tag === "Usable" ? report.concerns : []
    const found = yield* interpreters.readAll
    const gone = interpreters.goneSince(decision)
    const place = interpreters.currentPlace()
    const proposal = yield* makeProposal(files, { ...place, concerns, compared, interpreters: found, gone })
    return {
      report,
      compared,
      interpreters: found.map(({ files: of, path }) => ({ path, files: of })),
      proposal
    }
  })

  const acceptedFile = (path: string, bytes: Uint8Array): AcceptedFile => ({
    path,
    digest: sha256(bytes),
    ...(isEnvironmentFile(path) ? { names: environmentNames(bytes) } : {})
  })

  const keepCopy = (file: AcceptedFile, bytes: Uint8Array) =>
    file.names === undefined ? files.write(home, copyPath(file.digest), bytes) : Effect.void

  /** Writes a decision, then removes the copies that only the previous one needed. */
  const record = Effect.fnUntraced(function*(decision: TrustDecision) {
    const last = yield* currentDecision
    yield* files.write(home, decisionPath, encodeDecision(decision))
    const needed = new Set(decision.files.map((file) => file.digest))
    for (const { digest } of last?.files ?? []) {
      if (!needed.has(digest)) yield* Effect.ignore(files.remove(home, copyPath(digest)))
    }
  })

  const decide = Effect.fnUntraced(function*(
    by: TrustDecision["by"],
    report: { readonly concerns: ReadonlyArray<{ readonly code: string }> },
    found: ReadonlyArray<FoundControl>,
    shown: ReadonlyArray<ShownProgram>
  ) {
    const kept: Array<AcceptedFile> = []
    for (const now of found) {
      if (now._tag !== "Read") continue
      const file = acceptedFile(now.path, now.bytes)
      yield* keepCopy(file, now.bytes)
      kept.push(file)
    }
    const left = yield* mark.leave()
    // Inspected after writing, which may have moved a folder of an image to the layer of this container.
    const now = inspectFolders(folders)
    yield* record({
      version: 1,
      root: project.root,
      folder: now._tag === "Usable" ? now.folder : "",
      ...(left === undefined ? {} : { mark: left }),
      seen: report.concerns.map(({ code }) => code),
      time: DateTime.formatIso(yield* DateTime.now),
      by,
      files: kept,
      interpreters: shown
    })
  })

  const accept = Effect.fn("ProjectTrust.accept")(function*(_: TrustProposal, act: HumanAct) {
    return yield* locked(Effect.gen(function*() {
      const { compared, interpreters: shown, proposal: fresh, report } = yield* gather()
      if (report._tag === "Unusable") {
        return yield* new ProjectRestricted({ reason: report.reason, remedy: report.remedy })
      }
      yield* requireAct(fresh.request, act)
      const found = compared.flatMap(({ now }) => now === undefined ? [] : [now])
      return yield* decide(act.by, report, found, shown)
    }))
  })

  const revoke = locked(
    Effect.andThen(files.remove(home, decisionPath), files.remove(home, `${state}/control`)).pipe(
      Effect.andThen(mark.remove)
    )
  ).pipe(Effect.withSpan("ProjectTrust.revoke"))

  const trustNew = Effect.fn("ProjectTrust.trustNew")(function*<A, E, R>(create: Effect.Effect<A, E, R>) {
    const hadAi = statOf(project.ai) !== undefined
    const value = yield* create
    const report = inspectFolders(folders)
    if (hadAi || report._tag === "Unusable" || report.concerns.length > 0) return { value, trusted: false }
    // A control file that exists now existed before, or somebody else wrote it meanwhile: nobody was shown it.
    yield* locked(decide("init", report, [], []))
    return { value, trusted: true }
  })

  const renew: ProjectTrust["Service"]["renew"] = Effect.fn("ProjectTrust.renew")(function*(path, { after, before }) {
    return yield* locked(Effect.gen(function*() {
      const { decision, state: found } = yield* currentTrust()
      if (!isControlPath(path) || decision === undefined || found._tag !== "Trusted") return false
      const accepted = acceptedOf(decision, path)
      if (accepted?.digest !== (before === undefined ? undefined : sha256(before))) return false
      const others = decision.files.filter((file) => file.path !== path)
      const renewed = after === undefined ? [] : [acceptedFile(path, after)]
      for (const file of renewed) yield* keepCopy(file, after!)
      yield* record({ ...decision, files: [...others, ...renewed] })
      return true
    }))
  })

  return ProjectTrust.of({
    state: Effect.map(Effect.suspend(currentTrust), (found) => found.state),
    require,
    controlFiles: Effect.gen(function*() {
      const compared = yield* compare(yield* currentDecision)
      return compared.map(({ file }) => file)
    }),
    unseen: Effect.gen(function*() {
      const decision = yield* currentDecision
      const now = yield* interpreters.readAll
      const others = now.filter((one) => judgeInterpreter(one, decision)._tag !== "Shown").map(({ path }) => path)
      return [...others, ...interpreters.goneSince(decision)]
    }),
    interpreter,
    readControl,
    readNarrowing,
    propose: Effect.map(Effect.suspend(gather), ({ proposal }) => proposal).pipe(
      Effect.withSpan("ProjectTrust.propose")
    ),
    accept,
    revoke,
    trustNew,
    renew
  })
})

export const make = Effect.gen(function*() {
  const { project } = yield* Workspace
  return Option.isSome(project) ? yield* makeFor(project.value) : ProjectTrust.of(withoutProject)
})

export const layer = Layer.effect(ProjectTrust, make)
