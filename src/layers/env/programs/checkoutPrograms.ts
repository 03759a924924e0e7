// Finds programs in a checkout that could run code: anywhere in the tree, by their names. Nothing is started or
// followed, and no open blocks; only `pyvenv.cfg` is read.
import { Effect } from "effect"
import * as Fs from "node:fs"
import { join, relative, sep } from "node:path"
import { attempt } from "../../files/attempt.ts"
import { isInside } from "../../files/isInside.ts"
import { listFolder } from "../../files/listFolder.ts"
import { processPath } from "../../files/processPath.ts"
import * as HostFiles from "../HostFiles.ts"
import type { ProjectPlace } from "./interpreterFiles.ts"
import { homesOf } from "./virtualEnvironment.ts"

export interface CheckoutProgram {
  /** Relative to the project, forward slashes; above it in its checkout with `..`. */
  readonly path: string
  /** What it is, as the end of "It is …". */
  readonly is: string
  /** Whether a tool of the project would run with it: it is where Kiwi looks, or leads Python into the checkout. */
  readonly counts: boolean
}

export interface CheckoutPrograms {
  readonly programs: ReadonlyArray<CheckoutProgram>
  /** How many are not in the list. */
  readonly more: number
  /** Whether the tree was too large to be walked completely. */
  readonly cut: boolean
}

/** Names of interpreters, shells and launchers. */
const called = new RegExp(
  `^(?:${
    [
      "(?:python|pypy)[0-9.]*w?",
      "(?:nodejs|node|deno|bun|bunx|tsx|ts-node)",
      "(?:ruby|perl|php|java|lua|go|rscript)[0-9.]*",
      "(?:ba|z|da|k|fi)?sh|pwsh|env",
      "(?:uv|uvx|pip|pipx|poetry|pdm|conda|mamba|hatch)[0-9.]*",
      "(?:npm|npx|pnpm|pnpx|yarn|yarnpkg|corepack)",
      "(?:pyenv|rbenv|nodenv|asdf|mise|rtx|volta|volta-shim|proto|nvm|fnm)",
      "(?:gradlew|mvnw|pythonw|nodew)"
    ].join("|")
  })(?:\\.(?:exe|cmd|bat|ps1|sh))?$`,
  "i"
)

const programFolders: ReadonlySet<string> = new Set(["bin", ".bin", "sbin", "scripts", "shims"])
const environmentFolders: ReadonlySet<string> = new Set([".venv", "venv", "env", "node_modules", ...programFolders])

const maxEntries = 1_000_000
const maxNamed = 200

/** The number of entries after which other fibers may run. */
const batch = 4_096

const fromProject = (root: string, file: string): string => relative(root, file).split(sep).join("/")

/** Describes where a link leads, without opening anything. */
const showTarget = ({ checkout, root }: ProjectPlace, file: string): string => {
  const through = processPath(file, HostFiles.node.readLink)
  if (through !== undefined) return `a link through ${through}, where each process finds something else`
  const real = attempt(() => Fs.realpathSync.native(file))
  if (real === undefined) return "a link that leads nowhere"
  if (real === checkout) return "a link to the checkout itself"
  return isInside(checkout, real) ? `a link to ${fromProject(root, real)}` : "a link out of the checkout"
}

/**
 * Whether a virtual environment takes its standard library from the checkout, or may, if its settings cannot be read.
 */
const leadsInside = ({ checkout, root }: ProjectPlace, file: string): boolean =>
  homesOf(root, file)?.some((home) =>
    processPath(home, HostFiles.node.readLink) !== undefined ||
    isInside(checkout, attempt(() => Fs.realpathSync.native(home)) ?? home)
  ) ?? true

const isExecutable = (file: string): boolean =>
  ((attempt(() => Fs.lstatSync(file, { throwIfNoEntry: false }))?.mode ?? 0) & 0o111) !== 0

/** `places`: where tools of the project look for an interpreter; as `skipped`, relative to the project. */
export const checkoutPrograms = Effect.fnUntraced(function*(
  at: ProjectPlace,
  places: ReadonlySet<string>,
  skipped: ReadonlySet<string>
) {
  const found: Array<CheckoutProgram> = []
  let seen = 0
  let cut = false
  const { checkout, root } = at
  const judge = (entry: Fs.Dirent, file: string, path: string): CheckoutProgram | undefined => {
    const isLink = entry.isSymbolicLink()
    const is = isLink ? showTarget(at, file) : "a file of the checkout"
    if (places.has(path)) return { path, is, counts: true }
    if (entry.name === "pyvenv.cfg") {
      const inside = leadsInside(at, file)
      return {
        path,
        is: inside ? "a virtual environment's, and leads into the checkout" : "a virtual environment's",
        counts: inside
      }
    }
    if (entry.name.endsWith("._pth")) return { path, is: "what replaces the search path of a Python", counts: false }
    // A link to a folder of programs: its content is not walked.
    if (isLink && environmentFolders.has(entry.name.toLowerCase())) return { path, is, counts: places.has(path) }
    const folder = path.split("/").at(-2)?.toLowerCase() ?? ""
    return called.test(entry.name) && (isLink || programFolders.has(folder) || isExecutable(file))
      ? { path, is, counts: false }
      : undefined
  }
  const waiting = [checkout]
  for (let folder = waiting.pop(); folder !== undefined && !cut; folder = waiting.pop()) {
    const here = folder
    for (const entry of listFolder(here, maxEntries + 1)) {
      const file = join(here, entry.name)
      const path = fromProject(root, file)
      seen += 1
      if (seen % batch === 0) yield* Effect.yieldNow
      if (seen > maxEntries) cut = true
      if (cut || file === join(checkout, ".git") || path === ".git" || skipped.has(path)) continue
      if (entry.isDirectory()) waiting.push(file)
      else {
        const one = judge(entry, file, path)
        if (one !== undefined) found.push(one)
      }
    }
  }
  // A place behind a link to a folder is not walked, but tools would run with it.
  for (const place of places) {
    const isNamed = found.some(({ path }) => path === place)
    if (!isNamed && !skipped.has(place) && attempt(() => Fs.lstatSync(join(root, place))) !== undefined) {
      const covered = [...skipped].some((one) => place.startsWith(`${one}/`))
      if (!covered) found.push({ path: place, is: showTarget(at, join(root, place)), counts: true })
    }
  }
  const sorted = found.toSorted((a, b) => Number(b.counts) - Number(a.counts) || (a.path < b.path ? -1 : 1))
  return {
    programs: sorted.slice(0, maxNamed),
    more: Math.max(0, sorted.length - maxNamed),
    cut
  } satisfies CheckoutPrograms as CheckoutPrograms
})
