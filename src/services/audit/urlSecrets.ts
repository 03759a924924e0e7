// Removes from a text what URLs in it carry to prove who asks: userinfo, and the values of query and form fields whose
// name is that of a secret. Also in a URL that is a field of another one, or the whole of which is Base64.
import { Result } from "effect"
import * as Base64Url from "effect/encoding/Base64Url"
import { isSecretField, isSecretKey } from "./secretNames.ts"

export const mark = "‹redacted›"

/** URLs within URLs. */
const maxDepth = 4

/** Browsers and `fetch` take `https:user@host` and backslashes, too. A JSON text may have `\/` for each slash. */
const userinfo =
  /(?<![a-z0-9+.-])((?:(?:https?|wss?|ftp):[/\\]*|[a-z][a-z0-9+.-]{0,31}:[/\\]{2,8}))([^/\\\s?#"'<>`$(){}|]{0,1024})@/gi

/**
 * A field of a query, a fragment or a form. What a shell would run or replace stays: a person has to see that in a
 * question.
 */
const field = /((?:^|[?&;#])([\w.~%+[\]-]{1,128})=)([^&;#\s"'<>\\`$(){}|]+)/g

/** Several fields and nothing else. */
const isForm = /^[\w.~%+[\]-]{1,128}=[^&\s]*&[^\s]*$/

const encodedText = /(?:[\w.~!*'()+-]|%[0-9a-f]{2})+/gi
/** A colon or an equals sign, encoded once or more. */
const hasEncoded = /%(?:25)*3[ad]/i

const base64 = /^[\w+/-]{16,}={0,2}$/
const shortestBase64 = 16

const isAnonymous = (scheme: string, who: string): boolean =>
  who === "" || (/^[^:]*(?:ssh|sftp|git):/i.test(scheme) && !who.includes(":"))

/** Bytes that are no UTF-8 are read as Latin-1. */
const decodePercent = (text: string): string =>
  Result.getOrElse(
    Result.try(() => decodeURIComponent(text)),
    () => text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  )

const decodeBase64 = (text: string): string | undefined => {
  const url = text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
  return Result.getOrUndefined(Base64Url.decodeString(url))
}

const redactIn = (text: string, depth: number): string => {
  let redacted = text
  if (text.includes("@")) {
    redacted = redacted.replace(
      userinfo,
      (whole: string, scheme: string, who: string) => isAnonymous(scheme, who) ? whole : `${scheme}${mark}@`
    )
  }
  if (text.includes("=")) {
    redacted = redacted.replace(
      field,
      (whole: string, before: string, written: string) => {
        const name = written.includes("%") ? decodePercent(written) : written
        // Alone it may be a variable: `code=1`.
        const isField = /^[?&;#]/.test(before) || isForm.test(redacted)
        return (isField ? isSecretField(name) : isSecretKey(name)) ? before + mark : whole
      }
    )
  }
  if (depth >= maxDepth) return redacted
  if (redacted.includes("%") && hasEncoded.test(redacted)) {
    redacted = redacted.replace(encodedText, (whole: string) => {
      if (!hasEncoded.test(whole)) return whole
      const inner = decodePercent(whole)
      const safe = redactIn(inner, depth + 1)
      return safe === inner ? whole : safe.split(mark).map(encodeURIComponent).join(mark)
    })
  }
  if (redacted.length >= shortestBase64 && base64.test(redacted)) {
    const inner = decodeBase64(redacted)
    if (inner !== undefined && redactIn(inner, depth + 1) !== inner) return mark
  }
  return redacted
}

/** Free for a text without any URL, field or Base64. */
export const redactUrls = (text: string): string => redactIn(text, 0)

const wholeUrl = /^(?:https?|wss?|ftp):\/\/[^\s"'<>\\`$(){}|;]*$/i

/** For a text that a person has to see before it is run or written: only where all of it is one URL. */
export const redactWholeUrl = (text: string): string => wholeUrl.test(text) ? redactUrls(text) : text
