// A program of a test as one bundle: it starts in a third of the time that its modules would take one by one.
import { Effect } from "effect"
import * as fs from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import { temporary } from "./temporary.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The bundle's path. It lies in a folder that looks like this package, so that it finds the system items. */
export const bundled = Effect.fnUntraced(function*(program: string) {
  const folder = yield* temporary
  fs.writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "kiwi-mcp", type: "module" }))
  fs.symlinkSync(join(root, ".ai"), join(folder, ".ai"))
  yield* Effect.promise(async () => {
    const bundle = await rolldown({
      cwd: root,
      input: program,
      platform: "node",
      external: ["@napi-rs/keyring"],
      logLevel: "silent"
    })
    await bundle.write({ dir: folder, format: "esm" })
    await bundle.close()
  })
  return join(folder, basename(program).replace(/\.ts$/, ".js"))
})
