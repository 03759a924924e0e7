// `npm run conformance`: the suite against the fixture server, all that a revision requires, and against Kiwi itself, what
// needs no fixtures. Prints a table; exits with 1 when something required failed.
import { ownServer } from "./ownServer.ts"
import { requirements, revisions, start, withoutFixtures } from "./suite.ts"
import type { Outcome, Revision } from "./suite.ts"

const fixture = new URL("./fixtureServer.ts", import.meta.url).pathname

const all = async (url: string) => {
  const found = new Map<Revision, ReadonlyArray<Outcome>>()
  for (const revision of revisions) found.set(revision, await requirements(url, revision))
  return found
}

const running = await start(process.execPath, [fixture])
const onFixtures = await all(running.url).finally(running.stop)
const own = await ownServer()
const onKiwi = await all(own.url).finally(own.stop)

const show = (outcome: Outcome | undefined): string =>
  outcome === undefined ? "–" : outcome.failed === 0 ? `pass ${outcome.passed}` : `FAIL ${outcome.failed}`

let failures = 0
for (const revision of revisions) {
  console.log(`\n${revision.padEnd(48)}${"fixtures".padEnd(12)}Kiwi`)
  for (const outcome of onFixtures.get(revision) ?? []) {
    const kiwi = withoutFixtures[revision].includes(outcome.scenario)
      ? onKiwi.get(revision)?.find(({ scenario }) => scenario === outcome.scenario)
      : undefined
    if (!outcome.required && kiwi === undefined && (outcome.failed > 0 || outcome.passed === 0)) continue
    if (outcome.required && outcome.failed > 0) failures++
    if (kiwi !== undefined && kiwi.failed > 0) failures++
    const note = outcome.required ? "" : "   not scored"
    console.log(`  ${outcome.scenario.padEnd(46)}${show(outcome).padEnd(12)}${show(kiwi)}${note}`)
  }
  for (const scenario of withoutFixtures[revision]) {
    if (onFixtures.get(revision)?.some((outcome) => outcome.scenario === scenario) !== true) {
      failures++
      console.log(`  ${scenario.padEnd(46)}was not run`)
    }
  }
}
console.log(failures === 0 ? "\nEverything required passes." : `\n${failures} required scenario(s) fail.`)
process.exitCode = failures === 0 ? 0 : 1
