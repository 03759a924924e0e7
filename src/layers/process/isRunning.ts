// Whether another process runs: who waits for an answer, and whose session an answer is for.
import { Result } from "effect"
import { kill, pid } from "node:process"
import { errorCode } from "./errorCode.ts"

export const ownPid: number = pid

/** Another user's process counts too. */
export const isRunning = (other: number): boolean =>
  Result.match(Result.try(() => kill(other, 0)), {
    onSuccess: () => true,
    onFailure: (error) => errorCode(error) === "EPERM"
  })
