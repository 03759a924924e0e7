// Vitest's global setup for the e2e project: bundles the server that tests of the wire start again and again. From its
// sources, a start takes three times as long.
import { dirname } from "node:path"
import { rolldown } from "rolldown"
import { bundledServer, serverSource } from "../runFolder.ts"

export const setup = async () => {
  const bundle = await rolldown({ input: serverSource, platform: "node", external: ["@napi-rs/keyring"] })
  await bundle.write({
    dir: dirname(bundledServer),
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs"
  })
  await bundle.close()
}
