// Finds the file for a command. A bare name is looked up by EnvResolver's rules, and not by the operating system: so
// what is shown and locked is what runs, and a project's file is never found by name.
import { Result } from "effect"
import * as Fs from "node:fs"
import { platform } from "node:os"
import * as Path from "node:path"
import * as HostFiles from "../env/HostFiles.ts"
import { makePrograms, type Programs } from "../env/searchPath.ts"
import { errorCode } from "./errorCode.ts"

export interface ProgramQuery {
  readonly command: string
  /** The working directory: a path with a slash is relative to it. */
  readonly folder: string
  /** The project's folder. Its programs are not found by name. */
  readonly project: string
  /** The child's PATH. */
  readonly searchPath: string | undefined
}

const usual = { posix: "/usr/local/bin:/usr/bin:/bin", windows: "C:\\Windows\\System32;C:\\Windows" }

const notFound = "no such program on PATH, where entries inside the project do not count"

/** An absolute path, or what is wrong. `issue` may be an error code of the operating system. */
export const makeFindProgram = (windows = platform() === "win32") => {
  const path = windows ? Path.win32 : Path.posix
  let latest: { readonly key: string; readonly programs: Programs } | undefined
  const programsOn = (searchPath: string, project: string): Programs => {
    const key = `${project}\0${searchPath}`
    if (latest?.key !== key) {
      latest = { key, programs: makePrograms({ host: HostFiles.node, path, windows, searchPath, projects: [project] }) }
    }
    return latest.programs
  }
  return ({ command, folder, project, searchPath }: ProgramQuery): Result.Result<string, string> => {
    if (!/[/\\]/.test(command)) {
      const found = programsOn(searchPath ?? usual[windows ? "windows" : "posix"], project).find(command)
      return found === undefined ? Result.fail(notFound) : Result.succeed(found)
    }
    const file = path.resolve(folder, command)
    return Result.try({
      try: () => {
        Fs.accessSync(file, Fs.constants.X_OK)
        if (!Fs.statSync(file).isFile()) throw Object.assign(new Error("it is not a file"), { code: "EACCES" })
        return file
      },
      catch: (cause) => errorCode(cause) || "ENOENT"
    })
  }
}
