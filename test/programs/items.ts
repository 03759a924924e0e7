// Items of the use cases' tests.
import { Effect } from "effect"
import type { HumanRequest } from "../../src/services/trust/HumanAct.ts"
import { HumanDeclined, HumanGate, HumanRequired } from "../../src/services/trust/HumanAct.ts"

export const directive = (name: string, text: string, inputs = "") =>
  `# ${text}

\`\`\`xml
<directive name="${name}" version="1.0.0">
  <metadata>
    <description>${text}</description>
    <model tier="general"/>
    <permissions><read resource="filesystem" path="**"/></permissions>
  </metadata>
  ${inputs}
  <process>
    <step name="one"><description>For {{who}}</description><action>Tell {{who}}: {{what}} and {{other}}</action></step>
  </process>
</directive>
\`\`\`
`

export const inputs = `<inputs>
    <input name="who" type="string" required="true">Whom</input>
    <input name="what" type="string" required="false" default="hello">What</input>
    <input name="times" type="integer" required="false">How often</input>
  </inputs>`

export const knowledge = (title: string, body: string) =>
  `---
title: ${title}
version: "1.0.0"
---
${body}
`

type Answer = "yes" | "no" | "nobody"

/** A person who gives one answer, and remembers what was asked. */
export const person = (answer: Answer, asked: Array<HumanRequest> = []) =>
  HumanGate.of({
    ask: Effect.fnUntraced(function*(request) {
      asked.push(request)
      const { command, digest, kind, title } = request
      if (answer === "no") return yield* new HumanDeclined({ kind, title })
      if (answer === "nobody") return yield* new HumanRequired({ kind, title, command })
      const choice = request.choices?.[0]?.value
      return { kind, digest, by: "terminal" as const, ...(choice === undefined ? {} : { choice }) }
    })
  })
