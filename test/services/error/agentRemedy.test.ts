import { assert, describe, it } from "@effect/vitest"
import { agentRemedy, forAgent } from "../../../src/services/error/agentRemedy.ts"
import { loadCall, openCall, searchCall } from "../../../src/services/error/calls.ts"

describe("agentRemedy: a remedy over MCP", () => {
  const cases: ReadonlyArray<readonly [remedy: string, forAgent: string]> = [
    ["kiwi sign tool add", `Ask the person with sign {item_id: "add", item_type: "tool"}`],
    ["kiwi sign directive 'ops/*'", `Ask the person with sign {item_id: "ops/*", item_type: "directive"}`],
    [
      "Look at what changed, then sign it again if it is right: kiwi sign tool add",
      `Look at what changed, then sign it again if it is right: ask the person with sign {item_id: "add", item_type: "tool"}`
    ],
    [loadCall("tool", "math/add"), `Call load {item_id: "math/add", item_type: "tool"}`],
    [searchCall(`add "two"`), `Call search {query: "add \\"two\\""}`],
    [
      openCall,
      "Name the project in project_path, or tell the person to start the server in the project that was meant"
    ],
    [
      "Read tools/add.py, and sign it if it may run as you: kiwi sign tool add",
      `Tell the person: Read tools/add.py, and sign it if it may run as you: kiwi sign tool add. Or ask them with sign {item_id: "add", item_type: "tool"}`
    ],
    [
      "Read tools/add.py, and sign it if it may run as you: kiwi sign tool add; or let all that they sign run so: kiwi trust add KEY --name ada --as me",
      `Tell the person: Read tools/add.py, and sign it if it may run as you: kiwi sign tool add; or let all that they sign run so: kiwi trust add KEY --name ada --as me. Or ask them with sign {item_id: "add", item_type: "tool"}`
    ],
    ["kiwi lockfile diff report", `Call execute {item_id: "lockfile_diff", parameters: {tool: "report"}}`],
    ["kiwi trust project", "Tell the person to type, at a terminal of their own: kiwi trust project"],
    ["kiwi env sync hello", "Tell the person to type, at a terminal of their own: kiwi env sync hello"],
    [
      "kiwi sign tool add --tier user",
      "Tell the person to type, at a terminal of their own: kiwi sign tool add --tier user"
    ],
    [
      "If you know whose key that is: kiwi trust add <public key> --name <who>; or read the item and sign it yourself",
      "Tell the person: If you know whose key that is: kiwi trust add <public key> --name <who>; or read the item and sign it yourself"
    ],
    [
      "Check notes.md and the disk that it is on; `kiwi doctor` checks the usual causes",
      "Tell the person: Check notes.md and the disk that it is on; `kiwi doctor` checks the usual causes"
    ],
    [
      "Set KIWI_PASSPHRASE to the passphrase that the key was made with",
      "Tell the person: Set KIWI_PASSPHRASE to the passphrase that the key was made with"
    ],
    ["Start Kiwi there, or name it: --project DIR", "Tell the person: Start Kiwi there, or name it: --project DIR"],
    ["Ask the person to type: kiwi sign tool add --yes", "Ask the person to type: kiwi sign tool add --yes"],
    ["Pass a plain value there", "Pass a plain value there"],
    [`Did you mean "add"?`, `Did you mean "add"?`]
  ]
  for (const [remedy, expected] of cases) it(remedy, () => assert.strictEqual(agentRemedy(remedy), expected))

  it("names the project that the call was about", () => {
    const there = (remedy: string) => agentRemedy(remedy, "/work/my shop")
    assert.strictEqual(
      there("kiwi sign tool add"),
      `Ask the person with sign {item_id: "add", item_type: "tool", project_path: "/work/my shop"}`
    )
    assert.strictEqual(
      there("kiwi trust project"),
      "Tell the person to type, at a terminal of their own: kiwi trust project --project '/work/my shop'"
    )
    assert.include(there("Look at it; `kiwi doctor` helps"), "`kiwi doctor --project '/work/my shop'`")
    assert.include(there("kiwi lockfile diff report"), "kiwi lockfile diff report --project")
    assert.strictEqual(
      there("Ask the person to type: kiwi sign tool add && kiwi sign directive add"),
      "Ask the person to type: kiwi sign tool add --project '/work/my shop' && kiwi sign directive add --project '/work/my shop'"
    )
    assert.strictEqual(
      there(loadCall("tool", "add")),
      `Call load {item_id: "add", item_type: "tool", project_path: "/work/my shop"}`
    )
  })

  it("is said once", () => {
    for (const [remedy] of cases) assert.strictEqual(agentRemedy(agentRemedy(remedy)), agentRemedy(remedy))
  })

  it("reaches every level of a report", () => {
    assert.deepStrictEqual(
      forAgent({ locks: [{ error: { remediation: "kiwi trust project", code: "kiwi trust project" } }], left: 1 }),
      {
        locks: [{
          error: {
            remediation: "Tell the person to type, at a terminal of their own: kiwi trust project",
            code: "kiwi trust project"
          }
        }],
        left: 1
      }
    )
  })
})
