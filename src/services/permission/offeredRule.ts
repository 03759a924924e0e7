// The narrowest rule that a person may be offered for an access, as the line after "allow: ". Undefined if no rule can
// name it, or if it would be too wide: an interpreter, a shell or a network client alone.
import { Result } from "effect"
import type { Access, PathCapability } from "../capability/Access.ts"
import { asCommand } from "../capability/command/asCommand.ts"
import { showPattern } from "../capability/command/CommandPattern.ts"
import { showLine } from "../capability/command/exactLine.ts"
import { suggestPattern } from "../capability/command/suggestPattern.ts"
import * as HostPattern from "../capability/scopes/HostPattern.ts"
import { asPattern } from "../capability/scopes/PathPattern.ts"
import { guardedRead } from "./guardedPaths.ts"
import { showTool } from "./rule/ruleSubject.ts"

/** A scope as a part of a list in a line. */
const inList = (scope: string): string => /[,"]|^\s|\s$/.test(scope) ? JSON.stringify(scope) : scope

/** A rule for exactly this; in a sandbox (`confined`), for a program with its subcommand. */
export const ruleFor = (access: Access, confined = false): string | undefined => {
  switch (access._tag) {
    case "Path": {
      const path = access.path === "." ? "**" : asPattern(access.path)
      const pattern = path === undefined || path === "**" || access.below !== true ? path : `${path}/**`
      return pattern === undefined ? undefined : `${access.capability}(${inList(pattern)})`
    }
    case "Command": {
      const command = asCommand(access)
      const pattern = command === undefined
        ? undefined
        : suggestPattern(command, confined && access.unconfined !== true)
      return pattern === undefined ? undefined : `process.exec(${showPattern(pattern)})`
    }
    case "Host": {
      const pattern = HostPattern.asPattern(access.host, access.port)
      return Result.isFailure(HostPattern.parse(pattern)) ? undefined : `net.http(${pattern})`
    }
    case "Secret":
      return /^[A-Za-z0-9_.-]{1,128}$/.test(access.name) ? `secret.use(${access.name})` : undefined
    case "Tool":
      return showTool(access.id)
    case "Plain":
      return access.capability
  }
}

/** A rule for exactly the line that a command is in, which cannot be taken apart. */
export const lineRule = (access: Access): string | undefined =>
  access._tag === "Command" && access.line !== undefined ? `process.exec(${showLine(access.line)})` : undefined

/** A rule for all that is in a folder, which ends with a slash. */
export const folderRule = (capability: PathCapability, folder: string): string | undefined => {
  const inside = asPattern(folder)
  return inside === undefined ? undefined : `${capability}(${inList(`${inside}**`)})`
}

/** What an answer may make of an access that a rule asks about: a file's folder, or the file at the project's root. */
export const offerFor = (access: Access, confined: boolean): string | undefined => {
  if (access._tag === "Tool" || access._tag === "Plain") return undefined
  if (access._tag === "Command") return lineRule(access) ?? ruleFor(access, confined)
  if (access._tag !== "Path" || guardedRead(access.path) !== undefined) return ruleFor(access, confined)
  const folder = access.path.slice(0, access.path.lastIndexOf("/") + 1)
  return folder === "" || folder === "/"
    ? ruleFor(access)
    : folderRule(access.capability, folder) ?? ruleFor(access)
}
