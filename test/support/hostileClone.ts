// Builds the hostile clone: a repository that brings everything with which a repository could try to be believed or to
// run. Use it at any level (layers, MCP, command line, embedding): build it, do what a user would do with a clone, then
// look at `ran()` – it is empty as long as nothing of the clone was executed – and at `escaped()`, which names what was
// written through its links. `secret` is the content of a file outside that a linked item would leak.
//
// | What | Where |
// |---|---|
// | proposes the attacker's key, with a name that forges a line | `.ai/config/trust.yaml` |
// | allow rules, upstream commands, auth hosts, loose settings | `.ai/config/{permissions,mcp,auth,kiwi}.yaml` |
// | an extractor that wants to be evaluated | `.ai/extractors/tools.yaml` |
// | NODE_OPTIONS, BASH_ENV, PATH, LD_PRELOAD, KIWI_HOME… | `.env`, `.env.local`, `.ai/.env` |
// | interpreters and version files that climb | `.venv`, `node_modules`, `.nvmrc`, `.python-version`, `.tool-versions` |
// | a forged decision, caches, a database, a whole home | `.ai/trust.json`, `.ai/cache`, `.ai/search.db`, `.kiwi` |
// | a tool with a valid signature of the attacker | `.ai/tools/owned.py` |
// | tools that shadow the system's, or runtimes and primitives | `filesystem.read`, `python_runtime`, `subprocess` |
// | escapes in every text that is printed | `.ai/tools/math/pretty.py`, the directive, the knowledge entry |
// | links out of the project | `.ai/logs`, `.ai/tools/leak.py`, `.ai/knowledge/leak.md`, `.ai/config/linked.yaml`, `.env.link` |
// | git hooks and fsmonitor | `.git` |
import { Effect } from "effect"
import { createHash, generateKeyPairSync, sign } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { commentSyntax, signedMessage, withSignature } from "../../src/services/item/SignatureLine.ts"
import { temporary } from "./temporary.ts"

const data = fileURLToPath(new URL("../attacks/hostile-clone", import.meta.url))

export interface HostileClone {
  /** The cloned project. */
  readonly root: string
  /** The attacker's key, as a signer. */
  readonly attacker: { readonly publicKey: string; readonly keyId: string }
  /** Content of a file outside the clone that links in it lead to. */
  readonly secret: string
  /** What of the clone was executed, one name each. */
  readonly ran: () => ReadonlyArray<string>
  /** Files outside the clone that appeared or changed through its links. */
  readonly escaped: () => ReadonlyArray<string>
}

const secret = "outside-secret-7f3c"

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex")

const fill = (folder: string, marks: Readonly<Record<string, string>>): void => {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const text = fs.readFileSync(file, "latin1")
    const filled = Object.entries(marks).reduce((t, [mark, value]) => t.replaceAll(mark, value), text)
    if (filled !== text) fs.writeFileSync(file, filled, "latin1")
  }
}

const signAs = (key: ReturnType<typeof generateKeyPairSync>["privateKey"], keyId: string, file: string, id: string) => {
  const text = fs.readFileSync(file, "utf8")
  const claim = { time: "20260101T000000Z", kind: "person", digest: sha256(text) } as const
  const message = signedMessage(claim, { type: "tool", id, path: `${id}.py` })
  const signature = sign(null, Buffer.from(message), key).toString("base64url")
  fs.writeFileSync(file, withSignature(text, commentSyntax(file)!, { ...claim, keyId, signature }))
}

const executable = (file: string, text: string): void => {
  fs.mkdirSync(join(file, ".."), { recursive: true })
  fs.writeFileSync(file, text, { mode: 0o755 })
}

/** Builds it in `folder`, which must be an empty real path; the clone is `folder/clone`. */
export const buildHostileClone = (folder: string): HostileClone => {
  const [root, outside, canary] = [join(folder, "clone"), join(folder, "outside"), join(folder, "canary")]
  fs.cpSync(data, root, { recursive: true })
  fs.mkdirSync(outside)
  fs.writeFileSync(join(outside, "secret.py"), `"""${secret}"""\n__version__ = "1.0.0"\n`)

  const pair = generateKeyPairSync("ed25519")
  const publicKey = String(pair.publicKey.export({ format: "jwk" }).x)
  const keyId = sha256(Buffer.from(publicKey, "base64url")).slice(0, 16)
  fill(root, { "@CANARY@": canary, "@ROOT@": root, "@KEY@": publicKey })
  signAs(pair.privateKey, keyId, join(root, ".ai/tools/owned.py"), "owned")
  for (const name of ["python", "python3"]) fs.chmodSync(join(root, ".venv/bin", name), 0o755)

  const tell = (what: string) => `#!/bin/sh\necho '${what}' >> '${canary}'\n`
  executable(join(root, "node_modules/.bin/node"), `${tell("node_modules/.bin/node")}exec node "$@"\n`)
  executable(join(root, ".git/hooks/post-checkout"), tell("post-checkout"))
  executable(join(root, ".git/fsmonitor"), tell("fsmonitor"))
  fs.writeFileSync(join(root, ".git/HEAD"), "ref: refs/heads/main\n")
  fs.writeFileSync(
    join(root, ".git/config"),
    `[core]\n\tfsmonitor = ${root}/.git/fsmonitor\n\thooksPath = ${root}/.git/hooks\n[diff]\n\texternal = ${root}/.git/fsmonitor\n`
  )
  fs.mkdirSync(join(root, ".git/objects"))
  fs.mkdirSync(join(root, ".git/refs"))

  fs.symlinkSync(outside, join(root, ".ai/logs"))
  fs.symlinkSync(outside, join(root, ".ai/outputs"))
  fs.symlinkSync(join(outside, "secret.py"), join(root, ".ai/tools/leak.py"))
  fs.symlinkSync(join(outside, "secret.py"), join(root, ".ai/knowledge/leak.md"))
  fs.symlinkSync(join(outside, "secret.py"), join(root, ".ai/config/linked.yaml"))
  fs.symlinkSync(join(outside, "secret.py"), join(root, ".env.link"))

  const before = fs.readFileSync(join(outside, "secret.py"), "utf8")
  return {
    root,
    attacker: { publicKey, keyId },
    secret,
    ran: () => fs.existsSync(canary) ? fs.readFileSync(canary, "utf8").trim().split("\n") : [],
    escaped: () =>
      fs.readdirSync(outside).filter((name) =>
        name !== "secret.py" || fs.readFileSync(join(outside, name), "utf8") !== before
      )
  }
}

/** The clone in a temporary folder that lives as long as the scope. */
export const hostileClone = Effect.map(temporary, buildHostileClone)
