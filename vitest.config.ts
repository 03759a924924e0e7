import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { ClosingReporter } from "./test/support/ClosingReporter.ts"
import { environment, omissionsFile } from "./test/support/runFolder.ts"

// Many tests wait, for processes of their own or for a clock that must tick: one worker more than there are cores leaves
// none of them idle. Vitest itself would leave one of two idle.
const maxWorkers = availableParallelism() + 1

/** `npm test` runs a part of their random cases: `test/support/share.ts`. */
const inPart = [
  "test/services/capability/command/realShell.test.ts",
  "test/layers/process/openedByCommand.test.ts"
]

// Unit and end-to-end tests side by side. The long ones, with hundreds of processes each, are `npm run test:long`.
export default defineConfig({
  test: {
    env: environment,
    retry: 0,
    // A worker loads Effect and the kernel once, and not for each of its files.
    isolate: false,
    maxWorkers,
    // Tests make much that is short-lived: with more room for it, a tenth less of their time is garbage collection.
    execArgv: ["--max-semi-space-size=64"],
    reporters: ["default", new ClosingReporter(omissionsFile)],
    globalSetup: ["test/support/runFolder.ts"],
    setupFiles: ["test/support/compiled.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/long/**", "**/node_modules/**"],
          // A bound for what hangs, not for what is slow: a busy machine takes its time.
          testTimeout: 30_000
        }
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/mcp/bundleServer.ts"],
          setupFiles: ["test/support/requireBuild.ts"],
          testTimeout: 60_000,
          hookTimeout: 180_000
        }
      },
      {
        extends: true,
        test: {
          name: "long",
          include: ["test/long/**/*.test.ts", ...inPart],
          env: { KIWI_TEST_CASES: "all" },
          setupFiles: ["test/support/requireBuild.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000
        }
      }
    ]
  }
})
