/**
 * Completes package-lock.json after `npm install` changed it. npm leaves a platform's optional package out of the
 * lockfile when it could not be fetched, or was not installed, on the machine that wrote it, and `npm ci` then refuses
 * the lockfile everywhere. Entries added here carry no integrity: nobody on this platform downloads them.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface Entry {
  version?: string
  cpu?: Array<string>
  dev?: boolean
  libc?: Array<string>
  optional?: boolean
  optionalDependencies?: Record<string, string>
  os?: Array<string>
}

const file = new URL("../package-lock.json", import.meta.url)
const lock: { packages: Record<string, Entry> } = JSON.parse(readFileSync(file, "utf8"))

const systems = new Set(["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openharmony", "sunos", "win32"])
const processors = new Set([
  "arm",
  "arm64",
  "ia32",
  "loong64",
  "mips64el",
  "ppc64",
  "riscv64",
  "s390x",
  "wasm32",
  "x64"
])
const libraries = new Map([
  ["glibc", "glibc"],
  ["gnu", "glibc"],
  ["gnueabihf", "glibc"],
  ["musl", "musl"],
  ["musleabihf", "musl"]
])

/** The platform that a package is for, by the words of its name: `@rolldown/binding-linux-x64-gnu`. */
const platformOf = (name: string) => {
  const words = name.split(/[-/]/)
  const os = words.filter((word) => systems.has(word))
  return {
    cpu: words.filter((word) => processors.has(word)),
    libc: os.includes("linux") ? words.flatMap((word) => libraries.get(word) ?? []) : [],
    os
  }
}

/** The folder that a package lies in; the root lies in none. */
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
    const { cpu, libc, os } = platformOf(name)
    if (cpu.length === 0 || !exact.test(version)) {
      console.error(`${name}@${version}, optional for ${path}, is missing, and its name does not say its platform`)
      process.exitCode = 1
      continue
    }
    lock.packages[`${folderOf(path)}${name}`] = {
      version,
      cpu,
      ...(entry.dev === true && { dev: true }),
      ...(libc.length > 0 && { libc }),
      optional: true,
      ...(os.length > 0 && { os })
    }
    added++
  }
}

const entries = Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, "en"))
lock.packages = Object.fromEntries(entries)
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`package-lock.json: ${added} platform packages added`)
