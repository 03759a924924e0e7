// A clone that is to be verified by signers, or against a commit, that cannot be had.
import { Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import * as GitTreeProcess from "../../../src/layers/git/GitTreeProcess.ts"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { verifyFrozen } from "../../../src/programs/verifyFrozen.ts"
import { realProject } from "../../support/realProject.ts"
import type { RealProject } from "../../support/realProject.ts"
import type { Examples } from "../Example.ts"

const verify = (
  { home, project, userSpace }: RealProject,
  input: { readonly trust?: string; readonly base?: string }
) =>
  Effect.flip(Effect.provide(
    verifyFrozen({ project, ...input }),
    GitTreeProcess.layer.pipe(Layer.provideMerge(Kernel.layerProcess({ home, userSpace })))
  ))

export const examples: Examples = {
  GitRefUnreadable: {
    when: "`kiwi lockfile verify --frozen --base origin/main` in a clone that has only its own branch",
    produce: Effect.flatMap(realProject({}), (place) => {
      execFileSync("git", ["init", "-q", place.project])
      return verify(place, { base: "origin/main" })
    })
  },
  TrustRootRefused: {
    when: "`kiwi lockfile verify --frozen --trust FILE` with a file of the clone that it is to judge",
    produce: Effect.flatMap(
      realProject({ "trust.yaml": "signers: []\n" }),
      (place) => verify(place, { trust: join(place.project, "trust.yaml") })
    )
  }
}
