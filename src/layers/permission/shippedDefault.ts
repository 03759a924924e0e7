// What holds where no rule speaks, and what no rule can change.
import { redactUrls } from "../../services/audit/urlSecrets.ts"
import type { Access, CommandAccess, PathAccess } from "../../services/capability/Access.ts"
import { isBeside, isSigned, showAccess } from "../../services/capability/Access.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { isYours } from "../../services/integrity/Verifier.ts"
import type { SignedBy } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { Action } from "../../services/permission/Action.ts"
import { showAction } from "../../services/permission/Action.ts"
import { guardedRead } from "../../services/permission/guardedPaths.ts"
import { lineRule, ruleFor } from "../../services/permission/offeredRule.ts"
import type { Ask } from "../../services/permission/PermissionGate.ts"
import { PermissionDenied } from "../../services/permission/PermissionGate.ts"
import { protection } from "../../services/permission/protectedNames.ts"
import { absoluteOf } from "../../services/permission/rule/matchRule.ts"
import { shellWord } from "../../services/text/shellWord.ts"
import { nameFlag, shownName } from "../identity/shownName.ts"

/** The decision on one access. */
export type Verdict =
  | { readonly _tag: "Allow"; readonly rule: string }
  | {
    readonly _tag: "Ask"
    readonly rule: string
    readonly askedBy?: ReadonlyArray<string>
    readonly reason: string
    readonly offer?: string | undefined
  }
  | {
    readonly _tag: "Deny"
    readonly rule: string
    readonly reason: string
    readonly hint: string
    /** The rule that would allow it: "fs.read(/etc/hosts)". */
    readonly allow?: string | undefined
    readonly about?: Pick<PermissionDenied, "chain" | "failedAt">
  }

export const refused = (action: Action, verdict: Extract<Verdict, { readonly _tag: "Deny" }>): PermissionDenied =>
  new PermissionDenied({
    what: showAction(action),
    rule: verdict.rule,
    reason: verdict.reason,
    hint: verdict.hint,
    ...(verdict.allow === undefined ? {} : { allow: verdict.allow }),
    ...verdict.about
  })

export const askOf = (
  { askedBy, offer, reason, rule }: Extract<Verdict, { readonly _tag: "Ask" }>,
  access: Access
): Ask => ({
  access,
  rule,
  reason,
  ...(askedBy === undefined ? {} : { askedBy }),
  ...(offer === undefined ? {} : { offer })
})

/** What the default depends on, besides the action. */
export interface Surroundings {
  /** The real path of the project's root, or of the folder where tools run. */
  readonly root: string
  /** Kiwi's own folders, which no rule opens. */
  readonly closed: ReadonlyArray<string>
  /** The person's own rules, settings and items, which a person changes with an editor. */
  readonly unwritable: () => ReadonlyArray<string>
  /** Whether this kernel has a sandbox that proved itself. */
  readonly sandboxed: boolean
}

/** What the tool's signer chose, or a command names: that was decided on. No rule that an audit has to name. */
export const asItsTool: Verdict = { _tag: "Allow", rule: "as-its-tool" }

const allow = (rule: string): Verdict => ({ _tag: "Allow", rule })

/** Links that other tools are built on. Run by themselves they would run whatever the caller says. */
const foundations = new Set(["primitive", "runtime", "capability"])

/** Who signed a link, or its source: `is signed by "Ada"`. */
const whose = (by: SignedBy | undefined): string => {
  if (by?._tag === "Source") return `comes from the source "${by.name}"`
  if (by?._tag !== "Signer" || by.standing._tag === "Unknown") return "is signed by an unknown key"
  return `is signed by ${by.kind === "agent" ? "an agent" : `"${shownName(by.standing.signer.name)}"`}`
}

/** How to let everything that the signer signs run. Possible for a person, not for an agent. */
const asMe = (by: SignedBy | undefined): string => {
  if (by?._tag !== "Signer" || by.standing._tag === "Unknown" || by.kind !== "person") return ""
  const { name, publicKey } = by.standing.signer
  // Without the flag, the name already known is kept.
  const named = shownName(name) === name ? ` ${nameFlag(name)}` : ""
  return `; or let all that they sign run so: kiwi trust add ${publicKey}${named} --as me`
}

/** The chain's ids and the link that the rule is about. */
const about = (chain: Chain, { tool: { location } }: ChainLink) => ({
  chain: chainIds(chain.links),
  failedAt: { toolId: location.id, configPath: showLocation(location), validationErrors: [] }
})

const ruleOf = (by: SignedBy | undefined): string =>
  by?._tag === "Source"
    ? "approved-items"
    : by?._tag !== "Signer"
    ? "system-tools"
    : by.standing._tag === "You"
    ? "signed-by-you"
    : "signed-as-you"

type ActionOf<Tag extends Action["_tag"]> = Extract<Action, { readonly _tag: Tag }>

const defaultOfTool = ({ chain, verified }: ActionOf<"Run">, { sandboxed }: Surroundings): Verdict => {
  const by = chain.links.map((_, index) => verified[index]?.by)
  // An item of a named source was approved by a person for running.
  const foreign = by.findIndex((signer) => signer === undefined || (signer._tag !== "Source" && !isYours(signer)))
  const link = chain.links[foreign]
  if (link === undefined) return allow(ruleOf(by[0]))
  if (sandboxed && by[foreign] !== undefined) return allow("proven-sandbox")
  const place = showLocation(link.tool.location)
  return {
    _tag: "Deny",
    rule: "others-ask",
    reason: `${place} ${whose(by[foreign])}, and nobody has allowed that key's items to run here`,
    hint: `Read ${place}, and sign it if it may run as you: kiwi sign tool ${link.tool.location.id}${
      asMe(by[foreign])
    }`,
    about: about(chain, link)
  }
}

/** Signing shows the variables that a tool declares, so everybody who signed a link as a person agreed to this. */
const defaultOfSecret = ({ chain, name, verified }: ActionOf<"UseSecret">): Verdict => {
  const foreign = chain.links.findIndex((_, index) => {
    const by = verified[index]?.by
    return by === undefined || !isYours(by)
  })
  const link = chain.links[foreign]
  if (link === undefined) return allow("secrets-for-your-own")
  const by = verified[foreign]?.by
  const place = showLocation(link.tool.location)
  // An approved source and a known person may be given one; an agent and an unknown key never ask.
  if (by?._tag === "Source" || (by?._tag === "Signer" && by.kind === "person" && by.standing._tag !== "Unknown")) {
    return { _tag: "Ask", rule: "secrets-for-your-own", reason: `gives the secret ${name} to a tool that ${whose(by)}` }
  }
  return {
    _tag: "Deny",
    rule: "secrets-for-your-own",
    reason: `${place} ${whose(by)}, and secrets go only to items signed by the person who owns the secrets`,
    hint: `Read ${place}, and sign it if it may have the secret: kiwi sign tool ${link.tool.location.id}`
  }
}

const allowing = (rule: string | undefined): string =>
  rule === undefined
    ? "No rule can name this. Use a plainer name"
    : `If it may: kiwi permissions allow ${shellWord(rule)}`

/** The whole project is one folder: a person is asked once whether its files may be changed, and once about deleting. */
const changes = {
  "fs.write": { reason: "changes files of this project", offer: "allow: fs.write(**)" },
  "fs.delete": { reason: "deletes files of this project", offer: "allow: fs.delete(**)" }
} as const

const defaultOfPath = (access: PathAccess): Verdict => {
  const { capability, path } = access
  const own = ruleFor(access)
  const deny = (rule: string, reason: string): Verdict => ({
    _tag: "Deny",
    rule,
    reason,
    hint: allowing(own),
    allow: own
  })
  if (path.startsWith("/")) return deny("outside-the-project", `${safeLine(path)} is outside the project`)
  const guarded = guardedRead(path)
  if (guarded !== undefined) {
    return deny("guarded-files", `${safeLine(path)} is opened only by a rule that allows it: ${guarded}`)
  }
  if (capability === "fs.read") return allow("project-files")
  return { _tag: "Ask", rule: "project-changes", ...changes[capability] }
}

/**
 * A command that only opens what its arguments name is as harmless as that, which is decided beside it.
 *
 * In a sandbox that proved itself nothing has to be asked. Without one the step `isolate` refuses, before anybody is
 * asked, unless a person lowered the tool: then each command is a question.
 */
const defaultOfCommand = (access: CommandAccess, { sandboxed }: Surroundings): Verdict => {
  if (access.opens !== undefined) return allow("known-commands")
  if (sandboxed && access.unconfined !== true) return allow("sandboxed-commands")
  const offer = lineRule(access) ?? ruleFor(access)
  return {
    _tag: "Ask",
    rule: "commands",
    reason: `runs ${safeLine(redactUrls(access.text), 200)}, without a sandbox`,
    ...(offer === undefined ? {} : { offer: `allow: ${offer}` })
  }
}

/** What Kiwi allows every caller. Acts that only a person may do are confirmed elsewhere. */
const ofActions: { readonly [Tag in Exclude<Action["_tag"], "Copy" | "Run" | "UseSecret">]: string } = {
  Follow: "follow-believed",
  Search: "all-may-read",
  Load: "all-may-read",
  ReadOutput: "all-may-read",
  Help: "all-may-read",
  SignalHelp: "all-may-ask-for-help",
  Sign: "a-person-signs",
  SyncPackages: "sync-what-may-run",
  ChangeLocks: "a-person-loosens"
}

/** What holds if no rule speaks. */
export const shippedDefault = (action: Action, access: Access, around: Surroundings): Verdict => {
  if (action._tag === "UseSecret") return defaultOfSecret(action)
  if (action._tag === "Copy") return { _tag: "Ask", rule: "copies-ask", reason: `writes ${showLocation(action.to)}` }
  if (action._tag !== "Run") return allow(ofActions[action._tag])
  switch (access._tag) {
    case "Tool":
      return defaultOfTool(action, around)
    case "Path":
      return isBeside(access) ? asItsTool : defaultOfPath(access)
    case "Command":
      return isSigned(access) ? asItsTool : defaultOfCommand(access, around)
    case "Host": {
      if (isSigned(access)) return asItsTool
      const offer = ruleFor(access)
      return {
        _tag: "Ask",
        rule: "hosts",
        reason: `reaches ${safeLine(access.host)}`,
        ...(offer === undefined ? {} : { offer: `allow: ${offer}` })
      }
    }
    case "Secret":
      return {
        _tag: "Ask",
        rule: "secrets",
        reason: `uses the secret ${safeLine(access.name)}`,
        offer: `allow: ${showAccess(access)}`
      }
    case "Plain":
      return allow("own-actions")
  }
}

/** `/a` contains itself and everything below. */
const contains = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** What no rule allows. Undefined for everything else. */
export const neverAllowed = (action: Action, access: Access, around: Surroundings): Verdict | undefined => {
  if (action._tag === "Run" && access._tag === "Tool" && foundations.has(action.chain.leaf.tool.toolType)) {
    const { chain } = action
    const { location, toolType } = chain.leaf.tool
    return {
      _tag: "Deny",
      rule: "foundations-are-not-run",
      reason: `${location.id} is a ${toolType} that tools are built on`,
      hint: `Write a tool whose executor_id is ${location.id}, and sign it`,
      about: about(chain, chain.leaf)
    }
  }
  if (access._tag !== "Path") return undefined
  const { capability, path } = access
  const deny = (reason: string): Verdict => ({
    _tag: "Deny",
    rule: "protected-files",
    reason,
    hint: "No rule allows it. A person changes it with an editor"
  })
  const absolute = absoluteOf(path, around.root)
  if (around.closed.some((folder) => contains(folder, absolute))) return deny("Kiwi keeps its own decisions there")
  if (capability === "fs.read") return undefined
  if (around.unwritable().some((folder) => contains(folder, absolute) || contains(absolute, folder))) {
    return deny("a person's own rules, settings and items are there")
  }
  if (capability === "fs.delete" && contains(absolute, around.root)) {
    return deny("it would delete the project")
  }
  const guard = protection(path)
  return guard === undefined || guard.by === "kiwi.write"
    ? undefined
    : deny(`${safeLine(path)} is protected: ${guard.why}`)
}
