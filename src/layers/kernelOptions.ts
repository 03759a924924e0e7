// What a program gives a kernel, before anything is built of it: types hold for TypeScript alone.
import { Layer, Predicate, Schema } from "effect"

/** A kernel was given an option that cannot be used. Nothing was opened. */
export class KernelOptionInvalid extends Schema.TaggedError<KernelOptionInvalid>()("KernelOptionInvalid", {
  /** Its name; "options" for all of them. */
  option: Schema.String,
  /** What it has to be: "a Map of functions". */
  needed: Schema.String
}) {
  override get message() {
    return `${
      this.option === "options" ? "The options of a kernel" : `The option ${this.option} of a kernel`
    } must be ${this.needed}`
  }
  get remediation() {
    return "Correct it in the program that opens Kiwi; docs/embedding.md has an example of each option"
  }
}

type Is = (value: unknown) => boolean

const isRecord: Is = (value) =>
  Predicate.isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value))

const isText: Is = (value) => typeof value === "string"

const isFile: Is = (value) => typeof value === "string" || value instanceof Uint8Array

const needs: Readonly<Record<string, readonly [is: Is, needed: string]>> = {
  home: [isText, "the path of a folder"],
  userSpace: [isText, "the path of a folder"],
  items: [
    (value) => isRecord(value) && Object.values(value as object).every(isFile),
    "an object of texts or bytes by path, like { \"tools/acme/greet.yaml\": text }"
  ],
  builtins: [
    (value) =>
      value instanceof Map &&
      [...value].every(([id, handler]) => isText(id) && id !== "" && Predicate.isFunction(handler)),
    "a Map of handlers by id, like new Map([[\"greet\", (input) => Effect.succeed({ data, metadata: {} })]])"
  ],
  replace: [Layer.isLayer, "a Layer, like Layer.succeed(PermissionGate, gate)"]
}

/** What the options of a kernel on disk have besides. */
export const onDisk = { project: [isText, "the path of a folder"] } as const

const entriesAre = (is: Is): Is => (value) =>
  value instanceof Map
    ? [...value].every(([key, one]) => isText(key) && is(one))
    : isRecord(value) && Object.values(value as object).every(is)

const recordOf = (is: Is): Is => (value) => isRecord(value) && entriesAre(is)(value)

const mapOf = (is: Is): Is => (value) => value instanceof Map && entriesAre(is)(value)

const isMemoryFile: Is = (value) => isFile(value) || (isRecord(value) && isFile(Object(value).content))

const memoryFiles = [entriesAre(isMemoryFile), "a Map or an object of texts or bytes by path"] as const

/** What the options of a kernel in memory have besides. */
export const inMemory: typeof needs = {
  project: memoryFiles,
  user: memoryFiles,
  controlFiles: [recordOf(isText), "an object of texts by path"],
  signers: [Array.isArray, "an array of signers"],
  programs: [mapOf(Predicate.isFunction), "a Map of functions by path"],
  network: [Predicate.isFunction, "a function that answers a request"],
  host: [isRecord, "an object with variables and programs"],
  lockfiles: [recordOf((value) => value instanceof Map), "an object of two Maps, project and user"],
  settings: [isRecord, "an object of settings by name"],
  secrets: [recordOf(isText), "an object of texts by name"],
  packages: [mapOf(isText), "a Map of versions by name"]
}

const issueOf = (options: unknown, more: typeof needs): KernelOptionInvalid | undefined => {
  if (!isRecord(options)) return new KernelOptionInvalid({ option: "options", needed: "an object" })
  const given = new Map(Object.entries(options as object))
  for (const [option, [is, needed]] of Object.entries({ ...needs, ...more })) {
    const value: unknown = given.get(option)
    if (value !== undefined && !is(value)) return new KernelOptionInvalid({ option, needed })
  }
  return undefined
}

/**
 * The layer, or one that fails: options are checked when the layer is created, and not when a service is first used.
 */
export const checked = <A, E, R>(
  options: unknown,
  layer: () => Layer.Layer<A, E, R>,
  more: typeof needs = {}
): Layer.Layer<A, E | KernelOptionInvalid, R> => {
  const issue = issueOf(options, more)
  return issue === undefined ? layer() : Layer.effectContext(issue)
}
