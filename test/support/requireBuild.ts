// Runs before every file of end-to-end tests: they drive what `npm run build` made.
import { existsSync } from "node:fs"

if (!existsSync(new URL("../../dist/bin/start.js", import.meta.url))) {
  throw new Error("dist/bin/start.js is missing, and the end-to-end tests drive it: run `npm run build` first")
}
