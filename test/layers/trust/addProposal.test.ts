import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { addProposal } from "../../../src/layers/trust/addProposal.ts"
import { parseProposedSigners } from "../../../src/layers/trust/signers.ts"
import { badNames, newSigner } from "../../services/trust/SignerTrust.contract.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const [ada, bob] = [newSigner("Ada"), newSigner("Bob: \"the\" #1 'signer'")]

describe("a proposed signer's name", () => {
  it.effect("is one line of visible characters, or the entry proposes nobody and says so", () =>
    Effect.gen(function*() {
      for (const name of badNames) {
        const text = `signers:\n  - name: ${JSON.stringify(name)}\n    public_key: ${ada.publicKey}\n`
        const { problems, signers } = yield* parseProposedSigners(bytes(text))
        assert.deepStrictEqual(signers, [], JSON.stringify(name))
        assert.match(problems.map(({ issue, line }) => `${line} ${issue}`).join(), /^2 its name (?:has|is longer)/)
      }
    }))
})

describe("addProposal", () => {
  it.effect("starts a file, adds to it, and keeps what people wrote", () =>
    Effect.gen(function*() {
      const first = (yield* addProposal(undefined, ada))!
      const noted = first.replace("  - name: Ada", "  # Since the beginning\n  - name: Ada # the first")
      const second = (yield* addProposal(bytes(noted), bob))!
      assert.include(second, "# Since the beginning")
      assert.include(second, "# the first")
      const { problems, signers } = yield* parseProposedSigners(bytes(second))
      assert.deepStrictEqual(problems, [])
      assert.deepStrictEqual(signers, [ada, bob])
    }))

  it.effect("leaves a file in which the key is already", () =>
    Effect.gen(function*() {
      const text = (yield* addProposal(undefined, ada))!
      assert.isUndefined(yield* addProposal(bytes(text), { ...ada, name: "Another name" }))
    }))

  for (
    const [what, text] of [
      ["no list", "signers: Ada\n"],
      ["another key", "signers: []\nowner: Ada\n"],
      ["a signer that is none", "signers:\n  - Ada\n"],
      ["an alias", "signers:\n  - &a {name: A, public_key: x}\n  - *a\n"],
      ["no YAML", "signers: [\n"],
      ["a list alone", "- Ada\n"],
      ["a merge conflict in comments", "# a\n<<<<<<< HEAD\n# b\n=======\n>>>>>>> main\n"]
    ] as const
  ) {
    it.effect(`refuses a file with ${what}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(addProposal(bytes(text), ada))
        assert.strictEqual(error._tag, "ProposalRefused")
        assert.isNotEmpty(error.issue)
      }))
  }

  it.effect("starts the list of a file that says nothing, and keeps its comments", () =>
    Effect.gen(function*() {
      const files = ["", "\n", " \n\n", "# ours", "# ours\n", "# ours\r\n", "# ours\n\n# and theirs\n"]
      for (const before of [...files, "---\n", "# ours\n---\n", "{}\n", "null\n", "\ufeff# ours\n"]) {
        const text = (yield* addProposal(bytes(before), ada))!
        const { problems, signers } = yield* parseProposedSigners(bytes(text))
        assert.deepStrictEqual([signers, problems], [[ada], []], JSON.stringify(before))
        for (const comment of before.match(/# .+/g) ?? []) assert.include(text, comment.trim())
        assert.isUndefined(yield* addProposal(bytes(text), ada))
      }
    }))

  it.effect("adds to an empty list", () =>
    Effect.gen(function*() {
      const text = (yield* addProposal(bytes("# ours\nsigners: []\n"), ada))!
      assert.deepStrictEqual((yield* parseProposedSigners(bytes(text))).signers, [ada])
      assert.include(text, "# ours")
    }))
})
