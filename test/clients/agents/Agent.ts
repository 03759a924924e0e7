// A coding agent, driven by a scripted model. It has a home of its own, dummy keys and nothing but loopback to talk to.
import type { Transport } from "../flows.ts"
import type { Part } from "../parts.ts"
import { pause } from "../terminal.ts"
import type { Terminal } from "../terminal.ts"
import type { Target, World } from "../world.ts"

export interface Setting {
  readonly part: Part
  readonly world: World
  readonly target: Target
  readonly transport: Transport
  /** The model's address, without a path. */
  readonly model: string
  readonly home: string
  readonly write: (path: string, text: unknown) => string
}

export interface Start {
  /** Runs the prompt "go" to its end and exits. */
  readonly headless: ReadonlyArray<string>
  /** Waits for a person. */
  readonly interactive: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

export interface Agent {
  readonly client: string
  readonly packages: readonly [string]
  readonly start: (setting: Setting) => Start
  /** What its screen shows when it waits for a prompt. */
  readonly ready: RegExp
  /** Where it asks the person for the server: what its screen shows then, and how a person agrees. */
  readonly question?: {
    readonly shown: RegExp
    /** Types the number at the end of the text, or a guess where that is not on the screen. Returns which it saw. */
    readonly agree: (terminal: Terminal) => Promise<Saw>
  }
  /** The same, set up as it shows the start of a question alone. */
  readonly cutting?: Agent
}

export type Saw = "all of it" | "a part"

/** The number at the end of what is asked, if the screen shows it. */
export const endOn = (terminal: Terminal): string | undefined => /– end: (\d{4}) –/.exec(terminal.screen())?.[1]

/** Presses the key until the screen shows it. */
export const pressUntil = async (terminal: Terminal, key: string, wanted: RegExp): Promise<void> => {
  for (let turn = 0; turn < 12 && !wanted.test(terminal.screen()); turn++) {
    terminal.press(key)
    await pause(500)
  }
  await terminal.waitFor(wanted, 1)
}
