/**
 * Builds `dist/`: the library unbundled, so that a user's program and Kiwi share one `effect`, and the programs
 * bundled, which is most of their start-up time. A dynamic `import()` in the sources stays one: what it loads becomes a
 * chunk of its own and costs nothing until it is used.
 */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown, type RolldownOutput } from "rolldown"
import { writeSystemManifest } from "./systemManifest.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const dist = join(root, "dist")

const compileLibrary = () => {
  const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
    cwd: root,
    stdio: "inherit"
  })
  if (status !== 0) process.exit(status ?? 1)
}

const bundlePrograms = async () => {
  const bundle = await rolldown({
    cwd: root,
    // An input is kept whole, though nothing imports anything from it.
    input: { start: "src/programs/bin/start.ts", kiwi: "src/programs/bin/kiwi.ts" },
    platform: "node",
    // A native module brings its own file for every platform.
    external: ["@napi-rs/keyring"]
  })
  const output = await bundle.write({
    dir: join(dist, "bin"),
    format: "esm",
    chunkFileNames: "chunks/[name]-[hash].js",
    // Each file costs a start a millisecond. So there is one for what runs before the compile cache is on, one for what
    // every command loads, one for what `kiwi serve` adds, and one for what the first call needs.
    codeSplitting: {
      groups: [
        { name: "home", test: /[/\\]src[/\\]layers[/\\]workspace[/\\]home[/\\]compiledFolder\.ts$/, priority: 3 },
        { name: "common", test: /[/\\]src[/\\]programs[/\\]bin[/\\]kiwi\.ts$/, priority: 2 },
        { name: "serve", test: /[/\\]src[/\\]programs[/\\]mcp[/\\]serve\.ts$/, priority: 1 },
        { name: "kernel", test: /[/\\]src[/\\](layers[/\\]Kernel|programs[/\\]mcp[/\\]edge)\.ts$/ }
      ]
    },
    // What is read at every start is half as long. Names stay: an error's stack is for people.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } }
  })
  await bundle.close()
  return output
}

/** The licences of the packages that are in the bundles, which ask to go where their code goes. */
const collectLicenses = ({ output }: RolldownOutput) => {
  const packages = new Set(
    output.flatMap((chunk) => chunk.type === "chunk" ? chunk.moduleIds : []).flatMap((id) =>
      /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id.replaceAll("\\", "/"))?.[0] ?? []
    )
  )
  return [...packages].toSorted().map((folder) => {
    const { license, name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    const text = file === undefined ? "" : `\n${readFileSync(join(folder, file), "utf8").trim()}\n`
    return `${name} ${version} (${license})\n${text}`
  }).join(`\n${"-".repeat(80)}\n\n`)
}

rmSync(dist, { recursive: true, force: true })
writeSystemManifest()
compileLibrary()
writeFileSync(join(dist, "bin", "LICENSES.txt"), collectLicenses(await bundlePrograms()))
