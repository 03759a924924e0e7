// A home and a project on a real disk, with everything that trust needs, opened anew as often as a test wants.
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as SafeFilesNode from "../../src/layers/files/SafeFilesNode.ts"
import * as SettingsFile from "../../src/layers/settings/SettingsFile.ts"
import * as ProjectTrustFile from "../../src/layers/trust/ProjectTrustFile.ts"
import * as SignerTrustFile from "../../src/layers/trust/SignerTrustFile.ts"
import * as KiwiHomeNode from "../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../src/layers/workspace/ProcessLockMemory.ts"
import * as WorkspaceNode from "../../src/layers/workspace/WorkspaceNode.ts"
import { Identity } from "../../src/services/identity/Identity.ts"
import type { HumanAct, HumanRequest } from "../../src/services/trust/HumanAct.ts"
import { ProjectTrust } from "../../src/services/trust/ProjectTrust.ts"
import type { Signer } from "../../src/services/trust/SignerTrust.ts"
import { temporary } from "./temporary.ts"

/** Agrees to a request, as a gate does after a person said yes. */
export const agree = ({ digest, kind }: HumanRequest): HumanAct => ({ kind, digest, by: "terminal" })

/** The person looks at the proposal and accepts it. */
export const trustProject = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  const proposal = yield* trust.propose
  yield* trust.accept(proposal, agree(proposal.request))
  return proposal
})

export const worldIn = (
  folders: { readonly home: string; readonly root: string; readonly userHome?: string },
  you?: Signer
) => {
  const identity = Layer.mock(Identity, { current: Effect.succeed(you) })
  const layer = Layer.mergeAll(SettingsFile.layer, SignerTrustFile.layer).pipe(
    Layer.provideMerge(ProjectTrustFile.layer),
    Layer.provideMerge(WorkspaceNode.layer(folders.root)),
    Layer.provideMerge(Layer.mergeAll(SafeFilesNode.layer, ProcessLockMemory.layer, identity)),
    Layer.provideMerge(
      KiwiHomeNode.layerWith({
        home: folders.home,
        userSpace: join(folders.home, "../user"),
        userHome: folders.userHome ?? join(folders.home, "../person")
      })
    )
  )
  return {
    ...folders,
    user: join(folders.home, "../user"),
    layer,
    put: (path: string, text: string): void => {
      fs.mkdirSync(dirname(join(folders.root, path)), { recursive: true })
      fs.writeFileSync(join(folders.root, path), text)
    }
  }
}

/** An empty project with an `.ai`, and a home that does not exist yet. */
export const world = Effect.map(temporary, (folder) => {
  fs.mkdirSync(join(folder, "project/.ai"), { recursive: true })
  return worldIn({ home: join(folder, "home"), root: join(folder, "project") })
})

/** Where the decision of a world's only project lies. */
export const decisionFile = (home: string): string => {
  const id = fs.readdirSync(join(home, "projects")).find((name) => name !== "index")!
  return join(home, "projects", id, "trust.json")
}
