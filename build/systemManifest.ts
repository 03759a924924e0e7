/**
 * Writes the digests of every file under `.ai/` into a module of the program: what the system tier is checked against;
 * and the files themselves into another, which only kernels in memory load.
 * Runs before the build; run it alone after a change there.
 */
import { Result } from "effect"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { commentSyntax, normalize, splitSignature } from "../src/services/item/SignatureLine.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Whether a file is part of a folder that is one tool: its bytes count as they are. */
const isPart = (systemSpace: string, file: string): boolean => {
  for (let folder = dirname(file); folder.startsWith(`${systemSpace}/tools/`); folder = dirname(folder)) {
    if (existsSync(`${folder}/tool.yaml`)) return true
  }
  return false
}

/** The digest of a file as an item store reads it: of its canonical text, or of its bytes where it is no text. */
const digestOf = (systemSpace: string, file: string): string => {
  const bytes = readFileSync(file)
  const text = isPart(systemSpace, file) ? Result.fail(undefined) : normalize(bytes)
  const canonical = Result.isSuccess(text)
    ? splitSignature(text.success, commentSyntax(basename(file))).canonical
    : bytes
  return createHash("sha256").update(canonical).digest("hex")
}

export const generate = (systemSpace: string): string => {
  const lines = readdirSync(systemSpace, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .map((file) => [file.slice(systemSpace.length + 1).replaceAll("\\", "/"), digestOf(systemSpace, file)] as const)
    .toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([path, digest]) => `  [${JSON.stringify(path)}, "${digest}"]`)
  return `// Made by build/systemManifest.ts from what is under .ai/: do not edit.
export const systemManifest: ReadonlyMap<string, string> = new Map([
${lines.join(",\n")}
])
`
}

/** The items themselves, for kernels that live in memory. */
export const generateItems = (systemSpace: string): string => {
  const lines = readdirSync(systemSpace, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .toSorted()
    .map((file) => {
      const path = file.slice(systemSpace.length + 1).replaceAll("\\", "/")
      return `  [${JSON.stringify(path)}, ${JSON.stringify(readFileSync(file, "utf8"))}]`
    })
  return `// Made by build/systemManifest.ts from what is under .ai/: do not edit.
export const systemTier: ReadonlyMap<string, string> = new Map([
${lines.join(",\n")}
])
`
}

export const writeSystemManifest = () => {
  writeFileSync(`${root}src/layers/integrity/systemManifest.generated.ts`, generate(`${root}.ai`))
  writeFileSync(`${root}src/layers/item/systemTier.generated.ts`, generateItems(`${root}.ai`))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeSystemManifest()
