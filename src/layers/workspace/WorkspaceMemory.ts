// A project, or none, in memory.
import { Effect, Layer, Option } from "effect"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"

export const make = Effect.fnUntraced(function*(root: string | undefined) {
  const { home } = yield* KiwiHome
  if (root === undefined) {
    return Workspace.of({ project: Option.none(), state: `${home}/user`, cwd: `${home}/user/cwd` })
  }
  const state = `${home}/projects/memory`
  return Workspace.of({ project: Option.some({ id: "memory", root, ai: `${root}/.ai`, state }), state, cwd: root })
})

export const layerWith = (root: string | undefined) => Layer.effect(Workspace, make(root))

export const layer = layerWith("/memory/project")
