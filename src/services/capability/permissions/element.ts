// Reads elements of `<permissions>` strictly: what is unknown is refused, with what was probably meant.
import { Result } from "effect"
import { editDistance } from "../../error/editDistance.ts"

/** An element of a directive. */
export interface Element {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: ReadonlyArray<Element>
  readonly text: string
}

/** What is wrong with an element, and how to write it. */
export interface PermissionIssue<E extends Element = Element> {
  readonly element: E
  readonly issue: string
  readonly hint: string
}

export type Read<A> = Result.Result<A, PermissionIssue>

export const refuse = (element: Element, issue: string, hint: string): Read<never> =>
  Result.fail({ element, issue, hint })

/** The value of an attribute, trimmed. Undefined if it is absent or empty. */
export const attribute = (element: Element, ...names: ReadonlyArray<string>): string | undefined => {
  for (const name of names) {
    const value = Object.hasOwn(element.attributes, name) ? element.attributes[name]!.trim() : ""
    if (value !== "") return value
  }
  return undefined
}

/** `a, b`: the parts of a list. */
export const listOf = (text: string | undefined): ReadonlyArray<string> =>
  (text ?? "").split(",").map((part) => part.trim()).filter((part) => part !== "")

/** The known word that this one is a misspelling of, nearly for certain. */
export const meantBy = (word: string, known: ReadonlyArray<string>): string | undefined => {
  const most = word.length < 8 ? 1 : 2
  return known.find((one) => editDistance(word.toLowerCase(), one, most) <= most)
}

export const onlyAttributes = (element: Element, known: ReadonlyArray<string>): Read<void> => {
  const unknown = Object.keys(element.attributes).find((name) => !known.includes(name))
  if (unknown === undefined) return Result.void
  const meant = meantBy(unknown, known)
  return refuse(
    element,
    `<${element.tag}> has an unknown attribute "${unknown.slice(0, 40)}"`,
    meant === undefined ? `It may have ${known.join(", ")}` : `Write ${meant}`
  )
}

export const onlyChildren = (element: Element, known: ReadonlyArray<string>): Read<void> => {
  const unknown = element.children.find(({ tag }) => !known.includes(tag))
  return unknown === undefined ? Result.void : refuse(
    unknown,
    `<${unknown.tag}> is not allowed in <${element.tag}>`,
    known.length === 0 ? "Remove it" : `It may have ${known.map((tag) => `<${tag}>`).join(", ")}`
  )
}

/** `true`, `false` or absent. */
export const readFlag = (element: Element, name: string): Read<boolean> => {
  const value = attribute(element, name) ?? "false"
  return value === "true" || value === "false"
    ? Result.succeed(value === "true")
    : refuse(element, `${name} is neither "true" nor "false"`, `Write ${name}="true" or leave it out`)
}
