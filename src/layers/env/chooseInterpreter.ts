// Chooses the interpreter of a call: the one that the search finds, if it may be used. A file in the project's checkout
// runs only if it is as a person was shown it. A Node on PATH that is too old for TypeScript is replaced.
import { Effect } from "effect"
import type { Chain } from "../../services/chain/Chain.ts"
import type { EnvConfig, Interpreter } from "../../services/env/EnvConfig.ts"
import { outsideProject, type ResolvedInterpreter, toInterpreterFile } from "../../services/env/ResolvedInterpreter.ts"
import type { InterpreterStanding, ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { makeItALink, throughProcess } from "../../services/trust/ShownProgram.ts"
import type { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { isInside } from "../files/isInside.ts"
import { processPath } from "../files/processPath.ts"
import type { HostFiles } from "./HostFiles.ts"
import { acceptCommand, findInterpreter, type FoundInterpreter, missingInterpreter } from "./interpreters.ts"
import { isShim } from "./programs/shimFile.ts"
import type { PathModule, Programs } from "./searchPath.ts"
import { neededNode, type NodeProgram, runsTypescript } from "./typescriptNode.ts"
import type { Platform } from "./virtualEnvironments.ts"

export interface ChoiceHost {
  readonly files: HostFiles
  readonly path: PathModule
  readonly platform: Platform
  readonly checkoutAround: (project: string, userHome: string) => string
  /** The Node that runs Kiwi. It replaces a Node on PATH that is too old for TypeScript. */
  readonly ownNode: NodeProgram
}

export const resolvedInterpreter = (
  variable: string,
  found: Extract<FoundInterpreter, { readonly _tag: "Found" }>
): ResolvedInterpreter => ({
  variable,
  path: found.path,
  kind: found.kind,
  version: found.version,
  ...(found.place === undefined ? {} : { place: found.place }),
  ...(found.program === undefined ? {} : { program: found.program })
})

export const makeChooseInterpreter = (
  { checkoutAround, files, home, ownNode, path, platform, project, text, trust }: ChoiceHost & {
    readonly home: KiwiHome["Service"]
    readonly project: string | undefined
    readonly trust: ProjectTrust["Service"]
    /** Text of a small file, cached until the file changes. */
    readonly text: (path: string) => string | undefined
  }
) => {
  const windows = platform === "windows"

  /** Refuses a file in the project's checkout, however the search found it, unless it is as a person was shown it. */
  const requireShown = Effect.fnUntraced(function*(
    declared: Interpreter,
    checkout: string | undefined,
    found: FoundInterpreter
  ): Effect.fn.Return<FoundInterpreter> {
    const stop = (why: string, remedy?: string): FoundInterpreter => ({
      _tag: "Missing",
      why: missingInterpreter(declared, why),
      remedy,
      places: found.places,
      looked: found.looked
    })
    const own = found._tag === "Missing"
      ? undefined
      : found.places.find((place) => path.join(project ?? "", place) === found.path)
    let shown: Extract<InterpreterStanding, { readonly _tag: "Shown" }> | undefined
    for (const place of found.places) {
      const standing = yield* trust.interpreter(place)
      if (standing._tag === "Refused") return stop(`${place} ${standing.issue}`, makeItALink)
      if (standing._tag !== "Shown") {
        return stop(`${place} ${standing.issue}: ${acceptCommand} accepts it`, acceptCommand)
      }
      if (place === own) shown = standing
    }
    if (found._tag === "Missing") return found
    const real = files.realPath(found.path) ?? found.path
    if (own !== undefined && !windows && isShim(files, path, found.path, real)) {
      return stop(
        `${own} leads to a shim, which runs what files of the project say`,
        makeItALink
      )
    }
    const through = processPath(found.path, files.readLink)
    if (through !== undefined) return stop(`what was found ${throughProcess(through)}`, makeItALink)
    if (own !== undefined) {
      const program = shown?.program
      return { ...found, place: own, program: program === undefined ? program : toInterpreterFile(program) }
    }
    const folder = files.realPath(path.dirname(found.path)) ?? path.dirname(found.path)
    if (checkout !== undefined && [found.path, folder, real].some((one) => isInside(checkout, one, path))) {
      const where = checkout === project ? "the project" : "the checkout that the project lies in"
      return stop(`what was found leads into ${where}`, `make it a program outside of ${where}`)
    }
    return { ...found, program: outsideProject }
  })

  const requireTypescript = (chain: Chain, checkout: string | undefined, found: FoundInterpreter): FoundInterpreter => {
    const needed = found._tag === "Found" ? neededNode(chain, found) : undefined
    if (found._tag === "Missing" || needed === undefined) return found
    const { kind, looked, places, version: old } = found
    const needs = `${chain.leaf.tool.entrypoint} needs Node ${needed} or newer`
    const { path: own, version } = ownNode
    // What a project or a version manager chose is not replaced.
    const mayReplace = (kind === "system" || kind === "fallback") && runsTypescript(ownNode) &&
      files.executable(own) !== undefined && (checkout === undefined || !isInside(checkout, own, path))
    return mayReplace
      ? {
        ...found,
        path: own,
        version,
        looked: [...looked, { where: "node on PATH", path: found.path, outcome: `is ${old}; ${needs}` }]
      }
      : {
        _tag: "Missing",
        why: `${needs}, ${found.path} is ${old}`,
        remedy: `install Node ${needed} or newer${kind === "system" ? ", first on PATH" : ""}`,
        places,
        looked
      }
  }

  return Effect.fnUntraced(function*(
    chain: Chain,
    interpreter: NonNullable<EnvConfig["interpreter"]>,
    programs: Programs,
    ofHost: (name: string) => string | undefined
  ) {
    const ofProject = chain.leaf.tool.location.tier === "project" && project !== undefined
    const standing = ofProject ? yield* trust.state : undefined
    const seen = standing?._tag === "Trusted" ? standing.seen : undefined
    const checkout = project === undefined ? undefined : checkoutAround(project, home.userHome)
    const found = findInterpreter(interpreter, {
      host: files,
      path,
      platform,
      programs,
      project,
      checkout,
      userSpace: home.userSpace,
      userHome: home.userHome,
      mayUseProject: standing?._tag === "Trusted",
      isSeen: (place) => seen === undefined || seen.includes(place),
      wasShown: (place) => seen?.includes(place) === true,
      variable: ofHost,
      text
    })
    return yield* requireShown(interpreter, checkout, requireTypescript(chain, checkout, found))
  })
}
