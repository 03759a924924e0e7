import { closeSync, constants, openSync } from "node:fs"
import { errorCode } from "../process/errorCode.ts"

const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = constants

/**
 * Makes an empty file for SQLite, which would make it readable for everybody. A file that exists is not opened: closing
 * it again would free the locks that this process holds on it. Throws what the system says.
 */
export const createPrivate = (path: string): void => {
  try {
    closeSync(openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
  }
}
