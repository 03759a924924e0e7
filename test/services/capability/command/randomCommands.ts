// Random shell commands, from a seed: some from the grammar, most from pieces that stand anyhow beside each other.

export type Random = (below: number) => number

/** Numbers from a seed (mulberry32), so that a failure can be repeated. */
export const randomFrom = (seed: number): Random => {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

export const pick = <A>(random: Random, list: ReadonlyArray<A>): A => list[random(list.length)]!

export const times = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => make(index))

export const programs = ["a", "b", "git", "c-d"]

const words = [
  "a",
  "b",
  "git",
  "x1",
  "-o",
  "--out=p",
  "a=1",
  "'a b'",
  "\"c d\"",
  "\"$x\"",
  "$x",
  "${x}",
  "e\\ f",
  "*",
  "?"
]
const quotes = ["'", "\"", "\\", "\\\\", "\\'", "\\\"", "$'q'", "$'\\''", "$\"r\"", "`", "''", "\"\"", "'#'", "$"]
const operators = [
  ";",
  "&&",
  "||",
  "|",
  "|&",
  "&",
  "\n",
  "\\\n",
  "(",
  ")",
  "{ ",
  "; }",
  "!",
  ";;",
  " ",
  " ",
  "\t",
  "\r",
  "#"
]
const redirections = [
  ">o1 ",
  ">> o2 ",
  "2>&1 ",
  ">/dev/null ",
  "<in ",
  "2>o3 ",
  "<>o4 ",
  ">|o5 ",
  ">&2 ",
  ">sub/o6 ",
  "&>o7 ",
  "<<x ",
  "<<<x ",
  "{v}>o8 ",
  "12>o9 ",
  "2>&- ",
  ">&1",
  ">&o10 ",
  "2 >o11 ",
  "<(a)"
]
const folders = ["cd sub", "cd ..", "cd sub/deep", "cd missing", "cd ./sub", "cd sub/..", "cd 'sub'", "cd -", "cd"]
const builtins = [
  ":",
  "echo",
  "true",
  "false",
  "exit",
  "set -e",
  "time",
  "command",
  "[ a ]",
  "printf a",
  "v=1",
  "a=2 b"
]
const others = [
  "{a,b}",
  "{1..2}",
  "{",
  "}",
  "{}",
  "[",
  "]",
  "~",
  "é",
  "=",
  ",",
  "..",
  "1",
  "2",
  "if",
  "then",
  "fi",
  "a()",
  "$(a)",
  "((",
  "[[",
  "$((1))",
  "${x:=1}"
]

const pieces = [
  words,
  words,
  words,
  programs,
  programs,
  quotes,
  operators,
  operators,
  redirections,
  folders,
  builtins,
  others
]

/** Pieces in any order. */
export const randomText = (random: Random): string =>
  times(1 + random(9), () => pick(random, pick(random, pieces)) + pick(random, ["", "", " ", " ", " "])).join("")

// No slash: what a text writes by mistake must stay in its folder.
const characters = [..."aab  '\"\\$;;&&||<>>(){}!#=~*?[]\n\n\t12-.,:%^+@`"]

/** Characters in any order. */
export const randomCharacters = (random: Random): string =>
  `a ${times(1 + random(10), () => pick(random, characters)).join("")}`

/** A text that every shell can read, with commands of the given programs. */
export const randomScript = (random: Random, depth = 2): string => {
  const command = (): string => {
    const kind = random(12)
    if (kind === 0 && depth > 0) return `( ${randomScript(random, depth - 1)} )${pick(random, ["", " >o1", " 2>&1"])}`
    if (kind === 1 && depth > 0) return `{ ${randomScript(random, depth - 1)}; }${pick(random, ["", " >>sub/o2"])}`
    if (kind < 4) return pick(random, folders.slice(0, 6))
    if (kind === 4) return pick(random, ["true", "false", ":", "echo a", "! a", "! cd sub"])
    const assigned = pick(random, ["", "", "", "", "A=1 ", "A='b c' B=2 "])
    const redirected = pick(random, ["", "", "", " >o1", " 2>&1 >o2", " <in", " >>o3 2>/dev/null"])
    return `${assigned}${pick(random, programs)} ${times(random(4), () => pick(random, words)).join(" ")}${redirected}`
  }
  const joints = ["&&", "&&", "||", ";", "|", "\n", "&& \n", ";\n", "# c\n", "&&\\\n", "|\n"]
  return times(random(4), () => `${command()} ${pick(random, joints)} `).join("") + command()
}

const special = " \t\n'\"\\$`*?[]{}~#!&|;<>()=:,.-%@^é漢😀\r"

export const randomWord = (random: Random): string =>
  times(random(8), () => random(2) === 0 ? pick(random, [...special]) : pick(random, [..."abcXYZ019_/"])).join("")

/** One way, of many, to write this word in a shell. */
export const writeWord = (random: Random, word: string, shell: "bash" | "sh"): string => {
  if (word === "") return pick(random, ["''", "\"\""])
  const written = [...word].map((character) => {
    const ways = [`"${/["\\$`]/.test(character) ? `\\${character}` : character}"`]
    // Continued lines are opaque in a text with `$'`.
    const free = character !== "$" || shell === "bash"
    if (character !== "'" && free) ways.push(`'${character}'`)
    if (/[!-~ ]/.test(character) && free) ways.push(`\\${character}`)
    if (/[A-Za-z0-9_./:,%@-]/.test(character)) ways.push(character, character, character)
    if (shell === "bash" && character.length === 1 && character < "\x7f") {
      ways.push(`$'\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}'`)
      if (/[A-Za-z ]/.test(character)) ways.push(`$'${character}'`)
    }
    return pick(random, ways)
  })
  return written.join(shell === "sh" && random(8) === 0 ? "\\\n" : "")
}
