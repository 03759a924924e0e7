import { assert, it } from "@effect/vitest"
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rolldown } from "rolldown"
import { afterAll, beforeAll } from "vitest"
import { devDependencies, pack, root, shellBeside, version } from "../support/packed.ts"
import { programsOf } from "./consumer/programs.ts"

const folder = mkdtempSync(join(tmpdir(), "kiwi-pack-"))
const project = join(folder, "project")
const installed = join(project, "node_modules/kiwi-mcp")

afterAll(() => rmSync(folder, { recursive: true }))

const run = shellBeside(folder)

beforeAll(async () => {
  const tarball = await pack(folder)
  mkdirSync(project)
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }))
  const own = ["effect", "@effect/platform-node", "@types/node"].map((name) => `${name}@${devDependencies[name]}`)
  await run(
    "npm",
    ["install", "--prefer-offline", "--no-audit", "--no-fund", tarball, ...own, "esbuild@0.28.2"],
    project
  )
})

it("the package holds the program, the library and what they need, and nothing else", () => {
  const allowed = new Set([".ai", "CHANGELOG.md", "LICENSE", "README.md", "bin", "dist", "docs", "package.json"])
  assert.deepStrictEqual(readdirSync(installed).filter((name) => !allowed.has(name)), [])
  for (
    const name of ["CHANGELOG.md", "LICENSE", "README.md", "bin/kiwi.cjs", "dist/bin/start.js", "dist/bin/LICENSES.txt"]
  ) {
    assert.isNotEmpty(readFileSync(join(installed, name)), name)
  }
  const sources = readdirSync(join(installed, "dist"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts") && !file.endsWith(".d.ts")
  )
  assert.deepStrictEqual(sources, [])
})

it("installing it runs nothing", () => {
  const { scripts } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
  assert.doesNotHaveAnyKeys(scripts, ["preinstall", "install", "postinstall", "prepare", "prepublish"])
})

const documented = ["embedding", "replace-a-service"].flatMap((page) =>
  programsOf(readFileSync(join(root, `docs/${page}.md`), "utf8"))
)
const fileOf = (index: number) => `documented${index}.ts`

it("the installed program makes an empty folder a project, and prints what to tell an MCP client", async () => {
  const said = await run(join(project, "node_modules/.bin/kiwi"), ["init", "."], project)
  assert.include(said, "mcpServers")
  assert.include(readdirSync(join(project, ".ai")), "tools")
})

it("programs with their own effect type-check against it, libraries included", async () => {
  copyFileSync(join(root, "test/e2e/consumer/consumer.ts"), join(project, "consumer.ts"))
  for (const [index, { program }] of documented.entries()) writeFileSync(join(project, fileOf(index)), program)
  const compilerOptions = {
    exactOptionalPropertyTypes: true,
    lib: ["ES2024", "ESNext.Disposable", "DOM"],
    module: "NodeNext",
    noEmit: true,
    skipLibCheck: false,
    strict: true,
    target: "ES2024",
    types: ["node"]
  }
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "."], project)
})

it("a program runs a real tool as an Effect and as a promise, and one in memory", async () => {
  assert.deepStrictEqual(JSON.parse(await run(process.execPath, ["consumer.ts"], project)), {
    library: version,
    testing: version,
    run: { sum: 3 },
    promised: { slug: "hello-there" },
    tested: "in memory"
  })
})

for (const [index, { prints, title }] of documented.entries()) {
  it(`docs: "${title}", program ${index + 1}, prints what it says`, async () => {
    assert.strictEqual(await run(process.execPath, [fileOf(index)], project), prints)
  })
}

/** One file in a folder without packages; it runs in the project as the documented program does. */
const bundled = async (name: string, bundle: (input: string, output: string) => Promise<unknown>) => {
  const [{ prints = "" } = {}] = documented
  const file = join(folder, name, "program.mjs")
  await bundle(join(project, fileOf(0)), file)
  return { prints, printed: await run(process.execPath, [file], project) }
}

it("a program that rolldown bundled finds the system items", async () => {
  const { printed, prints } = await bundled("rolldown", async (input, file) => {
    const bundle = await rolldown({ input, platform: "node", external: ["@napi-rs/keyring"] })
    await bundle.write({ file, format: "esm", codeSplitting: false })
    await bundle.close()
  })
  assert.strictEqual(printed, prints)
})

it("a program that esbuild bundled as docs/embedding.md says finds the system items", async () => {
  const page = readFileSync(join(root, "docs/embedding.md"), "utf8")
  const banner = /--banner:js="([^"]+)"/.exec(page)?.[1]
  assert.isDefined(banner)
  const { printed, prints } = await bundled("esbuild", (input, file) =>
    run(
      join(project, "node_modules/.bin/esbuild"),
      [
        input,
        "--bundle",
        "--platform=node",
        "--format=esm",
        "--external:@napi-rs/keyring",
        `--banner:js=${banner}`,
        `--outfile=${file}`,
        "--log-level=error"
      ],
      project
    ))
  assert.strictEqual(printed, prints)
})

it("a program of the package's user shares one effect with it", () => {
  const copies = readdirSync(project, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith("node_modules/effect/package.json")
  )
  assert.deepStrictEqual(copies, ["node_modules/effect/package.json"])
})

it("the installed program starts", async () => {
  assert.strictEqual(await run(join(project, "node_modules/.bin/kiwi"), ["--version"], project), `kiwi ${version}\n`)
})
