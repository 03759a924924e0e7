// Why a file was not written or read, from what the system answered.
import { ReadRefused, WriteRefused } from "../../services/workspace/SafeFiles.ts"
import { errorCode } from "../process/errorCode.ts"

type Issue = WriteRefused["issue"] | ReadRefused["issue"]

/** How SafeFilesNode gives up inside; becomes WriteRefused or ReadRefused at its edge. */
export class Refused extends Error {
  readonly issue: Issue
  constructor(issue: Issue, detail: string) {
    super(detail)
    this.issue = issue
  }
}

const refusal = (error: unknown): Refused => {
  if (error instanceof Refused) return error
  const code = errorCode(error)
  switch (code) {
    case "EROFS":
      return new Refused("read-only", "the file system is read-only")
    case "EACCES":
    case "EPERM":
      return new Refused("read-only", "you may not write there")
    case "ENOSPC":
    case "EDQUOT":
      return new Refused("no-space", "the disk is full")
    case "ELOOP":
      return new Refused("symlink", "a link is in the way")
    case "ENOTDIR":
      return new Refused("not-a-directory", "something on the way is no folder")
    case "EEXIST":
      return new Refused("exists", "it is already there")
    case "EISDIR":
      return new Refused("exists", "a folder of that name is there")
    case "ENAMETOOLONG":
      return new Refused("io", "the name is too long")
    default:
      return new Refused("io", code === "" ? "an unexpected failure" : `the system answered ${code}`)
  }
}

export const asWrite = (path: string) => (error: unknown): WriteRefused => {
  const { issue, message } = refusal(error)
  switch (issue) {
    case "too-large":
    case "not-a-file":
    case "foreign":
    case "permission":
      return new WriteRefused({ path, issue: "io", detail: message })
    default:
      return new WriteRefused({ path, issue, detail: message })
  }
}

export const asRead = (path: string) => (error: unknown): ReadRefused => {
  const { issue, message } = refusal(error)
  switch (issue) {
    case "read-only":
      return new ReadRefused({ path, issue: "permission", detail: "you may not read it" })
    case "not-a-directory":
    case "exists":
      return new ReadRefused({ path, issue: "not-a-file", detail: message })
    case "no-space":
      return new ReadRefused({ path, issue: "io", detail: message })
    default:
      return new ReadRefused({ path, issue, detail: message })
  }
}
