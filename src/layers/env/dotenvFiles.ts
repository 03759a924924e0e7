// The four `.env` files, read at most once a call and only when something is looked for in them. The project's come from
// ProjectTrust, which gives the bytes that a person has accepted, or nothing.
import { Effect } from "effect"
import { parseEnv } from "node:util"
import { cutDotenv, type DotenvEntries } from "../../services/env/dotenvText.ts"
import type { EnvOrigin, EnvWarning } from "../../services/env/EnvResolver.ts"
import { isDeniedVariable } from "../../services/env/variableNames.ts"
import type { ProjectTrust } from "../../services/trust/ProjectTrust.ts"

/** Highest precedence first. */
const projectFiles = [".env.local", ".env", ".ai/.env"] as const

type FileOrigin = Extract<EnvOrigin, `${"project" | "user"}:${string}`>

interface DotenvFile {
  readonly origin: FileOrigin
  readonly content: DotenvEntries
}

export interface DotenvFiles {
  readonly lookup: (name: string) => { readonly value: string; readonly origin: FileOrigin } | undefined
  readonly warnings: () => ReadonlyArray<EnvWarning>
}

const sameBytes = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i])

export const makeReadDotenv = (
  trust: ProjectTrust["Service"],
  readUser: () => string | undefined
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
    if (user !== undefined) files.push({ origin: "user:.env", content: contentOf("user:.env", encoder.encode(user)) })
    return openDotenv(files)
  })
}

const openDotenv = (files: ReadonlyArray<DotenvFile>): DotenvFiles => {
  const refused: Array<EnvWarning> = []
  return {
    lookup: (name) => {
      for (const { content, origin } of files) {
        const entry = content.entries.findLast((e) => e.name === name)
        if (entry === undefined) continue
        const refuse = (issue: string) => {
          refused.push({ file: origin, line: entry.line, issue })
          return undefined
        }
        if (isDeniedVariable(name)) return refuse(`${name} is taken from no .env file`)
        const value = parseEnv(entry.text)[name] ?? ""
        // A reference that nothing here can follow must not reach a tool as if it were the value.
        if (value.startsWith("keychain:")) return refuse(`${name} refers to a keychain, and is left unset`)
        return { value, origin }
      }
      return undefined
    },
    warnings: () => [
      ...files.flatMap(({ content, origin }) => content.problems.map((p) => ({ file: origin, ...p }))),
      ...refused
    ]
  }
}
