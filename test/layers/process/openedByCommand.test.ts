// What is known of the files that a command opens by its arguments: compared with what the real programs do.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { isPlainRepository } from "../../../src/layers/git/plainRepository.ts"
import { openedByCommand } from "../../../src/layers/process/openedByCommand.ts"
import { type Access, showAccess } from "../../../src/services/capability/Access.ts"
import { readCommand } from "../../../src/services/capability/command/readCommand.ts"
import { shellWord } from "../../../src/services/text/shellWord.ts"
import { kernelOf, realProject } from "../../support/realProject.ts"
import { share } from "../../support/share.ts"

const canary = "canary-7d1f"

const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/nonexistent", LC_ALL: "C.UTF-8" }

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
    cwd,
    env: environment,
    stdio: "pipe"
  })

/** A repository with secrets in it and around it, links to them, and names that look like options. */
const prepare = Effect.gen(function*() {
  const real = yield* realProject({
    "src/a.js": "one\ntwo\n",
    "src/b.js": "two\nthree\n",
    "docs/x y.md": "text\n",
    "packages/a/index.js": "",
    "certs/server.key": canary,
    ".gitignore": ".env\ncerts\nlink*\n.ai\n",
    ".gitattributes": "*.js diff=evil filter=evil\n",
    "-exec": "",
    "--output=pwned": "",
    "-rf": ""
  })
  const outside = join(dirname(real.project), "outside")
  fs.mkdirSync(outside)
  fs.writeFileSync(join(outside, "secret"), canary)
  fs.symlinkSync(join(outside, "secret"), join(real.project, "link"))
  fs.symlinkSync(outside, join(real.project, "linkdir"))
  git(real.project, "init", "-q")
  git(real.project, "add", ".")
  git(real.project, "commit", "-qm", "start")
  real.write(".env", canary)
  real.write("src/a.js", "one\n2\n")
  return { ...real, outside }
})

const opened = (line: string) =>
  Effect.gen(function*() {
    const { commands, opaque } = readCommand(line, "bash")
    const [command, ...more] = commands
    return command === undefined || more.length > 0 || opaque.length > 0
      ? undefined
      : yield* openedByCommand(command, command.folders)
  })

const shown = (accesses: ReadonlyArray<Access> | undefined) =>
  accesses?.map((one) => `${showAccess(one)}${one._tag === "Path" && one.below === true ? "/**" : ""}`).join(" ")

const known: ReadonlyArray<readonly [line: string, accesses: string]> = [
  ["ls", "fs.read(.)"],
  ["ls -la src docs", "fs.read(src) fs.read(docs)"],
  ["ls -R src", "fs.read(src)/**"],
  ["cat src/a.js", "fs.read(src/a.js)"],
  ["cat -n 'docs/x y.md' src/b.js", "fs.read(docs/x y.md) fs.read(src/b.js)"],
  ["cat src/../src/a.js", "fs.read(src/a.js)"],
  ["cat", ""],
  ["head -n 5 src/a.js", "fs.read(src/a.js)"],
  ["head -5 src/a.js", "fs.read(src/a.js)"],
  ["tail -n +2 src/a.js", "fs.read(src/a.js)"],
  ["wc -l src/a.js src/b.js", "fs.read(src/a.js) fs.read(src/b.js)"],
  ["sed -n 1,20p src/a.js", "fs.read(src/a.js)"],
  ["sed -n '/two/,/three/p' src/b.js", "fs.read(src/b.js)"],
  ["sed 's/one/two/g' src/a.js", "fs.read(src/a.js)"],
  ["sed -n '$p' src/a.js", "fs.read(src/a.js)"],
  ["grep -n one src/a.js", "fs.read(src/a.js)"],
  ["grep -rn one src", "fs.read(src)/**"],
  ["grep -rn --include='*.js' -A 2 one src docs", "fs.read(src)/** fs.read(docs)/**"],
  ["rg -n one src", "fs.read(src)/**"],
  ["rg --files src", "fs.read(src)/**"],
  ["find . -name '*.js' -not -path './node_modules/*'", "fs.read(.)/**"],
  ["find src docs -type f -maxdepth 2", "fs.read(src)/** fs.read(docs)/**"],
  ["find", "fs.read(.)/**"],
  ["diff -u src/a.js src/b.js", "fs.read(src/a.js) fs.read(src/b.js)"],
  ["sort -u src/a.js", "fs.read(src/a.js)"],
  ["uniq -c src/a.js", "fs.read(src/a.js)"],
  ["cut -d, -f1 src/a.js", "fs.read(src/a.js)"],
  ["tr a b", ""],
  ["mkdir -p src/x/y", "fs.write(src/x/y)"],
  ["touch src/new.js", "fs.write(src/new.js)"],
  ["which git node", ""],
  ["date +%F", ""],
  ["stat -c %s src/a.js", "fs.read(src/a.js)"],
  ["du -sh src", "fs.read(src)/**"],
  ["git status", "fs.read(.)/**"],
  ["git status --short", "fs.read(.)/**"],
  ["git diff HEAD~1 --stat -- src", "fs.read(.)/**"],
  ["git log --oneline -5", "fs.read(.)/**"],
  ["git show HEAD --stat", "fs.read(.)/**"],
  ["git show --stat HEAD~1", "fs.read(.)/**"],
  ["git show -s 4b825dc^", "fs.read(.)/**"],
  ["git show --stat 'main^{commit}'", "fs.read(.)/**"],
  ["git log '--format=%h %an, %ad: %s%n%b'", "fs.read(.)/**"],
  ["git log '--pretty=format:%C(yellow)%h%Creset'", "fs.read(.)/**"],
  ["git diff --check", "fs.read(.)/**"],
  ["git remote", "fs.read(.)/**"],
  ["git --no-pager diff --cached --stat", "fs.read(.)/**"],
  ["git show --name-only HEAD", "fs.read(.)/**"],
  ["git branch -a", "fs.read(.)/**"],
  ["git diff", "fs.read(.)/**"],
  ["git diff src/a.js", "fs.read(.)/** fs.read(src/a.js)"],
  ["git blame -L 1,3 src/a.js", "fs.read(.)/** fs.read(src/a.js)"],
  ["git log main..dev --format=%h", "fs.read(.)/**"],
  ["ls src/*.js", "fs.read(src)/**"],
  ["ls -la docs/*", "fs.read(docs)/**"],
  ["cat src/*.js docs/*.md", "fs.read(src)/** fs.read(docs)/**"],
  ["cat src/?.js", "fs.read(src)/**"],
  ["cat src/[ab].js", "fs.read(src)/**"],
  ["wc -l src/*.js", "fs.read(src)/**"],
  ["grep -rn TODO src/*.js", "fs.read(src)/**"],
  ["grep -n one src/a.js docs/*", "fs.read(src/a.js) fs.read(docs)/**"],
  ["head -n 3 ./src/*", "fs.read(src)/**"],
  ["rg -n one src/*.js", "fs.read(src)/**"],
  ["sort -u src/*.js", "fs.read(src)/**"],
  ["wc -l packages/*/index.js", "fs.read(packages)/**"],
  ["ls *.md", "fs.read(.)/**"],
  ["cat src/*.none", "fs.read(src)/**"],
  ["cat -- -exec", "fs.read(-exec)"],
  ["cat -n -- src/a.js -rf", "fs.read(src/a.js) fs.read(-rf)"],
  ["grep -n -- -one src/a.js", "fs.read(src/a.js)"],
  ["grep -rn -- -one src", "fs.read(src)/**"],
  ["rg -- --files src", "fs.read(src)/**"],
  ["ls -- src", "fs.read(src)"],
  ["cat -- src/*.js", "fs.read(src)/**"],
  ["mkdir -- src/new", "fs.write(src/new)"],
  ["LC_ALL=C sort src/a.js", "fs.read(src/a.js)"],
  ["NO_COLOR=1 ls src", "fs.read(src)"]
]

/** Each does more than read what it names, or reads what needs a rule of its own. */
const unknown: ReadonlyArray<string> = [
  "git show",
  "git show HEAD -- src",
  "git status -v -v",
  "git status -v",
  "git remote -v",
  "git ls-files -s",
  "git show --stat 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  "git show -s main",
  "git show --stat --all",
  "git show --stat 'HEAD^@'",
  "git show --stat 'HEAD^{blob}'",
  "git diff --check HEAD",
  "git diff HEAD~1 -- .",
  "git diff 'src/a.js^@'",
  "git log --format=%N",
  "git log --format=mine",
  "git show -p --stat HEAD",
  "git log -p",
  "git log -U1",
  "git log --word-diff",
  "git diff HEAD~1",
  "git diff HEAD~1 -- src",
  "git diff --cached",
  "git diff --stat -p --staged",
  "git blame .env",
  "git blame -- .env",
  "git blame HEAD src/a.js",
  "git log --format=%+G?",
  "git log '--format=% GK'",
  "sleep 1",
  "cat .env",
  "cat link",
  "cat linkdir/secret",
  "cat src/../.env",
  "cat /etc/passwd",
  "cat ../outside/secret",
  "cat certs/server.key",
  "cat $X",
  "cat -- .env",
  "cat -- src/a.js linkdir/secret",
  "cat -- -- /etc/passwd",
  "rg -- --files .",
  "grep -- -r certs",
  "head -n -- 5 src/a.js",
  "sort -o -- out src/a.js",
  "find -- . -name x",
  "sed -n -- 1p src/a.js",
  "cat /proc/self/environ",
  "LD_PRELOAD=./x.so cat src/a.js",
  "LESSOPEN='|id' cat src/a.js",
  "./cat src/a.js",
  "/tmp/cat src/a.js",
  "ls ..",
  "ls linkdir",
  "ls /",
  "head --lines-from=x src/a.js",
  "tail -f src/a.js",
  "tail --pid=1 src/a.js",
  "wc --files0-from=list",
  "wc --files0=list",
  "wc --f=list",
  "du --files0-from=list",
  "sort --files0-from=list",
  "sort -o out src/a.js",
  "sort -oout src/a.js",
  "sort --outp=out src/a.js",
  "sort --compress-program=./x src/a.js",
  "sort --co=./x src/a.js",
  "sort -T linkdir src/a.js",
  "sort --random-source=.env src/a.js",
  "uniq src/a.js out",
  "sed -i s/one/two/ src/a.js",
  "sed -n -i s/one/two/ src/a.js",
  "sed s/one/two/ -i src/a.js",
  "sed s/one/two/ src/a.js -i",
  "sed s/one/two/ --in-place src/a.js",
  "sed s/one/two/ --in-pl src/a.js",
  "sed -ni p src/a.js",
  "sed 'w out' src/a.js",
  "sed -n '1w out' src/a.js",
  "sed 's/one/two/w out' src/a.js",
  "sed 's/one/id/e' src/a.js",
  "sed 's/one/id/gew out' src/a.js",
  "sed 1e src/a.js",
  "sed '1e id' src/a.js",
  "sed 'r .env' src/a.js",
  "sed -f script src/a.js",
  "sed -n '1p;w out' src/a.js",
  "sed -n '1p\nw out' src/a.js",
  "sed 's/one/two\\\nw out/' src/a.js",
  "sed 's/[/]w out/x/' src/a.js",
  "sed --file=script src/a.js",
  "sed -e p -e 'w out' src/a.js",
  "sed -s -n 'F;w out' src/a.js",
  "sed y/a/b/ src/a.js",
  "grep -f .env src/a.js",
  "grep --file=.env src/a.js",
  "grep -R one src",
  "grep -rn one .",
  "grep -r one",
  "grep -rn x certs",
  "grep --dereference-recursive x src",
  "rg --pre ./x one src",
  "rg --pre=./x one src",
  "rg --hostname-bin ./x one src",
  "rg -z one src",
  "rg --search-zip one src",
  "rg -L one src",
  "rg --follow one src",
  "rg --ignore-file x one src",
  "rg -f .env src",
  "rg one",
  "rg --hidden one src",
  "RIPGREP_CONFIG_PATH=x rg one src",
  "find . -exec id ';'",
  "find . -execdir id ';'",
  "find . -ok id ';'",
  "find . -delete",
  "find src -name x -delete",
  "find . -fprint out",
  "find . -fprintf out %p",
  "find . -fls out",
  "find . -printf %p",
  "find -files0-from list",
  "find -L .",
  "find . -follow",
  "find .. -name x",
  "find linkdir",
  "find . -newer .env",
  "find . -name",
  "find -D exec .",
  "diff src docs",
  "diff -r src docs",
  "diff src/a.js src",
  "diff --to-file=.env src/a.js",
  "diff -l src/a.js src/b.js",
  "diff src/a.js link",
  "cut -f 1 .env",
  "md5sum -c sums",
  "mkdir -p ../outside/x",
  "mkdir linkdir/x",
  "mkdir -m 777 x",
  "touch -r .env src/a.js",
  "touch link",
  "date -s 2020-01-01",
  "date -f .env",
  "date --file=.env",
  "date 010100002020",
  "which ../x",
  "stat --printf=%n src/a.js",
  "stat -f src",
  "awk 1 src/a.js",
  "less src/a.js",
  "more src/a.js",
  "xxd src/a.js out",
  "tee out",
  "cp src/a.js src/c.js",
  "mv src/a.js src/c.js",
  "rm src/a.js",
  "ln -s /etc/passwd x",
  "chmod +x src/a.js",
  "git",
  "git -c core.pager=id log",
  "git -C docs status",
  "git --git-dir=evil status",
  "git --exec-path=. status",
  "git -p log",
  "git --paginate log",
  "git diff --output=pwned",
  "git diff --outp=pwned",
  "git log --output=pwned -p",
  "git show --output pwned",
  "git diff --ext-diff",
  "git diff --no-index src/a.js .env",
  "git diff --no-i src/a.js .env",
  "git diff src/a.js ../outside/secret",
  "git diff /etc/passwd /etc/hosts",
  "git diff -- /etc/passwd /etc/hosts",
  "git diff -O.env",
  "git log --textconv -p",
  "git log --show-signature",
  "git log --format=%GG",
  "git log '--pretty=%h %G?'",
  "git show HEAD:.env",
  "git show :/start",
  "git blame --contents .env src/a.js",
  "git blame -S .env src/a.js",
  "git blame --ignore-revs-file=.env src/a.js",
  "git branch new",
  "git branch -D main",
  "git branch --edit-description",
  "git tag v1",
  "git remote add x y",
  "git remote update",
  "git remote show origin",
  "git ls-files -X .env",
  "git ls-files --exclude-from=.env",
  "git status --no-such",
  "git describe --broken",
  "git commit -m x",
  "git add .",
  "git stash",
  "git fetch",
  "git push",
  "git grep -O one",
  "git grep --open-files-in-pager=id one",
  "git help status",
  "git lg",
  "git config --get user.name",
  "GIT_DIR=evil git status",
  "GIT_EXTERNAL_DIFF=id git diff",
  "PAGER=id git log",
  "GIT_SSH_COMMAND=id git status",
  "cat .*",
  "cat .e*",
  "cat .[e]nv",
  "cat l*",
  "cat lin?",
  "cat link*",
  "cat link*/secret",
  "cat */secret",
  "cat */*",
  "cat */server.key",
  "cat certs/*",
  "cat certs/server.k??",
  "cat ../*",
  "cat ../outside/*",
  "cat src/*/../../.env",
  "cat src/../*",
  "cat /etc/*",
  "cat /*",
  "cat *",
  "cat -*",
  "grep one *",
  "grep -r one *",
  "grep on* src/a.js",
  "grep -e src/* src/a.js",
  "grep -f src/* src/a.js",
  "rg one *.js",
  "sort *.js",
  "sort -o src/*",
  "uniq src/*.js",
  "diff src/*.js",
  "sed -n 1p src/*.js",
  "sed s/a/b/w* src/a.js",
  "tr a* b",
  "touch src/*.js",
  "mkdir src/*",
  "find src/* -name x",
  "git diff -- src/*.js",
  "git log src/*",
  "cat \"src\"/*.js",
  "cat 'src'/*",
  "cat src/{a,b}.js",
  "cat src/*.js $X",
  "cat ~/*",
  "cat $HOME/*",
  "FOO=1 cat src/a.js",
  "LC_ALL=/tmp/x sort src/a.js",
  "TZ=/etc/shadow date",
  "NODE_OPTIONS=--require=./x.js ls src",
  "GIT_DIR=x cat src/*.js"
]

/** Of `git show` and `git diff`, and whatever they are given: an id may be that of a file, and a file may be called `HEAD~2`. */
const gitLines = (names: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...["-v", "-v -v", "-vv", "-sb -v", "--verbose", "--porcelain -v"].map((options) => `git status ${options}`),
  "git remote -v",
  "git remote",
  ...["-s", "--stage", "-c"].map((options) => `git ls-files ${options}`),
  ...names.flatMap((name) => [
    ...[
      "--stat",
      "-s",
      "--no-patch",
      "--name-only",
      "--numstat",
      "--oneline --stat",
      "--format=%h -s",
      "--stat --all",
      "--check"
    ]
      .map((options) => `git show ${options} ${name}`),
    ...["", "--stat", "--check", "--check --stat", "--name-only", "--exit-code", "--quiet -p", "-w", "--cached"]
      .flatMap(
        (options) => [
          `git diff ${options} ${name}`,
          `git diff ${options} ${name} HEAD`,
          `git diff ${options} 4b825dc642cb6eb9a060e54bf8d69288fbee4904 ${name}`,
          `git diff ${options} ${name} -- .`,
          `git diff ${options} ${name} HEAD~1 -- .`
        ]
      ),
    ...["", "--stat", "-p", "--check", "--oneline"].map((options) => `git log ${options} ${name}`),
    `git blame ${name}`,
    `git blame -- ${name}`,
    `git describe --always ${name}`,
    `git rev-parse --verify ${name}`
  ])
]

it.live("git prints no line of a file that needs a rule", () =>
  Effect.gen(function*() {
    const world = yield* prepare
    const run = (...args: ReadonlyArray<string>) => git(world.project, ...args).toString().trim()
    world.write(".env", `A=${canary}\r\n`)
    run("add", "-f", ".env")
    run("commit", "-qm", "variables")
    const [blob, tree] = [run("rev-parse", "HEAD:.env"), run("rev-parse", "HEAD^{tree}")]
    run("rm", "-q", "--cached", ".env")
    run("commit", "-qm", "without")
    run("commit", "-qm", "more", "--allow-empty")
    run("tag", "variables", blob)
    run("branch", "old", "HEAD~2")
    run("remote", "add", "origin", `https://u:${canary}@example.com/a`)
    for (const name of ["HEAD", "HEAD~1", "HEAD~2", "HEAD^@", "HEAD^!", "HEAD^-", "old", "@", "-"]) {
      world.write(name, "")
    }
    run("add", "HEAD", "HEAD~1", "HEAD~2")
    run("commit", "-qm", "names")
    const names = [blob, blob.slice(0, 7), tree, "variables", "old", "HEAD", "HEAD~1", "HEAD~2", "'HEAD^@'", "'HEAD^!'"]
      .concat([
        "'HEAD^-'",
        "@",
        "@~2",
        "'@{1}'",
        "old..HEAD",
        "refs/tags/variables",
        "tags/variables",
        "'HEAD^0'",
        "src/a.js"
      ])
    const printed: Array<string> = []
    let count = 0
    yield* Effect.gen(function*() {
      for (const line of gitLines(names)) {
        if ((yield* opened(line)) === undefined) continue
        count++
        const { stderr, stdout } = spawnSync("sh", ["-c", line], {
          cwd: world.project,
          env: environment,
          encoding: "utf8"
        })
        if ((stdout + stderr).includes(canary)) printed.push(line)
      }
    }).pipe(Effect.provide(kernelOf(world)))
    assert.deepStrictEqual(printed, [])
    assert.isAtLeast(count, 40)
  }), 60_000)

describe("what a command opens by its arguments", () => {
  it.live("is known of these", () =>
    Effect.gen(function*() {
      const world = yield* prepare
      yield* Effect.gen(function*() {
        for (const [line, accesses] of known) assert.strictEqual(shown(yield* opened(line)), accesses, line)
      }).pipe(Effect.provide(kernelOf(world)))
    }))

  it.live(`is not known of these ${unknown.length}`, () =>
    Effect.gen(function*() {
      const world = yield* prepare
      yield* Effect.gen(function*() {
        for (const line of unknown) assert.isUndefined(shown(yield* opened(line)), line)
      }).pipe(Effect.provide(kernelOf(world)))
    }))

  it.live("is refused where nobody may write", () =>
    Effect.gen(function*() {
      const world = yield* prepare
      yield* Effect.gen(function*() {
        for (
          const line of [
            "mkdir .git/hooks/x",
            "touch .git/hooks/pre-commit",
            "touch .mcp.json",
            "mkdir -p a/.git",
            "touch .ai/config/kiwi.yaml"
          ]
        ) {
          assert.strictEqual((yield* Effect.flip(opened(line)))._tag, "PathProtected", line)
        }
      }).pipe(Effect.provide(kernelOf(world)))
    }))
})

it.live("git's lines are known where a file is tracked that only says which variables there are", () =>
  Effect.gen(function*() {
    const world = yield* prepare
    for (const name of [".env.example", "deep/.env.sample", ".env.local.template"]) world.write(name, "TOKEN=\n")
    git(world.project, "add", "-f", ".env.example", "deep", ".env.local.template")
    yield* Effect.gen(function*() {
      assert.strictEqual(shown(yield* opened("git diff")), "fs.read(.)/**")
      assert.strictEqual(shown(yield* opened("cat .env.example")), "fs.read(.env.example)")
      for (const line of ["cat .env", "cat .env.example.local", "cat .env.exampl", "cat .env.production"]) {
        assert.isUndefined(shown(yield* opened(line)), line)
      }
    }).pipe(Effect.provide(kernelOf(world)))
  }))

it.live("git's lines are not known where a file is tracked that needs a rule", () =>
  Effect.gen(function*() {
    const world = yield* prepare
    world.write("deep/.env.development", canary)
    git(world.project, "add", "-f", "deep")
    world.write("deep/.env.development", "")
    yield* Effect.gen(function*() {
      for (const line of ["git diff", "git diff src/a.js", "git diff -- deep", "git blame deep/.env.development"]) {
        assert.isUndefined(shown(yield* opened(line)), line)
      }
      assert.strictEqual(shown(yield* opened("git diff --stat")), "fs.read(.)/**")
    }).pipe(Effect.provide(kernelOf(world)))
  }))

describe("git is not known to be harmless in a repository", () => {
  const spoil: Readonly<Record<string, (root: string) => void>> = {
    "whose config names a program for files' state": (root) => git(root, "config", "core.fsmonitor", "touch pwned"),
    "with a program that shows differences": (root) => git(root, "config", "diff.external", "touch pwned"),
    "with a program for kinds of files": (root) => git(root, "config", "diff.evil.textconv", "touch pwned"),
    "with a filter": (root) => git(root, "config", "filter.evil.clean", "touch pwned"),
    "with a pager": (root) => git(root, "config", "core.pager", "touch pwned"),
    "with a pager of one command": (root) => git(root, "config", "pager.log", "touch pwned"),
    "with an alias": (root) => git(root, "config", "alias.status", "!touch pwned"),
    "with a program for signatures": (root) => git(root, "config", "gpg.program", "touch pwned"),
    "that shows signatures": (root) => git(root, "config", "log.showSignature", "true"),
    "whose config includes another": (root) => git(root, "config", "include.path", "../evil"),
    "whose config includes another by a condition": (root) => git(root, "config", "includeIf.gitdir:/.path", "../evil"),
    "whose files are elsewhere": (root) => git(root, "config", "core.worktree", "/etc"),
    "whose order of files is one": (root) => git(root, "config", "diff.orderFile", ".env"),
    "that fetches what is missing": (root) => {
      git(root, "config", "remote.origin.url", "ext::touch pwned")
      git(root, "config", "remote.origin.promisor", "true")
    },
    "with hooks elsewhere": (root) => git(root, "config", "core.hooksPath", "/tmp/hooks"),
    "with hooks in the person's folder": (root) => git(root, "config", "core.hooksPath", "~/hooks"),
    "whose config has a setting behind a section's name": (root) =>
      fs.appendFileSync(join(root, ".git/config"), "[core] fsmonitor = touch pwned\n"),
    "whose config has a line that goes on": (root) =>
      fs.appendFileSync(join(root, ".git/config"), "[user]\n\tname = a\\\n[x]\n"),
    "whose config is written in another case": (root) =>
      fs.appendFileSync(join(root, ".git/config"), "[CORE]\n\tFSMonitor = touch pwned\n"),
    "whose config is a link": (root) => {
      fs.renameSync(join(root, ".git/config"), join(root, "config"))
      fs.symlinkSync("../config", join(root, ".git/config"))
    },
    "with a hook that runs when the index changes": (root) =>
      fs.writeFileSync(join(root, ".git/hooks/post-index-change"), "#!/bin/sh\ntouch pwned\n", { mode: 0o755 }),
    "with such a hook of the project's own": (root) => {
      git(root, "config", "core.hooksPath", ".husky")
      fs.mkdirSync(join(root, ".husky"))
      fs.writeFileSync(join(root, ".husky/post-index-change"), "#!/bin/sh\ntouch pwned\n", { mode: 0o755 })
    },
    "with another inside": (root) => {
      fs.mkdirSync(join(root, "sub"))
      git(join(root, "sub"), "init", "-q")
      git(join(root, "sub"), "commit", "-qm", "x", "--allow-empty")
      git(root, "add", "sub")
    },
    "whose config is of a worktree": (root) => fs.writeFileSync(join(root, ".git/config.worktree"), ""),
    "that takes objects from another": (root) =>
      fs.writeFileSync(join(root, ".git/objects/info/alternates"), "/home/a/.git/objects\n"),
    "whose index has a part elsewhere": (root) => fs.writeFileSync(join(root, ".git/sharedindex.0"), ""),
    "that is a file": (root) => {
      fs.renameSync(join(root, ".git"), join(root, "elsewhere"))
      fs.writeFileSync(join(root, ".git"), "gitdir: elsewhere\n")
    },
    "that is a link": (root) => {
      fs.renameSync(join(root, ".git"), join(root, "elsewhere"))
      fs.symlinkSync("elsewhere", join(root, ".git"))
    },
    "that needs no .git": (root) => {
      fs.renameSync(join(root, ".git"), join(root, "elsewhere"))
      git(root, "init", "-q", "--bare", ".")
    },
    "whose HEAD is a link": (root) => {
      fs.rmSync(join(root, ".git/HEAD"))
      fs.symlinkSync("/etc/passwd", join(root, ".git/HEAD"))
    },
    "above the project": (root) => {
      fs.renameSync(join(root, ".git"), join(dirname(root), ".git"))
    }
  }
  for (const [name, change] of Object.entries(spoil)) {
    it.live(name, () =>
      Effect.gen(function*() {
        const world = yield* prepare
        assert.isTrue(isPlainRepository(world.project, "."))
        change(world.project)
        assert.isFalse(isPlainRepository(world.project, "."))
      }))
  }

  it.live("and is in one with ordinary settings", () =>
    Effect.gen(function*() {
      const world = yield* prepare
      for (
        const [name, value] of [
          ["user.name", "Ada"],
          ["remote.origin.url", "git@example.com:a/b.git"],
          ["remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"],
          ["branch.main.remote", "origin"],
          ["branch.feat/x.merge", "refs/heads/feat/x"],
          ["core.autocrlf", "input"],
          ["core.hooksPath", ".husky/_"],
          ["pull.rebase", "true"]
        ] as const
      ) {
        git(world.project, "config", name, value)
      }
      yield* Effect.gen(function*() {
        assert.strictEqual(shown(yield* opened("git status")), "fs.read(.)/**")
      }).pipe(Effect.provide(kernelOf(world)))
    }))
})

/** mulberry32 */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const runs = share(3_000)

describe("a random command that is known", () => {
  it.live("shows no secret, starts nothing and changes nothing but what it makes", () =>
    Effect.gen(function*() {
      const world = yield* prepare
      const random = randomFrom(7)
      const pick = <A>(all: ReadonlyArray<A>): A => all[Math.floor(random() * all.length)]!
      const lines = [...known.map(([line]) => line), ...unknown].filter((line) => !/[$*;\n]/.test(line))
      const programs = [...new Set(known.map(([line]) => line.split(" ")[0]!))]
      const words = [
        ...new Set(lines.flatMap((line) => {
          const [command] = readCommand(line, "bash").commands
          return command?.words.filter(({ fixed }) => fixed).map(({ text }) => text) ?? []
        })),
        "link",
        "linkdir",
        ".env",
        "certs",
        "-exec",
        "--output=pwned",
        "-rf",
        ".",
        "..",
        "1wpwned",
        "s/a/b/wpwned"
      ]
      const patterns =
        "src/* *.js * */* ?* [a-z]* l* link* link*/* c*/* certs/* .* .[e]nv -* --* docs/* packages/*/*.js"
          .split(" ")
      let before = snapshot(world.project)
      let ran = 0
      yield* Effect.gen(function*() {
        for (let run = 0; run < runs; run++) {
          // Half of them are a line from above with a word more.
          const start = random() < 0.5
            ? readCommand(pick(known)[0], "bash").commands[0]
            : undefined
          const program = start?.program ?? pick(programs)
          const given = [...start?.words.map(({ fixed, text }) => fixed ? shellWord(text) : text) ?? []]
          for (let count = Math.floor(random() * 4); count > 0; count--) {
            const word = random() < 0.3 ? pick(patterns) : shellWord(pick(words))
            given.splice(Math.floor(random() * (given.length + 1)), 0, word)
          }
          const line = [program, ...given].join(" ")
          const found = yield* Effect.orElseSucceed(opened(line), () => undefined)
          if (found === undefined) continue
          ran++
          const { stderr, stdout } = spawnSync("/bin/bash", ["-c", line], {
            cwd: world.project,
            env: environment,
            encoding: "utf8",
            input: "",
            timeout: 10_000
          })
          assert.notInclude(stdout + stderr, canary, line)
          const after = snapshot(world.project)
          if (program === "mkdir" || program === "touch") assert.includeMembers([...after], [...before], line)
          else assert.deepStrictEqual(after, before, line)
          before = after
        }
      }).pipe(Effect.provide(kernelOf(world)))
      assert.isAbove(ran, runs / 20)
    }), 120_000)
})

/** Names, sizes and contents of all but what git keeps for itself. */
const snapshot = (root: string): ReadonlyArray<string> =>
  fs.readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => !`${parentPath}/${name}`.includes("/.git/") && !parentPath.includes("/.ai"))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return `${path} ${entry.isFile() ? fs.readFileSync(path, "utf8") : ""}`
    }).toSorted()
