// Finds the rules that speak about an access without looking at all of them. Each rule is kept under keys, and an access
// looks under every key whose rules could match it: a path under its folders, a host under its domains, a command under
// its words.
import type { Access, PathAccess } from "../../capability/Access.ts"
import { isWild, literalPrefix, type PathPattern, segmentsOf } from "../../capability/scopes/PathPattern.ts"
import { foldName } from "../../files/foldName.ts"
import type { Match, RuleQuery } from "./matchRule.ts"
import { absoluteOf, isAround, kindsOf, matchRule } from "./matchRule.ts"
import type { Outcome, Rule } from "./Rule.ts"
import { type ScopedKind, spokenAbout } from "./ruleSubject.ts"

/** A rule, and the place that it is from. */
export interface PlacedRule {
  readonly rule: Rule
  /** "user:config/permissions.yaml", or "remembered". */
  readonly file: string
  /** The line of a file. 0: none. */
  readonly line: number
  /** Of a remembered rule. */
  readonly id?: string
}

export interface FoundRule extends PlacedRule {
  readonly match: Exclude<Match, "no">
}

const programName = (word: string): string => word.slice(word.lastIndexOf("/") + 1).toLowerCase()

const named = (letter: string, name: string): string => isWild(name) ? `${letter}*` : `${letter}:${name}`

/** A rule that restricts is also found by what is about a whole folder around it: its deletion, a search in all of it. */
const keysOfPath = (pattern: PathPattern, outcome: Outcome): ReadonlyArray<string> => {
  const letter = pattern.absolute ? "A" : "P"
  const prefix = literalPrefix(pattern)
  const own = `${letter}:${prefix.join("/")}`
  if (outcome === "allow") return [own]
  return [own, ...Array.from({ length: prefix.length + 1 }, (_, i) => `${letter}-:${prefix.slice(0, i).join("/")}`)]
}

const keysOfKind = ({ outcome, scopes }: Rule, kind: ScopedKind): ReadonlyArray<string> => {
  if (scopes === undefined) return [kind]
  switch (kind) {
    case "Path":
      return scopes.Path?.flatMap((pattern) => keysOfPath(pattern, outcome)) ?? []
    case "Command":
      return [
        ...scopes.Command?.map(({ program }) => `C:${programName(program)}`) ?? [],
        ...(scopes.Line === undefined ? [] : ["Command"])
      ]
    case "Host":
      return scopes.Host?.map(({ host }) => host === "" ? "H*" : `H${host.startsWith(".") ? "" : ":"}${host}`) ?? []
    case "Secret":
      return scopes.Secret?.map((name) => named("S", foldName(name))) ?? []
  }
}

/** A rule about one of Kiwi's own actions is kept under those that it includes too. */
const keysOfAction = (capability: string, outcome: Outcome): ReadonlyArray<string> => {
  const { exact, start } = spokenAbout(capability, outcome)
  return start === undefined ? exact.map((name) => `K:${name}`) : ["K*"]
}

const keysOfRule = (rule: Rule): ReadonlyArray<string> => {
  const { capability, outcome, scopes, tool } = rule
  if (capability === undefined && tool === undefined) return ["*"]
  if (capability === undefined && scopes === undefined) return [named("T", tool!)]
  const kinds = kindsOf(rule)
  return kinds.length === 0 && capability !== undefined
    ? keysOfAction(capability, outcome)
    : kinds.flatMap((kind) => keysOfKind(rule, kind))
}

/** "", "src", "src/lib", … */
const pushFolders = (keys: Array<string>, letter: string, { below, capability, path }: PathAccess): void => {
  const segments = segmentsOf(path).map(foldName)
  let key = `${letter}:`
  keys.push(key)
  for (const [index, segment] of segments.entries()) {
    key += index === 0 ? segment : `/${segment}`
    keys.push(key)
  }
  if (capability === "fs.delete" || below === true) keys.push(`${letter}-:${segments.join("/")}`)
}

const words = (texts: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(texts.flatMap((text) => text.split(/\s+/)).map(programName))

export class RuleIndex {
  readonly rules: ReadonlyArray<PlacedRule>
  /** Whether a rule is about what is new: only then somebody has to find out. */
  readonly hasWhen: boolean
  readonly #byKey = new Map<string, Array<PlacedRule>>()
  readonly #commands: Array<PlacedRule> = []
  readonly #hasAbsolute: boolean

  constructor(rules: ReadonlyArray<PlacedRule>) {
    this.rules = rules
    this.hasWhen = rules.some(({ rule }) => rule.when !== undefined)
    let hasAbsolute = false
    for (const placed of rules) {
      for (const key of new Set(keysOfRule(placed.rule))) {
        if (key.startsWith("A:")) hasAbsolute = true
        const known = this.#byKey.get(key)
        if (known === undefined) this.#byKey.set(key, [placed])
        else known.push(placed)
      }
      if (placed.rule.scopes?.Command !== undefined) this.#commands.push(placed)
    }
    this.#hasAbsolute = hasAbsolute
  }

  #keysOf(access: Access, { item, root }: RuleQuery): ReadonlyArray<string> {
    const keys = ["*"]
    switch (access._tag) {
      case "Tool":
        // The access of a server's tool has the server's name, which a rule need not have.
        keys.push(`T:${item?.id ?? access.id}`, "T*")
        if (item !== undefined) keys.push(`T:${item.name}`)
        break
      case "Plain":
        keys.push(`K:${access.capability}`, "K*")
        break
      case "Path":
        keys.push("Path")
        if (!access.path.startsWith("/")) pushFolders(keys, "P", access)
        else if (access.below === true && isAround(access.path, root)) keys.push("P-:")
        if (this.#hasAbsolute) pushFolders(keys, "A", { ...access, path: absoluteOf(access.path, root) })
        break
      case "Host": {
        const host = access.host.toLowerCase().replace(/\.$/, "")
        keys.push("Host", "H*", `H:${host}`)
        for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
          keys.push(`H.${host.slice(dot + 1)}`)
        }
        break
      }
      case "Secret":
        keys.push("Secret", "S*", `S:${foldName(access.name)}`)
        break
      case "Command":
        keys.push("Command")
        for (const word of words(access.words ?? [])) keys.push(`C:${word}`)
        break
    }
    return keys
  }

  /** The rules that speak about the access, in no order. */
  find(query: RuleQuery, access: Access): ReadonlyArray<FoundRule> {
    if (this.rules.length === 0) return []
    const found: Array<FoundRule> = []
    // A rule with several scopes is kept under several keys.
    const seen = new Set<PlacedRule>()
    const take = (candidates: ReadonlyArray<PlacedRule>): void => {
      for (const placed of candidates) {
        if (seen.has(placed)) continue
        seen.add(placed)
        const match = matchRule(placed.rule, query, access)
        if (match !== "no") found.push({ ...placed, match })
      }
    }
    for (const key of this.#keysOf(access, query)) {
      const candidates = this.#byKey.get(key)
      if (candidates !== undefined) take(candidates)
    }
    // What cannot be taken apart may be any command.
    if (access._tag === "Command" && access.words === undefined) take(this.#commands)
    return found
  }
}
