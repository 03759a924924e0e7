// What nobody has accepted, signed or allowed, and what only a person may do.
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as VerifierEd25519 from "../../../src/layers/integrity/VerifierEd25519.ts"
import { SystemManifest } from "../../../src/layers/item/system/SystemManifest.ts"
import * as LineageMemory from "../../../src/layers/presence/LineageMemory.ts"
import * as HumanGateEmbedder from "../../../src/layers/trust/humanGate/HumanGateEmbedder.ts"
import * as HumanGateNone from "../../../src/layers/trust/humanGate/HumanGateNone.ts"
import { sign } from "../../../src/programs/sign.ts"
import { proposeYourself, trustSigner, untrustSigner } from "../../../src/programs/trust.ts"
import { Clients } from "../../../src/services/call/Clients.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { Verifier } from "../../../src/services/integrity/Verifier.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import { call, caller, object, tool } from "../../layers/proxy/calls.ts"
import { locationOf, makeSigner, signText } from "../../support/snapshots.ts"
import { agree } from "../../support/trustWorld.ts"
import { failing, failingCall } from "../Example.ts"
import type { Examples } from "../Example.ts"

const echo = tool({
  input_schema: object({ text: { type: "string" } }, "text"),
  config: { command: "echo", args: ["--", "{text}"] }
})
const add = { ".ai/tools/math/add.yaml": echo }
const addPath = ".ai/tools/math/add.yaml"

const signing = (id: string) =>
  Effect.gen(function*() {
    const signatures = yield* Signatures
    const plan = yield* signatures.plan({ id })
    return yield* signatures.sign(plan, agree(plan.request))
  })

const grace = makeSigner()
const byGrace = { [addPath]: signText(grace, locationOf("tools/math/add.yaml"), echo) }

export const examples: Examples = {
  ProjectRestricted: {
    when: "A cloned project is opened, and nobody has accepted it",
    produce: failingCall(add, "nothing", "add", { text: "a" })
  },
  Unsigned: {
    when: "A tool was written and not signed",
    produce: failingCall(add, "trusted", "add", { text: "a" })
  },
  Tampered: {
    when: "A tool was changed after it was signed",
    produce: failing(add, "signed", ({ project }) => {
      fs.appendFileSync(join(project, addPath), "\n")
      return call("add", { text: "a" })
    })
  },
  SignatureMalformed: {
    when: "Half of a signature was lost in a merge",
    produce: failing(add, "signed", ({ project, write }) => {
      write(addPath, fs.readFileSync(join(project, addPath), "utf8").replace(/^(# kiwi-mcp:.{20}).*$/m, "$1"))
      return call("add", { text: "a" })
    })
  },
  SignerUntrusted: {
    when: "A tool is signed by somebody whom you do not know",
    produce: failingCall(byGrace, "trusted", "add", { text: "a" })
  },
  SignerUnknown: {
    when: "Somebody is trusted by a name that the project's trust.yaml does not have",
    produce: failing(
      {},
      "trusted",
      () => trustSigner({ who: "Grace", as: "me" }, caller).pipe(Effect.provide(HumanGateNone.layer))
    )
  },
  SignerNotTrusted: {
    when: "`kiwi trust remove` with the name of somebody whom you do not trust",
    produce: failing(
      {},
      "trusted",
      () => untrustSigner("Grace", caller).pipe(Effect.provide(HumanGateNone.layer))
    )
  },
  ProposalRefused: {
    when: "`kiwi trust propose` in a project whose trust.yaml is not what Kiwi reads",
    produce: failing(
      { ".ai/config/trust.yaml": "signers:\n  - Grace\n", ...add },
      "signed",
      () => proposeYourself(caller).pipe(Effect.provide(HumanGateNone.layer))
    )
  },
  PermissionDenied: {
    when: "A tool is signed by somebody whom you trust",
    produce: failing(byGrace, "trusted", () =>
      Effect.gen(function*() {
        const signers = yield* SignerTrust
        const signer = yield* signers.parse(grace.pair.publicKey, "Grace")
        const grant = { signer, as: "other", project: undefined } as const
        yield* signers.add(grant, agree(signers.proposeAdd(grant)))
        return yield* call("add", { text: "a" })
      }))
  },
  SystemItemAltered: {
    when: "A file of the installed package was changed",
    produce: failing({}, "trusted", () =>
      Effect.gen(function*() {
        const store = yield* ItemStore
        const { location } = yield* store.find({ id: "ping", type: "tool" })
        const snapshot = yield* store.read(location)
        return yield* Effect.provide(
          Effect.flatMap(Verifier, (verifier) => verifier.verify(snapshot)),
          VerifierEd25519.layer.pipe(Layer.provide(Layer.succeed(SystemManifest, new Map())))
        )
      }))
  },
  GoesBack: {
    when: "An older version of a tool, signed when it was new, is put in place of what has run",
    produce: failing(add, "signed", ({ project, write }) =>
      Effect.gen(function*() {
        const older = fs.readFileSync(join(project, addPath), "utf8")
        write(addPath, echo.replace("1.0.0", "2.0.0"))
        yield* signing("add")
        yield* Effect.ignore(call("add", { text: "a" }))
        write(addPath, older)
        return yield* call("add", { text: "a" })
      }))
  },
  HistoryDamaged: {
    when: "The file in which Kiwi keeps what has run of a tool is cut off",
    produce: failing(add, "signed", ({ home }) => {
      for (const file of fs.globSync("projects/*/history/tool-*.json", { cwd: home })) {
        fs.writeFileSync(join(home, file), "{")
      }
      return call("add", { text: "a" })
    })
  },
  HidesItem: {
    when: "A project brings a tool with the name of one of yours",
    produce: failing(add, "signed", ({ userSpace }) => {
      fs.mkdirSync(join(userSpace, "tools"), { recursive: true })
      fs.writeFileSync(join(userSpace, "tools/add.yaml"), echo)
      return call("add", { text: "a" })
    })
  },
  SandboxUnavailable: {
    when: "A tool with a runtime of the project's runs whatever program its caller names",
    produce: failingCall(
      {
        ".ai/tools/anything.yaml": tool({
          input_schema: object({ program: { type: "string" } }, "program"),
          executor_id: "launcher",
          config: { command: "{program}" }
        }),
        ".ai/tools/launcher.yaml": tool({ tool_type: "runtime", config: { output: "text" } })
      },
      "signed",
      "anything",
      { program: "rm" }
    )
  },
  PlanStale: {
    when: "A tool changes between what the person was shown and the signing",
    produce: failing(add, "trusted", ({ write }) =>
      Effect.gen(function*() {
        const signatures = yield* Signatures
        const plan = yield* signatures.plan({ id: "add" })
        write(addPath, `${echo}\n`)
        return yield* signatures.sign(plan, agree(plan.request))
      }))
  },
  TooMuchToSign: {
    when: "An agent signs `t*` in a project with 1,001 tools of such names",
    produce: failing(
      Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`.ai/tools/t${n}.yaml`, echo])),
      "trusted",
      () => Effect.provide(sign({ id: "t*" }, caller), HumanGateNone.layer)
    )
  },
  HumanRequired: {
    when: "An agent signs, and its client cannot ask its person",
    produce: failing(add, "trusted", () => Effect.provide(sign({ id: "add" }, caller), HumanGateNone.layer))
  },
  HumanDeclined: {
    when: "An agent signs, and its person says no",
    produce: failing(
      add,
      "trusted",
      () =>
        Effect.provide(
          sign({ id: "add" }, caller),
          Layer.provide(HumanGateEmbedder.layerWith(() => Promise.resolve(false), {}), LineageMemory.layer)
        )
    )
  },
  ClientsUnbelieved: {
    when: "clients.json was damaged",
    produce: failing({}, "trusted", ({ home }) => {
      fs.writeFileSync(join(home, "clients.json"), "{\"version\": 1, \"clients\": [", { mode: 0o600 })
      return Effect.flatMap(Clients, ({ list }) => list)
    })
  },
  SignersUnbelieved: {
    when: "signers.json was damaged, and a tool is signed by somebody who was in it",
    produce: failing(byGrace, "trusted", ({ home }) => {
      fs.writeFileSync(join(home, "signers.json"), "{\"version\": 1, \"signers\": [", { mode: 0o600 })
      return Effect.catchTag(call("add", { text: "a" }), "ToolChainError", ({ reason }) => Effect.fail(reason.cause))
    })
  },
  SignerInvalid: {
    when: "A key is copied without its last letter",
    produce: failing(
      {},
      "trusted",
      () => Effect.flatMap(SignerTrust, (signers) => signers.parse(grace.pair.publicKey.slice(0, -1), "Grace"))
    )
  }
}
