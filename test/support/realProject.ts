// A project on a real disk under the real kernel, with a home of its own.
import { Effect } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as Kernel from "../../src/layers/Kernel.ts"
import { Signatures } from "../../src/services/integrity/Signatures.ts"
import { temporary } from "./temporary.ts"
import { agree, trustProject } from "./trustWorld.ts"

export interface RealProject {
  readonly project: string
  readonly home: string
  readonly userSpace: string
  readonly write: (path: string, text: string) => void
}

/** The files are there and nothing more: neither trusted nor signed. */
export const realProject = (files: Readonly<Record<string, string>>) =>
  Effect.map(temporary, (folder): RealProject => {
    const project = join(folder, "project")
    const write = (path: string, text: string) => {
      fs.mkdirSync(dirname(join(project, path)), { recursive: true })
      fs.writeFileSync(join(project, path), text)
    }
    fs.mkdirSync(join(project, ".ai"), { recursive: true })
    for (const [path, text] of Object.entries(files)) write(path, text)
    return { project, home: join(folder, "home"), userSpace: join(folder, "user"), write }
  })

/** What a person does first: trusts the project and signs all of it. */
export const accept = Effect.gen(function*() {
  yield* trustProject
  const signatures = yield* Signatures
  const plan = yield* signatures.plan({ id: "**", tier: "project" })
  const [refused] = plan.refused
  if (refused !== undefined) return yield* refused.error
  return yield* signatures.sign(plan, agree(plan.request))
})

export const kernelOf = ({ home, project, userSpace }: RealProject) => Kernel.layer({ project, home, userSpace })
