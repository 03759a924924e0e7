// Which project a call is about: the server's own, or another one that a person has trusted. Any other path gets the
// same answer, so that a caller cannot learn whether a folder exists.
import { Effect, FileSystem } from "effect"
import { Projects } from "../../layers/Projects.ts"
import type { ProjectKey } from "../../layers/Projects.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { ProjectRestricted, ProjectTrust } from "../../services/trust/ProjectTrust.ts"

const stranger = (path: string) =>
  new ProjectRestricted({
    reason: `"${safeLine(path)}" is not the project of this server, and no person has trusted it`
  })

/** `alone`: no other project is served. A profile is one of the server's own project. */
export const make = Effect.fnUntraced(function*(own: ProjectKey, alone = false) {
  const projects = yield* Projects
  const files = yield* FileSystem.FileSystem
  /** Other projects that calls have named and that were trusted at that time. */
  const others = new Set<ProjectKey>()
  return {
    own,
    /** The own project, and others that calls have named. */
    known: (): ReadonlyArray<ProjectKey> => [own, ...others],
    resolve: Effect.fnUntraced(function*(path: string | undefined) {
      if (path === undefined || path === own) return own
      if (alone) return yield* stranger(path)
      if (!path.startsWith("/") && !/^[A-Za-z]:[\\/]/.test(path)) return yield* stranger(path)
      const key = yield* Effect.mapError(files.realPath(path), () => stranger(path))
      if (key === own) return own
      if (!(yield* projects.isKnown(key))) return yield* stranger(path)
      const { _tag } = yield* projects.use(key)(Effect.flatMap(ProjectTrust, (trust) => trust.state)).pipe(
        Effect.mapError(() => stranger(path))
      )
      if (_tag !== "Trusted") return yield* stranger(path)
      others.add(key)
      return key
    })
  }
})

export type CallProject = Effect.Success<ReturnType<typeof make>>
