// What Kiwi knows about programs: the only list of them. A program that is in none of the classes is taken literally:
// its words are known, and only the exact command is proposed as a rule.

/** Words that begin or continue a construct of the shell, in the place of a program. */
export const keywords: ReadonlySet<string> = new Set(
  "! { } [[ ]] case coproc do done elif else esac fi for function if in select then until while".split(" ")
)

/** They change the shell itself, so that the text after them means something else. */
export const shellChangers: ReadonlySet<string> = new Set(
  (". alias bg bind break builtin caller cd chdir compgen complete compopt continue declare dirs disown enable eval " +
    "exec export fc fg getopts hash history jobs let local logout mapfile popd pushd read readarray readonly return " +
    "set setopt shift shopt source suspend times trap typeset ulimit umask unalias unset unsetopt wait zmodload")
    .split(" ")
)

/** Shells' own commands that only print, compare or end the shell: they need no rule. */
export const harmlessBuiltins: ReadonlySet<string> = new Set(
  ": [ echo exit false printf pwd test true type".split(" ")
)

/** They start a program, or many, in a way that is not taken apart. */
export const starters: ReadonlySet<string> = new Set(
  ("at batch busybox chroot chrt cmd cpulimit crontab daemonize dbus-run-session doas entr env-cmd faketime fakeroot " +
    "firejail flock gdb ionice ltrace nsenter parallel perf pkexec powershell proot proxychains proxychains4 pwsh rlwrap runuser " +
    "screen script setarch setpriv setsid sg softlimit start-stop-daemon stdbuf strace su sudo sudoedit systemd-run " +
    "taskset tmux toybox torsocks toolbox unbuffer unshare watch xargs xvfb-run").split(" ")
)

/** They start the program that stands behind their options, and are taken off. */
export type Wrapper = "command" | "env" | "nice" | "nohup" | "time" | "timeout"

/** They start a program for each file that they find, if an option says so. */
export const finders: ReadonlySet<string> = new Set(["fd", "fdfind", "find"])

/** They run the text that they read or are given. */
export const shells: ReadonlySet<string> = new Set(
  "ash bash csh dash elvish fish ksh mksh nu oil osh rbash sh tcsh xonsh yash zsh".split(" ")
)

export const interpreters: ReadonlySet<string> = new Set(
  ("R Rscript awk bun clojure deno elixir erl expect gawk ghci groovy guile ipython irb jshell julia lua luajit mawk " +
    "nawk node nodejs octave osascript perl php pypy pypy3 python python2 python3 racket raku ruby scala swift tclsh " +
    "ts-node tsx wish").split(" ")
)

const wrappers: Record<Wrapper, true> = { command: true, env: true, nice: true, nohup: true, time: true, timeout: true }

/** Whether other programs may stand among its words. */
export const mayStartOthers = (program: string): boolean =>
  keywords.has(program) || shellChangers.has(program) || starters.has(program) || shells.has(program) ||
  finders.has(program) || Object.hasOwn(wrappers, program)

/** With these alone, an interpreter or a program with subcommands does not look at the project or its input. */
export const informational: ReadonlySet<string> = new Set(["--help", "--version", "-V", "-h", "-v"])

/** Variables that decide which program a name means, or what every program loads. */
export const resolvingVariables =
  /^(?:PATH|LD_\w+|DYLD_\w+|BASH_ENV|ENV|IFS|CDPATH|SHELLOPTS|BASHOPTS|BASH_\w+|PS4|PROMPT_COMMAND|GLOBIGNORE|ZDOTDIR|HOME|SHELL)$/

const harmlessNames = new Set(
  ("CI CLICOLOR COLUMNS DEBUG FORCE_COLOR GIT_TERMINAL_PROMPT LANG LC_ALL LC_CTYPE LINES LOG_LEVEL NODE_ENV NO_COLOR " +
    "PORT PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED RAILS_ENV RUST_BACKTRACE RUST_LOG TERM TZ").split(" ")
)

/** Whether a rule need not name this assignment: it changes what a program prints or listens to, not what it runs. */
export const isHarmlessAssignment = (name: string, value: string): boolean =>
  harmlessNames.has(name) && /^[\w.,:=+@%-]*$/.test(value)

/** Options before the subcommand that change nothing but the output. */
const harmlessOptions: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["git", new Set(["--no-pager", "-P", "--no-optional-locks"])],
  ["npm", new Set(["--silent", "-s"])],
  ["yarn", new Set(["--silent", "-s"])],
  ["cargo", new Set(["--quiet", "-q"])]
])

/** How many harmless options stand before the subcommand. */
export const countHarmlessOptions = (program: string, textAt: (index: number) => unknown): number => {
  const harmless = harmlessOptions.get(program)
  let count = 0
  if (harmless !== undefined) { while (harmless.has(textAt(count) as string)) count++ }
  return count
}

/**
 * Programs with subcommands, and the subcommands after which a proposed rule may leave the further words open. `_` is
 * any one word. After a `*`, they are left open even if the command had none. All others – what publishes, deletes,
 * configures, downloads or runs further programs – are proposed as the exact command.
 */
export const subcommands: ReadonlyMap<string, ReadonlyArray<ReadonlyArray<string>>> = new Map(
  Object.entries({
    git: "status *, log *, diff *, show *, blame *, add *, commit *, rev-parse *, ls-files *, ls-tree *, describe *, " +
      "merge-base *, shortlog *, cat-file *, rev-list *, show-ref *, switch, checkout, restore, stash list *, " +
      "stash show *, stash push, worktree list *, mv",
    npm: "test, run _, ls *, list *, outdated *, view *",
    pnpm: "test, run _, ls *, list *, outdated *, why *",
    yarn: "test, run _, list *, outdated *, why *",
    cargo: "build, check, clippy, test, fmt, doc, tree *, bench",
    go: "build, test, vet, fmt, doc *, list",
    gh:
      "pr view *, pr list *, pr diff *, pr checks *, pr status *, issue view *, issue list *, run list *, run view *, " +
      "repo view *",
    docker: "ps *, images *, logs *, inspect *, compose ps *, compose logs *",
    podman: "ps *, images *, logs *, inspect *",
    "docker-compose": "ps *, logs *",
    kubectl: "get *, describe *, logs *",
    terraform: "fmt, validate",
    pip: "list *, show *, freeze *",
    pip3: "list *, show *, freeze *",
    uv: "pip list *, pip show *, tree *",
    poetry: "check *, show *",
    ruff: "check, format",
    dotnet: "build, test, format",
    mix: "test, format, compile",
    swift: "build, test",
    bundle: "list *, show *",
    brew: "list *, info *",
    apt: "list *, show *",
    systemctl: "status *, list-units *",
    dart: "test, analyze, format",
    flutter: "test, analyze",
    ...Object.fromEntries(
      ("ansible apt-get aws az bazel bun composer conda corepack deno dnf doctl fly gcloud gem glab gsutil hatch " +
        "heroku helm hg jj just lerna mamba mise nix nx packer pacman pdm pipenv pipx pulumi rails rustup rye " +
        "serverless snap stack svn tofu turbo vagrant vercel wrangler yum zypper").split(" ").map((
          name
        ) => [name, ""])
    )
  }).map(([program, list]) => [program, list === "" ? [] : list.split(", ").map((words) => words.split(" "))])
)

/** Programs without subcommands that print what they read, or check and test a project: any words may be proposed. */
export const openPrograms: ReadonlySet<string> = new Set(
  ("ava basename bats biome black cal cat cksum clang-format cmp column comm cut date df diff dir dirname du egrep " +
    "eslint expr fgrep file flake8 fold gofmt golangci-lint grep head hexdump hostname id isort jest jq ls lsof markdownlint " +
    "md5sum mocha mypy nl nproc numfmt od oxlint paste phpstan phpunit prettier ps pylint pyright pytest " +
    "readlink realpath rev rg rspec rubocop rustfmt seq sha1sum sha256sum shasum shellcheck sleep stat standard strings " +
    "stylelint tac tail tr tsc uname uptime vitest vue-tsc wc whereis which who whoami yamllint").split(" ")
)
