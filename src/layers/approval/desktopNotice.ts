// A notification on the person's desktop, by the program that the desktop has for it. It says which tool waits and what
// to type, and nothing that a caller chose.
import { Effect, Option } from "effect"
import { platform } from "node:os"
import { safeLine } from "../../services/error/safeText.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { makeRunOwnChild } from "../process/ownChild.ts"
import type { Program } from "../process/ownPrograms.ts"
import { ownPrograms } from "../process/ownPrograms.ts"
import { variable } from "../process/variable.ts"

/** What `notify-send` needs to reach the desktop. */
const ofDesktop = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"]

const programs: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  darwin: "/usr/bin/osascript",
  linux: "notify-send"
}

export type Desktop =
  | { readonly _tag: "None"; readonly why: string }
  | { readonly _tag: "NoProgram"; readonly name: string }
  | {
    readonly _tag: "Found"
    readonly program: Program
    readonly name: string
    readonly variables: Readonly<Record<string, string>>
  }

/** The desktop that this process can reach, if there is one. */
export const findDesktop = Effect.gen(function*(): Effect.fn.Return<Desktop, never, Workspace> {
  const { project } = yield* Workspace
  const ci = yield* variable("CI")
  if (Option.isSome(ci) && !["false", "0"].includes(ci.value)) return { _tag: "None", why: "CI is set" }
  const name = programs[platform()]
  if (name === undefined) return { _tag: "None", why: "Kiwi knows none for this system" }
  const variables: Record<string, string> = {}
  for (const one of platform() === "linux" ? ofDesktop : []) {
    const value = yield* variable(one)
    if (Option.isSome(value)) variables[one] = value.value
  }
  if (platform() === "linux" && variables["DISPLAY"] === undefined && variables["WAYLAND_DISPLAY"] === undefined) {
    return { _tag: "None", why: "there is no desktop here" }
  }
  const own = yield* ownPrograms(...Option.toArray(Option.map(project, ({ root }) => root)))
  const program = own.find(name)
  return program === undefined ? { _tag: "NoProgram", name } : { _tag: "Found", program, name, variables }
})

/** Neither text can begin with a dash, and the texts are arguments of the script, not part of it. */
export const argumentsFor = (system: NodeJS.Platform, what: string): ReadonlyArray<string> => {
  const texts = [`Kiwi: ${safeLine(what, 120)} waits for you`, "kiwi inbox"]
  return system === "darwin"
    ? [
      ...["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"].flatMap((
        line
      ) => ["-e", line]),
      ...texts
    ]
    : ["--app-name=Kiwi", "--", ...texts]
}

/** Shows that something waits, if there is a desktop. `what`: "run tool deploy". */
export const showOnDesktop = Effect.fnUntraced(function*(what: string) {
  const desktop = yield* findDesktop
  if (desktop._tag !== "Found") return
  const runOwnChild = yield* makeRunOwnChild
  const { program, variables } = desktop
  yield* Effect.ignore(runOwnChild({
    program,
    args: argumentsFor(platform(), what),
    variables,
    within: "10 seconds",
    most: 4_096,
    longer: "is cut"
  }))
})
