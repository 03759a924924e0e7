// Temporary folders of tests, by their real paths.
import { Effect } from "effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A folder that lives as long as the scope. */
export const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), "kiwi-test-")))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)
