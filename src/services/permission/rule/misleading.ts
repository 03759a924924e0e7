// Rules that never count, or that mean something else than they seem to. For a person who checks their rules: decisions
// do not depend on it.
import { whyNeverAllowed } from "../../capability/command/CommandPattern.ts"
import { matchesName } from "../../capability/scopes/PathPattern.ts"
import { protection } from "../protectedNames.ts"
import type { Rule } from "./Rule.ts"
import type { LinedRule } from "./ruleFile.ts"
import type { ScopedKind } from "./ruleSubject.ts"
import type { Shadowed } from "./shadowed.ts"

/** What Kiwi's own tools touch first: what scopes on them mean. */
const ownTools: ReadonlyArray<readonly [tool: string, kind: ScopedKind]> = [
  ...["read", "write", "edit", "list", "search", "stat", "delete", "move"].map(
    (name) => [`filesystem.${name}`, "Path"] as const
  ),
  ...["status", "diff", "log", "show"].map((name) => [`git.${name}`, "Path"] as const),
  ["shell.run", "Command"],
  ["http.fetch", "Host"]
]

const touched: Readonly<Record<ScopedKind, { readonly what: string; readonly instead: string }>> = {
  Path: { what: "files", instead: "fs.write(src/**)" },
  Command: { what: "commands", instead: "shell.run(npm test)" },
  Host: { what: "hosts", instead: "net.http(api.github.com)" },
  Secret: { what: "secrets", instead: "secret.use(GITHUB_TOKEN)" }
}

type Problem = Omit<Shadowed, "line">

const aboutTool = ({ capability, outcome, scopes, tool }: Rule): Problem | undefined => {
  if (capability !== undefined || tool === undefined) return undefined
  const id = tool.slice(tool.lastIndexOf("/") + 1)
  const kinds = new Set(ownTools.flatMap(([name, kind]) => matchesName(id, name) ? [kind] : []))
  const [kind] = kinds
  if (kind === undefined || kinds.size > 1) return undefined
  const { instead, what } = touched[kind]
  if (scopes === undefined) {
    return outcome === "allow" && id !== "*"
      ? {
        issue: `it allows running ${id}, which every caller may, and not the ${what} that ${id} touches`,
        hint: `Write what it may touch: allow: ${instead}`
      }
      : undefined
  }
  return scopes[kind] === undefined
    ? { issue: `it never counts: ${id} touches ${what}, and these are none`, hint: `Write ${outcome}: ${instead}` }
    : undefined
}

const ofCommands = ({ outcome, scopes }: Rule): Problem | undefined => {
  if (outcome !== "allow" || scopes?.Path !== undefined) return undefined
  const why = scopes?.Command?.map(whyNeverAllowed).find((one) => one !== undefined)
  return why === undefined
    ? undefined
    : { issue: `it never counts: ${why}`, hint: "Name the program itself, or remove the rule" }
}

const writing = /^(?:fs\.(?:write|delete)|filesystem\.(?:write|edit|delete|move))$/

const ofPaths = ({ capability, outcome, scopes, tool }: Rule): Problem | undefined => {
  if (outcome !== "allow" || !writing.test(capability ?? tool ?? "")) return undefined
  const paths = scopes?.Path?.map(({ absolute, segments }) => `${absolute ? "/" : ""}${segments.join("/")}`) ?? []
  const guard = paths.map(protection).find((one) => one !== undefined && one.by !== "kiwi.write")
  return guard === undefined
    ? undefined
    : {
      issue: `it allows no change: ${guard.name} is always protected, since ${guard.why}`,
      hint: "A person changes it with an editor. To let it be read, write fs.read"
    }
}

/** The rules of one text that never count, or that mean something else than they seem to. */
export const misleading = (rules: ReadonlyArray<LinedRule>): ReadonlyArray<Shadowed> =>
  rules.flatMap(({ line, rule }) => {
    const problem = aboutTool(rule) ?? ofPaths(rule) ?? ofCommands(rule)
    return problem === undefined ? [] : [{ line, ...problem }]
  })
