// Prints the last lines of a run: what was left out and why, and one line of totals that a program can read.
import { existsSync, readFileSync } from "node:fs"
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node"

interface Omission {
  readonly suite: string
  readonly why: string
}

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Whatever broke outside a test counts as a failure too: a file, a suite, a setup, the run itself. */
export const totals = (
  modules: ReadonlyArray<TestModule>,
  unhandled: ReadonlyArray<unknown>,
  reason: TestRunEndReason
): Totals => {
  const count = { passed: 0, failed: unhandled.length, skipped: 0 }
  for (const module of modules) {
    count.failed += module.errors().length
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const state = test.result().state
      if (state === "pending") count.failed++
      else count[state]++
    }
  }
  if (count.failed === 0 && reason !== "passed") count.failed = 1
  return count
}

export const closingLines = (omissions: ReadonlyArray<Omission>, { failed, passed, skipped }: Totals) => [
  ...new Set(omissions.map(({ suite, why }) => `left out: ${suite} – ${why}`)),
  `${passed} passed, ${failed} failed, ${skipped} skipped`
]

const readOmissions = (file: string): ReadonlyArray<Omission> =>
  existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : []

export class ClosingReporter implements Reporter {
  readonly #omissionsFile: string

  constructor(omissionsFile: string) {
    this.#omissionsFile = omissionsFile
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>, reason: TestRunEndReason) {
    const lines = closingLines(readOmissions(this.#omissionsFile), totals(modules, unhandled, reason))
    process.stdout.write(`${lines.join("\n")}\n`)
  }
}
