// Reads a control file of the user space, such as `config/kiwi.yaml`. It may be a link, as dotfiles often are. It counts
// only if no other user can change it: neither the file nor a folder that it lies in, where it could be replaced.
import { Result } from "effect"
import { realpathSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { maxControlBytes } from "../../services/workspace/controlYaml.ts"
import type { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { attempt } from "../files/attempt.ts"
import { isOpenToOthers, readAll, withRegular } from "../files/readRegular.ts"
import { isAbsent, refusalOf } from "../files/refused.ts"

/** Why a control file does not count, and what to do. Names no path of this machine. */
export interface ControlUnusable {
  readonly issue: string
  readonly hint: string
}

const mine = (what: string, path: string): ControlUnusable => ({
  issue: `other users can change ${what}`,
  hint: `chmod go-w ${path}; if another user owns it, also: chown "$USER" ${path}`
})

/** Undefined if there is no such file. `path`: relative to the user space, "config/kiwi.yaml". */
export const readUserControl = (
  { userHome, userSpace }: KiwiHome["Service"],
  path: string
): Result.Result<Buffer | undefined, ControlUnusable> => {
  const shown = userSpace === join(userHome, ".ai") ? "~/.ai" : "\"$USER_SPACE\""
  const file = join(userSpace, path)
  const real = attempt(() => realpathSync.native(file))
  const folders = [
    [userSpace, "the user space", shown],
    [dirname(file), `the folder ${dirname(path)}`, `${shown}/${dirname(path)}`],
    ...(real === undefined || real === file
      ? []
      : [[dirname(real), "the folder that the link leads to", `"$(dirname "$(realpath ${shown}/${path})")"`] as const])
  ] as const
  for (const [folder, what, command] of folders) {
    const stat = attempt(() => statSync(folder))
    if (stat !== undefined && isOpenToOthers(stat)) return Result.fail(mine(what, command))
  }
  return Result.try({
    try: () => withRegular(file, { maxBytes: maxControlBytes, follow: true, own: true }, (opened) => readAll(opened)),
    catch: (error) => error
  }).pipe(
    Result.orElse((error): Result.Result<undefined, ControlUnusable> => {
      if (isAbsent(error)) return Result.succeed(undefined)
      const { issue, message } = refusalOf(error)
      switch (issue) {
        case "foreign":
          return Result.fail(mine("it", `${shown}/${path}`))
        case "read-only":
          return Result.fail({ issue: "it cannot be read", hint: `chmod u+r ${shown}/${path}` })
        default:
          return Result.fail({ issue: message, hint: `Make ${shown}/${path} a file that you can read, or remove it` })
      }
    })
  )
}
