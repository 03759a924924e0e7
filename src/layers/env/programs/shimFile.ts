// Whether one program is a shim of a version manager: it starts another one, chosen by files of the folder that it is
// started in. A whole folder of them on PATH is told by `shims.ts`.
import type { posix } from "node:path"
import type { HostFiles } from "../HostFiles.ts"

type PathModule = Pick<typeof posix, "basename" | "dirname" | "join">

/** Programs that stand for every program of their manager, by links. */
const sharedPrograms =
  /^(?:mise|rtx|asdf|volta-shim|proto-shim|rustup|rustup-init|elan|swiftly|aqua-proxy|bazelisk(?:-.*|\.[cm]?js)?)$/

/** Managers whose shims may lie beside them without being links: copies, hard links and scripts. */
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

/** Where corepack's `yarn` and `pnpm` really lie. */
const isCorepack = (path: PathModule, name: string, folder: string) =>
  path.basename(folder) === "dist" && path.basename(path.dirname(folder)) === "corepack" &&
  path.basename(name) !== "corepack"

/** Whether a program, links followed, is a shim, under whatever name it was found. */
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
