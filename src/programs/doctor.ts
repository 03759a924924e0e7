// Checks the usual causes for Kiwi not working, and says for each what to do. A check never fails the doctor: an error
// in a check becomes its finding.
import { Effect, FileSystem, Option, Result } from "effect"
import type { Path } from "effect"
import { statfsSync } from "node:fs"
import { sha256 } from "../layers/identity/sha256.ts"
import { makeRunOwnChild } from "../layers/process/ownChild.ts"
import { ownPrograms } from "../layers/process/ownPrograms.ts"
import { makeFindProgram } from "../layers/process/programFile.ts"
import { variable } from "../layers/process/variable.ts"
import type { ProjectServices } from "../layers/projectGraph.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import type { Clients } from "../services/call/Clients.ts"
import { safeText } from "../services/error/safeText.ts"
import { SafeFiles } from "../services/files/SafeFiles.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { Identity, isEncryptedPlace } from "../services/identity/Identity.ts"
import { Keychain } from "../services/identity/Keychain.ts"
import { isSignable } from "../services/item/Item.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import type { ChildProcesses } from "../services/process/ChildProcesses.ts"
import { ItemIndex } from "../services/search/ItemIndex.ts"
import { Settings } from "../services/settings/Settings.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { SignerTrust } from "../services/trust/SignerTrust.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import { findClients } from "./clients.ts"
import { fail, type Finding, ok, warn } from "./finding.ts"
import { checkGovernance } from "./governanceChecks.ts"
import { checkSignature } from "./itemState.ts"
import { profileProblems } from "./profiles.ts"
import { version } from "./version.ts"
import { withoutQuotes } from "./withoutQuotes.ts"

const findProgram = makeFindProgram()

/** The program that tools are run with, and the first line of what it says about its version. */
const versionOf = Effect.fnUntraced(function*(command: string) {
  const searchPath = yield* variable("PATH")
  const workspace = yield* Workspace
  const project = Option.match(workspace.project, { onNone: () => workspace.cwd, onSome: ({ root }) => root })
  const file = findProgram({
    command,
    folder: workspace.cwd,
    project,
    searchPath: Option.getOrUndefined(searchPath)
  })
  if (Result.isFailure(file)) return { _tag: "Missing" } as const
  const programs = yield* ownPrograms(project)
  const program = programs.find(file.success)
  if (program === undefined) return { _tag: "NotStarted", file: file.success } as const
  const runOwnChild = yield* makeRunOwnChild
  const said = yield* Effect.option(runOwnChild({
    program,
    args: ["--version"],
    searchPath: programs.searchPath,
    within: "10 seconds",
    most: 4_096,
    longer: "is cut"
  }))
  const line = Option.match(said, {
    onNone: () => "",
    onSome: ({ stdout }) => stdout.toString("utf8").split("\n", 1)[0]!.trim()
  })
  return { _tag: "Answered", line: line === "" ? undefined : safeText(line.slice(0, 80)) } as const
})

const commands = [
  ["python3", "Python tools do not run", "Install Python 3 (https://www.python.org)"],
  ["bash", "bash tools do not run", "Install bash"]
] as const

const checkNode = (node: string): Finding =>
  Number.parseInt(node, 10) >= 24
    ? ok("node", `Node ${node}, Kiwi ${version}`)
    : fail("node", `Node ${node} is too old`, "Install Node 24 or newer (https://nodejs.org)")

const checkCommands = Effect.forEach(
  commands,
  ([command, consequence, remedy]) =>
    Effect.map(versionOf(command), (found) => {
      switch (found._tag) {
        case "Missing":
          return warn(command, `not found on PATH: ${consequence}`, remedy)
        case "NotStarted":
          return warn(
            command,
            `${found.file} is not safe to start: it lies in a project, or other users can change it`,
            `Put another ${command} before it on PATH`
          )
        case "Answered":
          return found.line === undefined
            ? warn(command, `does not start: ${consequence}`, remedy)
            : ok(command, found.line)
      }
    }),
  { concurrency: commands.length }
)

const mode = (value: number): string => (value & 0o777).toString(8).padStart(3, "0")

const checkHome = Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const safe = yield* SafeFiles
  const { home } = yield* KiwiHome
  const stat = yield* Effect.option(files.stat(home))
  if (Option.isNone(stat)) {
    return ok("home", `${home} does not exist yet: Kiwi makes it when it first stores something`)
  }
  if (stat.value.type !== "Directory") return fail("home", `${home} is not a folder`, "Move it away, or set KIWI_HOME")
  if ((stat.value.mode & 0o022) !== 0) {
    return fail(
      "home",
      `other users can change what is in ${home} (mode ${mode(stat.value.mode)})`,
      `chmod 700 ${home}`
    )
  }
  const probe = `doctor-${sha256(home).slice(0, 8)}`
  const written = yield* Effect.result(safe.write(home, probe, "").pipe(Effect.andThen(safe.remove(home, probe))))
  if (Result.isFailure(written)) {
    return fail("home", `Kiwi cannot write to ${home}: ${written.failure.detail}`, written.failure.remediation)
  }
  return (stat.value.mode & 0o077) === 0
    ? ok("home", home)
    : warn("home", `other users can read what is in ${home} (mode ${mode(stat.value.mode)})`, `chmod 700 ${home}`)
})

const littleSpace = 200 * 1024 * 1024

const checkDisk = Effect.gen(function*() {
  const { home, userHome } = yield* KiwiHome
  const files = yield* FileSystem.FileSystem
  const folder = (yield* Effect.orElseSucceed(files.exists(home), () => false)) ? home : userHome
  const free = yield* Effect.option(Effect.try(() => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  }))
  if (Option.isNone(free)) {
    return warn("disk", `the free space on the disk of ${folder} is unknown`, `df -h ${folder}`)
  }
  const shown = `${(free.value / 1024 / 1024 / 1024).toFixed(1)} GiB free on the disk of ${folder}`
  return free.value < littleSpace
    ? warn("disk", shown, "Free some space: without any, no tool runs")
    : ok("disk", shown)
})

/** Why a signing key without a passphrase should get one. */
export const encryptHint =
  "Put a passphrase on it: kiwi identity encrypt. No program can sign as you then without the passphrase"

const checkKeychain = Effect.gen(function*() {
  const keychain = yield* Keychain
  const identity = yield* Identity
  const storedIn = yield* identity.storedIn
  const reached = yield* Effect.result(keychain.get("doctor"))
  if (storedIn?.startsWith("keychain") === true && Result.isFailure(reached)) {
    return fail(
      "keychain",
      `your signing key is in the keychain, and ${reached.failure.message}`,
      reached.failure.remediation
    )
  }
  if (storedIn === undefined) {
    return Result.isSuccess(reached)
      ? ok("keychain", "works; you have no signing key yet, and get one when you first sign")
      : warn(
        "keychain",
        "Kiwi can use no keychain here: your signing key will be kept in a file that only you can read",
        "Once you have a key, put a passphrase on it: kiwi identity encrypt"
      )
  }
  if (isEncryptedPlace(storedIn)) return ok("keychain", `your signing key is kept in: ${storedIn}`)
  return storedIn === "keychain"
    ? { ...ok("keychain", `your signing key is kept in: ${storedIn}, without a passphrase`), remedy: encryptHint }
    : warn(
      "keychain",
      "your signing key is in a file without a passphrase: whoever can read your files can sign as you",
      encryptHint
    )
})

const checkSigners = Effect.gen(function*() {
  const signers = yield* SignerTrust
  const problem = yield* signers.problem
  return problem === undefined ? [] : [fail("signers", problem.message, problem.remediation)]
})

const controlStates = {
  accepted: "counts",
  new: "is new, and grants nothing until you accept it",
  changed: "was changed since you accepted it, and grants nothing until you accept it again",
  removed: "was removed since you accepted it; its prohibitions stay in force until you accept that",
  refused: "is never used"
} as const

const checkProject = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  const state = yield* trust.state
  if (state._tag === "NoProject") {
    return [warn("project", "there is no project: neither this folder nor one above it has a folder .ai", "kiwi init")]
  }
  if (state._tag === "Restricted") {
    return [warn("project", `nothing in it runs: ${state.reason}`, state.remedy ?? "kiwi trust project")]
  }
  const unseen = yield* trust.unseen
  const controls = (yield* trust.controlFiles).filter((file) => file.state !== "accepted")
  return [
    ok("project", "trusted"),
    ...(unseen.length === 0 ? [] : [
      warn(
        "interpreters",
        `you have not accepted ${unseen.join(", ")} as it is now; tools that need it do not run`,
        "kiwi trust project"
      )
    ]),
    ...controls.map((file) =>
      warn(
        "settings",
        `${file.path} ${controlStates[file.state]}${file.issue === undefined ? "" : `: ${file.issue}`}`,
        file.state === "refused" ? `Put a plain file in the place of ${file.path}` : "kiwi trust project"
      )
    )
  ]
})

const checkSettings = Effect.gen(function*() {
  const settings = yield* Settings
  const problems = yield* settings.problems
  return problems.map(({ file, hint, issue, line }) => warn("settings", `${file}:${line}: ${issue}`, hint))
})

/** Reading more items would take too long. */
const mostRead = 2000

const checkItems = Effect.gen(function*() {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const [items, problems] = yield* Effect.all([store.list(), store.problems])
  const own = items.filter(isSignable)
  const [standings, wrong] = yield* Effect.partition(own.slice(0, mostRead), (location) =>
    Effect.gen(function*() {
      const snapshot = yield* store.read(location)
      yield* parser.parse(snapshot)
      return { location, state: (yield* checkSignature(snapshot)).state }
    }))
  const waiting = standings.filter(({ state }) => state === "unsigned" || state === "tampered")
  const remedies = new Set(
    waiting.map(({ location: { tier, type } }) =>
      `kiwi sign ${type} '**' --changed${tier === "user" ? " --tier user" : ""}`
    )
  )
  const all = [...problems, ...wrong].map(yield* withoutQuotes)
  const unread = own.length - mostRead
  return [
    ok(
      "items",
      `${items.length} found${all.length === 0 ? ", and no problem in them" : ""}` +
        (unread > 0 ? ` (${unread} were not checked)` : "")
    ),
    ...(waiting.length === 0 ? [] : [
      warn(
        "items",
        `${
          waiting.length === 1 ? "1 does not run until you sign it" : `${waiting.length} do not run until you sign them`
        }: ${waiting.slice(0, 5).map(({ location }) => location.id).join(", ")}${waiting.length > 5 ? ", …" : ""}`,
        [...remedies].join("; ")
      )
    ]),
    ...all.slice(0, 20).map((problem) => warn("items", problem.message, problem.remediation)),
    ...(all.length > 20 ? [warn("items", `… and ${all.length - 20} more problems`, "Correct these first")] : [])
  ]
})

const checkIndex = Effect.gen(function*() {
  const index = yield* ItemIndex
  const refreshed = yield* Effect.result(index.refresh())
  return Result.isSuccess(refreshed)
    ? ok("search", `${refreshed.success.items} items can be found`)
    : fail("search", refreshed.failure.message, refreshed.failure.remediation)
})

const checkAudit = Effect.gen(function*() {
  const audit = yield* AuditLog
  const { entries, expired, problems } = yield* audit.verify
  const { head, n } = yield* audit.anchor
  if (problems.length === 0) {
    return ok(
      "audit",
      `${entries} audit entries, none changed or missing${
        expired === 0 ? "" : ` (${expired} old files were removed)`
      }` +
        (n === 0 ? "" : `: verified now, up to head ${n} (${head.slice(0, 12)})`)
    )
  }
  return problems.every(({ problem }) => problem === "unsigned")
    ? warn(
      "audit",
      "heads of the audit are not signed: when they were recorded, no key in $KIWI_HOME/audit-keys could be used",
      "kiwi audit verify"
    )
    : warn(
      "audit",
      `${problems.length} entries or files of the audit were changed, are missing or cannot be proved`,
      "kiwi audit verify"
    )
})

const checkClients = Effect.fnUntraced(function*(project: string, platform: string) {
  const { userHome } = yield* KiwiHome
  const clients = yield* findClients({ home: userHome, project, platform })
  const unreadable = clients.flatMap(({ files }) => files.filter((file) => !file.readable))
  const connected = clients.filter((client) => client.connected).map(({ client }) => client)
  return [
    clients.length === 0
      ? warn(
        "clients",
        "no MCP client was found (Claude Code, Codex, Cursor, …)",
        "Install one; kiwi init then says how to connect it"
      )
      : connected.length === 0
      ? warn(
        "clients",
        `found ${clients.map(({ client }) => client).join(", ")}, and Kiwi is not connected to any of them`,
        "kiwi init shows how to connect them"
      )
      : ok("clients", `Kiwi is connected to ${connected.join(", ")}`),
    ...unreadable.map(({ path }) =>
      warn("clients", `${path} cannot be understood, so it is not known whether Kiwi is connected`, `Correct ${path}`)
    )
  ]
})

const checkProfiles = Effect.gen(function*() {
  const problems = yield* Effect.result(profileProblems({ surface: "cli", client: "doctor", session: "doctor" }))
  if (Result.isFailure(problems)) return [fail("profiles", problems.failure.message, problems.failure.remediation)]
  return problems.success.map(({ profile, tool: { id, remedy, why } }) =>
    warn("profiles", `${profile} does not list ${id}: ${why}`, remedy ?? `kiwi profile show ${profile}`)
  )
})

export const doctor = Effect.fn("doctor")(function*(options: {
  readonly node: string
  readonly platform: string
  /** "" if there is none. */
  readonly project: string
}): Effect.fn.Return<
  ReadonlyArray<Finding>,
  never,
  | ProjectServices
  | ChildProcesses
  | Clients
  | FileSystem.FileSystem
  | Identity
  | Keychain
  | KiwiHome
  | Path.Path
  | SafeFiles
> {
  return [
    checkNode(options.node),
    ...(yield* checkCommands),
    yield* checkHome,
    yield* checkDisk,
    yield* checkKeychain,
    ...(yield* checkSigners),
    ...(yield* checkProject),
    ...(yield* checkSettings),
    ...(yield* checkGovernance),
    ...(yield* checkItems),
    ...(yield* checkProfiles),
    yield* checkIndex,
    ...(options.project === "" ? [] : [yield* checkAudit]),
    ...(yield* checkClients(options.project, options.platform))
  ]
})
