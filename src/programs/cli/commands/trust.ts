// trust: decide which projects and signers to trust.
import { Effect, Option } from "effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { toErrorObject } from "../../../services/error/KiwiError.ts"
import { safeLine, safeText } from "../../../services/error/safeText.ts"
import { shellWord } from "../../../services/text/shellWord.ts"
import { ProjectTrust } from "../../../services/trust/ProjectTrust.ts"
import { SignerTrust } from "../../../services/trust/SignerTrust.ts"
import type { SignerStanding } from "../../../services/trust/SignerTrust.ts"
import { proposeYourself, trustProject, trustSigner, untrustSigner } from "../../trust.ts"
import { renderError } from "../failure.ts"
import { withNext } from "../help.ts"
import { withGate, yesFlag } from "../HumanGateTerminal.ts"
import { Output } from "../Output.ts"
import { caller, inProject } from "../root.ts"
import { indented, table } from "../text.ts"

export const trustProjectCommand = Command.make("project", { yes: yesFlag }, ({ yes }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const done = yield* inProject((project) =>
      Effect.gen(function*() {
        const { controlFiles, effects } = yield* trustProject(by)
        const trust = yield* ProjectTrust
        const state = yield* trust.state
        return { project, state, effects, control_files: controlFiles }
      })
    ).pipe(withGate(yes))
    const { control_files, effects, project, state } = done
    yield* output.answer(
      { project, trust: state._tag === "Trusted" ? "trusted" : "restricted", effects, control_files },
      (paint) => `${paint.green("trusted")} ${safeLine(project, 400)}`
    )
    if (!output.json && effects.length > 0) {
      yield* output.say(indented(effects.map((effect) => `- ${safeText(effect)}`)))
    }
  })).pipe(
    Command.withDescription(
      "Trust the project: from then on what you have signed in it runs, and its settings, signers, .env names and " +
        "interpreters are used, with exactly their present bytes. You are shown what this enables. Only you decide " +
        "this, on this machine; nothing in a repository can."
    ),
    Command.withShortDescription("Let what is signed in this project run"),
    Command.withExamples([
      { command: "kiwi trust project" },
      { command: "kiwi trust project --project ~/work/site --yes", description: "Without the question" }
    ]),
    withNext(["kiwi sign TYPE ID", "sign what you have read"], ["kiwi doctor", "settings that you have not accepted"])
  )

export const trustAddCommand = Command.make("add", {
  who: Argument.String("who").pipe(
    Argument.withDescription(
      "A public key, 43 characters, as their kiwi identity prints it; or the name of a signer in this project's trust.yaml"
    )
  ),
  name: Flag.String("name").pipe(
    Flag.withMetavar("WHO"),
    Flag.withDescription("Your name for them. Default: their name in trust.yaml"),
    Flag.optional
  ),
  as: Flag.Literals("as", ["me", "other"]).pipe(
    Flag.withDescription(
      "me: what they sign runs as if you had signed it, in this project. other: their signature is known and shown as theirs"
    ),
    Flag.withDefault("other")
  ),
  everywhere: Flag.Boolean("everywhere").pipe(
    Flag.withoutNegation,
    Flag.withDescription("With --as me: in your user space and in every project"),
    Flag.withDefault(false)
  ),
  yes: yesFlag
}, ({ name, yes, ...input }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const { as, project, signer } = yield* inProject(() =>
      trustSigner({ ...input, name: Option.getOrUndefined(name) }, by)
    ).pipe(withGate(yes))
    yield* output.answer(
      {
        added: {
          key_id: signer.keyId,
          public_key: signer.publicKey,
          name: signer.name,
          as,
          ...(project === undefined ? {} : { project })
        }
      },
      (paint) =>
        `${paint.green(as === "me" ? "trusted as you" : "trusted")} ${safeLine(signer.name)} (${signer.keyId})${
          project === undefined ? "" : ` in ${safeLine(project, 400)}`
        }`
    )
  })).pipe(
    Command.withDescription(
      "Trust somebody else's signatures. Without --as me, what they signed is shown as theirs and does " +
        "not run yet. With --as me it runs as if you had signed it, with your rights and secrets, in this project. Ask " +
        "them for the key itself, in a way that you trust: a name or a key id proves nothing."
    ),
    Command.withShortDescription("Trust somebody else's signatures"),
    Command.withExamples([
      { command: "kiwi trust add Mia --as me", description: "A colleague whom this project's trust.yaml names" },
      { command: "kiwi trust add 3Qk…43-characters…x9A --name Mia" }
    ]),
    withNext(["kiwi trust list", "who is trusted"], ["kiwi trust propose", "put your own key into trust.yaml"])
  )

export const trustProposeCommand = Command.make("propose", { yes: yesFlag }, ({ yes }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const { accepted, change, signer } = yield* inProject(() => proposeYourself(by)).pipe(withGate(yes))
    yield* output.answer(
      { proposed: { key_id: signer.keyId, public_key: signer.publicKey, name: signer.name }, change, accepted },
      (paint) =>
        change === "none"
          ? "Your key is in .ai/config/trust.yaml already."
          : `${paint.green("proposed")} ${safeLine(signer.name)} (${signer.keyId}) in .ai/config/trust.yaml`
    )
    if (output.json) return
    if (!accepted) yield* output.say("The file was not accepted as it was before: kiwi trust project shows it.")
    if (change === "added") {
      yield* output.say(
        `Commit it. The others then type: kiwi trust project, and kiwi trust add ${
          signer.name.startsWith("-") ? signer.publicKey : shellWord(signer.name)
        } --as me`
      )
    }
  })).pipe(
    Command.withDescription(
      "Write your public key into the project's .ai/config/trust.yaml, for the people whom you share the project with. They " +
        "trust your signatures once they have accepted the file; what you sign runs as theirs once they have added you as me."
    ),
    Command.withShortDescription("Put your key into the project's trust.yaml"),
    Command.withExamples([{ command: "kiwi trust propose" }]),
    withNext(["kiwi trust add NAME --as me", "let what a colleague signs run"])
  )

interface ListedSigner {
  readonly key_id: string
  readonly public_key: string
  readonly name: string
  readonly standing: "you" | "as you" | "trusted" | "project"
  /** Where a person trusted them. */
  readonly where?: "everywhere" | "this project"
}

const listed = (standing: SignerStanding): ReadonlyArray<ListedSigner> =>
  standing._tag === "Unknown" ? [] : [{
    key_id: standing.signer.keyId,
    public_key: standing.signer.publicKey,
    name: standing.signer.name,
    standing: standing._tag === "You"
      ? "you"
      : standing.asMe
      ? "as you"
      : standing.by === "person"
      ? "trusted"
      : "project",
    ...(standing._tag === "Trusted" && standing.by === "person"
      ? { where: standing.project === undefined ? "everywhere" as const : "this project" as const }
      : {})
  }]

export const trustListCommand = Command.make("list", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const { problem, project, signers, state } = yield* inProject((key) =>
      Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const trusted = yield* SignerTrust
        return {
          project: key,
          state: yield* trust.state,
          signers: (yield* trusted.list).flatMap(listed),
          problem: yield* trusted.problem
        }
      })
    )
    const trust = state._tag === "Trusted" ? "trusted" : state._tag === "Restricted" ? "restricted" : "no project"
    yield* output.answer(
      {
        ...(project === "" ? {} : { project }),
        trust,
        ...(state._tag === "Restricted" ? { reason: state.reason } : {}),
        signers,
        ...(problem === undefined ? {} : { unbelieved: toErrorObject(problem) })
      },
      (paint) =>
        [
          project === ""
            ? "There is no project here."
            : `${safeLine(project, 400)}: ${trust === "trusted" ? paint.green(trust) : paint.yellow(trust)}${
              state._tag === "Restricted" ? `, ${safeText(state.reason)}` : ""
            }`,
          ...(signers.length === 0 ? [] : [
            "",
            table(signers.map(({ key_id, name, public_key, standing, where }) => [
              key_id,
              paint.bold(safeLine(name)),
              standing === "project"
                ? "named by this project"
                : where === undefined
                ? standing
                : `${standing}, ${where === "everywhere" ? where : `in ${where}`}`,
              paint.dim(public_key)
            ]))
          ])
        ].join("\n")
    )
    if (!output.json && problem !== undefined) {
      yield* output.say(renderError(toErrorObject(problem), output.talkPaint))
    } else if (!output.json && signers.length === 0) {
      yield* output.say(
        "No signer is trusted yet. Your own signatures are trusted once you have a key (kiwi identity)."
      )
    }
  })).pipe(
    Command.withDescription("Show whether this project is trusted, and which signers are trusted in it."),
    Command.withShortDescription("Show who is trusted"),
    Command.withExamples([{ command: "kiwi trust list" }]),
    withNext(["kiwi trust project", "trust this project"], ["kiwi trust remove NAME", "stop trusting somebody"])
  )

export const trustRemoveCommand = Command.make("remove", {
  who: Argument.String("who").pipe(
    Argument.withDescription("A key id or name that kiwi trust list shows, or a public key")
  ),
  yes: yesFlag
}, ({ who, yes }) =>
  Effect.gen(function*() {
    const output = yield* Output
    const by = yield* caller
    const keyId = yield* inProject(() => untrustSigner(who, by)).pipe(withGate(yes))
    yield* output.answer(
      { removed: true, key_id: keyId },
      (paint) => `${paint.green("removed")} ${safeLine(who)}${who === keyId ? "" : ` (${keyId})`}`
    )
  })).pipe(
    Command.withDescription(
      "Stop trusting somebody: what they signed does not run any more, until you sign it yourself."
    ),
    Command.withShortDescription("Stop trusting somebody"),
    Command.withExamples([
      { command: "kiwi trust remove Mia" },
      { command: "kiwi trust remove 0123456789abcdef" }
    ]),
    withNext(["kiwi trust list", "who is still trusted"])
  )

/** What `trust` is for. Its commands are above. */
export const trustGroup = Command.make("trust").pipe(
  Command.withDescription(
    "Decide what may run on this machine: which projects and which signers to trust. These decisions are kept outside every " +
      "project, so no repository can contain one."
  ),
  Command.withShortDescription("Decide which projects and signers to trust"),
  Command.withExamples([{ command: "kiwi trust project" }, { command: "kiwi trust list" }])
)
