// Why a file was not read or written, from the system's error code: one table for everything that uses files.
import { ReadRefused, WriteRefused } from "../../services/files/SafeFiles.ts"
import { errorCode } from "../process/errorCode.ts"

type Issue = WriteRefused["issue"] | ReadRefused["issue"]

/** What functions of this folder throw. Turned into an error of the caller's domain there. */
export class Refused extends Error {
  readonly issue: Issue
  constructor(issue: Issue, detail: string) {
    super(detail)
    this.issue = issue
  }
}

const answers = new Map<string, readonly [issue: Issue, detail: string]>([
  ["EROFS", ["read-only", "the file system is read-only"]],
  ["EACCES", ["read-only", "you have no permission to write there"]],
  ["EPERM", ["read-only", "you have no permission to write there"]],
  ["ENOSPC", ["no-space", "the disk is full"]],
  ["EDQUOT", ["no-space", "the disk is full"]],
  ["ELOOP", ["symlink", "the path contains a link"]],
  ["ENOENT", ["io", "its folder does not exist"]],
  ["ENOTDIR", ["not-a-directory", "a component of the path is not a folder"]],
  ["EEXIST", ["exists", "it is already there"]],
  ["EISDIR", ["exists", "a folder of that name is there"]],
  ["ENXIO", ["not-a-file", "it is not a regular file"]],
  ["ENODEV", ["not-a-file", "it is not a regular file"]],
  ["ENAMETOOLONG", ["io", "the name is too long"]],
  ["EMFILE", ["io", "too many files are open"]],
  ["ENFILE", ["io", "too many files are open"]]
])

/** In the words of a write; some codes read differently in a read. */
export const refusalOf = (error: unknown): Refused => {
  if (error instanceof Refused) return error
  const code = errorCode(error)
  const [issue, detail] = answers.get(code) ??
    ["io", code === "" ? "an unexpected failure" : `the system's error was ${code}`]
  return new Refused(issue, detail)
}

/** Whether the file does not exist, or its folder does not. */
export const isAbsent = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(errorCode(error))

export const asWrite = (path: string) => (error: unknown): WriteRefused => {
  const { issue, message } = refusalOf(error)
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
  const { issue, message } = refusalOf(error)
  switch (issue) {
    case "read-only":
      return new ReadRefused({ path, issue: "permission", detail: "you have no permission to read it" })
    case "not-a-directory":
    case "exists":
      return new ReadRefused({ path, issue: "not-a-file", detail: message })
    case "no-space":
    case "changed":
      return new ReadRefused({ path, issue: "io", detail: message })
    default:
      return new ReadRefused({ path, issue, detail: message })
  }
}
