// Packages of other people that a tool needs: declared, installed by `kiwi env sync`, and held against its lock.
import { Effect } from "effect"
import * as DependenciesMemory from "../../../src/layers/dependency/DependenciesMemory.ts"
import { Dependencies } from "../../../src/services/dependency/Dependencies.ts"
import { pythonTool, queryOf, syncTool } from "../../layers/dependency/syncWorld.ts"
import { tool } from "../../layers/proxy/calls.ts"
import { failing, failingCall } from "../Example.ts"
import type { Examples } from "../Example.ts"

const declaring = (...dependencies: ReadonlyArray<string>) => ({
  ".ai/tools/fetch.py": pythonTool(dependencies, "print(json.dumps(1))")
})

export const examples: Examples = {
  DependenciesInvalid: {
    when: "A tool declares a package by an address",
    produce: failingCall(declaring("https://example.com/tool.whl"), "signed", "fetch")
  },
  DependenciesMissing: {
    when: "A tool runs before its packages were installed",
    produce: failingCall(declaring("requests>=2"), "signed", "fetch")
  },
  InstallerMissing: {
    when: "A tool declares Python packages, and runs on no Python",
    produce: failing(
      {
        ".ai/tools/fetch.yaml": tool({
          tool_type: "python",
          config: { command: "true" },
          dependencies: ["requests>=2"]
        })
      },
      "signed",
      () => syncTool("fetch")
    )
  },
  InterpreterUnsuitable: {
    when: "A tool needs a Python that is newer than the machine's",
    produce: failing(
      {
        ".ai/tools/fetch.py": `# /// script\n# requires-python = ">=3.99"\n# dependencies = ["requests>=2"]\n# ///\n${
          pythonTool([], "print(json.dumps(1))").replace("DEPENDENCIES = []\n", "")
        }`
      },
      "signed",
      () => syncTool("fetch")
    )
  },
  InstallFailed: {
    when: "A tool declares a package that the registry does not have",
    produce: failing(
      declaring("reqests>=2"),
      "signed",
      () => Effect.provide(syncTool("fetch"), DependenciesMemory.layerWith(new Map([["requests", "2.32.0"]])))
    )
  },
  PinsDiffer: {
    when: "The registry has another version than the one that was locked",
    produce: failing(declaring("requests>=2"), "signed", () =>
      Effect.gen(function*() {
        const dependencies = yield* Dependencies
        return yield* dependencies.sync({
          ...(yield* queryOf("fetch")),
          pins: [{ name: "requests", version: "2.31.0", hash: null }]
        })
      }).pipe(Effect.provide(DependenciesMemory.layerWith(new Map([["requests", "2.32.0"]])))))
  }
}
