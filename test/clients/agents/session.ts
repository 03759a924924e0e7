// One run of one agent with one script, bounded in time; nothing of it is left at the end.
import { spawn } from "node:child_process"
import { until } from "../../support/mcp/project.ts"
import type { Transport } from "../flows.ts"
import { within } from "../flows.ts"
import { isOfKiwi } from "../model/script.ts"
import type { Step } from "../model/script.ts"
import { startModel } from "../model/server.ts"
import type { Model } from "../model/server.ts"
import type { Part } from "../parts.ts"
import { openTerminal, pause } from "../terminal.ts"
import type { Terminal } from "../terminal.ts"
import { killAll } from "../world.ts"
import type { Target, World } from "../world.ts"
import type { Agent } from "./Agent.ts"

export interface Run {
  readonly agent: Agent
  readonly part: Part
  readonly world: World
  readonly transport: Transport
  readonly steps: ReadonlyArray<Step>
  readonly target?: Target
}

/** Whatever would go further ends at a port where nobody listens, at once. */
const onlyLoopback = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,localhost"
}

const prepare = async ({ agent, part, steps, target, transport, world }: Run) => {
  const model = await startModel(steps)
  const { home, write } = world.home(agent.client.replaceAll(" ", "-").toLowerCase())
  // A login shell forgets the PATH that it was given.
  write(".bash_profile", `export PATH='${world.env.PATH}'\n`)
  const started = agent.start({
    part,
    world,
    target: target ?? world.target,
    transport,
    model: model.url,
    home,
    write
  })
  return {
    model,
    started,
    env: { ...world.env, HOME: home, ...onlyLoopback, ...started.env },
    close: async () => {
      await killAll(home)
      await model.close()
    }
  }
}

/** Starts the agent with its prompt; `during` may watch and interrupt it. */
export const headless = async (
  run: Run,
  during?: (agent: { readonly interrupt: () => void }) => Promise<void>,
  seconds = 120
): Promise<{ readonly model: Model; readonly said: string }> => {
  const { close, env, model, started } = await prepare(run)
  try {
    const [command = "", ...args] = started.headless
    let said = ""
    const once = async () => {
      const child = spawn(command, args, {
        env,
        cwd: run.world.project,
        stdio: ["ignore", "pipe", "pipe"],
        detached: true
      })
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => said += data.toString())
      const over = new Promise<void>((resolve, reject) => {
        child.on("error", reject)
        child.on("close", () => resolve())
      })
      await Promise.all([
        // As Ctrl-C does it: to everything in the foreground.
        during?.({ interrupt: () => void process.kill(-Number(child.pid), "SIGINT") }),
        during === undefined ? within(seconds, run.agent.client, over) : undefined
      ])
    }
    await once()
    // Servers connect in the background: on a busy machine an agent may have asked its model before they were there.
    const again = during === undefined ? 2 : 0
    for (let turn = 0; turn < again && !model.offered().some(isOfKiwi); turn++) await once()
    return { model, said }
  } finally {
    await close()
  }
}

/** Starts the agent on a terminal and types the prompt once the server is there; `person` sits at it from then on. */
export const interactive = async <A>(
  run: Run,
  person: (terminal: Terminal, model: Model) => Promise<A>
): Promise<A> => {
  const { close, env, model, started } = await prepare(run)
  const terminal = openTerminal(`${env.HOME}/tmux`, started.interactive, { env, cwd: run.world.project })
  try {
    await terminal.waitFor(run.agent.ready, 60)
    // Servers connect in the background, and not all agents show it: what is typed too early is typed again.
    for (let turn = 1; turn <= 10 && !model.offered().some(isOfKiwi); turn++) {
      await pause(2000)
      const before = model.turns()
      terminal.type("go")
      await pause(500)
      terminal.press("Enter")
      await until(() => model.turns() > before, 60_000)
      await pause(1000)
    }
    return await person(terminal, model)
  } finally {
    terminal.close()
    await close()
  }
}
