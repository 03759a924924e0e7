// Finds a script's file as its interpreter does: Node and Bun accept a path without extension.
import { realpathSync } from "node:fs"
import { attempt } from "../files/attempt.ts"

const endings = ["", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".tsx", ".jsx", ".json"]

/** The real path of a script by its absolute path. Undefined if there is none. */
export const realScript = (path: string): string | undefined => {
  for (const ending of endings) {
    const real = attempt(() => realpathSync(`${path}${ending}`))
    if (real !== undefined) return real
  }
  return undefined
}
