// Secrets that a person gave Kiwi by name.
import { Effect, Redacted } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { SecretStore } from "../../../src/services/identity/SecretStore.ts"
import { tool } from "../../layers/proxy/calls.ts"
import { runCli } from "../../programs/cli/runCli.ts"
import { agree } from "../../support/trustWorld.ts"
import { failing, failingCall, project } from "../Example.ts"
import type { Examples } from "../Example.ts"
import { kernelOfSurfaces } from "../surfaces.ts"

export const examples: Examples = {
  SecretMissing: {
    when: "A variable of `.env` refers to a secret that nobody has stored",
    produce: failingCall(
      {
        ".env": "API_TOKEN=keychain:api\n",
        ".ai/tools/fetch.yaml": tool({ requires: { environment: ["API_TOKEN"] }, config: { command: "true" } })
      },
      "signed",
      "fetch"
    )
  },
  SecretUnavailable: {
    when: "The file that holds a secret was removed",
    produce: failing({}, "trusted", ({ home }) =>
      Effect.gen(function*() {
        const store = yield* SecretStore
        yield* store.set("api", Redacted.make("a-secret-of-somebody"), agree(yield* store.proposeSet("api")))
        for (const name of fs.readdirSync(join(home, "secrets"))) {
          if (name !== "index.json" && name !== "list.json") fs.rmSync(join(home, "secrets", name))
        }
        return yield* store.get("api")
      }))
  },
  SecretNameInvalid: {
    when: "A secret is to be stored under a path",
    produce: failing({}, "nothing", () => Effect.flatMap(SecretStore, (store) => store.proposeSet("../api")))
  },
  NoSecretGiven: {
    when: "A secret is to be set, and stdin is empty",
    produce: Effect.gen(function*() {
      const place = yield* project()
      const { stdout } = yield* runCli(["env", "secret", "set", "api", "--stdin", "--json"], {
        cwd: place.project,
        kernel: kernelOfSurfaces(place),
        terminal: true,
        answers: ["y"]
      })
      return JSON.parse(stdout).error
    })
  }
}
