// Kiwi's own server over HTTP, as it is built, on a new project.
import { kiwi, makeWorld } from "../support/mcp/project.ts"
import { start } from "./suite.ts"

export const ownServer = async () => {
  const world = makeWorld()
  const args = [kiwi, "serve", "--http", "--no-auth", "--port", "0", "--project", world.project]
  const { stop, url } = await start(process.execPath, args, world.env)
  return {
    url,
    stop: async () => {
      await stop()
      world.remove()
    }
  }
}
