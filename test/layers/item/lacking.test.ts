// What lies in a type folder and is no item is named with what it lacks: by doctor, and by whoever asks for it.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ItemStoreMemory from "../../../src/layers/item/ItemStoreMemory.ts"

const store = ItemStoreMemory.make({
  project: {
    "tools/deploy": "#!/bin/bash\n",
    "tools/ops/restart-all": "#!/bin/bash\n",
    "tools/stats.rb": "puts 1\n",
    "tools/a.pl": "",
    "tools/b.zsh": "",
    "tools/c.ps1": "",
    "tools/d.tsx": "",
    "tools/rep/main.py": "print(1)\n",
    "tools/deep/er/main2.py": "print(1)\n",
    "tools/whole/tool.yaml": "version: 1.0.0\n",
    "tools/whole/run": "#!/bin/bash\n",
    "tools/dep.py": "",
    // Data and companions are nobody's tool.
    "tools/data.csv": "",
    "tools/notes.txt": "",
    "tools/Makefile": "",
    "tools/LICENSE": "",
    "tools/_draft": "",
    "tools/whole.kiwi-sig": "",
    "knowledge/plain": ""
  }
})

it.effect("programs without an ending that Kiwi reads are problems, and data is none", () =>
  Effect.gen(function*() {
    const problems = yield* store.problems
    assert.deepStrictEqual(
      problems.map(({ message }) => message.replace(/: a tool cannot have this name.*/, "")).toSorted(),
      [
        "project:tools/a.pl",
        "project:tools/b.zsh",
        "project:tools/c.ps1",
        "project:tools/d.tsx",
        "project:tools/deploy",
        "project:tools/ops/restart-all",
        "project:tools/stats.rb"
      ]
    )
    for (const { remediation } of problems) assert.include(remediation, "tool.yaml")
  }))

it.effect("what is asked for by such a name is told what it lacks", () =>
  Effect.gen(function*() {
    for (const id of ["deploy", "restart-all", "stats", "a", "b", "c", "d"]) {
      const error = yield* Effect.flip(store.find({ id, type: "tool" }))
      assert.include(error.remediation, "A file of that name is not a tool", id)
      assert.include(error.remediation, "tool.yaml", id)
    }
    for (const id of ["rep", "er"]) {
      const error = yield* Effect.flip(store.find({ id, type: "tool" }))
      assert.include(error.remediation, "A folder of that name has no tool.yaml", id)
    }
    for (const id of ["data", "notes", "plain", "run", "other"]) {
      const error = yield* Effect.flip(store.find({ id, type: "tool" }))
      assert.notInclude(error.remediation, "of that name", id)
    }
  }))
