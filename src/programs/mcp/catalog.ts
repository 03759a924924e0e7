// Trusted items as resources and trusted directives as prompts. The protocol library's lists have no way to remove an
// entry: a predicate hides what is gone, and transports update the lists before they hand on a request for one.
import { Context, Effect, Semaphore, Stream } from "effect"
import type { Scope } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import { Projects } from "../../layers/Projects.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { ItemParser } from "../../services/format/ItemParser.ts"
import type { Item, ItemLocation } from "../../services/item/Item.ts"
import { ItemType } from "../../services/item/ItemId.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import type { ProjectNotFound } from "../../services/workspace/Workspace.ts"
import { checkSignature } from "../itemState.ts"
import type { CallProject } from "./callProject.ts"
import { parametersOf, promptOf } from "./prompt.ts"
import type { FollowPrompt } from "./prompt.ts"
import type { Notices } from "./transport/notices.ts"

/** How many items a list names at most. Every item can be read through the template. */
const listed = 50
/** How many items are read at most to fill a list. */
const mostRead = 1000

/** Requests that a transport holds until `refresh` has run. */
export const listMethods: ReadonlySet<string> = new Set([
  "resources/list",
  "resources/subscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "subscriptions/listen"
])

const uriOf = (location: ItemLocation): string => `kiwi://${location.type}/${qualifiedId(location)}`

export const mimeTypeOf = ({ kind, path, type }: ItemLocation): string =>
  type !== "tool"
    ? "text/markdown"
    : kind === "folder" || /\.ya?ml$/.test(path)
    ? "application/yaml"
    : "text/plain"

interface Listed {
  readonly location: ItemLocation
  readonly digest: string
  readonly item: Item
}

/** Items whose text may be shown, the project's first. None while the project is restricted. */
const trustedItems = Effect.fnUntraced(function*(profile: OfProfile | undefined) {
  const parser = yield* ItemParser
  const store = yield* ItemStore
  const trust = yield* ProjectTrust
  if ((yield* trust.state)._tag === "Restricted") return []
  const found: Array<Listed> = []
  const seen = new Set<string>()
  const all = yield* store.list()
  const visible = profile === undefined ? all : all.filter(yield* profile.visible)
  for (const location of visible.slice(0, mostRead)) {
    if (found.length >= listed) break
    if (seen.has(uriOf(location))) continue
    seen.add(uriOf(location))
    const entry = yield* store.read(location).pipe(
      Effect.flatMap((snapshot) =>
        Effect.flatMap(checkSignature(snapshot), ({ verified }) =>
          verified === undefined
            ? Effect.undefined
            : Effect.map(parser.parse(snapshot), (item): Listed => ({ location, digest: snapshot.digest, item })))
      ),
      Effect.orElseSucceed(() => undefined)
    )
    if (entry !== undefined) found.push(entry)
  }
  return found
})

const describe = ({ item }: Listed): { readonly title?: string; readonly description?: string } => ({
  ...(item.title === "" ? {} : { title: safeLine(item.title, 120) }),
  ...(item.description === "" ? {} : { description: safeLine(item.description) })
})

const resourceOf = (entry: Listed) =>
  new McpSchema.Resource({
    uri: uriOf(entry.location),
    name: qualifiedId(entry.location),
    ...describe(entry),
    mimeType: mimeTypeOf(entry.location)
  })

type ReadResource = (
  uri: string
) => Effect.Effect<
  McpSchema.ReadResourceResult,
  McpSchema.InvalidParams | McpSchema.InternalError,
  McpSchema.McpRequestContext
>

/** What a client does with an entry. What is refused fails as what is not there. */
export interface Uses {
  readonly follow: FollowPrompt
  readonly readItem: ReadResource
  readonly readOutput: ReadResource
}

/** What the server's profile adds to the lists, and leaves out of them. */
export interface OfProfile {
  /** Updates the list of tools. */
  readonly update: Effect.Effect<void, ProjectNotFound>
  /** Whether the profile has the item. */
  readonly visible: Effect.Effect<(location: ItemLocation) => boolean, ProjectNotFound>
}

export interface Catalog {
  /** Updates both lists, opens the project if it was not open yet, and keeps the lists up to date from then on. */
  readonly refresh: Effect.Effect<void>
}

/** Registers the templates, and the list entries as they become known. */
export const make = Effect.fnUntraced(function*(
  project: CallProject,
  uses: Uses,
  notices: Notices,
  profile?: OfProfile
): Effect.fn.Return<Catalog, never, McpServer.McpServer | Projects | Scope.Scope> {
  const projects = yield* Projects
  const server = yield* McpServer.McpServer
  const scope = yield* Effect.scope
  const one = yield* Semaphore.make(1)

  const resources = new Map<string, string>()
  const prompts = new Map<string, string>()
  const shownWhen = (test: () => boolean) => Context.make(McpSchema.EnabledWhen, test)
  const inOwn = projects.use(project.own)

  yield* server.addResourceTemplate({
    template: new McpSchema.ResourceTemplate({
      uriTemplate: "kiwi://output/{id}{?offset,length}",
      name: "output",
      description: "Output of a tool that was too long to return, in byte ranges"
    }),
    annotations: Context.empty(),
    routerPath: "kiwi:://output/*",
    completions: {},
    handle: uses.readOutput
  })
  yield* server.addResourceTemplate({
    template: new McpSchema.ResourceTemplate({
      uriTemplate: "kiwi://{type}/{+id}",
      name: "item",
      description: "A trusted directive, tool or knowledge entry"
    }),
    annotations: Context.empty(),
    routerPath: "kiwi:://:0/*",
    completions: {
      type: (input) => complete(ItemType.literals.filter((type) => type.startsWith(input))),
      id: (input) =>
        complete(
          [...resources.keys()].map((uri) => uri.replace(/^kiwi:\/\/[a-z]+\//, "")).filter((ref) =>
            ref.startsWith(input)
          )
        )
    },
    handle: uses.readItem
  })
  // Without a registered prompt the library would not announce prompts. This one is never shown.
  yield* server.addPrompt({
    prompt: new McpSchema.Prompt({ name: "kiwi" }),
    annotations: shownWhen(() => false),
    completions: {},
    handle: () => Effect.fail(new McpSchema.InvalidParams({ message: "Prompt 'kiwi' not found" }))
  })

  const update = Effect.gen(function*() {
    if (profile !== undefined) yield* profile.update
    const entries = yield* inOwn(trustedItems(profile))
    const notify = server.notifications
    const uris = new Map(entries.map((entry) => [uriOf(entry.location), entry] as const))
    const changed: Array<string> = []
    let added = false
    for (const [uri, entry] of uris) {
      const resource = resourceOf(entry)
      const known = JSON.stringify([resource, entry.digest])
      const before = resources.get(uri)
      if (before === known) continue
      resources.set(uri, known)
      if (before === undefined) added = true
      else changed.push(uri)
      yield* server.addResource({
        resource,
        annotations: shownWhen(() => resources.has(uri)),
        handle: Effect.mapError(uses.readItem(uri), ({ message }) => new McpSchema.InternalError({ message }))
      })
    }
    const gone = [...resources.keys()].filter((uri) => !uris.has(uri))
    for (const uri of gone) resources.delete(uri)
    if (gone.length > 0) yield* notify["notifications/resources/list_changed"]({})
    if (added || gone.length > 0) yield* notices.publish({ method: "notifications/resources/list_changed" })
    for (const uri of [...changed, ...gone]) {
      yield* notify["notifications/resources/updated"]({ uri })
      yield* notices.publish({ method: "notifications/resources/updated", uri })
    }

    const names = new Set<string>()
    let prompted = false
    for (const { item } of entries) {
      if (item._tag !== "directive") continue
      const prompt = promptOf(item)
      if (names.has(prompt.name)) continue
      names.add(prompt.name)
      const known = JSON.stringify([prompt, item.inputs])
      if (prompts.get(prompt.name) === known) continue
      prompts.set(prompt.name, known)
      prompted = true
      yield* server.addPrompt({
        prompt,
        annotations: shownWhen(() => prompts.has(prompt.name)),
        completions: {},
        handle: (given) => uses.follow(prompt.name, parametersOf(item.inputs, given))
      })
    }
    const dropped = [...prompts.keys()].filter((name) => !names.has(name))
    for (const name of dropped) prompts.delete(name)
    if (dropped.length > 0) yield* notify["notifications/prompts/list_changed"]({})
    if (prompted || dropped.length > 0) yield* notices.publish({ method: "notifications/prompts/list_changed" })
  })

  let watching = false
  const watch = Effect.suspend(() => {
    if (watching) return Effect.void
    watching = true
    const changes = Effect.flatMap(ItemStore, (store) => Stream.runForEach(store.changes, () => refreshOnce))
    return Effect.asVoid(Effect.forkIn(inOwn(changes), scope))
  })
  const refreshOnce = one.withPermit(update).pipe(
    Effect.catchCause((cause) => Effect.logWarning("The lists of resources and prompts could not be renewed", cause))
  )
  return { refresh: Effect.andThen(watch, refreshOnce) }
})

const complete = (values: ReadonlyArray<string>): Effect.Effect<McpSchema.CompleteResult> =>
  Effect.succeed({ completion: { values: values.slice(0, 100), total: values.length, hasMore: values.length > 100 } })
