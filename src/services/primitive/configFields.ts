// Config fields that are more than JSON to their readers, and how templating protects the data in them.
import type { ConfigField } from "../template/Template.ts"

const subprocess: ReadonlyArray<ConfigField> = [
  { at: "/command", mode: "text" },
  { at: "/runtime_args/*", mode: "argument" },
  { at: "/args/*", mode: "argument" },
  { at: "/env/*", mode: "text" },
  { at: "/cwd", mode: "path" },
  { at: "/input_data", mode: "text" }
]

const httpClient: ReadonlyArray<ConfigField> = [
  { at: "/url", mode: "url" },
  { at: "/headers/*", mode: "header" },
  { at: "/auth/*", mode: "header" },
  { at: "/body_base64", mode: "text" },
  { at: "/multipart/*/base64", mode: "text" },
  { at: "/multipart/*/path", mode: "path" },
  { at: "/multipart/*/filename", mode: "text" },
  { at: "/multipart/*/content_type", mode: "header" }
]

/** By primitive id. `builtin` has none: its handlers get JSON. */
export const configFields: ReadonlyMap<string, ReadonlyArray<ConfigField>> = new Map([
  ["subprocess", subprocess],
  ["http_client", httpClient]
])
