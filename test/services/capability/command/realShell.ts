// Runs texts under a real shell, and records every program that it would start: with its words and its folder, and the
// files that it opened. Nothing is started but stubs: there is no other program on PATH.
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface Started {
  /** Relative to the base: the text starts in `start`. */
  readonly folder: string
  readonly argv: ReadonlyArray<string>
}

export interface Recording {
  readonly started: ReadonlyArray<Started>
  /** Files that exist afterwards, relative to the base. */
  readonly files: ReadonlyArray<string>
}

/** Deep enough for every `cd ..` of a random text. */
export const start = "1/2/3/4/5/6/7/8/9/start"

const findBash = () => ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((file) => existsSync(file)) ?? "bash"

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

// Bash calls the function for every program that is not on PATH, which is empty: much faster than starting stubs.
const bashRecorder = "command_not_found_handle() { printf '%s\\0' c \"$PWD\" \"$#\" \"$@\" >&63; }\n"

const listFiles = `
  shopt -s globstar nullglob dotglob
  for file in "$base"/**; do [ -f "$file" ] && [ "$file" != "$start/in" ] && {
    printf '%s\\0' f "$file"; /bin/rm -f -- "$file"; }; done >&63
  shopt -u globstar nullglob dotglob`

const listFilesOfSh = `
  /usr/bin/find "$base" -type f ! -path "$start/in" -exec /usr/bin/printf 'f\\0%s\\0' {} \\; -exec /bin/rm -f {} \\; >&6`

/** Runs each text in the same empty folder, one after the other, each in a shell of its own. */
export const runInShell = (
  shell: "bash" | "sh",
  folder: string,
  texts: ReadonlyArray<string>,
  stubs: ReadonlyArray<string> = [],
  real: ReadonlyArray<string> = []
): ReadonlyArray<Recording> => {
  const base = join(folder, "base")
  const bin = join(folder, "bin")
  const log = join(folder, "log")
  mkdirSync(join(base, start, "sub/deep"), { recursive: true })
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(base, start, "in"), "")
  const fd = shell === "bash" ? 63 : 6
  for (const stub of stubs) {
    writeFileSync(
      join(bin, stub),
      `#!/bin/sh\nprintf '%s\\0' c "$(pwd)" "$((1 + $#))" ${quote(stub)} "$@" >>${quote(log)}\n`
    )
    chmodSync(join(bin, stub), 0o755)
  }
  for (const program of real) symlinkSync(`/usr/bin/${program}`, join(bin, program))
  writeFileSync(log, "")
  const script = [
    `base=${quote(base)}; start=${quote(join(base, start))}; x='v w'`,
    `exec ${fd}>>${quote(log)}`,
    shell === "bash" ? bashRecorder : "",
    // The substitution ends when the last process has closed its end: a shell does not wait for a whole pipe.
    `run() { cd "$start"; ended=$( ( text=$1; set --; eval "$text" ) ${fd - 1}>&1 </dev/null >/dev/null 2>&1 )`,
    // Only a text that redirects can have written.
    `case $1 in *">"*)`,
    shell === "bash" ? listFiles : listFilesOfSh,
    `;; esac; printf 'e\\0' >&${fd}; }`,
    ...texts.map((text) => `run ${quote(text)}`)
  ].join("\n")
  const file = join(folder, "script")
  writeFileSync(file, script)
  const run = spawnSync(shell === "sh" ? "/bin/sh" : findBash(), [file], {
    cwd: folder,
    env: { PATH: bin, HOME: base, LC_ALL: "C.UTF-8" },
    encoding: "utf8",
    timeout: 100_000
  })
  if (run.error !== undefined || run.signal !== null) throw new Error(`${shell} did not end: ${run.stderr}`)
  return readLog(readFileSync(log, "utf8"), base)
}

const readLog = (log: string, base: string): ReadonlyArray<Recording> => {
  const fields = log.split("\0")
  const recordings: Array<Recording> = []
  const inBase = (path: string) => path.slice(base.length + 1)
  let started: Array<Started> = []
  let files: Array<string> = []
  for (let i = 0; i < fields.length - 1;) {
    const kind = fields[i++]
    if (kind === "c") {
      const folder = inBase(fields[i++]!)
      const count = Number(fields[i++])
      started.push({ folder, argv: fields.slice(i, i += count) })
    } else if (kind === "f") files.push(inBase(fields[i++]!))
    else {
      recordings.push({ started, files })
      started = []
      files = []
    }
  }
  return recordings
}
