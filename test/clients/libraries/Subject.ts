// A client that is no agent: a library or a command, driven by the harness itself.
import type { Flow, Transport } from "../flows.ts"
import type { Part } from "../parts.ts"
import type { Target, World } from "../world.ts"

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: () => void
}

export interface Session {
  /** Names of the tools, as this client shows them. */
  readonly names: () => Promise<ReadonlyArray<string>>
  /** All that came back, as text. */
  readonly call: (
    tool: string,
    input: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Promise<string>
  readonly close: () => Promise<unknown>
}

/** What a client that can ask is asked, and that its person agrees to everything. */
export interface Person {
  readonly asked: Array<string>
  readonly agree: (message: string, schema: unknown) => {
    readonly action: "accept"
    readonly content: Record<string, boolean>
  }
}

export interface Subject {
  readonly client: string
  readonly packages: readonly [string, ...ReadonlyArray<string>]
  readonly over: ReadonlyArray<Transport>
  /** Flows that this client has no means for, and why. */
  readonly lacks?: Readonly<Partial<Record<Flow, string>>>
  /** Where it tells the server nothing about a call that was cancelled: closing it ends the call. */
  readonly cancelsByClosing?: ReadonlyArray<Transport>
  /** Whether it passes a question of the server on to a person. */
  readonly asks: boolean
  readonly open: (options: {
    readonly part: Part
    readonly target: Target
    readonly transport: Transport
    readonly world: World
    readonly person: Person
  }) => Promise<Session>
}

export const makePerson = (): Person => {
  const asked: Array<string> = []
  return {
    asked,
    agree: (message, schema) => {
      asked.push(message)
      const fields = Object.entries(Object(Object(schema).properties))
      const content = fields.flatMap(([name, field]) => Object(field).type === "boolean" ? [[name, true]] : [])
      return { action: "accept", content: Object.fromEntries(content) }
    }
  }
}

/** A result as one text. */
export const asText = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? ""
