// Keeps docs/cli.md in step with the command tree. KIWI_WRITE_DOCS=1 writes the page.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { commandPaths, runCli } from "./runCli.ts"

const file = new URL("../../../docs/cli.md", import.meta.url)

interface Help {
  readonly command: string
  readonly description: string
  readonly usage: string
  readonly examples: ReadonlyArray<{ readonly command: string; readonly description?: string }>
  readonly sections: ReadonlyArray<{
    readonly title: string
    readonly entries: ReadonlyArray<{ readonly name: string; readonly description: string }>
  }>
}

const escape = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;")

const everywhere = "Flags of every command"

const section = ({ entries, title }: Help["sections"][number]) =>
  `| ${title} | |\n|---|---|\n${
    entries.map(({ description, name }) => `| \`${name.replaceAll("|", "\\|")}\` | ${escape(description)} |`).join("\n")
  }`

const chapter = ({ command, description, examples, sections, usage }: Help) =>
  [
    `${command.split(" ").length > 2 ? "###" : "##"} \`${command}\``,
    escape(description),
    `\`\`\`text\n${usage}\n\`\`\``,
    ...sections.filter(({ title }) => title !== everywhere).map(section),
    `\`\`\`sh\n${
      examples.map((example) =>
        example.description === undefined ? example.command : `# ${example.description}\n${example.command}`
      ).join("\n")
    }\n\`\`\``
  ].join("\n\n")

const intro = `# The command line

The output of \`kiwi --help\` and of every \`kiwi COMMAND --help\` on one page.

- stdout has only the answer; everything else is on stderr. With \`--json\`, the answer is exactly one JSON value, for
  failures too: \`{"error": {"code", "message", "retryable", "remediation", …}}\`.
- The exit code is 0 for success, 1 for a failure, 2 for wrong usage.
- Colour appears only on a terminal, and not if \`NO_COLOR\` is set. In text that Kiwi did not write, characters that a
  terminal would act on or hide are escaped. Into a pipe, \`kiwi run\` writes a tool's whole text unchanged.
- Signing, trusting and storing a secret are acts of a person. They need a terminal that a person can be at: a controlling
  terminal, on which the question is shown and answered, with stdin and stdout on a terminal too, and no coding agent in
  the environment or as a parent process. Or they need the passphrase of your signing key, which works without a terminal:
  set \`KIWI_PASSPHRASE\`, as in CI, or type it. \`--yes\` skips the question, but replaces neither of them. Otherwise the
  command fails with \`HUMAN_REQUIRED\` and says why. [Trust](trust.md#only-a-person) has the details.
- \`KIWI_HOME\` moves \`~/.kiwi\`, \`USER_SPACE\` moves \`~/.ai\`; in both, \`~\` and relative paths are relative to your
  home folder, never to the current one. Neither may be your home folder itself. \`KIWI_PASSPHRASE\` opens an encrypted
  signing key, and encrypts a key that is made while it is set.`

it.effect("docs/cli.md says what the help says", () =>
  Effect.gen(function*() {
    const helps = yield* Effect.forEach(commandPaths, (path) =>
      Effect.map(runCli([...path, "--help", "--json"]), ({ stdout }): Help => JSON.parse(stdout)))
    const shared = helps[1]?.sections.find(({ title }) =>
      title === everywhere
    )
    assert.isDefined(shared)
    const [root, ...others] = helps
    assert.isDefined(root)
    const text = `${[intro, section(shared!), chapter(root!), ...others.map(chapter)].join("\n\n")}\n`
    if (process.env["KIWI_WRITE_DOCS"] === "1") writeFileSync(file, text)
    assert.strictEqual(readFileSync(file, "utf8"), text, "KIWI_WRITE_DOCS=1 writes the page")
  }))
