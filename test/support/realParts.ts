// Which real parts this machine has. A suite whose part is missing is left out and named at the end of the run, with
// the reason; with KIWI_TEST_REQUIRE=all it fails instead, so that a machine that should have everything proves it.
import { spawnSync } from "node:child_process"
import { appendFileSync, mkdtempSync, rmdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { assert, describe, it } from "vitest"

/** Why a program cannot be used, or undefined when it can. */
const program = (command: string, args: ReadonlyArray<string> = ["--version"], install = command) => () => {
  const run = spawnSync(command, args, { encoding: "utf8", timeout: 10_000 })
  if (run.error !== undefined && "code" in run.error && run.error.code === "ENOENT") {
    return `${command} is not installed (Debian: apt-get install ${install})`
  }
  if (run.error !== undefined) return `${command} does not run: ${run.error.message}`
  if (run.status !== 0) return `\`${[command, ...args].join(" ")}\` fails: ${run.stderr.trim().split("\n")[0]}`
  return undefined
}

const tinyDisk = () => {
  if (process.platform !== "linux") return "a disk of a few KiB is mounted as a Linux tmpfs"
  const folder = mkdtempSync(join(tmpdir(), "kiwi-disk-"))
  try {
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { encoding: "utf8" })
    if (mounted.status !== 0) return "mounting a tmpfs needs root"
    spawnSync("umount", [folder])
    return undefined
  } finally {
    rmdirSync(folder)
  }
}

const overlay = () => {
  if (process.platform !== "linux") return "overlayfs is Linux's"
  const folder = mkdtempSync(join(tmpdir(), "kiwi-overlay-"))
  const script = "mount -t tmpfs tmpfs $0 && cd $0 && mkdir l u w m && " +
    "mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m && umount m"
  const mounted = spawnSync("sh", ["-c", script, folder])
  spawnSync("umount", [folder])
  rmdirSync(folder)
  return mounted.status === 0 ? undefined : "mounting an overlay needs root, and a kernel that has it"
}

/** The first Node on PATH that is too old for Kiwi. */
export const findOldNode = (): string | undefined =>
  (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "node")).find((file) => {
    const { stdout } = spawnSync(file, ["--version"], { encoding: "utf8" })
    return stdout !== null && Number(/^v(\d+)/.exec(stdout)?.[1] ?? 24) < 24
  })

const probes = {
  bash: program("bash"),
  /** It runs, and the machine lets it make its namespaces. */
  bubblewrap: program("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"], "bubblewrap"),
  git: program("git"),
  npm: program("npm"),
  /** With what an environment is made of. */
  pip: program("python3", ["-c", "import ensurepip, venv"], "python3-venv"),
  openssl: program("openssl", ["version"]),
  oldNode: () => findOldNode() === undefined ? "there is no Node older than 24 on PATH" : undefined,
  python3: program("python3"),
  ripgrep: program("rg", ["--version"], "ripgrep"),
  /** A Secret Service to start on a session bus of the test's own. */
  secretService: () =>
    program("dbus-run-session", ["--version"], "dbus-x11")() ??
      program("gnome-keyring-daemon", ["--version"], "gnome-keyring")(),
  socat: program("socat", ["-V"], "socat"),
  /** An overlayfs, as containers have it for their root. */
  overlay,
  /** A tmpfs of a few KiB, for what happens on a full disk. */
  tinyDisk,
  tmux: program("tmux", ["-V"]),
  uv: () => program("uv")() === undefined ? undefined : "uv is not on PATH"
}

export type RealPart = keyof typeof probes

const known = new Map<RealPart, string | undefined>()

/** Why this machine cannot give the part, or undefined when it can. Probed once a test file. */
export const whyMissing = (part: RealPart): string | undefined => {
  if (!known.has(part)) known.set(part, probes[part]())
  return known.get(part)
}

/** What a machine may well do without, even one that should have everything. */
const optional: ReadonlySet<RealPart> = new Set(["oldNode", "overlay", "uv"])

const isRequired = (part: RealPart) => process.env["KIWI_TEST_REQUIRE"] === "all" && !optional.has(part)

/** Names the suite in the closing lines of the run. */
const leaveOut = (suite: string, why: string) => {
  const file = process.env["KIWI_TEST_OMISSIONS"]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ suite, why })}\n`)
}

/**
 * Whether `suite` is to run: the part is here. Otherwise the omission is recorded, or, with KIWI_TEST_REQUIRE=all,
 * thrown.
 */
export const requirePart = (part: RealPart, suite: string): boolean => {
  const why = whyMissing(part)
  if (why === undefined) return true
  if (isRequired(part)) throw new Error(`${suite} needs ${part}: ${why}`)
  leaveOut(suite, why)
  return false
}

/** A `describe` that needs real parts: skipped and named when one is missing, failing when everything is required. */
export const describeWith = (parts: ReadonlyArray<RealPart>, suite: string, body: () => void): void => {
  const missing = parts.find((part) => whyMissing(part) !== undefined)
  if (missing === undefined) return void describe(suite, body)
  const why = `${whyMissing(missing)}`
  if (isRequired(missing)) {
    describe(suite, () => {
      it("has the real parts that it needs", () => assert.fail(`${suite} cannot run: ${why}`))
    })
  } else {
    leaveOut(suite, why)
    describe.skip(suite, body)
  }
}
