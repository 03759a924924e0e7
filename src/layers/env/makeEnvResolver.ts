// The environment of a call, over whatever disk it is given. Nothing is inherited: every variable of the child is put
// there by name. Empty counts as unset, so that `TOKEN=` is reported as missing and not sent as a credential.
import { ConfigProvider, Effect, Option, Redacted, Result } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import { type DeclaredVariables, declaredVariables } from "../../services/env/declaredVariables.ts"
import { decodeEnvConfig, type EnvConfig, type EnvConfigIssue } from "../../services/env/EnvConfig.ts"
import {
  EnvConfigInvalid,
  type EnvOrigin,
  EnvResolver,
  type EnvVariable,
  RequirementsMissing,
  type ResolvedEnv
} from "../../services/env/EnvResolver.ts"
import type { ResolvedInterpreter } from "../../services/env/ResolvedInterpreter.ts"
import { isDeniedVariable, isKiwiVariable, variableName } from "../../services/env/variableNames.ts"
import { expandVariables } from "../../services/template/Template.ts"
import { parseTemplate } from "../../services/template/templateText.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { makeReadDotenv } from "./dotenvFiles.ts"
import type { HostFiles } from "./HostFiles.ts"
import { findInterpreter } from "./interpreters.ts"
import { makePrograms, type PathModule, type Programs } from "./searchPath.ts"

export interface EnvResolverHost {
  readonly files: HostFiles
  readonly path: PathModule
  readonly windows: boolean
}

const locale = [
  "LANG",
  "LANGUAGE",
  "LC_ALL",
  "LC_ADDRESS",
  "LC_COLLATE",
  "LC_CTYPE",
  "LC_IDENTIFICATION",
  "LC_MEASUREMENT",
  "LC_MESSAGES",
  "LC_MONETARY",
  "LC_NAME",
  "LC_NUMERIC",
  "LC_PAPER",
  "LC_TELEPHONE",
  "LC_TIME"
]
/** Passed on as they are; on Windows no program starts without the second list. */
const passedOn = { posix: [...locale, "TMPDIR"], windows: [...locale, "TMP", "TEMP", "SYSTEMROOT", "PATHEXT"] }
const ownVariables: ReadonlyArray<readonly [string, string]> = [
  ["PYTHONNOUSERSITE", "1"],
  ["PYTHONDONTWRITEBYTECODE", "1"]
]
const managerRoots = ["NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "ASDF_DATA_DIR"]
const defaultSearchPath = { posix: "/usr/local/bin:/usr/bin:/bin", windows: "C:\\Windows\\System32;C:\\Windows" }

/** Names that Windows writes in its own way; it looks variables up without regard to case. */
const windowsSpelling: Readonly<Record<string, string>> = { PATH: "Path", SYSTEMROOT: "SystemRoot" }

/** What a chain declares, worked out once per chain. */
interface Plan {
  readonly config: EnvConfig
  readonly declared: DeclaredVariables
  /** Names that are looked for in the process's environment. */
  readonly names: ReadonlyArray<string>
}

const issuesOfValues = (config: EnvConfig, isSystem: boolean): ReadonlyArray<EnvConfigIssue> => {
  const set = [
    ...Object.keys(config.env ?? {}).map((name) => [`env.${name}`, name] as const),
    ...(config.interpreter === undefined ? [] : [["interpreter.var", config.interpreter.var] as const])
  ]
  const denied = isSystem ? [] : set.filter(([, name]) => isDeniedVariable(name))
  const malformed = Object.entries(config.env ?? {}).flatMap(([name, value]) =>
    parseTemplate(value, { parameters: false }).flatMap((part) =>
      typeof part === "object" && part._tag === "Malformed" ? [{ field: `env.${name}`, error: part.hint }] : []
    )
  )
  return [...denied.map(([field, name]) => ({ field, error: `only system items set ${name}` })), ...malformed]
}

const planOf = (chain: Chain, windows: boolean): Result.Result<Plan, EnvConfigInvalid> => {
  const declaring = chain.links.find((l) => l.tool.envConfig !== undefined) ?? chain.leaf
  const invalid = (link: string, issues: ReadonlyArray<EnvConfigIssue>) =>
    Result.fail(new EnvConfigInvalid({ link, issues: [...issues] }))
  const decoded = decodeEnvConfig(chain.envConfig ?? {})
  const link = declaring.tool.location.id
  if (Result.isFailure(decoded)) return invalid(link, decoded.failure)
  const config = decoded.success
  const issues = issuesOfValues(config, declaring.tool.location.tier === "system")
  if (issues.length > 0) return invalid(link, issues)
  const unnamed = chain.requires.environment.filter((name) => !variableName.test(name))
  if (unnamed.length > 0) {
    return invalid(
      chain.leaf.tool.location.id,
      unnamed.map((name) => ({ field: "requires.environment", error: `${JSON.stringify(name)} is no variable's name` }))
    )
  }
  const declared = declaredVariables(chain, config)
  const names = new Set([
    "PATH",
    ...passedOn[windows ? "windows" : "posix"],
    ...(config.interpreter?.type === "version_manager" ? managerRoots : []),
    ...declared.required,
    ...declared.inConfig.keys(),
    ...declared.inEnvConfig
  ])
  return Result.succeed({ config, declared, names: [...names].filter((name) => !isKiwiVariable(name)) })
}

const variable = (name: string, value: string, origin: EnvOrigin): EnvVariable => ({
  name,
  value: Redacted.make(value),
  origin
})

export const make = Effect.fnUntraced(function*(host: EnvResolverHost) {
  const { files, path, windows } = host
  const home = yield* KiwiHome
  const workspace = yield* Workspace
  const trust = yield* ProjectTrust
  const provider = yield* ConfigProvider.ConfigProvider
  const project = Option.getOrUndefined(workspace.project)?.root
  const platform = windows ? "windows" : "posix"

  const texts = new Map<string, { readonly stamp: string; readonly text: string | undefined }>()
  const text = (file: string): string | undefined => {
    const stamp = files.stampOf(file)
    if (stamp === undefined) {
      texts.delete(file)
      return undefined
    }
    const before = texts.get(file)
    if (before?.stamp === stamp) return before.text
    const read = files.readText(file)
    texts.set(file, { stamp, text: read })
    return read
  }
  const readDotenv = makeReadDotenv(trust, () => text(path.join(home.userSpace, ".env")))

  const plans = new WeakMap<Chain, Plan>()
  const plan = (chain: Chain): Result.Result<Plan, EnvConfigInvalid> => {
    const made = plans.get(chain)
    if (made !== undefined) return Result.succeed(made)
    return Result.map(planOf(chain, windows), (fresh) => {
      plans.set(chain, fresh)
      return fresh
    })
  }

  let latest: { readonly searchPath: string; readonly programs: Programs } | undefined
  const programsOn = (searchPath: string): Programs => {
    if (latest?.searchPath !== searchPath) {
      latest = { searchPath, programs: makePrograms({ host: files, path, windows, searchPath, project }) }
    }
    return latest.programs
  }

  // Nobody changes the environment of a running process from outside, so each name is read once.
  const known = new Map<string, string | undefined>()
  const load = (name: string) =>
    provider.load([name]).pipe(Effect.map((node) => node?.value), Effect.orElseSucceed(() => undefined))
  const readProcess = Effect.fnUntraced(function*(names: ReadonlyArray<string>) {
    for (const name of names) {
      if (known.has(name)) continue
      const value = (yield* load(name)) ?? (windows ? yield* load(windowsSpelling[name] ?? name) : undefined)
      known.set(name, value === "" ? undefined : value)
    }
  })

  /** What every child gets. */
  const common = (programs: Programs, overrides: ReadonlyMap<string, string>): ReadonlyMap<string, EnvVariable> => {
    const found = new Map<string, EnvVariable>()
    const pass = (name: string, value: string | undefined) => {
      if (value !== undefined) {
        found.set(name, variable(name, value, overrides.has(name) ? "override" : "process"))
      }
    }
    // An empty one would stand for the working directory, which is the project.
    pass("PATH", programs.folders.join(path.delimiter) || defaultSearchPath[platform])
    pass(windows ? "USERPROFILE" : "HOME", overrides.get("HOME") ?? home.userHome)
    for (const name of passedOn[platform]) pass(name, overrides.get(name) ?? known.get(name))
    for (const [name, value] of ownVariables) found.set(name, variable(name, value, "default"))
    if (project !== undefined) found.set("KIWI_PROJECT", variable("KIWI_PROJECT", project, "default"))
    return found
  }
  const commons = new WeakMap<Programs, ReadonlyMap<string, EnvVariable>>()
  const commonOf = (programs: Programs) => {
    const made = commons.get(programs) ?? common(programs, new Map())
    commons.set(programs, made)
    return made
  }

  const resolve = Effect.fnUntraced(function*(chain: Chain, overrides: ReadonlyMap<string, string> = new Map()) {
    const { config, declared, names } = yield* Effect.fromResult(plan(chain))
    yield* readProcess(names)
    const ofHost = (name: string) => overrides.get(name) ?? known.get(name)
    const programs = programsOn(ofHost("PATH") ?? defaultSearchPath[platform])
    const child = new Map(overrides.size === 0 ? commonOf(programs) : common(programs, overrides))
    const set = (name: string, value: string, origin: EnvOrigin) => child.set(name, variable(name, value, origin))

    const missing = new Set<string>()
    const interpreter = config.interpreter
    let resolvedInterpreter: ResolvedInterpreter | undefined
    let interpreterIssue = ""
    if (interpreter !== undefined) {
      const ofProject = chain.leaf.tool.location.tier === "project" && project !== undefined
      const standing = ofProject ? yield* trust.state : undefined
      const found = findInterpreter(interpreter, {
        host: files,
        path,
        windows,
        programs,
        project,
        userSpace: home.userSpace,
        userHome: home.userHome,
        mayUseProject: standing?._tag === "Trusted",
        unseen: new Set(standing?._tag === "Trusted" ? standing.unseen : undefined),
        variable: ofHost,
        text
      })
      if (found._tag === "Found") {
        const { kind, path: program, version } = found
        resolvedInterpreter = { variable: interpreter.var, path: program, kind, version }
        set(interpreter.var, found.path, "interpreter")
      } else interpreterIssue = found.why
    }

    const wanted = [...declared.required, ...declared.inConfig.keys(), ...declared.inEnvConfig]
    const dotenv = wanted.every((name) => child.has(name) || isKiwiVariable(name) || ofHost(name) !== undefined)
      ? undefined
      : yield* readDotenv(project !== undefined)
    const lookup = (name: string): EnvVariable | undefined => {
      const before = child.get(name)
      if (before !== undefined || isKiwiVariable(name)) return before
      const own = ofHost(name)
      if (own !== undefined) {
        return variable(name, own, overrides.has(name) ? "override" : "process")
      }
      const inFile = dotenv?.lookup(name)
      return inFile === undefined || inFile.value === ""
        ? undefined
        : variable(name, inFile.value, inFile.origin)
    }
    const miss = (name: string) => {
      // What the interpreter's own failure already says is not said twice.
      if (interpreterIssue === "" || name !== interpreter?.var) missing.add(name)
    }

    /** What values of ENV_CONFIG are made of: declared too, and whoever redacts has to know it. */
    const used = new Map<string, EnvVariable>()
    for (const [name, value] of Object.entries(config.env ?? {})) {
      const override = isKiwiVariable(name) ? undefined : overrides.get(name)
      if (override !== undefined) {
        set(name, override, "override")
        continue
      }
      const expanded = expandVariables(value, `/env/${name}`, (n) => {
        const found = lookup(n)
        if (found === undefined) return undefined
        used.set(n, found)
        return Redacted.value(found.value)
      })
      if (Result.isSuccess(expanded)) set(name, expanded.success, "declared")
      else miss(expanded.failure.placeholder.slice(2, -1))
    }
    for (const name of declared.required) {
      const found = lookup(name)
      if (found === undefined) miss(name)
      else child.set(name, found)
    }
    const visible = new Map([...used, ...child])
    for (const [name, needed] of declared.inConfig) {
      const found = lookup(name)
      if (found !== undefined) visible.set(name, found)
      else if (needed) miss(name)
    }

    const commands = chain.requires.commands.filter((command) => programs.find(command) === undefined)
    if (commands.length > 0 || missing.size > 0 || interpreterIssue !== "") {
      return yield* new RequirementsMissing({
        tool: chain.leaf.tool.location.id,
        commands,
        variables: [...missing],
        interpreter: interpreterIssue
      })
    }
    const resolved: ResolvedEnv = {
      child,
      declared: visible,
      interpreter: resolvedInterpreter,
      warnings: dotenv?.warnings() ?? []
    }
    return resolved
  })

  return EnvResolver.of({ resolve })
})
