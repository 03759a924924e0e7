// Which project a command is about.
import { Effect, FileSystem, Path } from "effect"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProjectNotFound } from "../../services/workspace/Workspace.ts"
import { Shell } from "./Shell.ts"

/**
 * The real path of the project in `given`, or of the nearest one from the current folder upwards; "" if there is none.
 */
export const resolveProject = Effect.fnUntraced(function*(given: string | undefined) {
  const { cwd } = yield* Shell
  if (given === undefined) {
    const { findProject } = yield* Effect.promise(() => import("../../layers/workspace/WorkspaceNode.ts"))
    return (yield* findProject(cwd, yield* KiwiHome)) ?? ""
  }
  const files = yield* FileSystem.FileSystem
  const dir = (yield* Path.Path).resolve(cwd, given)
  const real = yield* Effect.mapError(
    files.realPath(dir),
    () => new ProjectNotFound({ dir, detail: "there is no such folder, or you may not look into it" })
  )
  const { type } = yield* Effect.orElseSucceed(files.stat(real), () => ({ type: "Unknown" as const }))
  return type === "Directory" ? real : yield* new ProjectNotFound({ dir, detail: "it is not a folder" })
})
