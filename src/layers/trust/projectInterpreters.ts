// The interpreters of a project: what lies in their places now, and whether a person was shown it.
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

/** `decision`: what a person decided about the project, if anything. */
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

/** `uvEnvironment`: what UV_PROJECT_ENVIRONMENT says. */
export const makeProjectInterpreters = (root: string, userHome: string, uvEnvironment: string | undefined) => {
  const contentOf = makeFileContents()

  /** Looked for each time: a folder above may become a checkout, or be none any more. */
  const placeNow = (): ProjectPlace => ({ root, checkout: checkoutAround(root, userHome) })

  const read = Effect.fnUntraced(function*(
    { kind, path }: InterpreterPlace,
    at: ProjectPlace,
    contents: FileContents = contentOf
  ) {
    return { kind, path, ...(yield* programFiles(at, { kind, path }, contents)) }
  })

  /** What lies in every place of an interpreter, as a person would be shown it. */
  const readAll = Effect.suspend(() => {
    const at = placeNow()
    const there = interpreterPlaces(at, uvEnvironment).filter((place) => isThere(root, place))
    return Effect.forEach(there, (place) => read(place, at))
  })

  /**
   * What lies in one place; `undefined` if no interpreter is looked for there. `afresh`: by its bytes, whatever they were
   * before. A write through a mapping of memory changes them and no time of the file.
   */
  const readAt = Effect.fnUntraced(function*(path: string, afresh = false) {
    const at = placeNow()
    const place = interpreterPlaces(at, uvEnvironment).find((one) => one.path === path)
    return place === undefined ? undefined : yield* read(place, at, afresh ? makeFileContents() : contentOf)
  })

  /** Where a person was shown a program, and nothing is any more. */
  const goneSince = (decision: TrustDecision | undefined): ReadonlyArray<string> => {
    const places = new Map(interpreterPlaces(placeNow(), uvEnvironment).map((place) => [place.path, place]))
    return (decision?.interpreters ?? [])
      .filter(({ files, path }) => files.length > 0 && !isThere(root, places.get(path) ?? { path }))
      .map(({ path }) => path)
  }

  return { placeNow, readAll, readAt, goneSince }
}
