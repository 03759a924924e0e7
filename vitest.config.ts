import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { ClosingReporter } from "./test/support/ClosingReporter.ts"
import { environment, omissionsFile } from "./test/support/runFolder.ts"

// Unit tests use every core, end-to-end tests start processes of their own; one after the other. The long ones, with
// hundreds of processes each, are `npm run test:long`.
export default defineConfig({
  test: {
    env: environment,
    retry: 0,
    reporters: ["default", new ClosingReporter(omissionsFile)],
    globalSetup: ["test/support/runFolder.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/long/**", "**/node_modules/**"],
          // A bound for what hangs, not for what is slow: a busy machine takes its time.
          testTimeout: 30_000,
          // Vitest would leave one core of two idle.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 1 }
        }
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          setupFiles: ["test/support/requireBuild.ts"],
          testTimeout: 60_000,
          hookTimeout: 180_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 }
        }
      },
      {
        extends: true,
        test: {
          name: "long",
          include: ["test/long/**/*.test.ts"],
          setupFiles: ["test/support/requireBuild.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          maxWorkers: 2,
          sequence: { groupOrder: 3 }
        }
      }
    ]
  }
})
