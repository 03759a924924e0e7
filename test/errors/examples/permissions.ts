// Rules of what agents may do.
import { Effect } from "effect"
import { runCli } from "../../programs/cli/runCli.ts"
import { project } from "../Example.ts"
import type { Examples } from "../Example.ts"
import { kernelOfSurfaces } from "../surfaces.ts"

const typed = (args: ReadonlyArray<string>, files: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function*() {
    const place = yield* project(files)
    const { stdout } = yield* runCli(["permissions", ...args, "--json"], {
      cwd: place.project,
      kernel: kernelOfSurfaces(place)
    })
    return JSON.parse(stdout).error
  })

const profile = (name: string, text: string) =>
  Effect.gen(function*() {
    const place = yield* project({ ".ai/config/profiles.yaml": text })
    const { stdout } = yield* runCli(["profile", "show", name, "--json"], {
      cwd: place.project,
      kernel: kernelOfSurfaces(place)
    })
    return JSON.parse(stdout).error
  })

export const examples: Examples = {
  ProfileUnknown: {
    when: "A profile's name is misspelt",
    produce: profile("reveiw", "profiles:\n  review:\n    items: [git.*]\n")
  },
  ProfilesInvalid: {
    when: "A profile in a project's file, which nobody has accepted, has an unknown key",
    produce: profile("review", "profiles:\n  review:\n    itmes: [git.*]\n")
  },
  RuleRefused: {
    when: "A rule misspells a capability",
    produce: typed(["allow", "fs.wriet(src/**)"])
  },
  RulesInvalid: {
    when: "A rule is to be added to a file that has an unknown key",
    produce: typed(["ask", "fs.write(migrations/**)", "--tier", "project"], {
      ".ai/config/permissions.yaml": "rules:\n  - allow: deploy\n    callr: ci\n"
    })
  }
}
