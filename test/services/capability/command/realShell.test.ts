import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { posix } from "node:path"
import { readCommand } from "../../../../src/services/capability/command/readCommand.ts"
import type { Shell } from "../../../../src/services/capability/command/shellWords.ts"
import {
  type CommandReading,
  openedFiles,
  type SimpleCommand,
  type Word
} from "../../../../src/services/capability/command/SimpleCommand.ts"
import { describeWith } from "../../../support/realParts.ts"
import { share } from "../../../support/share.ts"
import { temporary } from "../../../support/temporary.ts"
import {
  programs,
  randomCharacters,
  randomFrom,
  randomScript,
  randomText,
  randomWord,
  times,
  writeWord
} from "./randomCommands.ts"
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

const seed = 20_260_901

describeWith(["bash"], "commands that real shells run", () => {
  it.effect("are all listed: random pieces in bash", () =>
    Effect.gen(function*() {
      const random = randomFrom(seed)
      const found = compare(
        yield* temporary,
        "bash",
        "bash",
        times(share(6000), (i) => i % 3 === 0 ? randomCharacters(random) : randomText(random))
      )
      assert.isTrue(
        found.certain > share(1000) && found.started > share(800) && found.written > share(100),
        JSON.stringify(found)
      )
    }))

  it.effect("are all listed: scripts in bash", () =>
    Effect.gen(function*() {
      const random = randomFrom(seed + 1)
      const found = compare(yield* temporary, "bash", "bash", times(share(600), () => randomScript(random)))
      assert.isTrue(
        found.certain > share(400) && found.started > share(800) && found.written > share(300),
        JSON.stringify(found)
      )
    }))

  it.effect("are all listed: pieces and scripts in sh", () =>
    Effect.gen(function*() {
      const random = randomFrom(seed + 2)
      const texts = times(share(1000), () => random(10) > 0 ? randomText(random) : randomScript(random))
      const found = compare(yield* temporary, "sh", "sh", texts)
      assert.isTrue(
        found.certain > share(150) && found.started > share(150) && found.written > share(50),
        JSON.stringify(found)
      )
    }))

  it.effect("get the words that were read, however they are written", () =>
    Effect.gen(function*() {
      for (const shell of ["bash", "sh"] as const) {
        const random = randomFrom(seed + 3)
        const written = times(
          share(shell === "bash" ? 1000 : 400),
          () => times(1 + random(4), () => randomWord(random))
        )
        const lines = written.map((words) => `a ${words.map((word) => writeWord(random, word, shell)).join("  ")} \n`)
        const read = lines.flatMap((line) => readCommand(line, shell).commands)
        assert.deepStrictEqual(read.map(({ words }) => words.map(({ text }) => text)), written)
        assert.isTrue(read.every(({ words }) => words.every(({ fixed }) => fixed)))
        const [recorded] = runInShell(shell, yield* temporary, [lines.join("")], ["a"])
        assert.deepStrictEqual(recorded!.started.map(({ argv }) => argv.slice(1)), written)
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
        "command a -x",
        "timeout 5 nice env X=1 a b",
        "timeout 5 echo"
      ]
      const found = compare(yield* temporary, "sh", "sh", texts, ["env", "nice", "nohup", "timeout"])
      assert.deepStrictEqual([found.certain, found.started], [texts.length, texts.length - 1])
    }))
})
