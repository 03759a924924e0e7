// Environments below `$KIWI_HOME/envs`, one folder for each list of requirements, interpreter and platform. An
// environment is built in a temporary folder and renamed when it is complete. The manifest is written last, so that
// what a killed process leaves never counts.
import { Clock, ConfigProvider, Duration, Effect, Layer, Option, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { arch, platform } from "node:os"
import * as Path from "node:path"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Chain } from "../../services/chain/Chain.ts"
import { type Declared, declaredBy } from "../../services/dependency/declaredDependencies.ts"
import {
  Dependencies,
  type EnvironmentQuery,
  type SyncOutcome,
  type SyncRequest
} from "../../services/dependency/Dependencies.ts"
import { DependenciesMissing } from "../../services/dependency/DependencyErrors.ts"
import { differencesFrom, sortPackages } from "../../services/dependency/InstalledPackage.ts"
import type { InstalledPackage, InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import * as HostFiles from "../env/HostFiles.ts"
import { Readings, statOf } from "../files/believe.ts"
import { listFolder } from "../files/listFolder.ts"
import { sha256 } from "../identity/sha256.ts"
import { errorCode } from "../process/errorCode.ts"
import { makeRunOwnChild } from "../process/ownChild.ts"
import { makeOwnPrograms, ownPrograms } from "../process/ownPrograms.ts"
import { buildEnvironment } from "./buildEnvironment.ts"
import * as Files from "./environmentFiles.ts"
import { makeRun, passedOn, type Workbench } from "./installers.ts"

const folderName = "envs"
const lockName = "envs.lock"
const day = 86_400_000
const shape = /^[0-9a-f]{64}$/

/** The manifest of an environment. */
interface Environment {
  readonly set: InstalledSet
  readonly manifest: Files.Manifest
}

type Why = DependenciesMissing["why"]

interface DependenciesOptions {
  /** The time limit of one installer run. */
  readonly timeout: Duration.Duration
}

const defaults: DependenciesOptions = { timeout: Duration.minutes(15) }

const makeWith = Effect.fnUntraced(function*(options: DependenciesOptions) {
  const { home, userHome } = yield* KiwiHome
  const safe = yield* SafeFiles
  const locks = yield* ProcessLock
  const workspace = yield* Workspace
  const provider = yield* ConfigProvider.ConfigProvider
  const runOwnChild = yield* makeRunOwnChild
  const windows = platform() === "win32"
  const root = Path.join(home, folderName)
  const placeOf = (digest: string) => Path.join(root, digest)

  const plans = new WeakMap<Chain, Declared | null>()
  const declared = (chain: Chain) => {
    const known = plans.get(chain)
    if (known !== undefined) return Effect.succeed(known ?? undefined)
    return Effect.tap(
      Effect.fromResult(declaredBy(chain)),
      (fresh) => Effect.sync(() => plans.set(chain, fresh ?? null))
    )
  }

  const realPathOf = (interpreter: string | undefined): string =>
    interpreter === undefined ? "" : HostFiles.node.realPath(interpreter) ?? interpreter

  const digestOf = (
    plan: Declared,
    interpreter: string | undefined,
    pins: ReadonlyArray<InstalledPackage> | undefined
  ): string =>
    sha256(JSON.stringify([
      "kiwi-environment-1",
      plan.ecosystem,
      plan.requirements.toSorted(),
      plan.requiresPython,
      plan.optional,
      plan.overrides ?? null,
      plan.packageLock === undefined ? null : sha256(plan.packageLock),
      realPathOf(interpreter),
      platform(),
      arch(),
      ...(pins === undefined
        ? []
        : [sortPackages(pins).map(({ hash, name, version }) => [name, version, hash])])
    ]))

  const environments = new Readings<Environment | "damaged">()

  const isBase = (base: Files.Base | undefined): boolean =>
    base === undefined || Files.stampOfProgram(base.path) === base.stamp

  const setOf = (digest: string, { ecosystem, packages }: Files.Manifest): InstalledSet => ({
    digest,
    ecosystem,
    folder: placeOf(digest),
    ...(ecosystem === "python" ? { interpreter: pythonOf(placeOf(digest)) } : {}),
    packages
  })
  const pythonOf = (folder: string) =>
    windows ? Path.join(folder, "Scripts", "python.exe") : Path.join(folder, "bin", "python")

  const readManifest = (digest: string) =>
    safe.read(home, `${folderName}/${digest}/${Files.manifestName}`, { maxBytes: Files.maxManifest, own: true }).pipe(
      Effect.flatMap((bytes) => Files.decodeManifest(new TextDecoder().decode(bytes))),
      Effect.map((manifest) => manifest.digest === digest ? { set: setOf(digest, manifest), manifest } : "damaged"),
      Effect.orElseSucceed(() => "damaged" as const)
    )

  /** The environment in its folder, or why it does not count. */
  const findEnvironment = Effect.fnUntraced(function*(digest: string): Effect.fn.Return<Environment | Why> {
    const folder = placeOf(digest)
    const found = yield* environments.getEffect(Path.join(folder, Files.manifestName), readManifest(digest))
    if (found === undefined) return statOf(folder) === undefined ? "not-installed" : "damaged"
    if (found === "damaged" || !Files.isOwnFolder(folder) || !Files.isAsStamped(folder, found.manifest.stamps)) {
      return "damaged"
    }
    return isBase(found.manifest.base) ? found : "interpreter-changed"
  })

  /** With pins: an environment with exactly these packages, or else the one without pins. */
  const choose = Effect.fnUntraced(function*(plan: Declared, { interpreter, pins }: EnvironmentQuery) {
    const plain = yield* findEnvironment(digestOf(plan, interpreter, undefined))
    if (pins === undefined) return plain
    if (typeof plain === "object" && differencesFrom(pins, plain.set.packages).length === 0) return plain
    const pinned = yield* findEnvironment(digestOf(plan, interpreter, pins))
    return typeof pinned === "object" || typeof plain === "string" ? pinned : plain
  })

  const installed = Effect.fnUntraced(function*(query: EnvironmentQuery) {
    const plan = yield* declared(query.chain)
    if (plan === undefined) return undefined
    const found = yield* choose(plan, query)
    if (typeof found === "object") return found.set
    return yield* new DependenciesMissing({
      tool: query.chain.leaf.tool.location.id,
      link: plan.links[0]!,
      requirements: [...plan.requirements],
      why: found
    })
  })

  const digest = Effect.fnUntraced(function*({ chain, interpreter, pins }: EnvironmentQuery) {
    const plan = yield* declared(chain)
    return plan === undefined ? undefined : digestOf(plan, interpreter, pins)
  })

  const noted = new BoundedMap<string, number>(1_000)
  const used = (set: InstalledSet) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.sync(() => {
        if (now - (noted.get(set.digest) ?? Number.NEGATIVE_INFINITY) < day) return
        noted.set(set.digest, now)
        touch(set.folder, now)
      }))
  const touch = (folder: string, now: number): void => {
    try {
      utimesSync(Path.join(folder, Files.usedName), now / 1000, now / 1000)
    } catch {
      // If the last use cannot be recorded, the folder is only removed earlier.
    }
  }

  const refusal = (error: unknown) =>
    new WriteRefused({
      path: folderName,
      issue: ["ENOSPC", "EDQUOT"].includes(errorCode(error)) ? "no-space" : "io",
      detail: "the disk did not complete a write"
    })
  const attempt = <A>(run: () => A) => Effect.try({ try: run, catch: refusal })

  /** Runs exclusively among all Kiwi processes, and waits as long as needed. */
  const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    safe.makeDirectory(home, folderName, { mode: 0o700 }).pipe(
      Effect.andThen(
        locks.withLock(home, lockName)(Effect.result(effect)).pipe(
          Effect.retry({ while: (error) => error._tag === "LockTimeout", schedule: Schedule.recurs(90) })
        )
      ),
      Effect.flatMap(Effect.fromResult)
    )

  /** Under the lock, every unfinished folder here is abandoned. */
  const sweep = Effect.sync(() => {
    for (const { name } of listFolder(root)) {
      if (!name.startsWith(".")) continue
      try {
        Files.discard(Path.join(root, name))
      } catch {
        // An installer that outlived its Kiwi may still be writing there. The next sweep tries again.
      }
    }
  })

  const variable = (name: string) =>
    provider.load([name]).pipe(Effect.map((node) => node?.value), Effect.orElseSucceed(() => undefined))

  const benchFor = Effect.fnUntraced(function*(tool: string, folder: string, request: SyncRequest) {
    const projects = Option.match(workspace.project, { onNone: () => [], onSome: ({ root: project }) => [project] })
    const programs = yield* Effect.provideService(ownPrograms(...projects), ConfigProvider.ConfigProvider, provider)
    const env: Record<string, string> = { PYTHONNOUSERSITE: "1", [windows ? "USERPROFILE" : "HOME"]: userHome }
    for (const name of passedOn) {
      const value = yield* variable(name)
      if (value !== undefined && value !== "") env[name] = value
    }
    return {
      tool,
      folder,
      windows,
      find: (name, beside) =>
        (beside === undefined
          ? undefined
          : makeOwnPrograms({ searchPath: Path.dirname(beside), projects }).find(name)?.as) ?? programs.find(name)?.as,
      run: makeRun({ tool, folder, env, programs, runOwnChild, timeout: options.timeout }),
      progress: request.progress ?? (() => Effect.void)
    } satisfies Workbench as Workbench
  })

  const replace = (fresh: string, place: string): void => {
    const old = Path.join(root, `.old-${randomUUID()}`)
    if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) renameSync(place, old)
    renameSync(fresh, place)
    try {
      Files.discard(old)
    } catch {
      // The next sync removes it.
    }
  }

  const build = Effect.fnUntraced(function*(plan: Declared, id: string, request: SyncRequest) {
    const tool = request.chain.leaf.tool.location.id
    const fresh = Path.join(root, `.new-${randomUUID()}`)
    const make = Effect.gen(function*() {
      yield* attempt(() => mkdirSync(fresh, { mode: 0o700 }))
      const bench = yield* benchFor(tool, fresh, request)
      const { base, built } = yield* buildEnvironment(bench, {
        declared: plan,
        interpreter: request.interpreter === undefined ? undefined : realPathOf(request.interpreter),
        pins: request.upgrade === true ? undefined : request.pins,
        followLock: request.upgrade !== true,
        allowBuild: request.allowBuild === true
      })
      yield* bench.progress("Checking what was installed")
      const now = yield* Clock.currentTimeMillis
      yield* attempt(() => {
        if (plan.ecosystem === "python") Files.moveScripts(fresh, placeOf(id), windows)
        chmodSync(fresh, 0o700)
        const content = Files.contentOf(fresh)
        mkdirSync(Path.join(fresh, Files.copiesName), { mode: 0o700 })
        writeFileSync(Path.join(fresh, Files.usedName), "", { mode: 0o600 })
        touch(fresh, now)
        const manifest: Files.Manifest = {
          kind: "kiwi-environment-1",
          digest: id,
          ecosystem: plan.ecosystem,
          requirements: plan.requirements,
          installer: built.installer,
          ...(base === undefined ? {} : { base }),
          packages: sortPackages(built.packages),
          stamps: Files.stampsOf(fresh, plan.ecosystem, windows),
          content
        }
        writeFileSync(Path.join(fresh, Files.manifestName), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 })
        replace(fresh, placeOf(id))
      })
      const found = yield* findEnvironment(id)
      if (typeof found === "string") return yield* refusal(undefined)
      return found
    })
    return yield* Effect.ensuring(
      make,
      Effect.sync(() => {
        try {
          rmSync(fresh, { recursive: true, force: true })
        } catch {
          // The next sync removes it.
        }
      })
    )
  })

  const outcome = ({ manifest, set }: Environment, state: SyncOutcome["state"]): SyncOutcome => ({
    set,
    state,
    installer: manifest.installer
  })

  const sync = Effect.fn("Dependencies.sync")(function*(request: SyncRequest) {
    const plan = yield* declared(request.chain)
    if (plan === undefined) return undefined
    const { interpreter } = request
    const pins = request.upgrade === true ? undefined : request.pins
    return yield* alone(Effect.gen(function*() {
      yield* sweep
      const found = request.upgrade === true ? "not-installed" : yield* choose(plan, request)
      if (
        typeof found === "object" && (pins === undefined || differencesFrom(pins, found.set.packages).length === 0) &&
        (yield* Files.isWhole(found.set.folder, found.manifest.content))
      ) {
        return outcome(found, "up-to-date")
      }
      // Another lock's environment stays: pins without an environment of exactly these packages get one of their own.
      const plain = digestOf(plan, interpreter, undefined)
      const isTaken = pins !== undefined && typeof (yield* findEnvironment(plain)) === "object"
      return outcome(yield* build(plan, isTaken ? digestOf(plan, interpreter, pins) : plain, request), "installed")
    }))
  })

  const lastUse = (folder: string): number =>
    Number(
      (lstatSync(Path.join(folder, Files.usedName), { throwIfNoEntry: false }) ??
        lstatSync(folder, { throwIfNoEntry: false }))?.mtimeMs ?? 0
    )

  const prune = Effect.fn("Dependencies.prune")(
    function*({ before, keep }: { readonly before: number; readonly keep: ReadonlySet<string> }) {
      return yield* alone(Effect.andThen(
        sweep,
        attempt(() => {
          const removed = listFolder(root).map(({ name }) => name).filter((name) =>
            shape.test(name) && !keep.has(name) && lastUse(placeOf(name)) < before
          )
          for (const name of removed) {
            Files.discard(placeOf(name))
          }
          return removed
        })
      ))
    }
  )

  return Dependencies.of({ declared, installed, digest, used, sync, prune })
})

export const make = makeWith(defaults)

export const layer = Layer.effect(Dependencies, make)
