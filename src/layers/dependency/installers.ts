// Runs other people's installers as child processes: found on PATH outside the project, with the few variables for
// their downloads, and without any `.env`. Only the end of their output is kept.
import { Duration, Effect } from "effect"
import { delimiter, sep } from "node:path"
import { InstallerMissing, InstallFailed } from "../../services/dependency/DependencyErrors.ts"
import type { InstalledPackage } from "../../services/dependency/InstalledPackage.ts"
import type { RunOwnChild } from "../process/ownChild.ts"
import type { OwnPrograms, Program } from "../process/ownPrograms.ts"

/** Every package of one environment, and the installer. */
export interface Built {
  /** `pip 24.0`. */
  readonly installer: string
  readonly packages: ReadonlyArray<InstalledPackage>
}

/** The outcome of one program. */
export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** What an installer works with. */
export interface Workbench {
  /** The tool's id, for messages. */
  readonly tool: string
  /** The folder that becomes the environment. Absolute; empty at first. */
  readonly folder: string
  /** Absolute path of a program on PATH, or of one next to `beside`. */
  readonly find: (name: string, beside?: string) => string | undefined
  readonly windows: boolean
  /** Fails only if the program cannot be started or takes too long. */
  readonly run: (
    argv: ReadonlyArray<string>,
    options?: {
      readonly env?: Readonly<Record<string, string>>
      /** A folder to put first on PATH. */
      readonly first?: string
    }
  ) => Effect.Effect<Said, InstallFailed>
  readonly progress: (what: string) => Effect.Effect<void>
}

/** Variables that pip, uv and npm need on this machine: download sources, certificates, caches. */
export const passedOn: ReadonlyArray<string> = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "NODE_EXTRA_CA_CERTS",
  "XDG_CONFIG_HOME",
  "XDG_CACHE_HOME",
  "XDG_DATA_HOME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TMPDIR",
  "TMP",
  "TEMP",
  "SYSTEMROOT",
  "PATHEXT",
  "PIP_INDEX_URL",
  "PIP_EXTRA_INDEX_URL",
  "PIP_NO_INDEX",
  "PIP_FIND_LINKS",
  "PIP_TRUSTED_HOST",
  "PIP_CERT",
  "PIP_CLIENT_CERT",
  "PIP_PROXY",
  "PIP_CONFIG_FILE",
  "PIP_CACHE_DIR",
  "PIP_DEFAULT_TIMEOUT",
  "UV_DEFAULT_INDEX",
  "UV_INDEX",
  "UV_INDEX_URL",
  "UV_EXTRA_INDEX_URL",
  "UV_FIND_LINKS",
  "UV_INSECURE_HOST",
  "UV_NATIVE_TLS",
  "UV_CONFIG_FILE",
  "UV_CACHE_DIR",
  "UV_OFFLINE",
  "UV_HTTP_TIMEOUT",
  "NPM_TOKEN",
  ...[
    "registry",
    "proxy",
    "https_proxy",
    "noproxy",
    "cafile",
    "strict_ssl",
    "userconfig",
    "cache",
    "fetch_retries",
    "fetch_timeout"
  ].flatMap((name) => [
    `npm_config_${name}`,
    `NPM_CONFIG_${name.toUpperCase()}`
  ])
]

/** How much of an installer's output is kept, in characters. */
const kept = 256 * 1024
/** How much of it an error includes, in characters. */
const shown = 1200

/** A program on PATH by its real path; an interpreter that a person accepted, as it is. */
const programOf = (command: string, programs: OwnPrograms): Program =>
  programs.find(command) ?? { file: command, as: command }

export interface RunnerOptions {
  readonly tool: string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly programs: OwnPrograms
  readonly timeout: Duration.Duration
  readonly runOwnChild: RunOwnChild
}

/** `Workbench.run` as a child process of Kiwi, in the folder that becomes the environment. */
export const makeRun = ({ env, folder, programs, runOwnChild, timeout, tool }: RunnerOptions): Workbench["run"] =>
  Effect.fnUntraced(function*(argv, options = {}) {
    const [command = "", ...args] = argv
    const name = nameOf(command)
    const { searchPath } = programs
    const exit = yield* runOwnChild({
      // A virtual environment finds itself by the path of its Python, which is a link.
      program: command.startsWith(folder + sep) ? { file: command, as: command } : programOf(command, programs),
      args,
      cwd: folder,
      searchPath: options.first === undefined ? searchPath : `${options.first}${delimiter}${searchPath}`,
      variables: { ...env, ...options.env },
      within: timeout,
      most: kept,
      longer: "is cut"
    }).pipe(
      Effect.mapError(({ code, issue }) =>
        new InstallFailed({
          tool,
          installer: name,
          detail: issue === "too-slow"
            ? `it took longer than ${Duration.format(timeout)}`
            : `it could not be started: ${code}`
        })
      )
    )
    const home = env["HOME"] ?? env["USERPROFILE"] ?? ""
    const said = exit.stderr.toString("utf8")
    return {
      code: exit.code ?? 1,
      stdout: exit.stdout.toString("utf8"),
      stderr: home.length > 1 ? said.replaceAll(`${home}/`, "~/") : said
    }
  })

/** `/usr/bin/npm` is npm. */
export const nameOf = (program: string): string =>
  program.slice(Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\")) + 1)

/** The end of its output, without the machine's paths and the credentials in URLs. */
export const lastWords = (said: Said, folder: string): string => {
  const text = said.stderr.trim() === "" ? said.stdout : said.stderr
  // Cut after redaction: half of a token would not be recognized. Matches do not overlap, so it is linear.
  const words = text.replaceAll(folder, "‹environment›").replaceAll(/:\/\/[^\s/]+@/g, "://‹credentials›@")
  const all = words.trim()
  const last = all.slice(-shown)
  // Starts at the beginning of a line: a line cut in its middle would read as complete.
  const whole = all.length > shown && last.includes("\n") ? last.slice(last.indexOf("\n") + 1) : last
  return whole.trim() || `it ended with code ${said.code}`
}

export const failedBy = (bench: Workbench, installer: string, said: Said): InstallFailed =>
  new InstallFailed({ tool: bench.tool, installer, detail: lastWords(said, bench.folder) })

export const missing = (bench: Workbench, ecosystem: InstallerMissing["ecosystem"], looked: string): InstallerMissing =>
  new InstallerMissing({ tool: bench.tool, ecosystem, looked })
