// Installers of other people, as children: found on PATH outside the project, with the few variables that say where
// they download from, and nothing of any `.env`. What they say is kept to its tail.
import { Duration, Effect } from "effect"
import { delimiter } from "node:path"
import { InstallerMissing, InstallFailed } from "../../services/dependency/DependencyErrors.ts"
import type { InstalledPackage } from "../../services/dependency/InstalledPackage.ts"
import { type ChildExit, type ChildSinks, type ChildSpec, type SpawnFailure } from "../process/childProcess.ts"

/** Every package of one environment, and the program that put it there. */
export interface Built {
  /** `pip 24.0`. */
  readonly installer: string
  readonly packages: ReadonlyArray<InstalledPackage>
}

/** One program run to its end. */
export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** What an installer has to work with. */
export interface Workbench {
  /** The tool's id, for messages. */
  readonly tool: string
  /** The folder that becomes the environment. Absolute, empty at first. */
  readonly folder: string
  /** Absolute path of a program on PATH, or of one that lies beside `beside`. */
  readonly find: (name: string, beside?: string) => string | undefined
  readonly windows: boolean
  /** Fails only where the program cannot be started or takes too long. */
  readonly run: (
    argv: ReadonlyArray<string>,
    options?: {
      readonly cwd?: string
      readonly env?: Readonly<Record<string, string>>
      /** A folder that comes first on PATH. */
      readonly first?: string
    }
  ) => Effect.Effect<Said, InstallFailed>
  readonly progress: (what: string) => Effect.Effect<void>
}

/** What pip, uv and npm need to know of this machine: where they download from, by whom they are believed, caches. */
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

/** How much of what an installer says is kept. */
const kept = 256 * 1024
/** How much of it goes into an error. */
const shown = 1200

const tail = () => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  return {
    take: (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      while (chunks.length > 1 && bytes - chunks[0]!.length >= kept) bytes -= chunks.shift()!.length
      return undefined
    },
    text: () => Buffer.concat(chunks).subarray(-kept).toString("utf8")
  }
}

export interface RunnerOptions {
  readonly tool: string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly timeout: Duration.Duration
  readonly run: <E>(spec: ChildSpec, sinks: ChildSinks<E>) => Effect.Effect<ChildExit, SpawnFailure | E>
}

/** `Workbench.run` over the child-process adapter. Where there is a sandbox, it goes around `spec` here. */
export const makeRun = ({ env, folder, run, timeout, tool }: RunnerOptions): Workbench["run"] =>
  Effect.fnUntraced(function*(argv, options = {}) {
    const name = nameOf(argv[0] ?? "")
    const [stdout, stderr] = [tail(), tail()]
    const spec: ChildSpec = {
      argv,
      cwd: options.cwd ?? folder,
      env: {
        ...env,
        ...(options.first === undefined ? {} : { PATH: `${options.first}${delimiter}${env["PATH"] ?? ""}` }),
        ...options.env
      },
      stdin: undefined,
      grace: 2000
    }
    const exit = yield* run<never>(spec, { stdout: stdout.take, stderr: stderr.take }).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          Effect.fail(
            new InstallFailed({ tool, installer: name, detail: `it took longer than ${Duration.format(timeout)}` })
          )
      }),
      Effect.catchTag(
        "SpawnFailure",
        ({ code }) =>
          Effect.fail(new InstallFailed({ tool, installer: name, detail: `it could not be started: ${code}` }))
      )
    )
    const home = env["HOME"] ?? env["USERPROFILE"] ?? ""
    const said = stderr.text()
    return {
      code: exit.code ?? 1,
      stdout: stdout.text(),
      stderr: home.length > 1 ? said.replaceAll(`${home}/`, "~/") : said
    }
  })

/** `/usr/bin/npm` is npm. */
export const nameOf = (program: string): string =>
  program.slice(Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\")) + 1)

/** What it said last, without the paths of the machine and the credentials of a URL. */
export const lastWords = (said: Said, folder: string): string => {
  const text = said.stderr.trim() === "" ? said.stdout : said.stderr
  // Cut when they are out: half of a token is not known for one. No two matches overlap, so it is linear.
  const words = text.replaceAll(folder, "‹environment›").replaceAll(/:\/\/[^\s/]+@/g, "://‹credentials›@")
  const all = words.trim()
  const last = all.slice(-shown)
  // From the beginning of a line: what was cut in its middle reads as if it were the whole of it.
  const whole = all.length > shown && last.includes("\n") ? last.slice(last.indexOf("\n") + 1) : last
  return whole.trim() || `it ended with code ${said.code}`
}

export const failedBy = (bench: Workbench, installer: string, said: Said): InstallFailed =>
  new InstallFailed({ tool: bench.tool, installer, detail: lastWords(said, bench.folder) })

export const missing = (bench: Workbench, ecosystem: InstallerMissing["ecosystem"], looked: string): InstallerMissing =>
  new InstallerMissing({ tool: bench.tool, ecosystem, looked })
