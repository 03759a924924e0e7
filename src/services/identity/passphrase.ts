// What is accepted as the passphrase of a signing key. Rejects only what a program guesses at once; beyond that the
// strength is the person's choice.
import { Schema } from "effect"

const shortestPassphrase = 8

/** Normalizes to NFKC, so that the same passphrase typed on two keyboards is equal. */
export const normalizePassphrase = (typed: string): string => typed.normalize("NFKC")

/** Why the text cannot be a passphrase, as the end of a sentence that begins with "it". Undefined if it can. */
export const passphraseIssue = (typed: string): string | undefined => {
  const characters = Array.from(normalizePassphrase(typed))
  if (characters.join("").trim() === "") return "is empty"
  if (characters.length < shortestPassphrase) return `has fewer than ${shortestPassphrase} characters`
  if (new Set(characters).size === 1) return "is one character, repeated"
  // The characters of an arrow key are invisible and cannot be typed into a variable. A lone surrogate is not a
  // character.
  return characters.some((one) => /[\p{Cc}\p{Cs}]/u.test(one))
    ? "contains characters that cannot be typed again"
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
