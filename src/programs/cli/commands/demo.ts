// demo: Kiwi in a minute, played in a temporary folder; prints each scene as it ends.
import { Effect } from "effect"
import * as Command from "effect/cli/Command"
import { safeLine } from "../../../services/error/safeText.ts"
import type { Line, Scene } from "../../demo/Scene.ts"
import { withNext } from "../help.ts"
import { Output } from "../Output.ts"
import { Shell } from "../Shell.ts"
import { duration, pad, plural, wrap } from "../text.ts"
import type { Paint } from "../text.ts"

const speakers: Readonly<Record<Line["who"], (paint: Paint) => string>> = {
  you: (paint) => paint.bold(pad("you", 6)),
  agent: (paint) => paint.cyan(pad("agent", 6)),
  kiwi: (paint) => paint.green(pad("kiwi", 6)),
  refusal: (paint) => paint.red(pad("kiwi", 6)),
  check: (paint) => paint.dim(pad("", 6))
}

const indent = " ".repeat(4)

const sceneText = ({ lines, n, title, why }: Scene, paint: Paint, width: number): string => {
  const under = `${indent}${" ".repeat(8)}`
  return [
    `${paint.bold(`${n}`.padStart(2))}  ${paint.bold(title)}`,
    ...lines.flatMap(({ text, who }) => {
      const [first = "", ...rest] = wrap(safeLine(text, 400), width - under.length)
      const color = who === "refusal" ? paint.red : (plain: string) => plain
      return [
        `${indent}${speakers[who](paint)}  ${color(first)}`,
        ...rest.map((line) => `${under}${color(line)}`)
      ]
    }),
    ...wrap(why, width - indent.length).map((line) => `${indent}${paint.dim(line)}`),
    ""
  ].join("\n")
}

export const demoCommand = Command.make("demo", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const { env, started } = yield* Shell
    const { demo } = yield* Effect.promise(() => import("../../demo/demo.ts"))
    const show = (text: (paint: Paint) => string) => output.json ? Effect.void : output.answer(null, text)
    yield* show((paint) =>
      [
        paint.bold("Kiwi in a minute"),
        ...wrap(
          "An agent talks to one MCP server, kiwi serve. Kiwi finds the tool, proves that it is the one that you " +
            "signed, runs it, and keeps the record. Everything here is real, in a temporary folder.",
          output.width
        ),
        ""
      ].join("\n")
    )
    const { duration_ms, scenes } = yield* demo({ env, started }, {
      during: (title, play) => output.busy(title, () => play),
      show: (scene) => show((paint) => sceneText(scene, paint, output.width))
    })
    yield* output.answer({ passed: true, scenes, duration_ms }, (paint) =>
      [
        `${paint.green("✓")} ${plural(scenes.length, "scene")} in ${
          duration(duration_ms)
        }, all with the expected result; nothing is left behind.`,
        `Make a project of your own: ${paint.cyan("kiwi init")}`
      ].join("\n"))
  })).pipe(
    Command.withDescription(
      "Play Kiwi in a minute: an agent connects, finds and runs tools in four languages, writes one and asks you to " +
        "sign it, and is refused what was tampered with and what a stranger's repository brings. All of it is real, in a " +
        "temporary folder with a home of its own. If a scene fails, names it and exits with 1."
    ),
    Command.withShortDescription("See Kiwi work, in a minute"),
    Command.withExamples([{ command: "kiwi demo" }, { command: "npx -y kiwi-mcp demo" }]),
    withNext(["kiwi init", "make a project of your own"])
  )
