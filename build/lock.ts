/**
 * Completes package-lock.json after `npm install` changed it. npm leaves a platform's optional package out of the
 * lockfile when it could not be fetched, or was not installed, on the machine that wrote it, and `npm ci` then refuses
 * the lockfile everywhere. Entries added here carry no integrity: nobody on this platform downloads them.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface Entry {
  version?: string
  os?: Array<string>
  cpu?: Array<string>
  libc?: Array<string>
  dev?: boolean
  optional?: boolean
  optionalDependencies?: Record<string, string>
}

const file = new URL("../package-lock.json", import.meta.url)
const lock: { packages: Record<string, Entry> } = JSON.parse(readFileSync(file, "utf8"))

const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openharmony", "sunos", "win32"]
const processors: Record<string, string> = {
  arm: "arm",
  arm64: "arm64",
  ia32: "ia32",
  loong64: "loong64",
  mips64el: "mips64el",
  ppc64: "ppc64",
  riscv64: "riscv64",
  s390x: "s390x",
  wasm32: "wasm32",
  x64: "x64"
}
const libraries: Record<string, string> = { glibc: "glibc", gnu: "glibc", musl: "musl" }
const abis: Record<string, string> = { gnueabihf: "glibc", musleabihf: "musl" }

const platformOf = (name: string): Entry | undefined => {
  const words = name.split(/[-/]/)
  const os = systems.filter((system) => words.includes(system))
  const cpu = words.flatMap((word) => processors[word] ?? [])
  const libc = words.flatMap((word) => libraries[word] ?? abis[word] ?? [])
  if (cpu.length === 0) return undefined
  return {
    ...(os.length > 0 && { os }),
    cpu,
    ...(libc.length > 0 && os.includes("linux") && { libc })
  }
}

/** Where the package at `path` finds the packages beside it. */
const folderOf = (path: string) => path.slice(0, path.lastIndexOf("node_modules/") + "node_modules/".length)

const exact = /^\d+\.\d+\.\d+/

/** Whether the package at `path` finds this version of `name` in its own folder or above, as Node looks for it. */
const resolves = (path: string, name: string, version: string): boolean => {
  for (let at = `${path}/node_modules/`; at !== ""; at = folderOf(at.slice(0, -"/node_modules/".length))) {
    const found = lock.packages[`${at}${name}`]
    if (found !== undefined) return found.version === version || !exact.test(version)
  }
  return false
}

let added = 0
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (resolves(path, name, version)) continue
    const platform = platformOf(name)
    if (platform === undefined || !exact.test(version)) {
      console.error(`${name}, optional for ${path}, is not in the lockfile and its name and version do not say which`)
      process.exitCode = 1
      continue
    }
    lock.packages[`${folderOf(path)}${name}`] = {
      version,
      ...platform,
      ...(entry.dev && { dev: true }),
      optional: true
    }
    added++
  }
}

const [root, ...rest] = Object.entries(lock.packages)
lock.packages = Object.fromEntries([root!, ...rest.toSorted(([a], [b]) => (a < b ? -1 : 1))])
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`package-lock.json: ${added} platform packages added`)
