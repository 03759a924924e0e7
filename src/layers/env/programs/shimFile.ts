// Whether a single program is a shim of a version manager, which starts another program that files in its working
// directory choose. `shims.ts` recognizes whole folders of shims on PATH.
import type { posix } from "node:path"
import type { HostFiles } from "../HostFiles.ts"

type PathModule = Pick<typeof posix, "basename" | "dirname" | "join">

/** Programs that act as every program of their manager, through links. */
const sharedPrograms =
  /^(?:mise|rtx|asdf|volta-shim|proto-shim|rustup|rustup-init|elan|swiftly|aqua-proxy|bazelisk(?:-.*|\.[cm]?js)?)$/

/** Managers whose shims may be beside them without being links: copies, hard links and scripts. */
const shimsBeside: ReadonlyArray<readonly [manager: string, shims: RegExp]> = [
  ["rustup", /^(?:cargo(?:-.+)?|rustc|rustdoc|rustfmt|rls|clippy-driver|rust-(?:analyzer|gdb|gdbgui|lldb))$/],
  ["elan", /^(?:lean|lake|leanc|leanmake|leanchecker|leanpkg)$/],
  ["swiftly", /^(?:swift.*|clang.*|lldb.*|sourcekit-lsp)$/],
  ["volta-shim", /^(?:node|npm|npx|pnpm|yarn)$/],
  ["tfenv", /^terraform$/],
  ["tofuenv", /^tofu$/],
  ["tgenv", /^terragrunt$/],
  ["tenv", /^(?:terraform|tofu|terragrunt|terramate|atmos|tf)$/],
  ["bazelisk", /^bazel$/]
]

/** Where corepack's `yarn` and `pnpm` really are. */
const isCorepack = (path: PathModule, name: string, folder: string) =>
  path.basename(folder) === "dist" && path.basename(path.dirname(folder)) === "corepack" &&
  path.basename(name) !== "corepack"

/** Whether a program, with links followed, is a shim, whatever name it was found under. */
export const isShim = (
  files: Pick<HostFiles, "executable" | "realPath">,
  path: PathModule,
  name: string,
  real: string
): boolean => {
  const own = path.basename(real)
  const folder = path.dirname(real)
  const identity = files.executable(real)
  return path.basename(folder) === "shims" ||
    (sharedPrograms.test(own) && path.basename(name) !== own) ||
    isCorepack(path, name, folder) ||
    shimsBeside.some(([manager, shims]) => {
      const beside = path.join(folder, manager)
      if (own === manager) return false
      const found = files.executable(beside)
      return found !== undefined && files.realPath(beside) === beside && (found === identity || shims.test(own))
    })
}
