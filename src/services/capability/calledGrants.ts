// What a tool's config asks for under `calls`: grants for the calls that the tool makes. Signing and running read it alike.
import { Result, type Schema } from "effect"
import { isJsonArray } from "../schema/json.ts"
import { refusalOf } from "./CapabilityModule.ts"
import type { Grant } from "./Grant.ts"
import { parseGrants } from "./grantText.ts"

export interface CalledGrants {
  readonly grants: ReadonlyArray<Grant>
  /** What is wrong, by the entry: "calls/0". */
  readonly issues: ReadonlyArray<{ readonly field: string; readonly error: string }>
}

export const calledGrants = (calls: Schema.Json, isSystem: boolean): CalledGrants => {
  const grants: Array<Grant> = []
  const issues: Array<CalledGrants["issues"][number]> = []
  for (const [index, text] of (isJsonArray(calls) ? calls : [calls]).entries()) {
    const parsed = typeof text === "string" ? parseGrants(text) : Result.fail("is not a text")
    const error = Result.isFailure(parsed) ? parsed.failure : refusalOf({ allow: parsed.success, deny: [] }, isSystem)
    if (error !== undefined) issues.push({ field: `calls/${index}`, error })
    else if (Result.isSuccess(parsed)) grants.push(...parsed.success)
  }
  return { grants, issues }
}
