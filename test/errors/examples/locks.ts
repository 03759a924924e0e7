// Tools that are not as they were locked.
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { Lockfiles } from "../../../src/services/lockfile/Lockfiles.ts"
import { LockfileStore } from "../../../src/services/lockfile/LockfileStore.ts"
import { call, tool } from "../../layers/proxy/calls.ts"
import { accept } from "../../support/realProject.ts"
import type { RealProject } from "../../support/realProject.ts"
import { agree } from "../../support/trustWorld.ts"
import { failing } from "../Example.ts"
import type { Examples } from "../Example.ts"

const report = tool({ config: { command: "true" } })
const files = { ".ai/tools/report.yaml": report }

const freeze = Effect.gen(function*() {
  const locks = yield* Lockfiles
  const plan = yield* locks.planFreeze({ id: "report" })
  return yield* locks.freeze(plan, plan.request === undefined ? undefined : agree(plan.request))
})

const strictly = call("report", {}, { lockfileMode: "strict" })

const lockfileOf = ({ project }: RealProject): string =>
  join(project, fs.globSync(".ai/lockfiles/**/*.lock.json", { cwd: project })[0]!)

export const examples: Examples = {
  LockMissing: {
    when: "A tool runs in `strict`, and was never locked",
    produce: failing(files, "signed", () => strictly)
  },
  LockMismatch: {
    when: "A tool was changed and signed again under the same version, after it was locked",
    produce: failing(files, "signed", ({ write }) =>
      Effect.gen(function*() {
        yield* freeze
        write(".ai/tools/report.yaml", report.replace("true", "false"))
        yield* accept
        return yield* strictly
      }))
  },
  LockInvalid: {
    when: "A lockfile was edited by hand",
    produce: failing(files, "signed", (place) =>
      Effect.gen(function*() {
        yield* freeze
        fs.appendFileSync(lockfileOf(place), "}")
        return yield* strictly
      }))
  },
  LockScopeMissing: {
    when: "A lock is to be kept in the project, where there is none",
    produce: failing({}, "nothing", ({ home, userSpace }) =>
      Effect.gen(function*() {
        const store = yield* LockfileStore
        return yield* store.save({} as never, { scope: "project" })
      }).pipe(Effect.provide(Kernel.layer({ home, userSpace }))))
  }
}
