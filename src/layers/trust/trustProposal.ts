// What trusting a project would enable, in sentences and diffs that a person can read. Foreign words inside a sentence
// are escaped here, since a line break in a name would forge a sentence. The surface escapes whole texts.
import { Effect, Result, TextDiff } from "effect"
import { basename, join, relative } from "node:path"
import { isDeniedVariable } from "../../services/env/variableNames.ts"
import { safeLine } from "../../services/error/safeText.ts"
import type { SafeFiles } from "../../services/files/SafeFiles.ts"
import { lineEdits } from "../../services/integrity/SigningPlan.ts"
import { defaults } from "../../services/settings/definitions.ts"
import { interpret } from "../../services/settings/interpretSettings.ts"
import type { HumanRequest } from "../../services/trust/HumanAct.ts"
import type { ControlFile, TrustProposal } from "../../services/trust/ProjectTrust.ts"
import { isProcessPath, type ProgramFile, throughProcess } from "../../services/trust/ShownProgram.ts"
import { isEnvironmentFile } from "../../services/trust/TrustDecision.ts"
import { parseControlYaml } from "../../services/workspace/controlYaml.ts"
import type { FoundProgram } from "../env/programs/interpreterFiles.ts"
import type { ProjectPlace } from "../env/programs/interpreterFiles.ts"
import { sha256 } from "../identity/sha256.ts"
import { environmentNames, type FoundControl } from "./projectFolder.ts"
import type { FolderConcern, InterpreterPlace } from "./projectFolder.ts"
import { parseProposedSigners, proposalPath } from "./signers.ts"

/** A control file and the accepted version of it. */
export interface Compared {
  readonly file: ControlFile
  readonly now: FoundControl | undefined
  /** The accepted bytes, or for a `.env*` the accepted names. */
  readonly accepted: Uint8Array | ReadonlyArray<string> | undefined
}

/** An interpreter, or a file that chooses one, as it is now. */
export type PlacedProgram = InterpreterPlace & FoundProgram

export interface ProposalInput extends ProjectPlace {
  readonly concerns: ReadonlyArray<FolderConcern>
  readonly compared: ReadonlyArray<Compared>
  readonly interpreters: ReadonlyArray<PlacedProgram>
  /** Places where the person was shown an interpreter before and there is none now. */
  readonly gone: ReadonlyArray<string>
}

const settingsPath = ".ai/config/kiwi.yaml"

const word = (foreign: string): string => safeLine(foreign, 80)

const showProgram = ({ path, sha256: digest }: ProgramFile): string =>
  digest === null
    ? `${safeLine(path, 1024)}, outside the project`
    : isProcessPath({ path, sha256: digest })
    ? `it ${throughProcess(word(path))}`
    : digest === ""
    ? `${word(path)}, which cannot be read and is never used`
    : `${word(path)} in the ${path.startsWith("../") ? "checkout around it" : "project"}, sha256 ${digest.slice(0, 12)}`

const folderEffects = Effect.fnUntraced(function*(
  files: SafeFiles["Service"],
  { checkout, gone, interpreters, root }: ProposalInput
) {
  const found = gone.map((name) => `${word(name)} is gone; tools of the project would run with what is found instead`)
  for (const { files: parts, kind, path: name, refused } of interpreters) {
    if (kind !== "version") {
      const [program, ...settings] = parts
      found.push(
        `${kind} tools of the project run with ${word(name)}: ${
          program === undefined ? "a link that leads nowhere" : showProgram(program)
        }${
          settings.length === 0
            ? ""
            : `; it ${kind === "Node" ? "starts" : "reads"} ${settings.map(showProgram).join(" and ")}`
        }${refused === undefined ? "" : `; it ${refused}`}`
      )
      continue
    }
    const read = yield* Effect.result(files.read(checkout, relative(checkout, join(root, name)), { maxBytes: 4_096 }))
    const value = Result.isSuccess(read) && read.success !== undefined
      ? `"${word(new TextDecoder().decode(read.success).trim())}"`
      : "nothing, since it cannot be read"
    found.push(`${name} chooses the version of an interpreter; it says ${value}`)
  }
  return found
})

const signerEffects = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const { problems, signers } = yield* parseProposedSigners(bytes)
  return [
    ...signers.map((signer) =>
      `Signatures of "${word(signer.name)}" (key ${signer.keyId}) count for items of this project`
    ),
    ...problems.map((p) => `${proposalPath}:${p.line} proposes nobody: ${p.issue}`)
  ]
})

const settingsEffects = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const parsed = yield* Effect.result(parseControlYaml(bytes))
  if (Result.isFailure(parsed)) return [`${settingsPath} could not be read and sets nothing: ${parsed.failure.message}`]
  const { loosens } = interpret(parsed.success, defaults, settingsPath, false)
  return loosens.map(({ setting }) => `The setting ${word(setting)} applies, and is not stricter than the default`)
})

const listOf = (names: ReadonlyArray<string>): string =>
  names.slice(0, 40).map(word).join(", ") + (names.length > 40 ? ` and ${names.length - 40} more` : "")

const fileEffects = Effect.fnUntraced(function*(path: string, bytes: Uint8Array) {
  if (path === proposalPath) return yield* signerEffects(bytes)
  if (path === settingsPath) return yield* settingsEffects(bytes)
  if (isEnvironmentFile(path)) {
    const names = environmentNames(bytes)
    const denied = names.filter(isDeniedVariable)
    const listed = listOf(names.filter((name) => !isDeniedVariable(name)))
    return [
      `${word(path)} sets ${listed === "" ? "nothing" : listed}, for tools that declare these names`,
      ...(denied.length === 0 ? [] : [`${word(path)} also names ${listOf(denied)}, which no .env file may set`])
    ]
  }
  if (path.startsWith(".ai/extractors/")) return [`${word(path)} defines how metadata is read from items`]
  return [`${word(path)} is used as it is`]
})

const printedLines = (text: string, mark: string): string => {
  const lines = text.split("\n")
  if (lines.at(-1) === "") lines.pop()
  return lines.map((line) => `${mark}${line}`).join("\n")
}

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const environmentDiff = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): string => {
  const gone = before.filter((name) => !after.includes(name)).map((name) => `-${name}`)
  const come = after.filter((name) => !before.includes(name)).map((name) => `+${name}`)
  return [...gone, ...come, ...(gone.length + come.length === 0 ? ["the same names, other values"] : [])].join("\n")
}

const diffOf = ({ accepted, file, now }: Compared): string => {
  const after = now?._tag === "Read" ? now.bytes : new Uint8Array()
  if (isEnvironmentFile(file.path)) {
    return environmentDiff(Array.isArray(accepted) ? accepted : [], environmentNames(after))
  }
  const before = accepted instanceof Uint8Array ? accepted : new Uint8Array()
  const [old, text] = [decode(before), decode(after)]
  if (old === undefined || text === undefined) return `${after.length} bytes that are not text`
  if (old === "" || text === "") return text === "" ? printedLines(old, "-") : printedLines(text, "+")
  return TextDiff.unified(lineEdits(old, text)).trimEnd()
}

/** The details of the request. Foreign text in the diffs is not escaped. */
const details = (input: ProposalInput, effects: ReadonlyArray<string>): string => {
  const { compared, root } = input
  const shown = compared.filter(({ file }) => file.state !== "accepted" && file.state !== "refused")
  return [
    `Project: ${safeLine(root, 4096)}`,
    "",
    "Trusting it means:",
    ...effects.map((effect) => `  - ${effect}`),
    ...(compared.length === 0 ? [] : [
      "",
      "Control files, accepted at exactly these bytes:",
      ...compared.map(({ file }) =>
        `  ${file.state.padEnd(8)} ${file.digest.slice(0, 12).padEnd(12)} ${safeLine(file.path, 1024)}${
          file.issue === undefined ? "" : ` (${safeLine(file.issue)})`
        }`
      )
    ]),
    ...shown.flatMap((one) => ["", `${one.file.state}: ${safeLine(one.file.path, 1024)}`, diffOf(one)])
  ].join("\n")
}

/** Deterministic: the same folder gives the same request, and its digest covers everything that a person is shown. */
export const makeProposal = Effect.fnUntraced(function*(files: SafeFiles["Service"], input: ProposalInput) {
  const perFile = yield* Effect.forEach(input.compared, ({ file, now }) =>
    file.state === "removed"
      ? Effect.succeed([`${word(file.path)} is gone; what it restricted no longer holds`])
      : now?._tag === "Read"
      ? fileEffects(file.path, now.bytes)
      : Effect.succeed([`${word(file.path)} is never used: ${word(file.issue ?? "it cannot be read")}`]))
  const effects = [
    ...input.concerns.map(({ sentence }) => `Careful: ${sentence}, and Kiwi continues anyway`),
    "Its tools and directives run once you, or somebody whom you trust as yourself, have signed them",
    ...(yield* folderEffects(files, input)),
    ...perFile.flat()
  ]
  const controlFiles = input.compared.map(({ file }) => file)
  const text = details(input, effects)
  const bound = [
    "trust-project",
    input.root,
    input.concerns.map(({ code }) => code),
    controlFiles.map((file) => [file.path, file.state, file.digest]),
    input.interpreters.map(({ files: parts, path }) => [path, parts]),
    text
  ]
  const request: HumanRequest = {
    kind: "trust-project",
    title: `Trust the project ${word(basename(input.root))}`,
    details: text,
    digest: sha256(JSON.stringify(bound)),
    command: "kiwi trust project"
  }
  return { request, controlFiles, effects } satisfies TrustProposal
})
