// An agent's session with the real server over a real project: the MCP edge, the kernel on disk, its gate, limits, loop
// guard, approvals and audit. Programs run unconfined in the project's folder, at every level of isolation.
// oxlint-disable typescript/no-explicit-any -- a tool answers any JSON
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { McpSchema } from "effect/ai"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as ItemSourcesContent from "../../../src/layers/item/ItemSourcesContent.ts"
import * as Kernel from "../../../src/layers/Kernel.ts"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { Projects } from "../../../src/layers/Projects.ts"
import * as CallProject from "../../../src/programs/mcp/callProject.ts"
import * as Edge from "../../../src/programs/mcp/edge.ts"
import * as LongCalls from "../../../src/programs/mcp/longCalls.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { ChildProcesses } from "../../../src/services/process/ChildProcesses.ts"
import type { Isolation } from "../../../src/services/sandbox/Isolation.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import { makeShelf } from "../../layers/item/shelf.ts"
import { questionText } from "../questionText.ts"
import { realProject } from "../realProject.ts"
import { locationOf, makeSigner, signText, type TestSigner } from "../snapshots.ts"
import { agree, trustProject } from "../trustWorld.ts"

export interface AgentWorldOptions {
  /** The project's files, by path. */
  readonly files?: Readonly<Record<string, string>>
  /** Tools that another person has signed, whose key the user has trusted: by path below `.ai/tools`. */
  readonly foreign?: Readonly<Record<string, string>>
  /** Tools with a valid signature by a key that nobody has trusted: by path below `.ai/tools`. */
  readonly strangers?: Readonly<Record<string, string>>
  /** Tools that are no files, from a source of this name: an upstream server, as far as there is one. */
  readonly shelf?: {
    readonly name: string
    readonly tools: Readonly<Record<string, string>>
    /** Those that a person has approved as they are. Default: all. */
    readonly approved?: ReadonlyArray<string>
  }
  /** The user's own tools: by path below `.ai/tools`. */
  readonly own?: Readonly<Record<string, string>>
  /** The user's `permissions.yaml` and `kiwi.yaml`. */
  readonly rules?: string
  readonly settings?: string
  /** Whether there is an engine for `sandboxed`. Default: true. */
  readonly sandboxed?: boolean
  /** Whether programs run. Otherwise each succeeds, and does nothing. Default: true. */
  readonly runs?: boolean
  readonly network?: OutboundMemory.Answerer
  readonly client?: string
  /** The name that its program sends. Default: none. */
  readonly label?: string
  /** Default: `session` where that is offered, otherwise `once`. */
  readonly answer?: Answering
}

/** A person's answer to a question. */
export type Answering = (choices: ReadonlyArray<string>, question: string) => string

export interface Answered {
  readonly status: string
  readonly data?: any
  readonly approval_id?: string
  readonly error?: { readonly code: string; readonly message: string; readonly remediation?: string }
  readonly warnings?: ReadonlyArray<{ readonly code: string }>
}

export interface AgentWorld {
  readonly project: string
  /** A folder beside the project. */
  readonly outside: string
  readonly userSpace: string
  /** `$KIWI_HOME` */
  readonly home: string
  /** The questions that the person was shown. */
  readonly asked: Array<string>
  readonly call: (tool: string, parameters: object, dryRun?: boolean) => Effect.Effect<Answered>
  readonly connect: (client?: string) => Effect.Effect<AgentWorld["call"], unknown, Scope.Scope>
  readonly answerWith: (answer: Answering) => void
  readonly use: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E>
}

/** Runs at every level what it runs at `standard`. */
const unconfined = Layer.effect(
  ChildProcesses,
  Effect.map(ChildProcesses, (all) =>
    ChildProcesses.of({
      levels: new Set(["trusted", "standard", "sandboxed", "restricted"]),
      run: (request) => all.run({ ...request, isolation: "standard" })
    }))
).pipe(Layer.provide(ChildProcessesNode.layer))

const idle = (levels: ReadonlyArray<Isolation>) =>
  Layer.succeed(
    ChildProcesses,
    ChildProcesses.of({ levels: new Set(levels), run: () => Effect.succeed({ code: 0, signal: null }) })
  )

const enginesOf = ({ runs, sandboxed }: AgentWorldOptions) =>
  runs === false
    ? idle(sandboxed === false ? ["trusted", "standard"] : ["trusted", "standard", "sandboxed", "restricted"])
    : sandboxed === false
    ? ChildProcessesNode.layer
    : unconfined

const preferred: Answering = (choices) => choices.includes("session") ? "session" : "once"

export const agentWorld = Effect.fnUntraced(function*(options: AgentWorldOptions = {}) {
  const real = yield* realProject(options.files ?? {})
  const { project, userSpace } = real
  const outside = join(dirname(project), "outside")
  fs.mkdirSync(outside)
  const put = (path: string, text: string) => {
    fs.mkdirSync(dirname(path), { recursive: true })
    fs.writeFileSync(path, text, { mode: 0o600 })
  }
  if (options.rules !== undefined) put(join(userSpace, "config/permissions.yaml"), options.rules)
  if (options.settings !== undefined) put(join(userSpace, "config/kiwi.yaml"), options.settings)
  for (const [path, text] of Object.entries(options.own ?? {})) put(join(project, ".ai/tools", path), text)
  const shelf = makeShelf(options.shelf?.tools, { name: options.shelf?.name ?? "shelf" })
  for (const id of options.shelf?.approved ?? Object.keys(options.shelf?.tools ?? {})) shelf.approve(id)
  const services = yield* Layer.build(Kernel.layerProjects({
    home: real.home,
    userSpace,
    replace: Layer.mergeAll(
      enginesOf(options),
      options.shelf === undefined ? Layer.empty : ItemSourcesContent.layerWith([shelf.source]),
      options.network === undefined ? OutboundMemory.layer : OutboundMemory.layerWith(options.network)
    )
  }))
  const use = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideContext(
      Effect.flatMap(Projects, (projects) => projects.use(project)(effect as never)),
      services
    ) as Effect.Effect<A, E>
  yield* use(trustProject)
  if (options.own !== undefined) {
    yield* use(Effect.gen(function*() {
      const signatures = yield* Signatures
      const plan = yield* signatures.plan({ id: "**", tier: "project" })
      yield* signatures.sign(plan, agree(plan.request))
    }))
  }
  const putSigned = (signer: TestSigner, tools: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(tools)) {
      const at = locationOf(`tools/${path}`)
      put(join(project, ".ai", "tools", at.path), signText(signer, at, text))
    }
  }
  if (options.strangers !== undefined) putSigned(makeSigner(), options.strangers)
  if (options.foreign !== undefined) {
    const grace = makeSigner()
    putSigned(grace, options.foreign)
    yield* use(Effect.gen(function*() {
      const signers = yield* SignerTrust
      const signer = { keyId: grace.keyId, publicKey: grace.pair.publicKey, name: "Grace" }
      const grant = { signer, as: "other", project: undefined } as const
      yield* signers.add(grant, agree(signers.proposeAdd(grant)))
    }))
  }

  const asked: Array<string> = []
  let answer = options.answer ?? preferred
  const server = yield* Effect.provideContext(Effect.context<Projects | Scope.Scope>(), services)
  const elicit = (params: unknown) =>
    Effect.sync(() => {
      const field = (params as any).requestedSchema.properties.agree
      const choices: ReadonlyArray<string> = field.enum ?? []
      // With what each answer does, where a client shows that beside the answers.
      const question = [questionText(params), ...field.enumNames ?? []].join("\n")
      asked.push(question)
      const [, end] = /– end: (\d{4}) –/.exec(question.slice(question.lastIndexOf("– end: "))) ?? []
      return { action: "accept", content: { agree: answer(choices, question), ...(end === undefined ? {} : { end }) } }
    })
  /** A session of its own, as that of a client that has started its own server. */
  const connect = (client = options.client ?? "agent") =>
    Effect.provideContext(
      Effect.flatMap(CallProject.make(project), (own) =>
        Edge.make(own, { client, presence: { nobody: undefined, agent: undefined } }, LongCalls.make(), server)),
      services
    ).pipe(Effect.map((edge) => (tool: string, parameters: object, dry = false) =>
      edge.call("execute", { item_id: tool, item_type: "tool", parameters, dry_run: dry }).pipe(
        Effect.provideService(
          McpSchema.McpServerClient,
          McpSchema.McpServerClient.of({ clientId: 0, getClient: Effect.succeed({ elicit }) } as never)
        ),
        Effect.provideService(McpSchema.McpRequestContext, {
          clientId: 0,
          protocolVersion: "2025-11-25",
          ...(options.label === undefined ? {} : { clientInfo: { name: options.label, version: "1" } }),
          clientCapabilities: new McpSchema.ClientCapabilities({ elicitation: { form: {} } })
        }),
        Effect.provideContext(services),
        Effect.map((result) =>
          (result as McpSchema.CallToolResult).structuredContent as unknown as Answered
        )
      ) as Effect.Effect<Answered>
    ))
  const call = yield* connect()
  const world: AgentWorld = {
    project,
    outside,
    userSpace,
    home: real.home,
    asked,
    call,
    connect,
    answerWith: (next) => {
      answer = next
    },
    use
  }
  return world
})

/** What the audit has of calls, oldest first. */
export const auditOf = ({ use }: AgentWorld) => use(Effect.flatMap(AuditLog, (audit) => audit.read({ limit: 10_000 })))
