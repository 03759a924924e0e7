// The file of a script as its interpreter finds it: Node and Bun take one without its ending too.
import { realpathSync } from "node:fs"
import { attempt } from "../files/attempt.ts"

const endings = ["", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".tsx", ".jsx", ".json"]

/** The real path of a script by its absolute path; `undefined` where there is none. */
export const realScript = (path: string): string | undefined => {
  for (const ending of endings) {
    const real = attempt(() => realpathSync(`${path}${ending}`))
    if (real !== undefined) return real
  }
  return undefined
}
