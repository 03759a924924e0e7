// A teammate's signed item that a person changes and signs: the question shows what they changed, and nothing that is
// not accepted already is left out of it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { VerifiedCopies } from "../../../src/services/integrity/VerifiedCopies.ts"
import { Verifier } from "../../../src/services/integrity/Verifier.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { commentSyntax, withSignature } from "../../../src/services/item/SignatureLine.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import { kernelOf, realProject } from "../../support/realProject.ts"
import {
  claimFor,
  fileSnapshot,
  folderFile,
  locationOf,
  makeSigner,
  signFolder,
  signText
} from "../../support/snapshots.ts"
import { agree, trustProject } from "../../support/trustWorld.ts"
import { object, tool } from "../proxy/calls.ts"

const at = locationOf("tools/math/add.yaml")
const path = `.ai/tools/${at.path}`
const textOf = (says: string): string =>
  `${tool({ version: "1.0.0", input_schema: object({}), config: { command: "echo", args: [says] } })}\n# kept line\n`

const bob = makeSigner()
const signer = { keyId: bob.keyId, publicKey: bob.pair.publicKey, name: "bob" }

interface Case {
  readonly name: string
  /** What is committed, and what lies in the folder when it is signed. */
  readonly committed?: string
  readonly now: string
  readonly as?: "me" | "other" | "nobody"
  readonly trusted?: boolean
  /** Whether the tool as it was committed has run here. */
  readonly ran?: boolean
  readonly isBase: boolean
}

const theirs = signText(bob, at, textOf("one"))
const edited = theirs.replace("one", "two")
const agents = withSignature(
  textOf("one"),
  commentSyntax("add.yaml")!,
  claimFor(bob, at, fileSnapshot(at, textOf("one"))!.digest, "agent")
)

const cases: ReadonlyArray<Case> = [
  { name: "a line was changed", committed: theirs, now: edited, isBase: true },
  {
    name: "the whole file was written anew, without the signature",
    committed: theirs,
    now: textOf("two"),
    isBase: true
  },
  {
    name: "its signature line was damaged",
    committed: theirs,
    now: edited.replace(":signed:2", ":signed:9"),
    isBase: true
  },
  { name: "it ran and is in no commit", now: edited, ran: true, isBase: true },
  {
    name: "the change is committed, and what was signed ran here",
    committed: edited,
    now: edited,
    ran: true,
    isBase: true
  },
  { name: "the change is committed, and nothing ran", committed: edited, now: edited, isBase: false },
  { name: "it is in no commit", now: edited, isBase: false },
  {
    name: "bob counts as somebody else: nobody has accepted his lines",
    committed: theirs,
    now: edited,
    as: "other",
    isBase: false
  },
  { name: "nobody trusts bob", committed: theirs, now: edited, as: "nobody", isBase: false },
  { name: "the project is restricted", committed: theirs, now: edited, trusted: false, isBase: false },
  { name: "what is committed is signed by nobody", committed: textOf("one"), now: edited, isBase: false },
  {
    name: "it was signed as another item",
    committed: signText(bob, locationOf("tools/math/sub.yaml"), textOf("one")),
    now: edited,
    isBase: false
  },
  { name: "an agent's key has signed it", committed: agents, now: edited, isBase: false }
]

const git = (folder: string, home: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=ada", "-c", "user.email=ada@example.com", ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, GIT_CONFIG_NOSYSTEM: "1" },
    stdio: "pipe"
  })

const plan = Effect.flatMap(Signatures, (signatures) => signatures.plan({ id: "add", type: "tool" }))

/** As a run does of what it is about to start. */
const keepCopy = Effect.gen(function*() {
  const [copies, store, verifier] = [yield* VerifiedCopies, yield* ItemStore, yield* Verifier]
  const { location } = yield* store.find({ id: "add" })
  yield* copies.materialize(yield* verifier.verify(yield* store.read(location)), undefined)
})

const trustBob = (as: "me" | "other") =>
  Effect.flatMap(SignerTrust, (trust) => {
    const grant = { signer, as, project: undefined }
    return trust.add(grant, agree(trust.proposeAdd(grant)))
  })

describe("a teammate's item that is changed and signed is shown by the change, if", () => {
  for (const { as = "me", committed, isBase, name, now, ran = false, trusted = true } of cases) {
    it.live(`${isBase ? "" : "not where "}${name}`, () =>
      Effect.gen(function*() {
        const made = yield* realProject({ ".ai/.gitignore": "logs/\ncache/\n" })
        git(made.project, made.project, "init", "-q")
        yield* Effect.gen(function*() {
          if (trusted) yield* trustProject
          if (as !== "nobody") yield* trustBob(as)
          if (ran) {
            made.write(path, theirs)
            yield* keepCopy
          }
          if (committed !== undefined) made.write(path, committed)
          git(made.project, made.project, "add", ...(committed === undefined ? [".ai/.gitignore"] : ["."]))
          git(made.project, made.project, "commit", "-qm", "x")
          made.write(path, now)
          const { items: [item], request } = yield* plan
          assert.strictEqual(item?.change, isBase ? "changed" : "new")
          assert.strictEqual(item!.diff.includes("+# kept line"), !isBase, item!.diff)
          assert.strictEqual(request.details.includes("- changed from bob's version 1.0.0\n"), isBase)
          if (!isBase) assert.notMatch(item!.diff, /^-(?!-)/m)
          const signatures = yield* Signatures
          yield* signatures.sign(yield* plan, agree(request))
          assert.strictEqual((yield* plan).items[0]?.change, "same")
        }).pipe(Effect.provide(kernelOf(made)))
      }).pipe(Effect.scoped))
  }

  it.live("a file of a folder was changed, and the others are not shown", () =>
    Effect.gen(function*() {
      const folder = locationOf("tools/web/fetch", { kind: "folder" })
      const files = [
        folderFile(
          "tool.yaml",
          `version: "1.0.0"\ntool_type: bash\nexecutor_id: bash_runtime\nentrypoint: main.sh\n`
        ),
        folderFile("main.sh", "#!/bin/bash\necho one\n", true),
        folderFile("lib/other.sh", "echo kept\n")
      ]
      const made = yield* realProject(
        Object.fromEntries(
          files.map((file) => [`.ai/tools/web/fetch/${file.path}`, Buffer.from(file.bytes).toString()])
        )
      )
      made.write(".ai/tools/web/fetch.kiwi-sig", signFolder(bob, folder, files))
      git(made.project, made.project, "init", "-q")
      git(made.project, made.project, "add", ".")
      git(made.project, made.project, "commit", "-qm", "x")
      made.write(".ai/tools/web/fetch/main.sh", "#!/bin/bash\necho two\n")
      yield* Effect.gen(function*() {
        yield* trustProject
        yield* trustBob("me")
        const { items: [item] } = yield* Effect.flatMap(Signatures, (s) => s.plan({ id: "fetch", type: "tool" }))
        assert.strictEqual(item?.change, "changed")
        assert.include(item!.diff, "-echo one\n+echo two")
        assert.notInclude(item!.diff, "kept")
      }).pipe(Effect.provide(kernelOf(made)))
    }).pipe(Effect.scoped))
})
