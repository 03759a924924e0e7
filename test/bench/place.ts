// A home and a project of the benchmark's own, made by the built program; nothing of the user's is read or written.
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { KernelOptions } from "../../src/layers/Kernel.ts"
import { person } from "../support/person.ts"

export const kiwi = new URL("../../bin/kiwi.cjs", import.meta.url).pathname
export const bareServer = new URL("bareServer.mjs", import.meta.url).pathname
export const bareServerV2 = new URL("bareServerV2.mjs", import.meta.url).pathname

export interface Place {
  readonly project: string
  readonly env: Record<string, string>
  readonly options: KernelOptions & { readonly project: string; readonly home: string; readonly userSpace: string }
  /** Writes a file below the project. */
  readonly write: (path: string, text: string) => void
  readonly kiwi: (...args: ReadonlyArray<string>) => void
  readonly remove: () => void
}

export const makePlace = (): Place => {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), "kiwi-bench-")))
  const project = join(folder, "project")
  const home = join(folder, "home")
  const userSpace = join(folder, "user")
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    KIWI_HOME: home,
    USER_SPACE: userSpace,
    KIWI_KEYCHAIN: "off",
    ...person
  }
  const run = (...args: ReadonlyArray<string>) => {
    const { status, stderr } = spawnSync(process.execPath, [kiwi, ...args], { env, encoding: "utf8", cwd: folder })
    if (status !== 0) throw new Error(`kiwi ${args.join(" ")}: ${stderr}`)
  }
  // The same call thousands of times: nothing is refused, slowed or warned of, but everything is counted and compared.
  mkdirSync(join(userSpace, "config"), { recursive: true })
  writeFileSync(join(userSpace, "config/kiwi.yaml"), "limits.rate: {caller: 100000/s}\nloop.window: 4\n")
  run("init", project)
  return {
    project,
    env,
    options: { project, home, userSpace },
    write: (path, text) => {
      const file = join(project, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    },
    kiwi: run,
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The official client, connected to a server over stdio. */
export const connect = async (place: Place, args: ReadonlyArray<string>) => {
  const client = new Client({ name: "bench", version: "1.0.0" })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...args],
      env: place.env,
      cwd: place.project,
      stderr: "ignore"
    })
  )
  return {
    call: async (name: string, parameters: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: parameters })
      if (result.isError === true) throw new Error(JSON.stringify(result.content))
      return result
    },
    close: () => client.close()
  }
}

export const serveArgs = (place: Place): ReadonlyArray<string> => [kiwi, "serve", "--project", place.project]
