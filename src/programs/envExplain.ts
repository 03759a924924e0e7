// The environment of a tool as a person may see it: every variable with its value or a mask, its origin and the values
// that it overrides, and the interpreter with every place that was searched. The result never holds a secret.
import { Effect, Option, Redacted } from "effect"
import { isAbsolute, relative } from "node:path"
import { isInside } from "../layers/files/isInside.ts"
import { mark } from "../services/audit/redaction.ts"
import type { Caller } from "../services/call/Caller.ts"
import { EnvResolver } from "../services/env/EnvResolver.ts"
import type { EnvCandidate, ExplainedVariable } from "../services/env/EnvResolver.ts"
import { type ErrorObject, innermost, toErrorObject } from "../services/error/KiwiError.ts"
import { SecretStore } from "../services/identity/SecretStore.ts"
import { showLocation } from "../services/item/Item.ts"
import type { Tier } from "../services/item/ItemId.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { defined } from "../services/schema/defined.ts"
import { Workspace } from "../services/workspace/Workspace.ts"

export interface BeatenValue {
  readonly origin: string
  /** Line in a `.env` file. */
  readonly line?: number
  readonly value: string
  /** Why this value may not be used, even if nothing else were set. */
  readonly refused?: string
}

export interface EnvExplanation {
  readonly tool: string
  /** `tier:folder/path`. */
  readonly path: string
  /** Nothing is missing. */
  readonly ready: boolean
  /** Paths here and below are relative to the project if they lie in it. */
  readonly interpreter?: {
    readonly variable: string
    readonly path: string
    readonly kind: string
    readonly version?: string
  }
  /** The places that were searched before the interpreter was found, in order. */
  readonly looked: ReadonlyArray<{ readonly where: string; readonly path?: string; readonly outcome: string }>
  readonly variables: ReadonlyArray<{
    readonly name: string
    /** Masked if `secret`. */
    readonly value: string
    readonly secret: boolean
    readonly origin: string
    /** `config`: only the tool's config may name it; the process does not get it. */
    readonly reaches: "child" | "config"
    /** The secret that it refers to. */
    readonly keychain?: { readonly name: string; readonly stored: boolean }
    readonly beat: ReadonlyArray<BeatenValue>
  }>
  /** Declared, but not set anywhere. */
  readonly unset: ReadonlyArray<{
    readonly name: string
    readonly required: boolean
    readonly refused: ReadonlyArray<BeatenValue>
  }>
  /** Entries of PATH that are not used: relative, or in the project. */
  readonly path_skipped: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<{ readonly file: string; readonly line: number; readonly issue: string }>
  /** What is missing. */
  readonly problem?: ErrorObject
  /** The tool would not run for another reason, which `kiwi explain` names. */
  readonly blocked?: ErrorObject
}

export const explainEnv = Effect.fn("explainEnv")(function*(
  query: { readonly id: string; readonly tier?: Tier | undefined },
  caller: Caller
) {
  const store = yield* ItemStore
  const proxy = yield* ToolProxy
  const resolver = yield* EnvResolver
  const secrets = yield* SecretStore
  const workspace = yield* Workspace
  const { location } = yield* store.find({ id: query.id, type: "tool", tier: query.tier })
  const item = qualifiedId(location)
  const trace = yield* proxy.trace(caller, { item, tier: location.tier })
  const { blocked, resolved } = trace
  // A restricted project is not believed, not even about what its tools need.
  if (blocked !== undefined && (resolved === undefined || blocked.error._tag === "ProjectRestricted")) {
    return yield* blocked.error
  }
  if (resolved === undefined) return yield* Effect.die(new Error("a trace that nothing blocked has a chain"))

  const found = yield* resolver.explain(resolved.chain)
  const stored = new Set((yield* secrets.list).map(({ name }) => name))
  const root = Option.getOrUndefined(workspace.project)?.root

  const shorten = (path: string): string => {
    if (root === undefined || !isAbsolute(path)) return path
    return isInside(root, path) ? relative(root, path) || "." : path
  }
  const overridden = ({ isSecret, line, origin, refused, value }: EnvCandidate): BeatenValue =>
    defined({ origin, line, value: isSecret ? mark : Redacted.value(value), refused })
  const shown = ({ beat, isSecret: isHidden, reaches, variable }: ExplainedVariable) =>
    defined({
      name: variable.name,
      value: isHidden ? mark : shorten(Redacted.value(variable.value)),
      secret: isHidden,
      origin: variable.origin,
      reaches,
      keychain: variable.secret === undefined
        ? undefined
        : { name: variable.secret, stored: stored.has(variable.secret) },
      beat: beat.map(overridden)
    })
  const { interpreter } = found
  const isReady = found.problem === undefined &&
    found.variables.every(({ variable }) => variable.secret === undefined || stored.has(variable.secret))
  const explanation: EnvExplanation = defined({
    tool: location.id,
    path: showLocation(location),
    ready: isReady,
    interpreter: interpreter && defined({
      variable: interpreter.variable,
      path: shorten(interpreter.path),
      kind: interpreter.kind,
      version: interpreter.version
    }),
    looked: found.looked.map(({ outcome, path, where }) =>
      defined({ where, path: path === undefined ? undefined : shorten(path), outcome })
    ),
    variables: found.variables.map(shown),
    unset: found.unset.map(({ name, refused, required }) => ({
      name,
      required,
      refused: refused.map(overridden)
    })),
    path_skipped: found.skippedPath.map(shorten),
    warnings: found.warnings,
    problem: found.problem && toErrorObject(found.problem),
    blocked: blocked === undefined || innermost(blocked.error)._tag === found.problem?._tag
      ? undefined
      : toErrorObject(blocked.error)
  })
  return explanation
})
