// The question to a person before items are signed: what they are, what changed, and what to type.
import type { PlannedSignature, Signatures } from "../../services/integrity/Signatures.ts"
import * as Plan from "../../services/integrity/SigningPlan.ts"
import { showLocation } from "../../services/item/Item.ts"
import { isGlob } from "../../services/item/ItemPath.ts"
import type { HumanRequest } from "../../services/trust/HumanAct.ts"
import { sha256 } from "../identity/sha256.ts"
import { isDetached } from "../item/makeSnapshot.ts"

export type Query = Parameters<Signatures["Service"]["plan"]>[0]

export const digestOfPlan = (items: ReadonlyArray<PlannedSignature>): string =>
  sha256(JSON.stringify([
    "kiwi-sign-plan-2",
    ...items.map(({ change, goesBackFrom, hides, location, snapshot }) => [
      location.tier,
      location.root,
      location.type,
      location.id,
      location.path,
      location.kind,
      snapshot.digest,
      change === "older",
      goesBackFrom ?? null,
      hides.map(showLocation)
    ])
  ]))

const noDifference = ({ change, location, snapshot }: PlannedSignature): string => {
  if (change !== "unmarked") return "No difference to what was last signed here."
  const mark = isDetached(location) ? "signature file" : "signature line"
  return `Signed here before with the same content; the ${mark} is ${
    snapshot.claim._tag === "None" ? "missing" : "not yours, or damaged"
  }.`
}

const describeItem = (planned: PlannedSignature): string => {
  const { change, diff, effects, item, location, snapshot } = planned
  return [
    `${location.type} ${location.id} ${item.version}  (${showLocation(location)}, ${
      change === "unmarked" ? "signed before" : change
    })`,
    `sha256 ${snapshot.digest}`,
    ...effects.map((effect) => `- ${effect}`),
    ...(diff === "" ? [noDifference(planned)] : ["", diff.replace(/\n$/, "")])
  ].join("\n")
}

const plural = (count: number): string => `${count} item${count === 1 ? "" : "s"}`

const quote = (id: string): string => isGlob(id) ? `'${id}'` : id

/** With its category, if that is given separately. */
export const idOf = ({ category, id }: Query): string =>
  category === undefined || category === "" || id.includes("/") ? id : `${category}/${id}`

export const isOlder = ({ change }: PlannedSignature): boolean => change === "older"

const titleOf = (items: ReadonlyArray<PlannedSignature>): string => {
  const [first] = items
  if (first === undefined) return "Sign nothing"
  const older = items.filter(isOlder).length
  const [id, signing] = [`${first.location.type} ${first.location.id}`, items.length - older]
  const sign = signing === 1 && older === 0 ? `Sign ${id} ${first.item.version}` : `Sign ${plural(signing)}`
  const goBack = older === 1 && signing === 0
    ? `Let ${id} go back to ${first.item.version}`
    : `Let ${plural(older)} go back to what was signed`
  const what = older === 0 ? sign : signing === 0 ? goBack : `${sign}, l${goBack.slice(1)}`
  return `${what} (${[...new Set(items.map(({ location }) => location.tier))].join(", ")})`
}

/** `asked`: those items that the query itself names. */
export const requestFor = (
  query: Query,
  asked: ReadonlyArray<PlannedSignature>,
  items: ReadonlyArray<PlannedSignature>
): HumanRequest => {
  const types = [...new Set(asked.map(({ location }) => location.type))]
  const digest = digestOfPlan(items)
  const tier = query.tier === undefined ? "" : ` --tier ${query.tier}`
  return {
    kind: "sign",
    title: titleOf(items),
    verdict: Plan.verdictOf(
      items.map(({ location, snapshot, ...judged }) => ({ ...judged, id: location.id, digest: snapshot.digest })),
      digest
    ),
    details: items.map(describeItem).join("\n\n"),
    unreadable: items.flatMap(({ unreadable }) => unreadable),
    digest,
    command: types.map((type) => `kiwi sign ${type} ${quote(idOf(query))}${tier}`).join(" && ")
  }
}
