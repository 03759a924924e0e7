/** The first module of the `kiwi` program: compiled code is in use before anything large is loaded. */
import { enableCompileCache } from "node:module"
import { compiledFolder } from "../../layers/workspace/home/compiledFolder.ts"

const folder = compiledFolder(process.env, process.getuid?.())
if (folder !== undefined) enableCompileCache(folder)

await import("./kiwi.ts")
