// Chooses the installer for an environment, and its interpreter: uv if there is one, else pip; npm for Node.
import { Effect, Option, Schema } from "effect"
import type { Declared } from "../../services/dependency/declaredDependencies.ts"
import { InstallFailed, InterpreterUnsuitable, PinsDiffer } from "../../services/dependency/DependencyErrors.ts"
import type { InstalledPackage } from "../../services/dependency/InstalledPackage.ts"
import { isInPythonRange } from "../../services/dependency/pythonVersion.ts"
import { type Base, stampOfProgram } from "./environmentFiles.ts"
import { lastWords, missing, nameOf, type Workbench } from "./installers.ts"
import { installNpm } from "./installNpm.ts"
import { installPip, pinProblem } from "./installPip.ts"
import { installUv } from "./installUv.ts"

export interface EnvironmentPlan {
  readonly declared: Declared
  /** The runtime's interpreter, as a real path. */
  readonly interpreter: string | undefined
  readonly pins: ReadonlyArray<InstalledPackage> | undefined
  readonly followLock: boolean
  readonly allowBuild: boolean
}

const Python = Schema.Struct({ path: Schema.NonEmptyString, version: Schema.NonEmptyString })
const decodePython = Schema.decodeUnknownEffect(Schema.fromJsonString(Python))

/** The program may be a version manager's shim, or belong to another environment: this asks for the real one. */
const askPython = `import json, os, sys
print(json.dumps({"path": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
  "version": ".".join(str(part) for part in sys.version_info[:3])}))`

const baseOf = Effect.fnUntraced(function*(bench: Workbench, interpreter: string) {
  const said = yield* bench.run([interpreter, "-I", "-c", askPython])
  const failed = new InstallFailed({
    tool: bench.tool,
    installer: nameOf(interpreter),
    detail: `it did not report its Python version: ${lastWords(said, bench.folder)}`
  })
  if (said.code !== 0) return yield* failed
  const { path, version } = yield* Effect.mapError(decodePython(said.stdout), () => failed)
  const stamp = stampOfProgram(path)
  return stamp === undefined ? yield* failed : { path, version, stamp }
})

const nodeBase = (interpreter: string | undefined): Base | undefined => {
  const stamp = interpreter === undefined ? undefined : stampOfProgram(interpreter)
  return interpreter === undefined || stamp === undefined ? undefined : { path: interpreter, stamp, version: "" }
}

export const buildEnvironment = Effect.fnUntraced(function*(bench: Workbench, plan: EnvironmentPlan) {
  const { allowBuild, declared, interpreter, pins } = plan
  if (declared.ecosystem === "node") {
    const built = yield* installNpm(bench, { declared, interpreter, pins, allowBuild, followLock: plan.followLock })
    return { built, base: nodeBase(interpreter) }
  }
  if (interpreter === undefined) {
    return yield* missing(bench, "python", "its runtime declares no interpreter")
  }
  const problem = pins === undefined ? undefined : pinProblem(pins)
  if (problem !== undefined) return yield* new PinsDiffer({ tool: bench.tool, differences: [problem] })
  const base = yield* baseOf(bench, interpreter)
  const unfit = declared.requiresPython.find((range) => !isInPythonRange(base.version, range))
  if (unfit !== undefined) {
    return yield* new InterpreterUnsuitable({ tool: bench.tool, wanted: unfit, found: base.version })
  }
  const python = { requirements: declared.requirements, base: base.path, pins, allowBuild }
  const uv = Option.fromUndefinedOr(bench.find("uv"))
  const built = Option.isSome(uv)
    ? yield* installUv(bench, uv.value, python)
    : yield* installPip(bench, python)
  return { built, base }
})
