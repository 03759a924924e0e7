/** The first module of the `kiwi` program: turns the compile cache on before anything large is loaded. */
import { enableCompileCache } from "node:module"
import { compiledFolder } from "../../layers/workspace/home/compiledFolder.ts"

const folder = compiledFolder(process.env, process.getuid?.())
if (folder !== undefined) enableCompileCache(folder)

await import("./kiwi.ts")
