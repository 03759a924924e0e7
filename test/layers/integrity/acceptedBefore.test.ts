// Whoever can write to a repository chooses what lies in it, and not what a change is compared with: that is the newest
// that ran on this machine, or what its person said yes to since.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { commentSyntax, withSignature } from "../../../src/services/item/SignatureLine.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import { kernelOf, realProject } from "../../support/realProject.ts"
import { claimFor, fileSnapshot, locationOf, makeSigner, signText } from "../../support/snapshots.ts"
import { agree, trustProject } from "../../support/trustWorld.ts"
import { call } from "../proxy/calls.ts"

const at = locationOf("tools/math/add.sh")
const path = `.ai/tools/${at.path}`
const textOf = (version: string, ...more: ReadonlyArray<string>): string =>
  [
    "#!/bin/bash",
    "# kiwi:",
    `#   version: "${version}"`,
    "#   tool_type: bash",
    "#   executor_id: bash_runtime",
    "# kept line",
    ...more,
    "echo hi",
    ""
  ].join("\n")

const [bob, mia] = [makeSigner(), makeSigner()]
const payload = "# payload"
const byBob = (version: string, ...more: ReadonlyArray<string>): string => signText(bob, at, textOf(version, ...more))
const [old, newer] = [byBob("1.0.0", payload), byBob("1.0.1")]
const pushed = textOf("1.0.2", payload, "# nicer")
const claimOf = (signer: typeof bob, text: string) =>
  withSignature(pushed, commentSyntax("add.sh")!, claimFor(signer, at, fileSnapshot(at, text)!.digest))
const oldText = textOf("1.0.0", payload)

type Step =
  | { readonly run: string; readonly refused?: true }
  | { readonly sign: string }
  | { readonly commit: string }
  | "forget"
  | "distrust"

interface Case {
  readonly name: string
  readonly steps: ReadonlyArray<Step>
  readonly now: string
  /** Whether the line that bob took out is shown, as the line that comes with it. */
  readonly shows: "payload" | "all" | "nicer"
  readonly from?: string
}

const upToNewer: ReadonlyArray<Step> = [{ run: old }, { run: newer }]
const ran = "- changed from version 1.0.1, which ran here\n"

const cases: ReadonlyArray<Case> = [
  {
    name: "the old text under bob's old claim",
    steps: [...upToNewer, { commit: newer }],
    now: claimOf(bob, oldText),
    shows: "payload",
    from: ran
  },
  {
    name: "the old text without a claim",
    steps: [...upToNewer, { commit: newer }],
    now: pushed,
    shows: "payload",
    from: ran
  },
  {
    name: "bob's old one at HEAD, and the text without a claim",
    steps: [...upToNewer, { commit: old }],
    now: pushed,
    shows: "payload",
    from: ran
  },
  {
    name: "bob's old one at HEAD, and his old claim",
    steps: [...upToNewer, { commit: old }],
    now: claimOf(bob, oldText),
    shows: "payload"
  },
  {
    name: "the claim of somebody whom nobody trusts",
    steps: [...upToNewer, { commit: old }],
    now: claimOf(mia, oldText),
    shows: "payload"
  },
  {
    name: "the same version signed anew without the line",
    steps: [{ run: old }, { run: byBob("1.0.0") }, { commit: old }],
    now: pushed,
    shows: "payload"
  },
  {
    name: "what the person signed before bob took the line out",
    steps: [{ sign: oldText }, { run: newer }, { commit: old }],
    now: pushed,
    shows: "payload",
    from: ran
  },
  {
    name: "what the person went back to before the newest ran again",
    steps: [...upToNewer, { sign: oldText }, { run: newer }],
    now: pushed,
    shows: "payload"
  },
  {
    name: "what the person signed last and did not run",
    steps: [...upToNewer, { sign: textOf("1.0.3") }, { commit: old }],
    now: pushed,
    shows: "payload"
  },
  {
    name: "an old one that is refused when it is run",
    steps: [...upToNewer, { run: old, refused: true }, { commit: old }],
    now: pushed,
    shows: "payload"
  },
  { name: "the newest is kept no longer", steps: [...upToNewer, { commit: old }, "forget"], now: pushed, shows: "all" },
  {
    name: "the newest is kept no longer, and committed",
    steps: [...upToNewer, { commit: newer }, "forget"],
    now: pushed,
    shows: "payload",
    from: ran
  },
  { name: "bob counts no longer", steps: [...upToNewer, { commit: old }, "distrust"], now: pushed, shows: "all" },
  {
    name: "bob counts no longer, and his text is as it ran",
    steps: [{ run: old }, { commit: old }, "distrust"],
    now: old,
    shows: "all"
  },
  { name: "the line ran", steps: [{ run: old }], now: pushed, shows: "nicer" },
  {
    name: "the person went back to the line, shown, and has run nothing since",
    steps: [...upToNewer, { sign: oldText }],
    now: pushed,
    shows: "nicer"
  },
  {
    name: "bob counts no longer, and the person signed the same",
    steps: [{ run: old }, { sign: oldText }, "distrust"],
    now: pushed,
    shows: "nicer"
  }
]

const git = (folder: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=ada", "-c", "user.email=ada@example.com", ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, GIT_CONFIG_NOSYSTEM: "1" },
    stdio: "pipe"
  })

const plan = Effect.flatMap(Signatures, (signatures) => signatures.plan({ id: "add", type: "tool" }))

const trustBob = Effect.flatMap(SignerTrust, (trust) => {
  const signer = { keyId: bob.keyId, publicKey: bob.pair.publicKey, name: "bob" }
  const grant = { signer, as: "me", project: undefined } as const
  return trust.add(grant, agree(trust.proposeAdd(grant)))
})

describe("a change is compared with what this machine accepted last, whatever lies in the repository", () => {
  for (const { from, name, now, shows, steps } of cases) {
    it.live(name, () =>
      Effect.gen(function*() {
        const made = yield* realProject({ ".ai/.gitignore": "logs/\ncache/\n" })
        git(made.project, "init", "-q")
        yield* Effect.gen(function*() {
          yield* trustProject
          yield* trustBob
          const trust = yield* SignerTrust
          for (const step of steps) {
            if (step === "forget") rmSync(join(made.home, "verified"), { recursive: true })
            else if (step === "distrust") yield* trust.remove(bob.keyId, agree(trust.proposeRemove(bob.keyId)))
            else if ("run" in step) {
              made.write(path, step.run)
              const outcome = yield* Effect.result(call("add"))
              assert.strictEqual(outcome._tag, step.refused === true ? "Failure" : "Success", JSON.stringify(outcome))
            } else if ("sign" in step) {
              made.write(path, step.sign)
              const shown = yield* plan
              yield* Effect.flatMap(Signatures, (signatures) => signatures.sign(shown, agree(shown.request)))
            } else {
              made.write(path, step.commit)
              git(made.project, "add", ".")
              git(made.project, "commit", "-qm", "x", "--allow-empty")
            }
          }
          made.write(path, now)
          const { items: [item], request } = yield* plan
          assert.strictEqual(item!.diff.includes("+# payload"), shows !== "nicer", item!.diff)
          assert.strictEqual(item!.diff.includes("+# kept line"), shows === "all", item!.diff)
          if (from !== undefined) assert.include(request.details, from)
        }).pipe(Effect.provide(kernelOf(made)))
      }).pipe(Effect.scoped))
  }
})
