import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { posix } from "node:path"
import { readCommand } from "../../../../src/services/permission/command/readCommand.ts"
import type { Shell } from "../../../../src/services/permission/command/shellWords.ts"
import {
  type CommandReading,
  openedFiles,
  type SimpleCommand,
  type Word
} from "../../../../src/services/permission/command/SimpleCommand.ts"
import { describeWith } from "../../../support/realParts.ts"
import { temporary } from "../../../support/temporary.ts"
import { pick, programs, randomFrom, randomScript, randomText, randomWord, times, writeWord } from "./randomCommands.ts"
import { type Recording, runInShell, start, type Started } from "./realShell.ts"

/** Why the recording has something that the reading has not; undefined if it says everything. */
const missedIn = (reading: CommandReading, { started, files }: Recording): string | undefined => {
  const missed = started.find((one) => !reading.commands.some((command) => says(command, one)))
  if (missed !== undefined) return `it starts ${JSON.stringify(missed)}`
  const written = new Set(
    reading.commands.flatMap(openedFiles).filter(({ direction }) => direction !== "read").map(({ path }) => under(path))
  )
  const file = files.find((path) => !written.has(path))
  return file === undefined ? undefined : `it writes ${file}`
}

const under = (path: string) => posix.join(start, path)

/** `time` is a program too: what it starts is what counts. */
const says = (command: SimpleCommand, { folder, argv }: Started): boolean => {
  const [name, ...rest] = argv
  if (name === "time" && rest.length > 0) return says(command, { folder, argv: rest })
  return command.program === name && command.folders.some((one) => under(one) === folder) && fits(command.words, rest)
}

/** A word that is not fixed is any number of words. */
const fits = (words: ReadonlyArray<Word>, argv: ReadonlyArray<string>): boolean => {
  const [word, ...others] = words
  if (word === undefined) return argv.length === 0
  if (word.fixed) return word.text === argv[0] && fits(others, argv.slice(1))
  return Array.from({ length: argv.length + 1 }, (_, i) => argv.slice(i)).some((rest) => fits(others, rest))
}

const certain = (texts: ReadonlyArray<string>, shell: Shell) =>
  texts.flatMap((text) => {
    const reading = readCommand(text, shell)
    return reading.opaque.length > 0 ? [] : [{ text, reading }]
  })

const show = ({ commands }: CommandReading) =>
  commands.map(({ program, words, redirections, folders }) => JSON.stringify({ program, words, redirections, folders }))
    .join("\n")

const compare = (
  folder: string,
  shell: Shell,
  run: "bash" | "sh",
  texts: ReadonlyArray<string>,
  real: ReadonlyArray<string> = []
) => {
  const cases = certain(texts, shell)
  const recordings = runInShell(run, folder, cases.map(({ text }) => text), run === "sh" ? programs : [], real)
  assert.strictEqual(recordings.length, cases.length)
  for (const [i, { text, reading }] of cases.entries()) {
    const missed = missedIn(reading, recordings[i]!)
    if (missed !== undefined) assert.fail(`${JSON.stringify(text)}: ${missed}, and was read as\n${show(reading)}`)
  }
  return {
    certain: cases.length,
    started: recordings.reduce((sum, { started }) => sum + started.length, 0),
    written: recordings.reduce((sum, { files }) => sum + files.length, 0)
  }
}

const seed = Number(process.env["KIWI_TEST_SEED"] ?? 20_260_901)

const count = (n: number) => n * Number(process.env["KIWI_FUZZ"] ?? 1)

describeWith(["bash"], "commands that real shells run", () => {
  it.effect("are all listed: random pieces in bash", () =>
    Effect.gen(function*() {
      const random = randomFrom(seed)
      const counts = compare(yield* temporary, "bash", "bash", times(count(6000), () => randomText(random)))
      console.log(counts)
    }))

  it.effect("are all listed: scripts in bash", () =>
    Effect.gen(function*() {
      const random = randomFrom(seed + 1)
      const counts = compare(yield* temporary, "bash", "bash", times(count(600), () => randomScript(random)))
      console.log(counts)
    }))

  it.effect("are all listed: pieces and scripts in sh", () =>
    Effect.gen(function*() {
      const random = randomFrom(seed + 2)
      const texts = times(count(1000), () => random(10) > 0 ? randomText(random) : randomScript(random))
      const counts = compare(yield* temporary, "sh", "sh", texts)
      console.log(counts)
    }))

  it.effect("get the words that were read, however they are written", () =>
    Effect.gen(function*() {
      for (const shell of ["bash", "sh"] as const) {
        const random = randomFrom(seed + 3)
        const commands = times(3000, () => {
          const words = times(1 + random(4), () => randomWord(random))
          return {
            words,
            text: `a ${words.map((word) => writeWord(random, word, shell)).join(pick(random, [" ", "  ", "\t"]))}`
          }
        })
        const readings = commands.map(({ text }) => readCommand(text, shell))
        for (const [i, { commands: [command], opaque }] of readings.entries()) {
          assert.deepStrictEqual(opaque, [], commands[i]!.text)
          assert.deepStrictEqual(command!.words, commands[i]!.words.map((text) => ({ text, fixed: true })))
        }
        if (shell === "bash") {
          const recordings = runInShell("bash", yield* temporary, commands.map(({ text }) => text))
          assert.deepStrictEqual(
            recordings.map(({ started }) => started[0]?.argv.slice(1)),
            commands.map(({ words }) => words)
          )
        }
      }
    }))

  it.effect("are those that a starter starts", () =>
    Effect.gen(function*() {
      const texts = [
        "timeout 5 a b",
        "timeout -k 1 -s KILL 5s git x",
        "nice a",
        "nice -n 5 git 'b c'",
        "nice -5 a",
        "nice -n5 a",
        "nohup a b",
        "env a",
        "env A=1 B=2 git x",
        "time a",
        "command git -x",
        "timeout 5 nice env X=1 a b",
        "timeout 5 echo"
      ]
      const counts = compare(yield* temporary, "sh", "sh", texts, ["env", "nice", "nohup", "time", "timeout"])
      console.log(counts)
    }))
})
