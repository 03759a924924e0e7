import { assert, describe, it } from "@effect/vitest"
import { passphraseIssue, PassphraseRefused } from "../../../src/services/identity/passphrase.ts"

describe("a passphrase", () => {
  for (
    const [typed, issue] of [
      ["", "is empty"],
      ["        ", "is empty"],
      ["\u00a0\u3000\u2003\u00a0\u3000\u2003\u00a0\u3000", "is empty"],
      ["a", "fewer than 8"],
      ["seven77", "fewer than 8"],
      ["\u{1f511}\u{1f511}\u{1f511}\u{1f512}", "fewer than 8"],
      ["e\u0301e\u0301e\u0301e\u0301", "fewer than 8"],
      ["aaaaaaaaaaaa", "one character"],
      ["\uff41aaaaaaa", "one character"],
      ["up\u001b[Aand down", "cannot be typed"],
      ["longenough\u0000", "cannot be typed"],
      ["tab\tand more", "cannot be typed"],
      ["half a \ud83d surrogate", "cannot be typed"]
    ] as const
  ) {
    it(`is not ${JSON.stringify(typed)}`, () => assert.include(passphraseIssue(typed), issue))
  }

  for (const typed of ["password", "eight 88", "öffne dich, Sesam", " leading and trailing ", "秘密の言葉は長いです"]) {
    it(`may be ${JSON.stringify(typed)}`, () => assert.isUndefined(passphraseIssue(typed)))
  }

  it("that is refused is not repeated, and the rule is said", () => {
    const refused = new PassphraseRefused({ issue: passphraseIssue("seven77")! })
    assert.notInclude(JSON.stringify(refused) + refused.message, "seven77")
    assert.include(refused.remediation, "at least 8 characters")
  })
})
