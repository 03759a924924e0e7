import { Effect } from "effect"
import * as Fs from "node:fs"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { contract } from "../../services/process/ChildProcesses.contract.ts"
import { temporary } from "../../support/temporary.ts"

contract(
  "ChildProcessesNode",
  Effect.map(temporary, (folder) => {
    const program = (name: string, script: string) => {
      const file = `${folder}/${name}`
      Fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      return file
    }
    const mark = `${folder}/started`
    return {
      programs: {
        echo: program("echo", "exec /bin/cat"),
        word: program("word", `printf %s "$WORD"`),
        refuse: program("refuse", "printf no >&2; exit 3"),
        hang: program("hang", `: > ${mark}; exec /bin/sleep 600`),
        mark: program("mark", `: > ${mark}`),
        none: `${folder}/none`
      },
      started: Effect.sync(() => Fs.existsSync(mark)),
      layer: ChildProcessesNode.layer
    }
  })
)
