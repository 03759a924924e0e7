// The rules that Kiwi ships with. An action that would need a person's answer is refused: nobody can answer yet.
import { Effect, Layer } from "effect"
import { chainIds } from "../../services/chain/Chain.ts"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { isYours } from "../../services/integrity/Verifier.ts"
import type { SignedBy } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import type { Action } from "../../services/permission/Action.ts"
import { showAction } from "../../services/permission/Action.ts"
import type { Ask, Decision } from "../../services/permission/PermissionGate.ts"
import { PermissionDenied, PermissionGate } from "../../services/permission/PermissionGate.ts"
import { nameFlag, shownName } from "../identity/shownName.ts"

type ActionOf<Tag extends Action["_tag"]> = Extract<Action, { readonly _tag: Tag }>

/** Links that other tools are built on. Run by themselves they would run whatever the caller says. */
const foundations = new Set(["primitive", "runtime"])

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

const decideRun = (action: ActionOf<"Run">): Effect.Effect<Decision, PermissionDenied> => {
  const { chain, verified } = action
  const { location, toolType } = chain.leaf.tool
  const what = showAction(action)
  if (foundations.has(toolType)) {
    return Effect.fail(
      new PermissionDenied({
        what,
        rule: "foundations-are-not-run",
        reason: `${location.id} is a ${toolType} that tools are built on`,
        hint: `Write a tool whose executor_id is ${location.id}, and sign it`,
        ...about(chain, chain.leaf)
      })
    )
  }
  const by = chain.links.map((_, index) => verified[index]?.by)
  // An item of a named source was approved by a person for running.
  const foreign = by.findIndex((signer) => signer === undefined || (signer._tag !== "Source" && !isYours(signer)))
  const link = chain.links[foreign]
  if (link !== undefined) {
    const place = showLocation(link.tool.location)
    return Effect.fail(
      new PermissionDenied({
        what,
        rule: "others-ask",
        reason: `${place} ${whose(by[foreign])}, and nobody has allowed that key's items to run here`,
        hint: `Read ${place}, and sign it if it may run as you: kiwi sign tool ${link.tool.location.id}${
          asMe(by[foreign])
        }`,
        ...about(chain, link)
      })
    )
  }
  return Effect.succeed({ rule: ruleOf(by[0]), asks: [] })
}

/** Signing shows the variables that a tool declares, so everybody who signed a link as a person agreed to this. */
const decideSecret = (action: ActionOf<"UseSecret">): Effect.Effect<Decision, PermissionDenied> => {
  const { chain, verified } = action
  const foreign = chain.links.findIndex((_, index) => {
    const by = verified[index]?.by
    return by === undefined || !isYours(by)
  })
  const link = chain.links[foreign]
  if (link === undefined) return Effect.succeed({ rule: "secrets-for-your-own", asks: [] })
  const place = showLocation(link.tool.location)
  return Effect.fail(
    new PermissionDenied({
      what: showAction(action),
      rule: "secrets-for-your-own",
      reason: `${place} ${
        whose(verified[foreign]?.by)
      }, and secrets go only to items signed by the person who owns the secrets`,
      hint: link.tool.location.source === undefined
        ? `Read ${place}, and sign it if it may have the secret: kiwi sign tool ${link.tool.location.id}`
        : "Write a tool of your own that needs the secret, and sign that"
    })
  )
}

/** What Kiwi allows every caller. Acts that only a person may do are confirmed elsewhere. */
const rules: { readonly [Tag in Exclude<Action["_tag"], "Run" | "UseSecret">]: string } = {
  Follow: "follow-believed",
  Search: "all-may-read",
  Load: "all-may-read",
  Copy: "copies-ask",
  ReadOutput: "all-may-read",
  Help: "all-may-read",
  Sign: "a-person-signs",
  SyncPackages: "sync-what-may-run",
  ChangeLocks: "a-person-loosens"
}

const askToCopy = ({ to }: ActionOf<"Copy">): Ask => ({
  access: { _tag: "Plain", capability: "kiwi.write" },
  rule: rules.Copy,
  reason: `writes ${showLocation(to)}`
})

export const make = PermissionGate.of({
  decide: (_caller, action) =>
    action._tag === "Run"
      ? decideRun(action)
      : action._tag === "UseSecret"
      ? decideSecret(action)
      : Effect.succeed({ rule: rules[action._tag], asks: action._tag === "Copy" ? [askToCopy(action)] : [] })
})

export const layer = Layer.succeed(PermissionGate, make)
