import { definitions } from "./definitions.ts"

/** The text of `docs/settings.md`. */
export const documentation = (): string => {
  const rows = Object.values(definitions).map((d) =>
    `| \`${d.key}\` | \`${d.written}\` | ${d.form} | ${d.tighter === undefined ? "no" : "yes"} | ${d.doc} |`
  )
  return `# Settings

Settings are read from two files, each optional: \`config/kiwi.yaml\` in your user space (\`~/.ai\`, or where
\`USER_SPACE\` points), and \`.ai/config/kiwi.yaml\` in the project.

\`\`\`yaml
subprocess.timeout: 40s
output:
  inline: 512KiB
\`\`\`

Durations are whole numbers with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`; sizes with \`B\`, \`KiB\`, \`MiB\` or \`GiB\`. A value
that is missing or wrong leaves the one below it: the project's leaves yours, yours leaves the default. \`kiwi doctor\`
lists what is wrong, with file and line. A project takes its settings when it is opened: \`kiwi serve\` needs a restart to
see a change, every other command sees it at once.

The project's file counts whole once you have trusted the project at exactly these bytes (\`kiwi trust project\`).
Before that, and after the file has changed, it can only make a setting stricter – the column "tightens" says which
settings have a stricter side.

| Setting | Default | Value | Tightens | What it does |
|---|---|---|---|---|
${rows.join("\n")}

## Limits

\`\`\`yaml
limits:
  rate:
    caller: 600/m
    tools:
      "shell.run": 60/m
      "github/*": 100/m
  concurrency:
    tools: {"shell.run": 4}
loop.window: 20
\`\`\`

\`caller\` is the limit for all calls of one caller, known by its name in policy and not by what the client calls itself.
A key of \`tools\` is a tool's id, with or without its category; a \`*\` at its end stands for all ids that begin so. The
tools of one pattern share one limit for each caller, and a call needs room in every limit that fits it. What a file does
not name keeps the limit that it has without the file.

\`600/m\` allows 600 calls at once and ten more each second. What is used up is kept in \`$KIWI_HOME\` from second to
second: processes of one caller share it, and a restart gives nothing back.
`
}
