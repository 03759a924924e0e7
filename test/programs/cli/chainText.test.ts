import { assert, it } from "@effect/vitest"
import { chainText } from "../../../src/programs/cli/commands/chain.ts"
import { uncolored } from "../../../src/programs/cli/text.ts"

const link = { version: "1.0.0", tool_type: "script", tier: "project", digest: "a".repeat(64) } as const

it("draws links under each other, who set what, and where it stops; nothing of an item reaches the terminal as control", () => {
  const text = chainText(
    {
      links: [
        { ...link, id: "add", path: "project:tools/add.py", state: "ok", signer: "you\u001b[31m (ab)" },
        { ...link, id: "one", path: "project:tools/one.yaml", state: "unsigned", asked_as: "one@^2.0" }
      ],
      whole: false,
      hides: ["user:tools/add.py"],
      config: [
        { field: "output", by: "add", value: "js\u001b]0;x\u0007on", overrode: [{ by: "one" }] },
        { field: "command", by: "one" }
      ],
      stopped: { code: "CHAIN_LINK_MISSING", message: "there is none", retryable: false, remediation: "make one" }
    },
    uncolored,
    100
  )
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  assert.notMatch(text, /[\u0000-\u0009\u000b-\u001f]/)
  for (
    const words of [
      "add 1.0.0",
      "╰─ one 1.0.0  asked for as one@^2.0",
      "unsigned",
      "   ╰─ stops here",
      "by add, over (not shown",
      "hides user:tools/add.py",
      "there is none",
      "make one"
    ]
  ) assert.include(text, words)
})
