import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readPackageJson } from "../../../src/services/dependency/packageJson.ts"
import { isInPythonRange, pythonRangeProblem } from "../../../src/services/dependency/pythonVersion.ts"
import { checkRequirement } from "../../../src/services/dependency/requirements.ts"
import { readScriptBlock } from "../../../src/services/dependency/scriptBlock.ts"

const long = "a".repeat(100_000)

describe("a requirement of Python", () => {
  for (
    const text of [
      "requests",
      "requests>=2",
      "requests >= 2.0, < 3",
      "requests[socks,security]>=2.8.1,==2.8.*; python_version < \"3.12\"",
      "typing_extensions (>=4.0)",
      "a~=1.0",
      "zope.interface!=5.0.0rc1+local",
      "x===1.0"
    ]
  ) {
    it(`may be ${text}`, () => assert.isTrue(Result.isSuccess(checkRequirement("python", text))))
  }
  for (
    const text of [
      "",
      "--index-url https://elsewhere.example/simple",
      "--index-url=https://elsewhere.example/simple",
      "-e .",
      "-r more.txt",
      ".",
      "./local",
      "../local",
      "/etc/passwd",
      "C:\\local",
      "~/local",
      "https://elsewhere.example/x.whl",
      "git+ssh://git@elsewhere.example/x.git",
      "x @ https://elsewhere.example/x.whl",
      "x@file:///x",
      "x[a @ https://e.example/x]",
      "requests>=2 --index-url https://elsewhere.example",
      "requests>=2\n--index-url https://elsewhere.example",
      "requests # comment",
      "requests${HOME}",
      "requests>=2\\",
      "requests>=2; os_name == 'posix' --hash=sha256:00",
      "requests>=2; --global-option=x",
      "requests>=2;-e",
      "requests>=2; os_name == `id`",
      "requests>=2;\u00a0x",
      "re quests",
      "local.whl>=/x",
      "x[",
      "x[]",
      "x=1",
      "x>=",
      long,
      `x${",".repeat(300)}`
    ]
  ) {
    it(`is not ${JSON.stringify(text).slice(0, 80)}`, () =>
      assert.isTrue(Result.isFailure(checkRequirement("python", text))))
  }
})

describe("a requirement of Node", () => {
  for (
    const text of [
      "left-pad",
      "left-pad@1",
      "left-pad@^1.2.3 || >=2 <3",
      "@scope/name",
      "@scope/name@~1.0.0-rc.1+build",
      "JSONStream@latest"
    ]
  ) {
    it(`may be ${text}`, () => assert.isTrue(Result.isSuccess(checkRequirement("node", text))))
  }
  for (
    const text of [
      "",
      "--registry=https://elsewhere.example",
      "-g",
      ".",
      "./local",
      "../local",
      "/local",
      "~/local",
      "file:local",
      "a@file:local",
      "a@./local",
      "a@..",
      "a@.",
      "a@local.tgz",
      "a@1.0.0-x.tar.gz",
      "local.tgz",
      "a@npm:other@1",
      "a@github:me/it",
      "me/it",
      "a@me/it",
      "a@git+ssh://git@elsewhere.example/x.git",
      "a@https://elsewhere.example/x.tgz",
      "https://elsewhere.example/x.tgz",
      "a@workspace:*",
      "a@link:x",
      "a@1\n--registry=x",
      "node_modules",
      "_private",
      "@scope",
      "@/x",
      long
    ]
  ) {
    it(`is not ${JSON.stringify(text).slice(0, 80)}`, () =>
      assert.isTrue(Result.isFailure(checkRequirement("node", text))))
  }
})

describe("a package.json", () => {
  const read = (json: unknown) => readPackageJson(JSON.stringify(json))
  it("counts as far as packages by name and range go", () => {
    const result = read({
      dependencies: { b: "^1", a: "", c: "1" },
      optionalDependencies: { c: "2" },
      devDependencies: { d: "file:../d" },
      scripts: { preinstall: "x" },
      workspaces: ["x"],
      overrides: { a: "$b", "b@1": { ".": "1.2.3", c: "2" } }
    })
    assert.deepStrictEqual(Result.getOrThrow(result), {
      requirements: ["a@*", "b@^1", "c@2"],
      optional: ["c@2"],
      overrides: "{\"a\":\"$b\",\"b@1\":{\".\":\"1.2.3\",\"c\":\"2\"}}"
    })
  })
  it("is refused with anything else", () => {
    const bad: ReadonlyArray<unknown> = [
      [],
      "x",
      { dependencies: [] },
      { dependencies: { a: 1 } },
      { dependencies: { a: "git+https://elsewhere.example/a" } },
      { optionalDependencies: { a: "file:a" } },
      { dependencies: { "../a": "1" } },
      { dependencies: { "--registry": "1" } },
      { overrides: { a: "npm:b@1" } },
      { overrides: { a: { b: ["1"] } } },
      { overrides: [] },
      { overrides: JSON.parse("{\"a\":".repeat(20) + "\"1\"" + "}".repeat(20)) }
    ]
    for (const json of bad) assert.isTrue(Result.isFailure(read(json)), JSON.stringify(json))
    assert.isTrue(Result.isFailure(readPackageJson("{")))
    assert.isTrue(Result.isFailure(readPackageJson("[".repeat(200_000))))
  })
})

describe("a script block", () => {
  const block = (...lines: ReadonlyArray<string>) =>
    [
      "#!/usr/bin/env python3",
      "# /// script",
      ...lines.map((line) => line === "" ? "#" : `# ${line}`),
      "# ///",
      "x = 1"
    ]
      .join("\n")
  const read = (text: string) => readScriptBlock(text)

  it("is read as PEP 723 has it", () => {
    assert.deepStrictEqual(
      Result.getOrThrow(read(block(
        "requires-python = \">=3.11\"",
        "dependencies = [",
        "  \"requests<3\",  # why",
        "  'rich',",
        "]",
        "",
        "[tool.uv]",
        "index-url = \"https://elsewhere.example\""
      ))),
      { dependencies: ["requests<3", "rich"], requiresPython: ">=3.11" }
    )
    assert.deepStrictEqual(Result.getOrThrow(read(block("x = 1").replaceAll("\n", "\r\n"))), {
      dependencies: [],
      requiresPython: undefined
    })
  })
  it("ends at the last closing line of its comment, and begins nowhere else", () => {
    assert.deepStrictEqual(
      Result.getOrThrow(read(block("dependencies = [\"\"\"", "///", "\"\"\"]")))?.dependencies.length,
      1
    )
    for (
      const none of [
        "",
        "x = 1",
        "# /// script",
        "# /// script\n# dependencies = [\"a\"]\nx\n# ///",
        "# /// script \n# ///",
        "#/// script\n# ///",
        "  # /// script\n# ///",
        "# /// other\n# dependencies = [\"a\"]\n# ///",
        "text = '''\n## /// script\n'''"
      ]
    ) assert.isUndefined(Result.getOrThrow(read(none)), none)
    // What looks like one inside another block is that block's text.
    assert.isUndefined(Result.getOrThrow(read("# /// other\n# /// script\n# dependencies = [\"a\"]\n# ///")))
  })
  it("is refused where it is two, no TOML, or of other types", () => {
    for (
      const bad of [
        `${block("a = 1")}\n${block("a = 1")}`,
        block("dependencies = ["),
        block("dependencies = \"a\""),
        block("dependencies = [1]"),
        block("requires-python = 3"),
        block(`x = ${"[".repeat(100_000)}`)
      ]
    ) assert.isTrue(Result.isFailure(read(bad)), bad.slice(0, 80))
  })
})

describe("a range of Python versions", () => {
  const cases: ReadonlyArray<readonly [version: string, range: string, holds: boolean]> = [
    ["3.11.7", ">=3.11", true],
    ["3.11.7", ">=3.12", false],
    ["3.11.7", ">=3.8,<3.12", true],
    ["3.12.0", "<3.12", false],
    ["3.11.7", "==3.11.*", true],
    ["3.11.7", "!=3.11.*", false],
    ["3.11.7", "~=3.10", true],
    ["4.0.0", "~=3.10", false],
    ["3.11.7", "~=3.11.2", true],
    ["3.11.7", "==3.11.7", true],
    ["3.11.0", "==3.11", true],
    ["3.11.7", "", true],
    ["3.11.7", "nonsense", false],
    ["nonsense", ">=3", false]
  ]
  for (const [version, range, holds] of cases) {
    it(`${version} is ${holds ? "" : "not "}in "${range}"`, () =>
      assert.strictEqual(isInPythonRange(version, range), holds))
  }
  it("is told from what is none", () => {
    assert.isUndefined(pythonRangeProblem(">=3.8, !=3.9.*"))
    for (const text of ["3.8", ">= three", ">=3.8;x", "~=3", ">3.*", long]) assert.isDefined(pythonRangeProblem(text))
  })
})
