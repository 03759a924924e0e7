import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "effect"
import { callerChoice } from "../../../src/services/primitive/callerChoice.ts"

const choice = (config: Schema.JsonObject, hasParameters = true) => callerChoice("subprocess", config, hasParameters)

describe("a caller would choose what runs", () => {
  const chosen: ReadonlyArray<readonly [string, Schema.JsonObject, string]> = [
    ["the program", { command: "{program}" }, "command"],
    ["a part of its path", { command: "/opt/tools/{name}/run" }, "command"],
    ["the program of a variable's folder", { command: "${TOOLS}/{name}" }, "command"],
    ["a runtime's own arguments", { command: "java", runtime_args: ["-cp", "{jar}"] }, "runtime_args[1]"],
    ["a shell's code", { command: "bash", args: ["-c", "{code}"] }, "args[1]"],
    ["a part of a shell's code", { command: "/bin/sh", args: ["-ec", "grep {text} file"] }, "args[1]"],
    ["a shell's script", { command: "bash", args: ["-o", "pipefail", "{script}"] }, "args[2]"],
    ["a script after flags that look like code", { command: "bash", args: ["-e", "-u", "{script}"] }, "args[2]"],
    ["code in one argument", { command: "node", args: ["--eval={code}"] }, "args[0]"],
    ["code for Python", { command: "python3.12", args: ["-I", "-c", "{code}"] }, "args[2]"],
    ["code for an interpreter of a variable", { command: "${KIWI_PYTHON}", args: ["-c", "{code}"] }, "args[1]"],
    ["a module", { command: "python", args: ["-m", "{module}"] }, "args[1]"],
    ["a package to fetch and run", { command: "npx", args: ["-y", "{package}"] }, "args[1]"],
    ["a script for sed", { command: "sed", args: ["-n", "{script}", "notes.txt"] }, "args[1]"],
    ["a part of a script for sed", { command: "sed", args: ["-e", "1,{n}p"] }, "args[1]"],
    ["commands for a debugger", { command: "gdb", args: ["-ex", "{x}"] }, "args[1]"],
    ["commands for an editor", { command: "vim", args: ["-es", "-c", "{x}"] }, "args[2]"],
    ["a command of another user", { command: "su", args: ["-c", "{x}"] }, "args[1]"],
    ["a recorded command", { command: "script", args: ["-c", "{x}"] }, "args[1]"],
    ["code for Tcl", { command: "expect", args: ["-c", "{x}"] }, "args[1]"],
    ["a traced program", { command: "strace", args: ["-f", "{x}"] }, "args[1]"],
    ["a program on one core", { command: "taskset", args: ["1", "{x}"] }, "args[1]"],
    ["a program in a namespace", { command: "unshare", args: ["-r", "bash", "-c", "{x}"] }, "args[3]"],
    ["what a launcher starts", { command: "/usr/bin/env", args: ["LANG=C", "{program}"] }, "args[1]"],
    ["what a launcher starts after a duration", { command: "timeout", args: ["5", "{program}"] }, "args[1]"],
    ["the code of a launched shell", { command: "env", args: ["-i", "bash", "-c", "echo {text}"] }, "args[3]"],
    ["the code of one behind a duration", { command: "timeout", args: ["5", "sh", "-c", "{code}"] }, "args[3]"],
    ["the code of one for another user", { command: "sudo", args: ["-u", "root", "bash", "-c", "{code}"] }, "args[4]"],
    [
      "the code of one behind two launchers",
      { command: "nice", args: ["-n", "5", "env", "python3", "-c", "{x}"] },
      "args[5]"
    ],
    ["the script of a launched interpreter", { command: "/usr/bin/env", args: ["python3", "{script}"] }, "args[1]"],
    ["the options of a launched interpreter", { command: "env", args: ["node"] }, "input"],
    ["an interpreter's stdin", { command: "bash", input: "env", input_data: "{code}" }, "input_data"],
    ["an interpreter's options", { command: "node" }, "input"],
    ["an interpreter's stdin, by all parameters", { command: "bash", input: "stdin" }, "input"],
    ["more than it may use", { command: "x", limits: { cpu: 60, memory: "{memory}" } }, "limits.memory"],
    ["all of what it may use", { command: "x", limits: "{limits}" }, "limits"],
    ["the folder of a program", { command: "./run", cwd: "work/{folder}" }, "cwd"],
    ["the folder of a program below it", { command: "bin/run", cwd: "{folder}" }, "cwd"],
    ["the folder of a script", { command: "bash", args: ["run.sh"], cwd: "{folder}" }, "cwd"],
    ["the folder of a module", { command: "${KIWI_PYTHON}", args: ["-m", "tool"], cwd: "{folder}" }, "cwd"],
    ["the folder that says what to build", { command: "make", cwd: "{folder}" }, "cwd"],
    ["the folder that says what to test", { command: "/usr/bin/npm", args: ["test"], cwd: "{folder}" }, "cwd"],
    ["an interpreter on Windows", { command: "C:\\Windows\\System32\\CMD.EXE", args: ["/c", "{code}"] }, "args[1]"]
  ]
  for (const [what, config, field] of chosen) it(what, () => assert.strictEqual(choice(config), field))

  it("which files are sent", () => {
    const url = "https://example.com/"
    assert.strictEqual(callerChoice("http_client", { url, multipart: "{parts}" }, true), "multipart")
    assert.strictEqual(
      callerChoice("http_client", { url, multipart: [{ name: "a", value: "{a}" }, "{part}"] }, true),
      "multipart[1]"
    )
  })

  it("a server", () => {
    assert.strictEqual(callerChoice("http_client", { url: "{url}" }, true), "url")
    assert.strictEqual(callerChoice("http_client", { url: "{scheme}://example.com/" }, true), "url")
  })
})

describe("a caller gives data", () => {
  const data: ReadonlyArray<readonly [string, Schema.JsonObject]> = [
    ["arguments", { command: "grep", args: ["-n", "-e", "{text}", "--", "{file}"] }],
    ["a file for a signed script of sed", { command: "sed", args: ["-e", "s/a/b/", "{file}"] }],
    ["arguments after a tool's own file", { command: "${KIWI_PYTHON}", runtime_args: ["${TOOL_FILE}"], args: ["{x}"] }],
    ["arguments after a signed script", { command: "bash", args: ["scripts/run.sh", "{x}"] }],
    ["arguments of signed code", { command: "bash", args: ["-c", "printf '%s' \"$1\"", "_", "{x}"] }],
    ["arguments of a launched program", { command: "env", args: ["LANG=C", "sort", "{file}"] }],
    ["arguments of a launched script", { command: "env", args: ["bash", "scripts/run.sh", "{x}"] }],
    ["arguments of launched code", { command: "timeout", args: ["5", "bash", "-c", "echo \"$1\"", "_", "{x}"] }],
    ["bash_runtime", { command: "${KIWI_BASH}", runtime_args: ["-e", "-o", "pipefail", "${TOOL_FILE}"], input: "env" }],
    ["text in braces that is none", { command: "bash", args: ["-c", "echo {{x}}"] }],
    ["variables of an interpreter", { command: "bash", input: "env", args: ["-c", "echo \"$KIWI_PARAM_X\""] }],
    ["stdin of a program", { command: "jq", args: ["."], input: "stdin" }],
    ["numbers", { command: "head", args: ["-n", 5, "{file}"] }],
    ["a folder for a program that finds nothing to run there", { command: "wc", args: ["-l", "a"], cwd: "{folder}" }],
    ["a folder for a tool with a file of its own", {
      command: "${KIWI_PYTHON}",
      runtime_args: ["${TOOL_FILE}"],
      cwd: "{folder}"
    }],
    ["limits that are written down", { command: "wc", limits: { cpu: 5, memory: "1GiB" } }],
    ["nothing at all", {}],
    ["what is of the wrong type", { command: 5, args: "x" }]
  ]
  for (const [what, config] of data) it(what, () => assert.isUndefined(choice(config)))

  it("to an interpreter without parameters", () => assert.isUndefined(choice({ command: "node" }, false)))

  it("to a server that is named", () => {
    assert.isUndefined(callerChoice("http_client", { url: "https://example.com/{path}" }, true))
    assert.isUndefined(callerChoice("http_client", { url: "${BASE_URL}/{path}" }, true))
    assert.isUndefined(
      callerChoice("http_client", { url: "https://example.com/", multipart: [{ name: "f", path: "in/{file}" }] }, true)
    )
    assert.isUndefined(callerChoice("builtin", { handler: "noop" }, true))
  })
})
