// The permission gate over rules as text and actions as data.
import { Effect, Layer } from "effect"
import * as PermissionGateRules from "../../src/layers/permission/PermissionGateRules.ts"
import * as PermissionRulesMemory from "../../src/layers/permission/PermissionRulesMemory.ts"
import * as ProfilesMemory from "../../src/layers/permission/profile/ProfilesMemory.ts"
import * as RememberedRulesMemory from "../../src/layers/permission/RememberedRulesMemory.ts"
import { toolAccess } from "../../src/layers/permission/ruleQuery.ts"
import { projectRulesPath } from "../../src/layers/permission/ruleSources.ts"
import * as ChildProcessesMemory from "../../src/layers/process/ChildProcessesMemory.ts"
import * as SchemaValidatorByOrigin from "../../src/layers/schema/SchemaValidatorByOrigin.ts"
import * as ProjectTrustMemory from "../../src/layers/trust/ProjectTrustMemory.ts"
import * as KiwiHomeMemory from "../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../src/layers/workspace/WorkspaceMemory.ts"
import type { Caller } from "../../src/services/call/Caller.ts"
import type { Access, PathCapability } from "../../src/services/capability/Access.ts"
import type { Chain } from "../../src/services/chain/Chain.ts"
import type { SignedBy } from "../../src/services/integrity/Verifier.ts"
import type { Action } from "../../src/services/permission/Action.ts"
import { PermissionGate } from "../../src/services/permission/PermissionGate.ts"
import type { RememberedRule } from "../../src/services/permission/RememberedRules.ts"

export interface WorldOptions {
  /** The text of the user's permissions.yaml. */
  readonly user?: string | undefined
  readonly project?: string | undefined
  /** Default: true. */
  readonly trusted?: boolean | undefined
  /** The user's `profiles.yaml`. */
  readonly profiles?: string | undefined
  readonly remembered?: ReadonlyArray<RememberedRule> | undefined
  readonly sandboxed?: boolean | undefined
}

export const layerGate = (options: WorldOptions) => {
  const files = options.project === undefined ? new Map() : new Map([[projectRulesPath, options.project]])
  const trust = ProjectTrustMemory.layerWith({
    files,
    state: options.trusted === false
      ? { _tag: "Restricted", reason: "nobody has trusted it yet", unsafe: false }
      : { _tag: "Trusted" }
  })
  const home = KiwiHomeMemory.layer
  return PermissionGateRules.layer.pipe(
    Layer.provide(Layer.mergeAll(
      PermissionRulesMemory.layerWith(options.user),
      ProfilesMemory.layerWith(options.profiles),
      RememberedRulesMemory.layerWith(options.remembered ?? []),
      ChildProcessesMemory.layerWith(
        new Map(),
        options.sandboxed === true ? ["trusted", "standard", "sandboxed"] : undefined
      ),
      SchemaValidatorByOrigin.layer,
      WorkspaceMemory.layer
    )),
    Layer.provide(trust),
    Layer.provide(home)
  )
}

const signer = { keyId: "0123456789abcdef", publicKey: "k".repeat(43), name: "Grace" }
const signed = (standing: Extract<SignedBy, { readonly _tag: "Signer" }>["standing"], kind: "person" | "agent") =>
  ({ _tag: "Signer", standing, kind, time: "20261121T210900Z" }) as const

export const signers = {
  system: { _tag: "System" },
  you: signed({ _tag: "You", signer: { ...signer, publicKey: "y".repeat(43), name: "me" } }, "person"),
  agent: signed({ _tag: "You", signer }, "agent"),
  grace: signed({ _tag: "Trusted", signer, by: "person", asMe: false }, "person"),
  proposed: signed({ _tag: "Trusted", signer, by: "project", asMe: false }, "person"),
  unknown: signed({ _tag: "Unknown" }, "person"),
  github: { _tag: "Source", name: "github" }
} as const satisfies Readonly<Record<string, SignedBy>>
export type SignerName = keyof typeof signers

/** "fs.write(src/a)", "net.http(host:443)", "secret.use(X)", "process.exec(git push)", "opaque(eval x)", "partly(git $x)" */
export const accessOf = (text: string): Access => {
  const [, name = "", inner = ""] = /^([a-z.]+)\((.*)\)$/su.exec(text) ?? []
  switch (name) {
    case "net.http": {
      const colon = inner.lastIndexOf(":")
      return { _tag: "Host", capability: name, host: inner.slice(0, colon), port: Number(inner.slice(colon + 1)) }
    }
    case "secret.use":
      return { _tag: "Secret", capability: name, name: inner }
    case "process.exec":
      return { _tag: "Command", capability: name, words: inner.split(" "), text: inner }
    case "opaque":
      return { _tag: "Command", capability: "process.exec", words: undefined, text: inner, opaque: "it is opaque" }
    case "partly": {
      const partly = inner.split(" ").map((word) => word.startsWith("$") ? undefined : word)
      return {
        _tag: "Command",
        capability: "process.exec",
        words: undefined,
        text: inner,
        opaque: "it is opaque",
        partly
      }
    }
    case "fs.read":
    case "fs.write":
    case "fs.delete":
      return { _tag: "Path", capability: name as PathCapability, path: inner }
    default:
      throw new Error(`no access: ${text}`)
  }
}

export interface RunOptions {
  /** `category/id`, `source/id` for the signer github, or an id. */
  readonly tool?: string | undefined
  /** Leaf first. Default: the system. */
  readonly by?: ReadonlyArray<SignerName> | undefined
  readonly parameters?: Readonly<Record<string, never>> | undefined
  readonly toolType?: string | undefined
  /** Of the chain. */
  readonly digest?: string | undefined
  readonly access?: ReadonlyArray<string> | undefined
  readonly accesses?: ReadonlyArray<Access> | undefined
}

export const digestOf = "a".repeat(64)

const chainOf = (
  { by = ["system"], digest = "b".repeat(64), tool = "filesystem.write", toolType = "script" }: RunOptions
): Chain => {
  const slash = tool.lastIndexOf("/")
  const source = by[0] === "github" ? { source: { name: "github", digest: "" } } : {}
  const location = {
    type: "tool",
    tier: by[0] === "system" ? "system" : "project",
    id: tool.slice(slash + 1),
    category: slash < 0 ? "" : tool.slice(0, slash),
    path: `${tool}.yaml`,
    ...source
  }
  const link = { tool: { location, toolType, version: "1.0.0" }, snapshot: { digest: digestOf } }
  // Only what the gate looks at.
  return { links: by.map(() => link), leaf: link, primitive: link, digest } as unknown as Chain
}

const verifiedOf = (chain: Chain, by: ReadonlyArray<SignerName>) =>
  chain.links.map(({ snapshot }, index) => ({ snapshot, by: signers[by[index] ?? "unknown"] }))

export const runOf = (options: RunOptions): Action => {
  const chain = chainOf(options)
  const own = toolAccess(chain, options.parameters ?? {})
  return {
    _tag: "Run",
    chain,
    verified: verifiedOf(chain, options.by ?? ["system"]),
    accesses: [own, ...(options.access ?? []).map(accessOf), ...options.accesses ?? []]
  }
}

export const useSecretOf = (options: RunOptions, name: string): Action => {
  const chain = chainOf(options)
  return { _tag: "UseSecret", chain, verified: verifiedOf(chain, options.by ?? ["system"]), name }
}

export const someCaller: Caller = { surface: "mcp", client: "dev", session: "s1" }

export interface Outcome {
  readonly outcome: "allow" | "ask" | "deny"
  readonly rule: string
  readonly text: string
  readonly offers: ReadonlyArray<string | undefined>
  readonly hint?: string
}

export const decide = (action: Action, caller: Caller = someCaller) =>
  Effect.flatMap(PermissionGate, (gate) =>
    Effect.match(gate.decide(caller, action), {
      onSuccess: ({ asks, rule }): Outcome => ({
        outcome: asks.length === 0 ? "allow" : "ask",
        rule,
        text: asks.map(({ reason }) => reason).join("; "),
        offers: asks.map(({ offer }) => offer)
      }),
      onFailure: ({ hint, message, rule }): Outcome => ({ outcome: "deny", rule, text: message, offers: [], hint })
    }))

export const decideIn = (options: WorldOptions, action: Action, caller?: Caller) =>
  Effect.provide(decide(action, caller), layerGate(options))
