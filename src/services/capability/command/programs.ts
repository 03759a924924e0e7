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

/** Programs with subcommands of which no rule leaves further words open. */
const proposedExactly = (
  "ansible apt-get aws az bazel biome bun bundle composer conda corepack dart deno dnf doctl dotnet flutter fly " +
  "gcloud gem glab gsutil hatch helm heroku hg jj just kubectl lerna mamba mise mix nix nx packer pacman pdm " +
  "pipenv pipx poetry pulumi rails rustup rye serverless snap stack svn swift terraform tofu turbo uv vagrant " +
  "vercel wrangler yum zypper"
).split(" ")

/**
 * Programs with subcommands, and the subcommands after which a proposed rule may leave the further words open. `_` is
 * any one word. After a `*`, they are left open even if the command had none. All others – what publishes, deletes,
 * configures, downloads or runs further programs – are proposed as the exact command.
 */
export const subcommands: ReadonlyMap<string, ReadonlyArray<ReadonlyArray<string>>> = new Map(
  Object.entries({
    git: "status *, log *, diff *, show *, blame *, add *, commit *, rev-parse *, ls-files *, ls-tree *, describe *, " +
      "merge-base *, shortlog *, cat-file *, rev-list *, show-ref *, switch, stash list *, " +
      "stash show *, stash push, worktree list *, mv",
    npm: "test, run _, ls *, list *",
    pnpm: "test, run _, ls *, list *, why *",
    yarn: "test, run _, list *, why *",
    cargo: "build, check, clippy, test, fmt, doc, tree *, bench",
    go: "build, test, vet, fmt, doc *, list",
    gh:
      "pr view *, pr list *, pr diff *, pr checks *, pr status *, issue view *, issue list *, run list *, run view *, " +
      "repo view *",
    docker: "ps *, images *, logs *, inspect *, compose ps *, compose logs *",
    podman: "ps *, images *, logs *, inspect *",
    "docker-compose": "ps *, logs *",
    pip: "show *, freeze *",
    pip3: "show *, freeze *",
    ruff: "check, format",
    brew: "list *, info *",
    apt: "list *, show *",
    systemctl: "status *, list-units *",
    ...Object.fromEntries(proposedExactly.map((program) => [program, ""]))
  }).map(([program, list]) => [program, list === "" ? [] : list.split(", ").map((words) => words.split(" "))])
)

/** Programs without subcommands that print what they read, or check and test a project: any words may be proposed. */
export const openPrograms: ReadonlySet<string> = new Set(
  ("basename black cat cksum clang-format cmp column comm cut date df diff dir dirname du egrep eslint expr " +
    "fgrep flake8 fold gofmt grep head hexdump id isort jest jq ls lsof md5sum mocha mypy nl nproc numfmt od " +
    "oxlint paste prettier ps pylint pyright pytest readlink realpath rev rg rustfmt seq sha1sum sha256sum shasum " +
    "shellcheck sleep sort stat strings tac tail tr tsc uname uptime vitest vue-tsc wc whereis which who whoami " +
    "yamllint").split(" ")
)

/**
 * Options that start a program, load code, write a file or choose another project. A `*` of a pattern does not cover
 * them: a rule has to name them. Abbreviations count, where the program takes them.
 */
export const namedOptions: ReadonlyMap<string, RegExp> = new Map([
  ["git", /^(?:--(?:ou|up|rece|exe|ext|open)|-O)/],
  ["rg", /^--(?:pre(?:=|$)|hostname-bin)/],
  ["npm", /^(?:-C|-g$|--(?:pref|scr|node-o|use|glo|loc|ini|she))/],
  ["pnpm", /^(?:-C|--(?:dir|prefix|config|script-shell|shell|node-options|global|use-node))/],
  ["yarn", /^--(?:cwd|use-yarnrc|script-shell|modules-folder)/],
  ["cargo", /^(?:-C|-Z|--(?:config|manifest-path|target-dir|artifact-dir|out-dir))/],
  [
    "go",
    /^--?(?:exec|toolexec|vettool|overlay|modfile|C|o|compiler|(?:ld|gccgo)flags|\w*profile|trace|outputdir)(?:=|$)/
  ],
  ["sort", /^(?:-[a-zA-Z]*[oT]|--(?:o|co|t))/],
  ["date", /^(?:-[a-zA-Z]*s|--s)/],
  ["ruff", /^--(?:config|output-file)/],
  ["tsc", /^(?:@|--?(?:outdir|outfile|declarationdir|tsbuildinfofile|plugins))/i],
  ["vue-tsc", /^(?:@|--?(?:outdir|outfile|declarationdir|tsbuildinfofile|plugins))/i],
  ["eslint", /^(?:-[cfo]|--(?:config|rulesdir|resolve-plugins|plugin|parser|format|output-file|ext))/],
  ["prettier", /^--(?:config|plugin)/],
  ["oxlint", /^(?:-c|--config)/],
  ["flake8", /^--(?:config|append-config|output-file)/],
  ["pylint", /^--(?:ini|loa|rc|out)/],
  ["pyright", /^--(?:pythonpath|venv|project|typeshed)/],
  ["pytest", /^(?:-[a-zA-Z]*[cop]|--(?:rootdir|confcutdir|override-ini|import-mode|basetemp|junit|pdbcls))/],
  ["mypy", /^--(?:co|python-e|ca|ju|.*report)/],
  ["jest", /^(?:-[a-zA-Z]*c|--(?:config|root|globalSetup|globalTeardown|setup|runner|transform|outputFile|reporters))/],
  ["vitest", /^(?:-[a-zA-Z]*[cr]|--(?:config|root|dir|outputFile|globalSetup|environment|pool))/],
  ["mocha", /^(?:-[a-zA-Z]*r|--(?:require|config|package|file|opts|reporter|node-option|import|loader|ui))/]
])
