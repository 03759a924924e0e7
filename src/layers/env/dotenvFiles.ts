// The four `.env` files, read at most once in a call and only when a variable is looked up in them. The project's come
// from ProjectTrust, which returns the bytes that a person has accepted, or nothing.
import { Effect } from "effect"
import { parseEnv } from "node:util"
import { cutDotenv, type DotenvEntries } from "../../services/env/dotenvText.ts"
import type { EnvOrigin, EnvWarning } from "../../services/env/EnvResolver.ts"
import { isDeniedVariable } from "../../services/env/variableNames.ts"
import { isSecretReference, secretNameOf } from "../../services/identity/SecretStore.ts"
import type { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import type { ControlUnusable } from "../workspace/userControl.ts"

/** Highest precedence first. */
const projectFiles = [".env.local", ".env", ".ai/.env"] as const

type FileOrigin = Extract<EnvOrigin, `${"project" | "user"}:${string}`>

interface DotenvFile {
  readonly origin: FileOrigin
  readonly content: DotenvEntries
}

export interface DotenvValue {
  readonly value: string
  readonly origin: FileOrigin
  readonly line: number
  /** Why it is never used. */
  readonly refused: string | undefined
}

export interface DotenvFiles {
  /** All values of this name that are not empty, highest precedence first; within a file the last line comes first. */
  readonly all: (name: string) => ReadonlyArray<DotenvValue>
  /** The value that applies. Adds a warning for a refused one. */
  readonly lookup: (name: string) => DotenvValue | undefined
  readonly warnings: () => ReadonlyArray<EnvWarning>
}

/**
 * The project's files that exist but that nobody has accepted as they are. Reads them, so it is only for error
 * messages.
 */
export const unseenDotenv = (trust: ProjectTrust["Service"]) =>
  Effect.map(
    trust.controlFiles,
    (files) =>
      projectFiles.filter((file) =>
        files.some(({ path, state }) => path === file && (state === "new" || state === "changed"))
      )
  )

const sameBytes = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i])

export const makeReadDotenv = (
  trust: ProjectTrust["Service"],
  /** The text of the user's file, or why it does not count. */
  readUser: () => string | ControlUnusable | undefined,
  /** Whether two spellings are the same name. */
  isSame: (a: string, b: string) => boolean
) => {
  const cut = new Map<FileOrigin, { readonly bytes: Uint8Array; readonly content: DotenvEntries }>()
  const encoder = new TextEncoder()
  const decoder = new TextDecoder()

  const contentOf = (origin: FileOrigin, bytes: Uint8Array): DotenvEntries => {
    const known = cut.get(origin)
    if (known !== undefined && sameBytes(known.bytes, bytes)) return known.content
    const content = cutDotenv(decoder.decode(bytes))
    cut.set(origin, { bytes, content })
    return content
  }

  return Effect.fnUntraced(function*(hasProject: boolean) {
    const files: Array<DotenvFile> = []
    for (const file of hasProject ? projectFiles : []) {
      const bytes = yield* trust.readControl(file)
      const origin = `project:${file}` as const
      if (bytes !== undefined) files.push({ origin, content: contentOf(origin, bytes) })
    }
    const user = readUser()
    if (typeof user === "string") {
      files.push({ origin: "user:.env", content: contentOf("user:.env", encoder.encode(user)) })
    }
    return openDotenv(files, isSame, typeof user === "object" ? [unused(user)] : [])
  })
}

const refusalOf = (name: string, value: string): string | undefined =>
  isDeniedVariable(name)
    ? `${name} is never taken from a .env file`
    : isSecretReference(value) && secretNameOf(value) === undefined
    ? `${name} is left unset: keychain: is followed by the name of a secret, letters, digits, . _ -`
    : undefined

const unused = ({ hint, issue }: ControlUnusable): EnvWarning => ({
  file: "user:.env",
  line: 1,
  issue: `nothing of it is used, since ${issue}: ${hint}`
})

const openDotenv = (
  files: ReadonlyArray<DotenvFile>,
  isSame: (a: string, b: string) => boolean,
  unusable: ReadonlyArray<EnvWarning>
): DotenvFiles => {
  const refused = new Map<string, EnvWarning>()
  const all = (name: string): ReadonlyArray<DotenvValue> =>
    files.flatMap(({ content, origin }) =>
      content.entries.toReversed().flatMap((entry) => {
        if (!isSame(entry.name, name)) return []
        const value = parseEnv(entry.text)[entry.name] ?? ""
        return value === "" ? [] : [{ value, origin, line: entry.line, refused: refusalOf(name, value) }]
      })
    )
  return {
    all,
    lookup: (name) => {
      const found = all(name)[0]
      if (found?.refused === undefined) return found
      const { line, origin, refused: issue } = found
      refused.set(`${origin}:${line}`, { file: origin, line, issue })
      return undefined
    },
    warnings: () => [
      ...unusable,
      ...files.flatMap(({ content, origin }) => content.problems.map((p) => ({ file: origin, ...p }))),
      ...refused.values()
    ]
  }
}
