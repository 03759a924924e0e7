// The question about a request, the same on every surface. Its digest is over everything that the person sees and every
// rule that an answer would make, so an act for another question does not count.
import type { Approval, ApprovalAnswer } from "../../services/approval/Approval.ts"
import { denialsOf, offersOf } from "../../services/approval/Approval.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { shellWord } from "../../services/text/shellWord.ts"
import type { HumanChoice, HumanRequest } from "../../services/trust/HumanAct.ts"
import { sha256 } from "../identity/sha256.ts"

/** The rules that an answer makes. `given`: those that the person put in their place. */
export const rulesOf = (
  { asks }: Approval,
  answer: ApprovalAnswer,
  given: ReadonlyArray<string> | undefined
): ReadonlyArray<string> => {
  if (answer === "session" || answer === "always") return given ?? offersOf(asks)
  return answer === "never" ? given ?? denialsOf(asks) : []
}

const says: Readonly<Record<ApprovalAnswer, string>> = {
  once: "this call, as it is above, one time",
  session: "this call, and until this session ends: ",
  always: "this call, and always in this project: ",
  no: "not this time",
  never: "no, and always in this project: "
}

const acts: Readonly<Record<ApprovalAnswer, string>> = {
  once: "Allow once",
  session: "Allow for the session",
  always: "Allow always",
  no: "Refuse",
  never: "Refuse always"
}

const sentenceOf = (answer: ApprovalAnswer, rules: ReadonlyArray<string>): string =>
  `${says[answer]}${rules.map((rule) => safeLine(rule, 8_192)).join("; ")}`

/** What differs from the other answers comes first, and `allow` and `deny` go without saying. */
const shortOf = (answer: ApprovalAnswer, rules: ReadonlyArray<string>): string =>
  rules.length === 0
    ? answer === "once" ? "once: this call, one time" : `${answer}: ${says[answer]}`
    : `${answer}: ${rules.map((rule) => safeLine(rule.replace(/^\w+: /, ""), 8_192)).join("; ")}`

/** The end of a question's details: what each answer does. */
export const answersText = (choices: ReadonlyArray<HumanChoice>): string =>
  ["", "Answers:", ...choices.map(({ title }) => `- ${title}`)].join("\n")

export const questionOf = (
  approval: Approval,
  answers: ReadonlyArray<ApprovalAnswer>,
  given: ReadonlyArray<string> | undefined
): HumanRequest => {
  const { answered, asks, digest, id, unreadable, what } = approval
  // Whoever reads it again changes an answer, and knows which.
  const before = answered === undefined ? "" : `It was refused: "${answered.answer}", ${safeLine(answered.by)}\n\n`
  const details = `${before}${approval.details}`
  const brief = approval.brief === undefined ? undefined : `${before}${approval.brief}`
  const choices = answers.map((answer) => {
    const rules = rulesOf(approval, answer, given)
    return {
      value: answer,
      title: `${answer}: ${sentenceOf(answer, rules)}`,
      short: shortOf(answer, rules),
      act: `${acts[answer]} ${id}: ${what}`
    }
  })
  const shown = `${details}${answersText(choices)}`
  const only = answers.length === 1 ? answers[0] : undefined
  const verb = only === "no" || only === "never" ? "Refuse" : "Allow"
  const reasons = [...new Set(asks.map(({ reason }) => reason))].join("; ")
  return {
    kind: "approve",
    title: `${verb} ${id}: ${what}`,
    verdict: [
      safeLine(`Would: ${asks.map(({ access }) => access).join(", ")}`),
      safeLine(`Why it is asked: ${reasons}`)
    ],
    details: shown,
    ...(brief === undefined ? {} : { brief: `${brief}\nThe whole text: kiwi status ${id}${answersText(choices)}` }),
    ...(unreadable.length === 0 ? {} : { unreadable }),
    digest: sha256(JSON.stringify(["kiwi-approval-1", id, digest, what, shown, brief, answers])),
    command: `kiwi approve ${id}`,
    choices
  }
}

/** Whether to refuse all of these. */
export const refusalOf = (approvals: ReadonlyArray<Approval>, session: string | undefined): HumanRequest => {
  const details = approvals.map(({ asks, caller, id, what }) =>
    `${id}  ${what}, for ${safeLine(caller.client)}: ${safeLine(asks.map(({ access }) => access).join(", "), 400)}`
  ).join("\n")
  return {
    kind: "approve",
    title: `Refuse ${approvals.length} ${approvals.length === 1 ? "request" : "requests"}`,
    details,
    digest: sha256(JSON.stringify(["kiwi-refusal-1", approvals.map(({ digest, id }) => [id, digest])])),
    command: session === undefined ? "kiwi reject --all" : `kiwi reject ${shellWord(session)} --all`
  }
}
