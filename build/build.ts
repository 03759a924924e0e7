/**
 * Builds `dist/`: the library unbundled, so that consumers share one `effect`, and the programs bundled, because that
 * is most of their start-up time.
 */
import { spawnSync } from "node:child_process"
import { globSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const root = fileURLToPath(new URL("..", import.meta.url))

rmSync(`${root}dist`, { recursive: true, force: true })

const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit"
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)

const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(
    globSync("src/programs/bin/*.ts", { cwd: root }).map((file) => [file.replace(/^.*\/|\.ts$/g, ""), file])
  ),
  platform: "node",
  external: ["@napi-rs/keyring"]
})
await bundle.write({
  dir: `${root}dist/bin`,
  format: "esm",
  chunkFileNames: "chunks/[name]-[hash].js"
})
await bundle.close()
