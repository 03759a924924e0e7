// The interpreters of a project: what is at their places now, and whether a person was shown it.
import { Effect } from "effect"
import type { InterpreterStanding } from "../../services/trust/ProjectTrust.ts"
import {
  changedProgram,
  goneProgram,
  isAsShown,
  isProcessPath,
  newProgram,
  throughProcess
} from "../../services/trust/ShownProgram.ts"
import type { TrustDecision } from "../../services/trust/TrustDecision.ts"
import {
  type FileContents,
  type FoundProgram,
  makeFileContents,
  programFiles,
  type ProjectPlace
} from "../env/programs/interpreterFiles.ts"
import { checkoutAround } from "../process/ownPrograms.ts"
import { type InterpreterPlace, interpreterPlaces, isThere } from "./projectFolder.ts"

/** `decision`: a person's decision about the project, if any. */
export const judgeInterpreter = (
  now: FoundProgram & { readonly path: string },
  decision: TrustDecision | undefined
): InterpreterStanding => {
  const through = now.files.find(isProcessPath)
  if (through !== undefined) return { _tag: "Refused", issue: throughProcess(through.path) }
  if (now.refused !== undefined) return { _tag: "Refused", issue: now.refused }
  const shown = decision?.interpreters?.find(({ path }) => path === now.path)
  if (shown === undefined) return { _tag: "New", issue: newProgram }
  return isAsShown(shown.files, now.files)
    ? { _tag: "Shown", program: now.files[0] }
    : { _tag: "Changed", issue: now.files.length === 0 ? goneProgram : changedProgram }
}

/** `uvEnvironment`: the value of UV_PROJECT_ENVIRONMENT. */
export const makeProjectInterpreters = (root: string, userHome: string, uvEnvironment: string | undefined) => {
  const contentOf = makeFileContents()

  /** Computed each time: a folder above may become a checkout, or stop being one. */
  const currentPlace = (): ProjectPlace => ({ root, checkout: checkoutAround(root, userHome) })

  const read = Effect.fnUntraced(function*(
    { kind, path }: InterpreterPlace,
    at: ProjectPlace,
    contents: FileContents = contentOf
  ) {
    return { kind, path, ...(yield* programFiles(at, { kind, path }, contents)) }
  })

  /** The content of every interpreter place, as a person would be shown it. */
  const readAll = Effect.suspend(() => {
    const at = currentPlace()
    const there = interpreterPlaces(at, uvEnvironment).filter((place) => isThere(root, place))
    return Effect.forEach(there, (place) => read(place, at))
  })

  /**
   * The content of one place. Undefined if no interpreter is looked for there. `afresh`: by its bytes, without the
   * cache. A write through a memory mapping changes the bytes but none of the file's times.
   */
  const readAt = Effect.fnUntraced(function*(path: string, afresh = false) {
    const at = currentPlace()
    const place = interpreterPlaces(at, uvEnvironment).find((one) => one.path === path)
    return place === undefined ? undefined : yield* read(place, at, afresh ? makeFileContents() : contentOf)
  })

  /** Places where a person was shown a program and there is none now. */
  const goneSince = (decision: TrustDecision | undefined): ReadonlyArray<string> => {
    const places = new Map(interpreterPlaces(currentPlace(), uvEnvironment).map((place) => [place.path, place]))
    return (decision?.interpreters ?? [])
      .filter(({ files, path }) => files.length > 0 && !isThere(root, places.get(path) ?? { path }))
      .map(({ path }) => path)
  }

  return { currentPlace, readAll, readAt, goneSince }
}
