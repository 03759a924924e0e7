import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { parseEnv } from "node:util"
import { cutDotenv } from "../../../src/services/env/dotenvText.ts"
import { variableName } from "../../../src/services/env/variableNames.ts"

const read = (text: string) =>
  Object.fromEntries(cutDotenv(text).entries.map((e) => [e.name, parseEnv(e.text)[e.name]]))
const problems = (text: string) => cutDotenv(text).problems.map((p) => `${p.line}: ${p.issue}`)

describe("cutDotenv", () => {
  it("reads what dotenv reads", () => {
    assert.deepStrictEqual(
      read([
        "\uFEFFA=1",
        " B = two words  # comment",
        "export C='single # not a comment ${X} \\n'",
        "D=\"double\\nline\" # comment",
        "E=`it's \"both\"`",
        "F=",
        "G=\"over",
        "two lines\"",
        "# H=no",
        "I=a=b",
        "J=${NOT} $EXPANDED",
        "L=last",
        "L=wins"
      ].join("\r\n")),
      {
        A: "1",
        B: "two words",
        C: "single # not a comment ${X} \\n",
        D: "double\nline",
        E: "it's \"both\"",
        F: "",
        G: "over\ntwo lines",
        I: "a=b",
        J: "${NOT} $EXPANDED",
        L: "wins"
      }
    )
    assert.deepStrictEqual(problems("A=1\n\n# x\nB='y' # z\n"), [])
  })

  it("says which line is wrong and how, and reads the others", () => {
    const text = ["JUST_A_NAME", "=x", "1A=x", "A B=x", "GOOD=1", "Q='it's'", "U=\"never", "AFTER=2"].join("\n")
    assert.deepStrictEqual(problems(text), [
      "1: expected NAME=value",
      "2: a name has letters, digits and _, and does not start with a digit",
      "3: a name has letters, digits and _, and does not start with a digit",
      "4: a name has letters, digits and _, and does not start with a digit",
      "6: there is text after the closing '; a quote inside needs another kind of quotes around it",
      "7: the quote \" is never closed"
    ])
    assert.deepStrictEqual(read(text), { GOOD: "1", AFTER: "2" })
  })

  it("a value that is cut at # without a blank is said", () => {
    assert.deepStrictEqual(problems("PASSWORD=abc#def"), [
      "1: what follows # is read as a comment; put the value in quotes to keep it"
    ])
  })

  it("names are own keys, and no text takes long", () => {
    assert.deepStrictEqual(cutDotenv("__proto__=1\nconstructor=2").entries.map((e) => e.name), [
      "__proto__",
      "constructor"
    ])
    for (
      const text of ["=".repeat(200_000), "A=\"".repeat(60_000), "\n\"".repeat(2_000), `A='${"\n".repeat(100_000)}`]
    ) {
      cutDotenv(text)
    }
  })

  const Line = Schema.Struct({
    name: Schema.Literals(["A", "B_1", "_C"]),
    quote: Schema.Literals(["", "'", "\"", "`"]),
    value: Schema.Array(Schema.Literals(["a", "Z", "1", " ", "=", "$", "{", "}", "é", "/", ":"])),
    prefix: Schema.Literals(["", "export ", "  "])
  })
  it.effect.prop(
    "well-formed lines lose nothing and raise no issue",
    [Schema.Array(Line)],
    ([written]) =>
      Effect.sync(() => {
        const text = written.map((l) => `${l.prefix}${l.name}=${l.quote}${l.value.join("")}${l.quote}`).join("\n")
        const expected = new Map<string, string>(
          written.map((l) => [l.name, l.quote === "" ? l.value.join("").trim() : l.value.join("")])
        )
        assert.deepStrictEqual(new Map(Object.entries(read(text))), expected)
        assert.deepStrictEqual(problems(text), [])
      })
  )

  const Fragment = Schema.Literals([
    "A=",
    "B_1 = ",
    "export C=",
    "D='",
    "E=\"",
    "F=`",
    "'\n",
    "\"\n",
    "`\r\n",
    "\n",
    "\r\n",
    "'",
    "\"",
    "`",
    "#",
    " # c",
    " ",
    "\t",
    "x",
    "é",
    "\\n",
    "\\",
    "=",
    "${A}",
    "$(x)",
    "a b",
    ":"
  ])
  /** What is empty is unset either way; the library also has "export C" and "#E" for names. */
  const set = (values: Readonly<Record<string, string | undefined>>) =>
    Object.fromEntries(
      Object.entries(values).filter(([name, value]) => value !== "" && variableName.test(name)).toSorted()
    )
  /** Where nothing but blanks follows, the library takes the next line for the value; and after export, the name. */
  const blank = /(?:=[ \t]+|export[^\n]*=[ \t]*)(?:\r?\n|$)/
  it.effect.prop(
    "a file that raises no issue says what the library reads in it as a whole",
    [Schema.Array(Fragment)],
    ([fragments]) =>
      Effect.sync(() => {
        const text = fragments.join("")
        if (problems(text).length > 0 || blank.test(text)) return
        assert.deepStrictEqual(set(read(text)), set({ ...parseEnv(text) }))
      }),
    { arbitrary: { runs: 2_000 } }
  )
})
