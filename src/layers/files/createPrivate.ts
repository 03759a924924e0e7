import { closeSync, constants, openSync } from "node:fs"
import { errorCode } from "../process/errorCode.ts"

const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = constants

/**
 * Creates an empty private file for SQLite, which would make it readable for everybody. An existing file is not opened:
 * closing it would release the locks that this process holds on it. Throws the system's error.
 */
export const createPrivate = (path: string): void => {
  try {
    closeSync(openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
  }
}
