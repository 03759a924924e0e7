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

const shownSpace = ({ userHome, userSpace }: KiwiHome["Service"]): string =>
  userSpace === join(userHome, ".ai") ? "~/.ai" : "\"$USER_SPACE\""

/** `folder` and those above it, up to the user space: "extractors/tool" has "extractors". */
const upwards = (folder: string): ReadonlyArray<string> => folder === "." ? [] : [...upwards(dirname(folder)), folder]

/**
 * Why a file of the user space does not count: others can change it, or a folder that it lies in. Undefined if they
 * cannot. `path`: relative to the user space, ".env".
 */
export const openUserControl = (home: KiwiHome["Service"], path: string): ControlUnusable | undefined => {
  const { userSpace } = home
  const shown = shownSpace(home)
  const file = join(userSpace, path)
  const real = attempt(() => realpathSync.native(file))
  const places = [
    [userSpace, "the user space", shown],
    ...upwards(dirname(path)).map((one) => [join(userSpace, one), `the folder ${one}`, `${shown}/${one}`] as const),
    ...(real === undefined || real === file
      ? []
      : [[dirname(real), "the folder that the link leads to", `"$(dirname "$(realpath ${shown}/${path})")"`] as const]),
    [file, "it", `${shown}/${path}`]
  ] as const
  for (const [place, what, command] of places) {
    const stat = attempt(() => statSync(place))
    if (stat !== undefined && isOpenToOthers(stat)) return mine(what, command)
  }
  return undefined
}

/** Undefined if there is no such file. `path`: relative to the user space, "config/kiwi.yaml". */
export const readUserControl = (
  home: KiwiHome["Service"],
  path: string
): Result.Result<Buffer | undefined, ControlUnusable> => {
  const open = openUserControl(home, path)
  if (open !== undefined) return Result.fail(open)
  const shown = shownSpace(home)
  const file = join(home.userSpace, path)
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
