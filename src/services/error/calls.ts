// Remedies that are calls, in the form for a program that embeds Kiwi. The command line and the MCP server replace them
// by their own.

/** A call that a remedy recommends. */
export type Call =
  | { readonly _tag: "Search"; readonly query: string }
  | { readonly _tag: "Load"; readonly type: string; readonly id: string }
  | { readonly _tag: "Open" }

export const searchCall = (query: string): string => `Call search({ query: ${JSON.stringify(query)} })`

export const loadCall = (type: string, id: string): string =>
  `Call load({ id: ${JSON.stringify(id)}, type: ${JSON.stringify(type)} })`

export const openCall = "Open the project that was meant: makeKiwi({ project }), or Kernel.layer({ project })"

const quoted = String.raw`("(?:[^"\\]|\\.)*")`
const search = new RegExp(String.raw`^Call search\(\{ query: ${quoted} \}\)$`)
const load = new RegExp(String.raw`^Call load\(\{ id: ${quoted}, type: ${quoted} \}\)$`)

const text = (json: string | undefined): string => String(JSON.parse(json ?? "\"\""))

/** Parses a remedy as a call. Undefined for any other remedy. */
export const callIn = (remediation: string): Call | undefined => {
  if (remediation === openCall) return { _tag: "Open" }
  const searched = search.exec(remediation)
  if (searched !== null) return { _tag: "Search", query: text(searched[1]) }
  const loaded = load.exec(remediation)
  return loaded === null ? undefined : { _tag: "Load", id: text(loaded[1]), type: text(loaded[2]) }
}
