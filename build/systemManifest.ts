/**
 * Writes the digests of every file under `.ai/` into a module of the program: what the system tier is checked against;
 * the files themselves into another, which only kernels in memory load; and what the capability modules define into a
 * third.
 * Runs before the build; run it alone after a change there.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"
import { manifestOf } from "./manifestOf.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const filesOf = (systemSpace: string): ReadonlyArray<readonly [path: string, bytes: Buffer]> =>
  readdirSync(systemSpace, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .toSorted()
    .map((file) => [file.slice(systemSpace.length + 1).replaceAll("\\", "/"), readFileSync(file)] as const)

export const generate = (systemSpace: string): string => {
  const lines = [...manifestOf(new Map(filesOf(systemSpace)))].toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([path, digest]) => `  [${JSON.stringify(path)}, "${digest}"]`)
  return `// Made by build/systemManifest.ts from what is under .ai/: do not edit.
export const systemManifest: ReadonlyMap<string, string> = new Map([
${lines.join(",\n")}
])
`
}

/** The items themselves, for kernels that live in memory. */
export const generateItems = (systemSpace: string): string => {
  const lines = filesOf(systemSpace).map(([path, bytes]) =>
    `  [${JSON.stringify(path)}, ${JSON.stringify(bytes.toString())}]`
  )
  return `// Made by build/systemManifest.ts from what is under .ai/: do not edit.
export const systemTier: ReadonlyMap<string, string> = new Map([
${lines.join(",\n")}
])
`
}

/** What the capability modules define, for the checks of requests and tokens. */
export const generateModules = (systemSpace: string): string => {
  const lines = filesOf(systemSpace).flatMap(([path, bytes]) => {
    if (!path.startsWith("tools/capabilities/")) return []
    const { capabilities, scope } = parse(bytes.toString()) as Readonly<Record<string, unknown>>
    return [`  ${JSON.stringify({ scope, capabilities })}`]
  })
  return `// Made by build/systemManifest.ts from what is under .ai/tools/capabilities/: do not edit.
export const shippedModules = [
${lines.join(",\n")}
] as const
`
}

export const writeSystemManifest = () => {
  writeFileSync(`${root}src/layers/item/system/systemManifest.generated.ts`, generate(`${root}.ai`))
  writeFileSync(`${root}src/layers/item/system/systemTier.generated.ts`, generateItems(`${root}.ai`))
  writeFileSync(`${root}src/services/capability/shippedModules.generated.ts`, generateModules(`${root}.ai`))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeSystemManifest()
