// Items that are not there, not one, not readable, or not what their type needs.
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as ItemSourcesContent from "../../../src/layers/item/ItemSourcesContent.ts"
import * as KernelMemory from "../../../src/layers/KernelMemory.ts"
import { execute } from "../../../src/programs/execute.ts"
import { load } from "../../../src/programs/load.ts"
import { makeShelf, shelfTool, system } from "../../layers/item/shelf.ts"
import { call, caller, echo, tool } from "../../layers/proxy/calls.ts"
import { failing, failingCall } from "../Example.ts"
import type { Examples } from "../Example.ts"

export const examples: Examples = {
  ItemNotFound: {
    when: "An agent calls `ad`, and the project has `add`",
    produce: failingCall({ ".ai/tools/math/add.yaml": echo }, "trusted", "ad")
  },
  ItemAmbiguous: {
    when: "Two categories have a tool `add`",
    produce: failingCall({ ".ai/tools/math/add.yaml": echo, ".ai/tools/words/add.yaml": echo }, "trusted", "add")
  },
  ItemIdInvalid: {
    when: "A path is given as an id",
    produce: failingCall({}, "trusted", "../../etc/passwd")
  },
  ItemInvalid: {
    when: "A directive has an element that is not closed",
    produce: failing(
      {
        ".ai/directives/deploy.md": [
          "# Deploy",
          "",
          "```xml",
          "<directive name=\"deploy\" version=\"1.0.0\">",
          "  <metadata><description>Ships it</metadata>",
          "</directive>",
          "```",
          ""
        ].join("\n")
      },
      "trusted",
      () => execute({ id: "deploy", type: "directive", parameters: {}, dryRun: false, callId: "call" }, caller)
    )
  },
  ItemUnapproved: {
    when: "A program brings a tool of a server, and nobody has approved it yet",
    produce: Effect.flip(call("greet")).pipe(Effect.provide(KernelMemory.layer({
      ...system,
      replace: ItemSourcesContent.layerWith([makeShelf({ greet: shelfTool() }).source])
    })))
  },
  SystemItemRefused: {
    when: "A program brings a system item in the place of one of Kiwi's",
    produce: Effect.flip(
      Effect.scoped(Layer.build(KernelMemory.layer({ items: { "tools/core/ping.yaml": tool({}) } })))
    )
  },
  ItemUnreadable: {
    when: "An item is a link to a file elsewhere",
    produce: failing({}, "trusted", ({ home, project }) => {
      fs.mkdirSync(join(project, ".ai/tools"), { recursive: true })
      fs.writeFileSync(join(home, "../elsewhere.yaml"), tool({}))
      fs.symlinkSync("../../../elsewhere.yaml", join(project, ".ai/tools/elsewhere.yaml"))
      return Effect.asVoid(load({ id: "elsewhere", type: "tool" }, caller))
    })
  }
}
