/** Writes docs/settings.md from the definitions of the settings; a test keeps the two in step. */
import { writeFileSync } from "node:fs"
import { documentation } from "../src/services/settings/settingsPage.ts"

writeFileSync(new URL("../docs/settings.md", import.meta.url), documentation())
