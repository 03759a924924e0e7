// Inserts secrets into an environment last, when all checks have passed. Until then a variable with a secret holds the
// reference, and a value made from such a variable holds a mark in its place.
import { Redacted } from "effect"
import type { EnvVariable, ResolvedEnv } from "./EnvResolver.ts"

/** A variable cannot contain a NUL, so a mark cannot be part of its text. */
export const secretMark = (name: string): string => `\0${name}\0`

const mark = /\0([^\0]*)\0/g

/** The environment with the values of its `references`. One without a value stays as it is. */
export const fillSecrets = (
  env: ResolvedEnv,
  values: ReadonlyMap<string, Redacted.Redacted<string>>
): ResolvedEnv => {
  const fill = (variable: EnvVariable): EnvVariable => {
    if (variable.secret !== undefined) return { ...variable, value: values.get(variable.secret) ?? variable.value }
    const text = Redacted.value(variable.value)
    if (!text.includes("\0")) return variable
    const filled = text.replaceAll(mark, (whole, name: string) => {
      const value = values.get(name)
      return value === undefined ? whole : Redacted.value(value)
    })
    return { ...variable, value: Redacted.make(filled) }
  }
  const all = (variables: ReadonlyMap<string, EnvVariable>) =>
    new Map([...variables].map(([name, variable]) => [name, fill(variable)]))
  const { references: _, ...rest } = env
  return { ...rest, child: all(env.child), declared: all(env.declared) }
}
