// What may be the passphrase of a signing key. It keeps out what a program guesses at once; how good it is beyond that
// is the person's choice.
import { Schema } from "effect"

const shortestPassphrase = 8

/** One passphrase typed on two keyboards is one: NFKC. */
export const normalizePassphrase = (typed: string): string => typed.normalize("NFKC")

/** Why it cannot be a passphrase, for a sentence that begins with "it"; `undefined` where it can. */
export const passphraseIssue = (typed: string): string | undefined => {
  const characters = Array.from(normalizePassphrase(typed))
  if (characters.join("").trim() === "") return "is empty"
  if (characters.length < shortestPassphrase) return `has fewer than ${shortestPassphrase} characters`
  if (new Set(characters).size === 1) return "is one character, repeated"
  // What an arrow key types is seen by nobody, and cannot be typed into a variable. A lone surrogate is no character.
  return characters.some((one) => /[\p{Cc}\p{Cs}]/u.test(one))
    ? "holds characters that cannot be typed again"
    : undefined
}

/** A new passphrase was not accepted. The key is as it was. */
export class PassphraseRefused extends Schema.TaggedError<PassphraseRefused>()("PassphraseRefused", {
  /** "has fewer than 8 characters" */
  issue: Schema.String
}) {
  override get message() {
    return `The new passphrase was not accepted: it ${this.issue}. Your signing key is unchanged`
  }
  get remediation() {
    return `Choose one of at least ${shortestPassphrase} characters, not all the same, and type it twice: ` +
      "kiwi identity encrypt"
  }
}
