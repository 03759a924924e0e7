// Kiwi's own server over HTTP, for the suite.
import { fakeServer } from "../support/mcp/start.ts"
import { start } from "./suite.ts"

export const ownServer = () => start(process.execPath, [fakeServer, "http-no-auth"])
