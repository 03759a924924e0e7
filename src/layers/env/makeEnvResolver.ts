// The environment of a call, over whatever disk it is given. Nothing is inherited: every variable of the child is put
// there by name. Empty counts as unset, so that `TOKEN=` is reported as missing and not sent as a credential.
import { ConfigProvider, Effect, Option, Redacted, Result } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { EnvConfig } from "../../services/env/EnvConfig.ts"
import { type EnvPlan, envPlan } from "../../services/env/envPlan.ts"
import {
  type EnvCandidate,
  type EnvConfigInvalid,
  type EnvOrigin,
  EnvResolver,
  type EnvVariable,
  type ExplainedEnv,
  type ExplainedVariable,
  RequirementsMissing,
  type ResolvedEnv
} from "../../services/env/EnvResolver.ts"
import { isSecret } from "../../services/env/secretVariables.ts"
import { isKiwiVariable } from "../../services/env/variableNames.ts"
import { isSecretReference, secretNameOf } from "../../services/identity/SecretStore.ts"
import { expandVariables } from "../../services/template/Template.ts"
import { parseTemplate } from "../../services/template/templateText.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { type ChoiceHost, makeChooseInterpreter, resolvedInterpreter } from "./chooseInterpreter.ts"
import { type DotenvFiles, makeReadDotenv, unseenDotenv } from "./dotenvFiles.ts"
import type { FoundInterpreter } from "./interpreters.ts"
import { makeShims } from "./programs/shims.ts"
import { makePrograms, type Programs } from "./searchPath.ts"
import { managerVariables } from "./versionManagers.ts"
import { virtualEnvironmentVariables } from "./virtualEnvironments.ts"

export interface EnvResolverHost extends ChoiceHost {
  /** Folders whose programs are a project's and not the machine's: the project's own, and those that it lies in. */
  readonly projectsAround: (project: string | undefined) => ReadonlyArray<string>
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
const passedOn = {
  linux: [...locale, "TMPDIR"],
  macos: [...locale, "TMPDIR"],
  windows: [...locale, "TMP", "TEMP", "SYSTEMROOT", "PATHEXT"]
}
const ownVariables: ReadonlyArray<readonly [string, string]> = [
  ["PYTHONNOUSERSITE", "1"],
  ["PYTHONDONTWRITEBYTECODE", "1"]
]
/** Where a process was started without a PATH: what the system's own shell would have. */
const defaultSearchPath = {
  linux: "/usr/local/bin:/usr/bin:/bin",
  macos: "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin",
  windows: "C:\\Windows\\System32;C:\\Windows"
}

/** What is asked of the process's environment to find an interpreter. */
const interpreterVariables = ({ interpreter }: EnvConfig): ReadonlyArray<string> =>
  interpreter?.type === "version_manager"
    ? managerVariables(interpreter)
    : interpreter?.type === "venv_python"
    ? virtualEnvironmentVariables
    : []

const variable = (name: string, value: string, origin: EnvOrigin, secret?: string): EnvVariable => ({
  name,
  value: Redacted.make(value),
  origin,
  ...(secret === undefined ? {} : { secret })
})

/** What a call's environment was made from; `resolve` takes the result of it, `explain` the way there. */
interface Assembled {
  readonly plan: EnvPlan
  readonly programs: Programs
  /** As the process has it. */
  readonly searchPath: string
  readonly found: FoundInterpreter | undefined
  readonly dotenv: DotenvFiles | undefined
  readonly problem: RequirementsMissing | undefined
  readonly env: ResolvedEnv
}

type Values = ReadonlyMap<string, string>
type SecretValues = ReadonlyMap<string, Redacted.Redacted<string>>

const none = new Map<string, never>()

export const make = Effect.fnUntraced(function*(host: EnvResolverHost) {
  const { files, path, platform } = host
  const windows = platform === "windows"
  const home = yield* KiwiHome
  const workspace = yield* Workspace
  const trust = yield* ProjectTrust
  const provider = yield* ConfigProvider.ConfigProvider
  const project = Option.getOrUndefined(workspace.project)?.root
  const projects = host.projectsAround(project)

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
  const readDotenv = makeReadDotenv(
    trust,
    () => text(path.join(home.userSpace, ".env")),
    windows ? (a, b) => a.toUpperCase() === b.toUpperCase() : (a, b) => a === b
  )

  const plans = new WeakMap<Chain, EnvPlan>()
  const planOf = (chain: Chain): Result.Result<EnvPlan, EnvConfigInvalid> => {
    const made = plans.get(chain)
    if (made !== undefined) return Result.succeed(made)
    return Result.map(envPlan(chain), (fresh) => {
      plans.set(chain, fresh)
      return fresh
    })
  }

  let latest:
    | { readonly searchPath: string; readonly pathExt: string | undefined; readonly programs: Programs }
    | undefined
  const replaceShims = windows
    ? (searchPath: string) => ({ searchPath, replaced: [] })
    : makeShims({ files, path, userHome: home.userHome, text })
  const programsOn = (given: string, pathExt: string | undefined): Programs => {
    const { searchPath } = replaceShims(given)
    if (latest?.searchPath !== searchPath || latest.pathExt !== pathExt) {
      const programs = makePrograms({ host: files, path, windows, searchPath, pathExt, projects })
      latest = { searchPath, pathExt, programs }
    }
    return latest.programs
  }

  const load = (at: ReadonlyArray<string>) => Effect.orElseSucceed(provider.load([...at]), () => undefined)
  /** Windows looks variables up without regard to case; a ConfigProvider has them by their parts between `_`. */
  const loadAnyCase = Effect.fnUntraced(function*(name: string) {
    let spellings: ReadonlyArray<ReadonlyArray<string>> = [[]]
    for (const part of name.split("_")) {
      const next: Array<ReadonlyArray<string>> = []
      for (const prefix of spellings) {
        const node = yield* load(prefix)
        const keys = node?._tag === "Record" ? [...node.keys] : []
        for (const key of keys) if (key.toUpperCase() === part.toUpperCase()) next.push([...prefix, key])
      }
      spellings = next
    }
    for (const spelling of spellings) {
      const value = (yield* load([spelling.join("_")]))?.value
      if (value !== undefined) return value
    }
    return undefined
  })

  // Nobody changes the environment of a running process from outside, so each name is read once.
  const known = new Map<string, string | undefined>()
  const readProcess = Effect.fnUntraced(function*(names: ReadonlyArray<string>) {
    for (const name of names) {
      if (known.has(name)) continue
      const value = (yield* load([name]))?.value ?? (windows ? yield* loadAnyCase(name) : undefined)
      known.set(name, value === "" ? undefined : value)
    }
  })

  /** What every child gets. */
  const common = (programs: Programs, overrides: Values): ReadonlyMap<string, EnvVariable> => {
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
    const made = commons.get(programs) ?? common(programs, none)
    commons.set(programs, made)
    return made
  }

  const chooseInterpreter = makeChooseInterpreter({ ...host, home, project, text, trust })

  const assemble = Effect.fnUntraced(function*(
    chain: Chain,
    overrides: Values,
    secrets: SecretValues,
    /** Also what no variable of this chain needs. */
    inFull: boolean
  ) {
    const plan = yield* Effect.fromResult(planOf(chain))
    const { config, declared, names } = plan
    yield* readProcess(["PATH", ...passedOn[platform], ...interpreterVariables(config), ...names])
    const ofHost = (name: string) => overrides.get(name) ?? known.get(name)
    const searchPath = ofHost("PATH") ?? defaultSearchPath[platform]
    const programs = programsOn(searchPath, ofHost("PATHEXT"))
    const child = new Map(overrides.size === 0 ? commonOf(programs) : common(programs, overrides))

    const { interpreter } = config
    const found = interpreter === undefined ? undefined : yield* chooseInterpreter(chain, interpreter, programs, ofHost)
    if (interpreter !== undefined && found?._tag === "Found") {
      child.set(interpreter.var, variable(interpreter.var, found.path, "interpreter"))
    }

    const dotenv = inFull || names.some((name) => !child.has(name) && ofHost(name) === undefined)
      ? yield* readDotenv(project !== undefined)
      : undefined

    const references = new Set<string>()
    const fill = (name: string, value: string, origin: EnvOrigin): EnvVariable | undefined => {
      if (!isSecretReference(value)) return variable(name, value, origin)
      const secret = secretNameOf(value)
      if (secret === undefined) return undefined
      const opened = secrets.get(secret)
      if (opened === undefined) references.add(secret)
      return opened === undefined ? variable(name, value, origin, secret) : { name, value: opened, origin, secret }
    }
    const lookup = (name: string): EnvVariable | undefined => {
      const before = child.get(name)
      if (before !== undefined || isKiwiVariable(name)) return before
      const own = ofHost(name)
      if (own !== undefined) return fill(name, own, overrides.has(name) ? "override" : "process")
      const inFile = dotenv?.lookup(name)
      return inFile === undefined ? undefined : fill(name, inFile.value, inFile.origin)
    }

    const missing = new Set<string>()
    const isMissing = found?._tag === "Missing"
    // What the interpreter's own failure already says is not said twice.
    const miss = (name: string) => !isMissing || name !== interpreter?.var ? missing.add(name) : missing

    /** What values of ENV_CONFIG are made of: declared too, and whoever redacts has to know it. */
    const used = new Map<string, EnvVariable>()
    for (const [name, value] of Object.entries(config.env ?? {})) {
      const override = isKiwiVariable(name) ? undefined : overrides.get(name)
      const whole = override ?? (isSecretReference(value) ? value : undefined)
      if (whole !== undefined) {
        const filled = fill(name, whole, override === undefined ? "declared" : "override")
        if (filled === undefined) miss(name)
        else child.set(name, filled)
        continue
      }
      const expanded = expandVariables(value, `/env/${name}`, (n) => {
        const inner = lookup(n)
        if (inner === undefined) return undefined
        used.set(n, inner)
        return Redacted.value(inner.value)
      })
      if (Result.isSuccess(expanded)) child.set(name, variable(name, expanded.success, "declared"))
      else miss(expanded.failure.placeholder.slice(2, -1))
    }
    for (const name of declared.required) {
      const value = lookup(name)
      if (value === undefined) miss(name)
      else child.set(name, value)
    }
    const visible = new Map([...used, ...child])
    for (const [name, needed] of declared.inConfig) {
      const value = lookup(name)
      if (value !== undefined) visible.set(name, value)
      else if (needed) miss(name)
    }

    const commands = chain.requires.commands.filter((command) => programs.find(command) === undefined)
    const unseen = missing.size === 0 || project === undefined ? [] : yield* unseenDotenv(trust)
    const problem = commands.length === 0 && missing.size === 0 && !isMissing ? undefined : new RequirementsMissing({
      tool: chain.leaf.tool.location.id,
      commands,
      variables: [...missing],
      interpreter: isMissing ? found.why : "",
      ...(isMissing && found.remedy !== undefined ? { interpreterRemedy: found.remedy } : {}),
      ...(unseen.length === 0 ? {} : { unseenFiles: unseen })
    })
    const env: ResolvedEnv = {
      child,
      declared: visible,
      interpreter: found === undefined ? undefined : resolvedInterpreter(config, found),
      warnings: dotenv?.warnings() ?? [],
      ...(references.size === 0 ? {} : { references })
    }
    return { plan, programs, searchPath, found, dotenv, problem, env } satisfies Assembled as Assembled
  })

  const resolve = Effect.fnUntraced(function*(
    chain: Chain,
    overrides: Values = none,
    secrets: SecretValues = none
  ) {
    const { env, problem } = yield* assemble(chain, overrides, secrets, false)
    return problem === undefined ? env : yield* problem
  })

  const explain = Effect.fn("EnvResolver.explain")(function*(chain: Chain, overrides: Values = none) {
    const { dotenv, env, found, plan, problem, programs, searchPath } = yield* assemble(chain, overrides, none, true)
    const { config, declared } = plan
    const template = (name: string) => Object.hasOwn(config.env ?? {}, name) ? config.env?.[name] : undefined
    yield* readProcess(Object.keys(config.env ?? {}).filter((name) => !isKiwiVariable(name)))

    // What a process has is nobody's business unless every child gets it anyway.
    const passed = new Set<string>(["PATH", "HOME", "USERPROFILE", ...passedOn[platform]])
    const candidates = (name: string): ReadonlyArray<EnvCandidate> => {
      const at = (origin: EnvOrigin, value: string | undefined): ReadonlyArray<EnvCandidate> =>
        value === undefined
          ? []
          : [{ origin, value: Redacted.make(value), isSecret: origin !== "declared" && !passed.has(name) }]
      return [
        ...at("override", overrides.get(name)),
        ...at("declared", template(name)),
        ...(isKiwiVariable(name) ? [] : at("process", known.get(name))),
        ...(dotenv?.all(name) ?? []).map(({ line, origin, refused, value: plain }): EnvCandidate => {
          const one: EnvCandidate = { origin, value: Redacted.make(plain), line, isSecret: true }
          return refused === undefined ? one : Object.assign(one, { refused })
        })
      ]
    }
    const beatenBy = ({ name, origin }: EnvVariable): ReadonlyArray<EnvCandidate> => {
      const all = candidates(name)
      const winner = all.findIndex((one) => one.origin === origin && one.refused === undefined)
      return all.filter((_, index) => index !== winner)
    }

    const secret = new Set<string>()
    const isHidden = (one: EnvVariable): boolean => {
      const parts = one.origin === "declared" ? parseTemplate(template(one.name) ?? "", { parameters: false }) : []
      const isMadeOf = (name: string) => secret.has(name) || isMasked(env.declared.get(name))
      return isMasked(one) ||
        parts.some((part) => typeof part === "object" && part._tag === "Variable" && isMadeOf(part.name))
    }
    const isMasked = (one: EnvVariable | undefined): boolean =>
      one !== undefined &&
      (isSecret(one) || ((one.origin === "process" || one.origin === "override") && !passed.has(one.name)))

    const shown = new Map([...env.child, ...env.declared])
    const variables: Array<ExplainedVariable> = []
    for (const one of shown.values()) {
      const hidden = isHidden(one)
      if (hidden) secret.add(one.name)
      variables.push({
        variable: one,
        reaches: env.child.has(one.name) ? "child" : "config",
        isSecret: hidden,
        beat: beatenBy(one)
      })
    }
    const wanted = new Map<string, boolean>([
      ...[...declared.inEnvConfig].map((name) => [name, false] as const),
      ...declared.inConfig,
      ...[...declared.required].map((name) => [name, true] as const)
    ])
    for (const name of problem?.variables ?? []) wanted.set(name, true)
    const unset = [...wanted].filter(([name]) => !shown.has(name)).map(([name, required]) => ({
      name,
      required,
      refused: candidates(name)
    }))
    return {
      variables,
      unset,
      interpreter: env.interpreter,
      looked: found?.looked ?? [],
      skippedPath: [...programs.skipped, ...replaceShims(searchPath).replaced],
      problem,
      warnings: dotenv?.warnings() ?? []
    } satisfies ExplainedEnv as ExplainedEnv
  })

  return EnvResolver.of({ resolve, explain })
})
