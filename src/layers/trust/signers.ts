// Parses signers – as a person typed them, or as a project's trust.yaml proposes them – and computes the standing of
// each. Shared by every store of trusted signers.
import { Effect, Option, Result, Schema } from "effect"
import { safeLine } from "../../services/error/safeText.ts"
import type { WriteRefused } from "../../services/files/SafeFiles.ts"
import { Identity } from "../../services/identity/Identity.ts"
import { shellWord } from "../../services/text/shellWord.ts"
import { ed25519Issue } from "../../services/trust/ed25519Point.ts"
import { type HumanAct, type HumanRequest, requireAct } from "../../services/trust/HumanAct.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import {
  type Signer,
  type SignerGrant,
  SignerInvalid,
  type SignerStanding,
  type SignersUnbelieved,
  SignerTrust
} from "../../services/trust/SignerTrust.ts"
import { decodeNode } from "../../services/workspace/controlFile.ts"
import { type ControlIssue, parseControlYaml, sentenceOf, type YamlNode } from "../../services/workspace/controlYaml.ts"
import type { LockError } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { keyIdOf } from "../identity/ed25519.ts"
import { sha256 } from "../identity/sha256.ts"
import { nameFlag, shownName } from "../identity/shownName.ts"

/** Where a project proposes signers, relative to its root. */
export const proposalPath = ".ai/config/trust.yaml"

const maxSigners = 100
const maxName = 64

/** The name itself is not quoted, since the project chose it. */
const nameIssue = (name: string): string | undefined => {
  if (name.length > maxName) return `its name is longer than ${maxName} characters`
  return safeLine(name) === name ? undefined : "its name has a line break or another invisible character"
}

export const parseSigner = (publicKey: string, name: string): Result.Result<Signer, SignerInvalid> => {
  const key = publicKey.trim()
  const invalid = (issue: string) => Result.fail(new SignerInvalid({ issue }))
  if (!/^[A-Za-z0-9_-]{43}$/.test(key)) return invalid("it is not 43 letters, digits, - and _")
  const bytes = Buffer.from(key, "base64url")
  if (bytes.toString("base64url") !== key) return invalid("it is not in canonical form")
  const issue = ed25519Issue(bytes)
  if (issue !== undefined) return invalid(issue)
  const shown = name.trim()
  const wrong = nameIssue(shown)
  if (wrong !== undefined) return Result.fail(new SignerInvalid({ issue: wrong, about: "name" }))
  return Result.succeed({ keyId: keyIdOf(key), publicKey: key, name: shown })
}

export interface ProposedSigners {
  readonly signers: ReadonlyArray<Signer>
  /** Entries that are ignored, with line and reason. */
  readonly problems: ReadonlyArray<{ readonly line: number; readonly issue: string }>
}

const Proposal = Schema.Struct({
  signers: Schema.Array(Schema.Unknown).check(
    Schema.isMaxLength(maxSigners, { message: `proposes more than ${maxSigners} signers` })
  )
})

const ProposedSigner = Schema.Struct({
  /** A name such as 42 is not a string in YAML. */
  name: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])),
  public_key: Schema.String
}).annotate({ message: "must be a map of name and public_key" })

const proposedSigner = (item: YamlNode, index: number): Result.Result<Signer, ControlIssue> => {
  const decoded = Result.mapError(decodeNode(item, ProposedSigner, `signers[${index}]`), ({ issues: [first] }) => first)
  return Result.flatMap(decoded, ({ name, public_key }) =>
    Result.mapError(
      parseSigner(public_key, String(name ?? "")),
      ({ issue }) => ({ line: item.line, column: item.column, path: "", issue })
    ))
}

const itemsOf = (root: YamlNode): ReadonlyArray<YamlNode> => {
  const list = root._tag === "Map" ? root.entries.get("signers")?.value : undefined
  return list?._tag === "List" ? list.items : []
}

const problemOf = (issue: ControlIssue) => ({ line: issue.line, issue: sentenceOf(issue) })

/** Never fails: an invalid file proposes nobody. */
export const parseProposedSigners = (bytes: Uint8Array): Effect.Effect<ProposedSigners> =>
  parseControlYaml(bytes).pipe(
    Effect.tap((root) => Effect.fromResult(decodeNode(root, Proposal))),
    Effect.flatMap((root) =>
      Effect.partition(itemsOf(root), (item, index) => Effect.fromResult(proposedSigner(item, index)))
    ),
    Effect.map(([signers, issues]) => ({ signers, problems: issues.map(problemOf) })),
    Effect.catch(({ issues }) => Effect.succeed({ signers: [], problems: issues.map(problemOf) }))
  )

/** Where a person's decisions about signers are stored. `update` runs exclusively. */
export interface SignerStore {
  readonly read: Effect.Effect<ReadonlyArray<SignerGrant>>
  readonly problem: Effect.Effect<SignersUnbelieved | undefined>
  readonly update: (
    change: (grants: ReadonlyArray<SignerGrant>) => ReadonlyArray<SignerGrant>
  ) => Effect.Effect<void, WriteRefused | LockError>
}

const requestFor = (kind: HumanRequest["kind"], title: string, details: string, bound: string, command: string) => ({
  kind,
  title,
  details,
  digest: sha256(JSON.stringify([kind, bound])),
  command
} satisfies HumanRequest)

const proposeAdd = ({ as, project, signer }: SignerGrant): HumanRequest => {
  const where = project === undefined ? "in your user space and in every project that you trust" : "in this project"
  return requestFor(
    "trust-signer",
    as === "me"
      ? `Let what "${shownName(signer.name)}" signs run as if you had signed it`
      : `Trust the signer "${shownName(signer.name)}"`,
    [
      `Name: ${safeLine(signer.name)}`,
      `Key:  ${safeLine(signer.publicKey)}`,
      `Id:   ${keyIdOf(signer.publicKey)}`,
      ...(project === undefined ? [] : [`Project: ${safeLine(project, 400)}`]),
      "",
      as === "me"
        ? `What this key signs ${where} would run as yours does: with your rights, your secrets, and no question.`
        : `What this key signs would count ${where}, as somebody else's.`
    ].join("\n"),
    JSON.stringify([signer.publicKey, signer.name, as, project ?? null]),
    [
      `kiwi trust add ${shellWord(signer.publicKey)} ${nameFlag(signer.name)}`,
      ...(as === "me" ? ["--as me"] : []),
      ...(as === "me" && project === undefined ? ["--everywhere"] : [])
    ].join(" ")
  )
}

const proposeRemove = (keyId: string): HumanRequest =>
  requestFor(
    "revoke-signer",
    `Stop trusting the signer ${safeLine(keyId)}`,
    "What this signer signed would no longer run. In a project that you trust and that proposes the signer it still counts, as somebody else's.",
    keyId,
    `kiwi trust remove ${shellWord(keyId)}`
  )

const standingOf = ({ as, project, signer }: SignerGrant): SignerStanding => {
  const standing = { _tag: "Trusted", signer, by: "person", asMe: as === "me" } as const
  return project === undefined ? standing : { ...standing, project }
}

/** Each signer once, the strongest standing first. */
const distinct = (standings: ReadonlyArray<SignerStanding>): ReadonlyArray<SignerStanding> => {
  const keys = new Set<string>()
  return standings.filter((standing) => {
    if (standing._tag === "Unknown" || keys.has(standing.signer.publicKey)) return false
    keys.add(standing.signer.publicKey)
    return true
  })
}

export const makeSignerTrust = Effect.fnUntraced(function*(store: SignerStore) {
  const identity = yield* Identity
  const projectTrust = yield* ProjectTrust
  let last: { readonly digest: string; readonly signers: ReadonlyArray<Signer> } | undefined

  const workspace = yield* Workspace
  const here = Option.getOrUndefined(Option.map(workspace.project, ({ root }) => root))

  const proposed = Effect.fnUntraced(function*() {
    const bytes = yield* projectTrust.readControl(proposalPath)
    if (bytes === undefined) return []
    const digest = sha256(bytes)
    if (last?.digest !== digest) last = { digest, signers: (yield* parseProposedSigners(bytes)).signers }
    return last.signers
  })

  const standings = Effect.fnUntraced(function*(inProject: boolean) {
    const you = yield* identity.current
    const said = (yield* store.read).filter(({ project }) => project === undefined || (inProject && project === here))
    const fromProject = inProject ? yield* proposed() : []
    const trusted = (as: SignerGrant["as"]) =>
      said.filter((grant) => grant.as === as)
        .map(standingOf)
    return distinct([
      ...(you === undefined ? [] : [{ _tag: "You", signer: you } as const]),
      ...trusted("me"),
      ...trusted("other"),
      ...fromProject.map((signer) => ({ _tag: "Trusted", signer, by: "project", asMe: false } as const))
    ])
  })

  const add = Effect.fn("SignerTrust.add")(function*(grant: SignerGrant, act: HumanAct) {
    const signer = yield* Effect.fromResult(parseSigner(grant.signer.publicKey, grant.signer.name))
    yield* requireAct(proposeAdd(grant), act)
    yield* store.update((grants) => [
      ...grants.filter((g) => g.signer.publicKey !== signer.publicKey || g.project !== grant.project),
      { ...grant, signer }
    ])
  })

  const remove = Effect.fn("SignerTrust.remove")(function*(keyId: string, act: HumanAct) {
    yield* requireAct(proposeRemove(keyId), act)
    let removed = false
    yield* store.update((grants) => {
      const others = grants.filter(({ signer }) => signer.keyId !== keyId)
      removed = others.length < grants.length
      return others
    })
    return removed
  })

  return SignerTrust.of({
    candidates: Effect.fnUntraced(function*(keyId, tier) {
      if (tier === "system") return []
      const all = yield* standings(tier === "project")
      return all.filter((standing) => standing._tag !== "Unknown" && standing.signer.keyId === keyId)
    }),
    list: Effect.suspend(() => standings(true)),
    problem: store.problem,
    outdated: Effect.gen(function*() {
      if ((yield* projectTrust.state)._tag !== "Trusted") return false
      const file = (yield* projectTrust.controlFiles).find(({ path }) => path === proposalPath)
      return file !== undefined && file.state !== "accepted"
    }),
    parse: (publicKey, name) => Effect.fromResult(parseSigner(publicKey, name)),
    proposeAdd,
    add,
    proposeRemove,
    remove
  })
})
