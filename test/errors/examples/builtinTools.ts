// The tools that Kiwi brings: files, requests, commands, running calls.
import * as fs from "node:fs"
import { join } from "node:path"
import { call } from "../../layers/proxy/calls.ts"
import type { RealProject } from "../../support/realProject.ts"
import { failing } from "../Example.ts"
import type { Examples } from "../Example.ts"

const write = (path: string, content: string | Uint8Array) => ({ project }: Pick<RealProject, "project">) =>
  fs.writeFileSync(join(project, path), content)

const asked = (
  tool: string,
  parameters: Record<string, string>,
  prepare: (real: RealProject) => void = write("notes.txt", "same\nsame\n")
) =>
  failing({}, "trusted", (real) => {
    prepare(real)
    return call(tool, parameters)
  })

export const examples: Examples = {
  FileAbsent: {
    when: "An agent reads a file that is not there",
    produce: asked("filesystem.read", { path: "note.txt" })
  },
  PathUnusable: {
    when: "An agent reads a folder as a file",
    produce: asked("filesystem.read", { path: ".ai" })
  },
  PathProtected: {
    when: "An agent writes a file that editors obey",
    produce: asked("filesystem.write", { path: ".vscode/tasks.json", content: "{}" })
  },
  FileNotText: {
    when: "An agent reads a picture as text",
    produce: asked("filesystem.read", { path: "a.png" }, write("a.png", Uint8Array.from([0x89, 0x50, 0, 255])))
  },
  EditUnclear: {
    when: "An agent replaces a text that is in the file twice",
    produce: asked("filesystem.edit", { path: "notes.txt", old: "same", new: "other" }, (real) => {
      write("notes.txt", "same\nsame\n")(real)
      fs.mkdirSync(join(real.userSpace, "config"), { recursive: true })
      fs.writeFileSync(join(real.userSpace, "config/permissions.yaml"), "rules: [{allow: fs.write(**)}]\n")
    })
  },
  PatternUnusable: {
    when: "An agent searches with a pattern that is no plain text and has a look-ahead",
    produce: failing({}, "trusted", () => call("filesystem.search", { pattern: "(?=a)", regex: true }))
  },
  CallUnknown: {
    when: "An agent asks for the result of a call that its session does not have",
    produce: asked("call.result", { call_id: "c0ffee" })
  }
}
