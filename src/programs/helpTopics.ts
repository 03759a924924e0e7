// The topics of help. `kiwi serve` lists them before it loads anything that can explain one.
export const topics = [
  "overview",
  "search",
  "load",
  "execute",
  "sign",
  "directives",
  "tools",
  "knowledge",
  "trust"
] as const
export type Topic = typeof topics[number]
