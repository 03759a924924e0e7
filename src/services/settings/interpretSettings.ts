// Applies the text of a file of settings to the values without it.
import { Result } from "effect"
import { safeLine } from "../error/safeText.ts"
import { nearest } from "../schema/schemaIssues.ts"
import { decodeNode } from "../workspace/controlFile.ts"
import { type Position, sentenceOf, type YamlNode } from "../workspace/controlYaml.ts"
import { type Definition, definitions } from "./definitions.ts"
import type { SettingsProblem, SettingsValues } from "./Settings.ts"

type Field = keyof SettingsValues
const fields = new Map<string, Field>()
for (const field of Object.keys(definitions) as Array<Field>) fields.set(definitions[field].key, field)

const settingHint = (key: string): string => {
  const near = nearest(key, fields.keys())
  return near === undefined ? `There are: ${[...fields.keys()].join(", ")}` : `Did you mean ${near}?`
}

interface Given extends Position {
  readonly key: string
  readonly node: YamlNode
}

/** `a: {b: 1}` and `a.b: 1` are the same setting. */
const flatten = (node: YamlNode, prefix: string, { column, line }: Position): ReadonlyArray<Given> =>
  node._tag === "Map" && !fields.has(prefix)
    ? [...node.entries].flatMap(([key, e]) => flatten(e.value, prefix === "" ? key : `${prefix}.${key}`, e))
    : [{ key: prefix, line, column, node }]

export interface Interpreted {
  readonly values: SettingsValues
  readonly problems: ReadonlyArray<SettingsProblem>
  /** The settings that are less strict than `base`: "subprocess.timeout: 3000s". */
  readonly loosens: ReadonlyArray<{ readonly line: number; readonly key: string; readonly setting: string }>
}

/**
 * Applies a file's settings on top of `base`: all of them, or with `narrow` only the stricter ones. `own`: the file is
 * the user's.
 */
export const interpret = (
  node: YamlNode,
  base: SettingsValues,
  file: string,
  narrow: boolean,
  own = false
): Interpreted => {
  const problems: Array<SettingsProblem> = []
  const loosens: Array<{ readonly line: number; readonly key: string; readonly setting: string }> = []
  const values = { ...base }
  const seen = new Set<string>()

  const apply = <K extends Field>(field: K, { key, line, node: given }: Given): void => {
    const definition: Definition<SettingsValues[K]> = definitions[field]
    const decoded = decodeNode(given, definition.schema, key)
    if (Result.isFailure(decoded)) {
      const issue = sentenceOf(decoded.failure.issues[0])
      problems.push({ file, line, issue, hint: `For example: ${key}: ${definition.example ?? definition.written}` })
      return
    }
    if (definition.ownOnly === true && !own) {
      const issue = `${key} counts only in a person's own file`
      problems.push({ file, line, issue, hint: "Set it in config/kiwi.yaml of your user space, or remove it" })
      return
    }
    const value = definition.combine?.(decoded.success, base[field]) ?? decoded.success
    const tightens = definition.tighter?.(value, base[field]) ?? false
    if (!tightens) {
      const written = definition.show?.(decoded.success) ?? (given._tag === "Scalar" ? String(given.value) : "")
      loosens.push({ line, key: definition.key, setting: `${key}: ${written}` })
    }
    if (tightens || !narrow) values[field] = value
  }

  for (const given of node._tag === "Map" ? flatten(node, "", node) : []) {
    const { key, line } = given
    const field = fields.get(key)
    if (field === undefined) {
      const issue = `there is no setting ${safeLine(key, 80)}`
      problems.push({ file, line, issue, hint: settingHint(key) })
    } else if (seen.has(key)) {
      problems.push({ file, line, issue: `${key} is given twice; the first counts`, hint: "Remove one of them" })
    } else {
      seen.add(key)
      apply(field, given)
    }
  }
  if (node._tag !== "Map") {
    problems.push({ file, line: node.line, issue: "settings are a map", hint: "For example: subprocess.timeout: 40s" })
  }
  return { values, problems, loosens }
}
