// Makes the environment of a call, over a given disk. Nothing is inherited: every variable of the child is added by
// name. Empty counts as unset, so that `TOKEN=` is reported as missing and not sent as a credential.
import { Clock, ConfigProvider, Effect, Option, Redacted, Result } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { EnvConfig } from "../../services/env/EnvConfig.ts"
import { type EnvPlan, envPlan } from "../../services/env/envPlan.ts"
import {
  type EnvConfigInvalid,
  type EnvOrigin,
  EnvResolver,
  type EnvVariable,
  type ExplainedEnv,
  type InterpreterAnswer,
  RequirementsMissing,
  type ResolvedEnv
} from "../../services/env/EnvResolver.ts"
import { secretMark } from "../../services/env/fillSecrets.ts"
import { isKiwiVariable } from "../../services/env/variableNames.ts"
import { isSecretReference, secretNameOf } from "../../services/identity/SecretStore.ts"
import { expandVariables } from "../../services/template/Template.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { type ChoiceHost, makeChooseInterpreter, resolvedInterpreter } from "./chooseInterpreter.ts"
import { type DotenvFiles, makeReadDotenv, unseenDotenv } from "./dotenvFiles.ts"
import { explainVariables } from "./explainVariables.ts"
import type { FoundInterpreter } from "./interpreters.ts"
import { makeProcessVariables } from "./processVariables.ts"
import { makeShims } from "./programs/shims.ts"
import { makePrograms, type Programs } from "./searchPath.ts"
import { managerVariables } from "./versionManagers.ts"
import { virtualEnvironmentVariables } from "./virtualEnvironments.ts"

export interface EnvResolverHost extends ChoiceHost {
  /**
   * Folders whose programs belong to a project and not to the machine: the project's own, and those that contain it.
   */
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
/** Passed on unchanged. On Windows no program starts without the second list. */
const passedOn = {
  linux: [...locale, "TMPDIR"],
  macos: [...locale, "TMPDIR"],
  windows: [...locale, "TMP", "TEMP", "SYSTEMROOT", "PATHEXT"]
}
const ownVariables: ReadonlyArray<readonly [string, string]> = [
  ["PYTHONNOUSERSITE", "1"],
  ["PYTHONDONTWRITEBYTECODE", "1"]
]
/** For a process that was started without a PATH: the default of the system's own shell. */
const defaultSearchPath = {
  linux: "/usr/local/bin:/usr/bin:/bin",
  macos: "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin",
  windows: "C:\\Windows\\System32;C:\\Windows"
}

/** The variables of the process that are needed to find an interpreter. */
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

/** The sources of a call's environment: `resolve` uses the result, `explain` all of it. */
interface Assembled {
  readonly plan: EnvPlan
  readonly programs: Programs
  /** The process's own value. */
  readonly searchPath: string
  readonly dotenv: DotenvFiles | undefined
  readonly problem: RequirementsMissing | undefined
  readonly env: ResolvedEnv
}

type Values = ReadonlyMap<string, string>

const none = new Map<string, never>()

const noInterpreter: InterpreterAnswer = { _tag: "None" }
const emptyEnv: ResolvedEnv = { child: none, declared: none, interpreter: undefined, warnings: [] }

const answerOf = ({ interpreter }: EnvConfig, found: FoundInterpreter | undefined): InterpreterAnswer =>
  interpreter === undefined || found === undefined
    ? noInterpreter
    : found._tag === "Missing"
    ? { _tag: "Missing", why: found.why, remedy: found.remedy }
    : { _tag: "Found", interpreter: resolvedInterpreter(interpreter.var, found) }

export const make = Effect.fnUntraced(function*(host: EnvResolverHost) {
  const { files, path, platform } = host
  const windows = platform === "windows"
  const home = yield* KiwiHome
  const workspace = yield* Workspace
  const trust = yield* ProjectTrust
  const provider = yield* ConfigProvider.ConfigProvider
  const project = Option.getOrUndefined(workspace.project)?.root
  const projects = host.projectsAround(project)

  const clock = yield* Clock.Clock
  const text = (file: string) => files.readText(file, clock.currentTimeMillisUnsafe())
  const readDotenv = makeReadDotenv(
    trust,
    () => files.openUserControl(home, ".env") ?? text(path.join(home.userSpace, ".env")),
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
    : makeShims({
      files,
      path,
      userHome: home.userHome,
      text,
      list: (folder) => files.list(folder, clock.currentTimeMillisUnsafe())
    })
  const programsOn = (given: string, pathExt: string | undefined): Programs => {
    const { searchPath } = replaceShims(given)
    if (latest?.searchPath !== searchPath || latest.pathExt !== pathExt) {
      const programs = makePrograms({ host: files, path, windows, searchPath, pathExt, projects })
      latest = { searchPath, pathExt, programs }
    }
    return latest.programs
  }

  const { known, read: readProcess } = makeProcessVariables(provider, windows)

  /** The variables of every child. */
  const common = (programs: Programs, overrides: Values): ReadonlyMap<string, EnvVariable> => {
    const found = new Map<string, EnvVariable>()
    const pass = (name: string, value: string | undefined) => {
      if (value !== undefined) {
        found.set(name, variable(name, value, overrides.has(name) ? "override" : "process"))
      }
    }
    // An empty entry would mean the working directory, which is the project.
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

  /** What is read of the process and PATH for a chain, and its interpreter. */
  const readSurroundings = Effect.fnUntraced(function*(chain: Chain, overrides: Values) {
    const plan = yield* Effect.fromResult(planOf(chain))
    yield* readProcess(["PATH", ...passedOn[platform], ...interpreterVariables(plan.config), ...plan.names])
    const ofHost = (name: string) => overrides.get(name) ?? known.get(name)
    const searchPath = ofHost("PATH") ?? defaultSearchPath[platform]
    const programs = programsOn(searchPath, ofHost("PATHEXT"))
    const { interpreter } = plan.config
    const find = interpreter === undefined
      ? Effect.undefined
      : chooseInterpreter(chain, interpreter, programs, ofHost)
    return { chain, overrides, plan, ofHost, searchPath, programs, find }
  })
  type Around = Effect.Success<ReturnType<typeof readSurroundings>>

  /** A call first asks for the interpreter and then for the variables: both use the same result. */
  const arounds = new WeakMap<InterpreterAnswer, Around>()
  const interpreter = Effect.fnUntracedEager(function*(chain: Chain, overrides: Values = none) {
    if ((yield* Effect.fromResult(planOf(chain))).config.interpreter === undefined) return noInterpreter
    const around = yield* readSurroundings(chain, overrides)
    const answer = answerOf(around.plan.config, yield* around.find)
    arounds.set(answer, around)
    return answer
  })
  const aroundOf = (chain: Chain, overrides: Values, answer: InterpreterAnswer | undefined) => {
    const around = answer === undefined ? undefined : arounds.get(answer)
    return around?.chain === chain && around.overrides === overrides
      ? Effect.succeed(around)
      : readSurroundings(chain, overrides)
  }

  const assemble = Effect.fnUntraced(function*(
    chain: Chain,
    { ofHost, plan, programs, searchPath }: Around,
    answer: InterpreterAnswer,
    overrides: Values,
    /** Whether to include values that no variable of this chain needs. */
    inFull: boolean
  ) {
    const { config, declared, names } = plan
    const child = new Map(overrides.size === 0 ? commonOf(programs) : common(programs, overrides))
    if (answer._tag === "Found") {
      const { path: found, variable: name } = answer.interpreter
      child.set(name, variable(name, found, "interpreter"))
    }

    const dotenv = inFull || names.some((name) => !child.has(name) && ofHost(name) === undefined)
      ? yield* readDotenv(project !== undefined)
      : undefined

    const references = new Set<string>()
    const fill = (name: string, value: string, origin: EnvOrigin): EnvVariable | undefined => {
      if (!isSecretReference(value)) return variable(name, value, origin)
      const secret = secretNameOf(value)
      if (secret === undefined) return undefined
      references.add(secret)
      return variable(name, value, origin, secret)
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
    // What the interpreter's own error says is not repeated.
    const miss = (name: string) =>
      answer._tag !== "Missing" || name !== config.interpreter?.var ? missing.add(name) : missing

    /** The variables in values of ENV_CONFIG: they count as declared, and redaction needs them. */
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
        return inner.secret === undefined ? Redacted.value(inner.value) : secretMark(inner.secret)
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
    const isMet = commands.length === 0 && missing.size === 0 && answer._tag !== "Missing"
    const problem = isMet ? undefined : new RequirementsMissing({
      tool: chain.leaf.tool.location.id,
      commands,
      variables: [...missing],
      interpreter: answer._tag === "Missing" ? answer.why : "",
      ...(answer._tag === "Missing" && answer.remedy !== undefined ? { interpreterRemedy: answer.remedy } : {}),
      ...(unseen.length === 0 ? {} : { unseenFiles: unseen })
    })
    const env: ResolvedEnv = {
      child,
      declared: visible,
      interpreter: answer._tag === "Found" ? answer.interpreter : undefined,
      warnings: dotenv?.warnings() ?? [],
      ...(references.size === 0 ? {} : { references })
    }
    return { plan, programs, searchPath, dotenv, problem, env } satisfies Assembled as Assembled
  })

  const resolve: EnvResolver["Service"]["resolve"] = Effect.fnUntracedEager(function*(chain, options = {}) {
    const overrides = options.overrides ?? none
    if ((yield* Effect.fromResult(planOf(chain))).isEmpty && overrides.size === 0) return emptyEnv
    const around = yield* aroundOf(chain, overrides, options.interpreter)
    const answer = options.interpreter ?? answerOf(around.plan.config, yield* around.find)
    const { env, problem } = yield* assemble(chain, around, answer, overrides, false)
    return problem === undefined ? env : yield* problem
  })

  const explain = Effect.fn("EnvResolver.explain")(function*(chain: Chain, overrides: Values = none) {
    const around = yield* readSurroundings(chain, overrides)
    const found = yield* around.find
    const answer = answerOf(around.plan.config, found)
    const { dotenv, env, plan, problem, programs, searchPath } = yield* assemble(chain, around, answer, overrides, true)
    yield* readProcess(Object.keys(plan.config.env ?? {}).filter((name) => !isKiwiVariable(name)))
    // A value of the process is not shown, unless every child gets it anyway.
    const passed = new Set(["PATH", "HOME", "USERPROFILE", ...passedOn[platform]])
    const { unset, variables } = explainVariables({ plan, env, problem, overrides, known, dotenv, passed })
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

  return EnvResolver.of({ interpreter, resolve, explain })
})
