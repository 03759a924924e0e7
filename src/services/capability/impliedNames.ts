// Which other capabilities a capability is about, for the grants of a token and for the rules of a person.

/** Names of capabilities: these, and all that begin with `start`. */
export interface Names {
  readonly exact: ReadonlyArray<string>
  readonly start?: string
}

type Implied = Readonly<Record<string, ReadonlyArray<string>>>

const alsoGranted: Implied = {
  "fs.write": ["fs.read"],
  "kiwi.execute": ["kiwi.search", "kiwi.load", "kiwi.help"]
}

/** Deleting a file is a change of it, and a file that nobody may read, nobody may change. */
const alsoDenied: Implied = {
  "fs.read": ["fs.write", "fs.delete"],
  "fs.write": ["fs.delete"]
}

const namesOf = (capability: string, implied: Implied): Names =>
  capability === "kiwi.all"
    ? { exact: [], start: "kiwi." }
    : capability.endsWith("*")
    ? { exact: [], start: capability.slice(0, -1) }
    : { exact: [capability, ...(Object.hasOwn(implied, capability) ? implied[capability]! : [])] }

/** What a grant of the capability, or a rule that allows it, is about. */
export const granted = (capability: string): Names => namesOf(capability, alsoGranted)

/** What a denial of the capability, or a rule that asks about it, is about. */
export const denied = (capability: string): Names => namesOf(capability, alsoDenied)

export const hasName = ({ exact, start }: Names, name: string): boolean =>
  exact.includes(name) || (start !== undefined && name.startsWith(start))
