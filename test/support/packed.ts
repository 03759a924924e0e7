// The tarball as npm packs it.
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

export const root = new URL("../../", import.meta.url).pathname

export const { devDependencies, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

/** Runs commands in what a shell of the user's would have: nothing of the npm that runs these tests but its registry. */
export const shellBeside = (folder: string) => {
  const env = {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) =>
        !/^npm_/i.test(name) || /^npm_config_(cache|cafile|globalconfig|registry|userconfig)$/i.test(name)
      )
    ),
    // Where the tests run below a coding agent, the passphrase is what makes an act a person's.
    KIWI_HOME: join(folder, "home"),
    KIWI_PASSPHRASE: "correct horse battery",
    PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`
  }
  return async (command: string, args: ReadonlyArray<string>, cwd: string) => {
    const { stdout } = await promisify(execFile)(command, args, { cwd, env, encoding: "utf8" }).catch((error) => {
      throw new Error(`${[command, ...args].join(" ")} failed:\n${error.stdout}\n${error.stderr}`)
    })
    return stdout
  }
}

/** Packs into the folder; the tarball's path. */
export const pack = async (folder: string): Promise<string> => {
  await shellBeside(folder)("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], root)
  return join(folder, `kiwi-mcp-${version}.tgz`)
}
